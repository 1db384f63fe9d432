"""Whatever items come back, every method of a session ends in a result or in an error of dynaorm's own."""

import json
from binascii import crc32
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, F, GlobalIndex, Index, Key, Retry, Session, Table, any_of
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.testing.clock import FakeClock
from dynaorm.transport.answer import reply_of

shelves = Table("replies-shelves", indexes=[GlobalIndex("GSI1"), GlobalIndex("Part", projection="KEYS_ONLY")])
plain = Table("replies-plain", type_attribute=None, revision_attribute=None, indexes=[GlobalIndex("GSI1")])
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Book(Entity, table=shelves, pk="BOOK#{name}", sk="N#{number:03d}", versioned=True):
    name: str
    number: int = 1
    at: datetime = NOON
    tags: set[str] = Field(default=set())
    by_time = Index("GSI1", pk="BOOK", sk="{at}")
    in_part = Index("Part", pk="BOOK", sk="{at}")


class Page(Entity, table=plain, pk="PAGE#{name}", sk="N#{number:03d}"):
    name: str
    number: int = 1
    at: datetime = NOON
    by_time = Index("GSI1", pk="PAGE", sk="{at}")


def item_of(entity: Entity) -> dict[str, Any]:
    mapping, values = mapping_of(type(entity)), vars(entity)
    found = {
        **mapping.encode(values),
        **mapping.primary_key(values),
        **index_keys(mapping, mapping.subject({}, values)),
    }
    return {**found, "_type": {"S": mapping.name}, "version": {"N": "1"}}


SPOILED: list[Any] = [
    None, 5, "x", [], {}, {"S": 5}, {"N": "x"}, {"N": "1E999999"}, {"N": "NaN"}, {"B": "AA=="}, {"S": ""}, {"M": {}},
    {"L": [5]}, {"NULL": True}, {"S": "a", "N": "1"}, {"X": 1}, {"SS": []}, {"M": {"a": 5}}, {"BOOL": "x"}, {"N": "1"},
]  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn, item: dict[str, Any]) -> dict[str, Any]:
    """The item without some of its attributes, or with others in their place."""
    names = draw(st.lists(st.sampled_from(sorted(item)), min_size=1, max_size=2, unique=True))
    found = {name: draw(st.sampled_from([None, *SPOILED])) for name in names}
    kept = {name: value for name, value in item.items() if name not in found or draw(st.booleans())}
    return {**kept, **{name: value for name, value in found.items() if name in kept}}


class Spoiling:
    """Answers every read with spoiled items, with their checksum or without."""

    def __init__(self, item: dict[str, Any], key: dict[str, Any], *, has_checksum: bool) -> None:
        self._item, self._key, self._has_checksum = item, key, has_checksum

    def call(self, call: Call, /) -> Reply:
        raw = json.dumps(self._content(call)).encode()
        headers = {"x-amz-crc32": str(crc32(raw))} if self._has_checksum else {}
        return reply_of(call.operation, 200, headers, raw)

    def _content(self, call: Call) -> dict[str, Any]:
        requested = call.request.get("RequestItems", {})
        table = next(iter(requested), "")
        match call.operation:
            case "GetItem":
                return {"Item": self._item}
            case "Query" | "Scan":
                is_last = "ExclusiveStartKey" in call.request
                return {"Items": [self._item], **({} if is_last else {"LastEvaluatedKey": self._key})}
            case "BatchGetItem":
                left = {table: {"Keys": [self._key]}} if len(requested[table]["Keys"]) > 1 else {}
                return {"Responses": {table: [self._item]}, "UnprocessedKeys": left}
            case "BatchWriteItem":
                return {"UnprocessedItems": {table: [{"PutRequest": {"Item": self._item}}, self._key]}}
            case "TransactGetItems":
                return {"Responses": [{"Item": self._item}]}
            case "UpdateItem":
                return {"Attributes": self._item}
        return {}


def reads_of(kind: Any) -> dict[str, Callable[[Session], object]]:
    """What can be done with a class."""
    return {
        "get": lambda session: session.get(kind, name="a", number=1),
        "exists": lambda session: session.exists(kind, name="a", number=1),
        "query": lambda session: session.query(kind, name="a").all(),
        "page": lambda session: session.query(kind, name="a").descending().page(1),
        "range": lambda session: session.query(kind, name="a").ge(number=0).lt(number=7).all(),
        "several": lambda session: session.query(kind, name=any_of("a", "b")).all(),
        "count": lambda session: session.query(kind, name="a").count(),
        "keys": lambda session: session.query(kind, name="a").keys().all(),
        "scan": lambda session: session.scan(kind, segments=2).filter(F.at >= NOON).all(),
        "index": lambda session: session.query(kind.by_time).ge(at=NOON).all(),
        "get_many": lambda session: session.get_many([Key(kind, name=name, number=1) for name in "ab"]),
        "snapshot": lambda session: session.snapshot([Key(kind, name="a", number=1)]),
        "update": lambda session: session.update(Key(kind, name="a", number=1), F.at.set(NOON)),
        "delete": lambda session: session.delete(Key(kind, name="a", number=1)),
        "verify": lambda session: list(session.verify(mapping_of(kind).table)),
        "repair": lambda session: list(session.repair(mapping_of(kind).table)),
    }


READS: Mapping[type[Entity], Mapping[str, Callable[[Session], object]]] = {
    Book: {
        **reads_of(Book),
        "part": lambda session: session.query(Book.in_part).ge(at=NOON).all(),
        "part page": lambda session: session.scan(Book.in_part).page(1),
        "history": lambda session: list(session.history(Key(Book, name="a", number=1))),
        "as_of": lambda session: session.get(Key(Book, name="a", number=1), as_of=NOON),
        "restore": lambda session: session.restore(Key(Book, name="a", number=1), version=1),
        "prune": lambda session: session.prune(Key(Book, name="a", number=1), keep=1),
    },
    Page: {
        **reads_of(Page),
        "bulk_load": lambda session: session.bulk_load([Page(name=name) for name in "ab"]),
    },
}


@given(data=st.data(), kind=st.sampled_from([Book, Page]))
def test_items_that_no_dynamodb_returns_are_an_error_of_dynaorm(
    data: st.DataObject, kind: type[Entity]
) -> None:
    item = item_of(kind.model_validate({"name": "a"}))
    key = {name: item[name] for name in ("PK", "SK")}
    stored = data.draw(spoiled(item), label="item")
    last = data.draw(st.just(key) | spoiled(key), label="key")
    transport = Spoiling(stored, last, has_checksum=data.draw(st.booleans(), label="checksum"))
    session = Session(transport=transport, clock=FakeClock(jitter=0), retry=Retry(attempts=2))
    read = data.draw(st.sampled_from(sorted(READS[kind])), label="read")
    with suppress(DynaormError):
        READS[kind][read](session)
