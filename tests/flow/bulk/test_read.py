"""Reading many keys: 100 in a request, entities in the order of the keys, and None for absent ones."""

from datetime import datetime
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, ExpiresAt, Key, Session, Table
from dynaorm.entity.key import found_key
from dynaorm.errors import DecodeError, UsageError
from dynaorm.flow.call import Call
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport

NOW = 1_700_000_000

app = Table("bulk-read-app")


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


def item(sku: str, kind: str = "Stock", **attributes: Any) -> Item:
    key = {"PK": {"S": f"STOCK#{sku}"}, "SK": {"S": "S"}, "sku": {"S": sku}}
    return {**key, "_type": {"S": kind}, "left": {"N": "0"}, **attributes}


def stored(*items: Item) -> Answer:
    """A table that holds these; it answers in the opposite order, and what is absent not at all."""

    def answer(call: Call) -> dict[str, Any]:
        found: dict[str, list[Item]] = {}
        for name, asked in call.request["RequestItems"].items():
            keys = [tuple(key.items()) for key in asked["Keys"]]
            assert 1 <= len(keys) <= 100
            found[name] = [
                one
                for one in reversed(items)
                if any(all(one.get(part) == value for part, value in key) for key in keys)
            ]
        return {"Responses": found, "UnprocessedKeys": {}}

    return answer


def opened(*answers: Answer, **options: Any) -> tuple[Session, ScriptedTransport]:
    transport = ScriptedTransport(*answers)
    return Session(transport=transport, clock=FakeClock(NOW), **options), transport


def asked(transport: ScriptedTransport) -> list[list[Item]]:
    """The keys of each request."""
    return [one["Keys"] for call in transport.calls for one in call.request["RequestItems"].values()]


def keys(*names: str) -> list[Key[Stock]]:
    return [Key(Stock, sku=name) for name in names]


def test_two_declared_tables_may_be_one_in_fact() -> None:
    session, transport = opened(stored(item("a")), table_names=lambda _: "one")
    assert session.get_many(keys("a", "b")) == [Stock(sku="a"), None]
    assert len(transport.calls) == 1


@pytest.mark.parametrize(
    ("session_reads", "given", "sent"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_consistency_is_the_calls_or_else_the_sessions(
    session_reads: bool, given: bool | None, sent: bool
) -> None:
    session, transport = opened(stored(), consistent=session_reads)
    session.get_many(keys("a"), consistent=given)
    assert transport.calls[0].request["RequestItems"]["bulk-read-app"]["ConsistentRead"] is sent


def test_an_item_that_does_not_fit_its_class_fails_the_whole() -> None:
    session, _ = opened(stored(item("a"), item("b", left={"S": "many"})))
    with pytest.raises(DecodeError, match="left"):
        session.get_many(keys("a", "b"))


def test_with_a_handler_its_place_holds_none_and_the_handler_hears_of_it_once() -> None:
    heard: list[DecodeError] = []
    session, _ = opened(stored(item("a"), item("b", left={"S": "many"})), on_decode_error=heard.append)
    assert session.get_many(keys("b", "a", "b")) == [None, Stock(sku="a"), None]
    assert len(heard) == 1


@pytest.mark.parametrize("given", [Stock(sku="a"), Stock, "STOCK#a", found_key({}, {"PK": {"S": "x"}})])
def test_only_keys_of_classes_are_taken_and_nothing_is_sent_for_others(given: Any) -> None:
    session, _ = opened()
    with pytest.raises(UsageError):
        session.get_many([Key(Stock, sku="a"), given])


@settings(max_examples=40)
@given(st.lists(st.integers(0, 130), max_size=300), st.sets(st.integers(0, 130)), st.integers(1, 4))
def test_every_place_holds_what_get_would_give(
    asked_for: list[int], there: set[int], concurrency: int
) -> None:
    answer = stored(*[item(str(number), left={"N": str(number)}) for number in sorted(there)])
    session, transport = opened(*[answer] * 3)
    found = session.get_many([Key(Stock, sku=str(number)) for number in asked_for], concurrency=concurrency)
    assert found == [Stock(sku=str(n), left=n) if n in there else None for n in asked_for]
    assert len(transport.calls) == -(-len(set(asked_for)) // 100)
