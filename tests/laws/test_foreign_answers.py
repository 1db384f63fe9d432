"""Law 6: an answer that DynamoDB does not give ends in an error of dynaorm's own, and never in a false verdict."""

import json
from binascii import crc32
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from pydantic import Field

from dynaorm import AnyValue, Entity, F, Key, Retry, Session, Table, any_of
from dynaorm.errors import DecodeError, InvalidValue, OutcomeUnknown, Unreachable
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.transport import Call, Reply, Transport
from dynaorm.transport.answer import reply_of

app = Table("foreign-app")
bare = Table("foreign-bare", revision_attribute=None)


class Hit(Entity, table=app, pk="HIT#{page}", sk="H#{number:03d}"):
    page: str
    number: int = 1
    count: int = 0
    tags: set[str] = Field(default=set())
    more: AnyValue = None
    parts: dict[str, int] = Field(default={})


class Bare(Entity, table=bare, pk="BARE#{page}", sk="B"):
    page: str
    count: int = 0


class Silent:
    """Carries updates out, and answers them with an empty object."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def call(self, call: Call, /) -> Reply:
        reply = self._inner.call(call)
        return {} if call.operation == "UpdateItem" else reply


def test_an_update_that_returns_nothing_is_of_unknown_outcome(engine: Transport) -> None:
    session = Session(transport=Silent(engine), clock=FakeClock())
    for table in (app, bare):
        session.create_table(table)
    hit = session.save(Hit(page="/"))
    session.save(Bare(page="/"))
    assert session.update(Key(Hit, page="/", number=1), F.count.add(1)).count == 1
    assert session.upsert(Key(Hit, page="/", number=2), F.count.add(1)).count == 1
    assert session.update(session.refresh(hit), {"count": 5}).count == 5
    with pytest.raises(OutcomeUnknown, match="without its key"):
        session.update(Key(Bare, page="/"), F.count.add(1))
    assert session.get_one(Bare, page="/").count == 1


class Pages:
    """One partition in pages of one item each, and one in a single page, with an attribute that no DynamoDB returns."""

    def __init__(self, spoiled: Mapping[str, Any]) -> None:
        self._spoiled = spoiled

    def call(self, call: Call, /) -> Reply:
        partition = call.request["ExpressionAttributeValues"][":v0"]["S"]
        start = call.request.get("ExclusiveStartKey")
        first = int(start["SK"]["S"][2:]) + 1 if start else 0
        keys = [{"PK": {"S": partition}, "SK": {"S": f"H#{number:03d}"}} for number in range(3)]
        shown = keys[first:][:1] if partition == "HIT#x" else keys
        items = [
            {
                **key,
                "_type": {"S": "Hit"},
                "page": {"S": partition[4:]},
                "number": {"N": str(int(key["SK"]["S"][2:]))},
            }
            for key in shown
        ]
        last = {"LastEvaluatedKey": shown[-1]} if partition == "HIT#x" and shown else {}
        if partition == "HIT#y":
            items[-1].update(self._spoiled)
        body = json.dumps({"Items": items, **last}).encode()
        return reply_of(call.operation, 200, {"x-amz-crc32": str(crc32(body))}, body)


@pytest.mark.parametrize(
    "spoiled",
    [
        {"tags": {"SS": 5}},
        {"parts": 5},
        {"parts": {"M": 5}},
        {"parts": {"M": {"a": None}}},
        {"more": {"L": [None]}},
        {"more": {"M": 5}},
    ],
    ids=str,
)
def test_a_merged_query_says_of_an_item_what_a_plain_one_says(
    spoiled: Mapping[str, Any],
) -> None:
    session = Session(transport=Pages(spoiled), clock=FakeClock(), retry=Retry(attempts=1))
    plain, merged = session.query(Hit, page="y"), session.query(Hit, page=any_of("x", "y"))
    reads: list[Callable[[], object]] = [plain.all, merged.all, partial(list, merged)]
    for read in reads:
        with pytest.raises(Unreachable, match="wrong type"):
            read()


class Described:
    """A table that exists, with this description."""

    def __init__(self, description: Any) -> None:
        self._description = description

    def call(self, call: Call, /) -> Reply:
        return {"Table": self._description} if call.operation == "DescribeTable" else {}


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"TableName": "foreign-app"},
        {"TableStatus": "ACTIVE"},
        {"TableStatus": "ACTIVE", "KeySchema": [{"KeyType": "HASH"}]},
        {"TableStatus": "ACTIVE", "KeySchema": 5},
        {"TableStatus": "ACTIVE", "KeySchema": [], "AttributeDefinitions": [{}]},
        {"TableStatus": "ACTIVE", "KeySchema": [], "GlobalSecondaryIndexes": ["x"]},
    ],
    ids=str,
)
def test_a_description_that_is_none_is_no_answer(description: Any) -> None:
    session = Session(transport=Described(description), clock=FakeClock(), retry=Retry(attempts=1))
    with pytest.raises(Unreachable, match="DescribeTable"):
        session.create_table(app)


def nested(value: Any, wrapped: Callable[[Any], Any], levels: int) -> Any:
    for _ in range(levels):
        value = wrapped(value)
    return value


@pytest.mark.parametrize("levels", [900, 5000])
def test_a_value_nested_too_deeply_is_refused_and_reported(levels: int) -> None:
    """DynamoDB has 32 levels, and refuses more. Python itself ends above: 3.11 below 300 levels, 3.13 below 900."""
    key = {"PK": {"S": "HIT#/"}, "SK": {"S": "H#001"}, "_type": {"S": "Hit"}, "page": {"S": "/"}}
    item = {**key, "number": {"N": "1"}, "more": nested({"S": "x"}, lambda one: {"L": [one]}, levels)}
    transport = ScriptedTransport({"Item": item}, {"Items": [item]})
    session = Session(transport=transport, clock=FakeClock())
    with pytest.raises(DecodeError, match="nested too deeply"):
        session.get(Hit, page="/", number=1)
    with pytest.raises(DecodeError, match="nested too deeply"):
        session.query(Hit, page="/").all()
    value = nested("x", lambda one: [one], levels)
    with pytest.raises(InvalidValue, match="nested too deeply"):
        session.save(Hit.model_construct(page="/", number=1, count=0, tags=set(), more=value, parts={}))
    with pytest.raises(InvalidValue, match="nested too deeply"):
        session.update(Key(Hit, page="/", number=1), F.more.set(value))
    assert len(transport.calls) == 2
