"""Whatever answers come back, every method of a session ends in a result or in an error of dynaorm's own."""

import json
from binascii import crc32
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Key,
    Retry,
    Session,
    Table,
    Unique,
    any_of,
    tools,
)
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DynaormError
from dynaorm.flow.call import WRITES
from dynaorm.flow.table_definition import definition
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Reply
from dynaorm.transport.answer import reply_of

shelves = Table("replies-shelves", indexes=[GlobalIndex("GSI1"), GlobalIndex("Part", projection="KEYS_ONLY")])
shops = Table("replies-shops", stream="NEW_AND_OLD_IMAGES")
plain = Table("replies-plain", type_attribute=None, revision_attribute=None, indexes=[GlobalIndex("GSI1")])
NOON, LATER = datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 2, 12, tzinfo=UTC)


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
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_time = Index("GSI1", pk="PAGE", sk="{at}")


class Town(Entity, table=shops, pk="TOWN#{town}", sk="T"):
    town: str
    shops: int = 0


class Shop(Entity, table=shops, pk="SHOP#{name}", sk="N#{number:03d}"):
    name: str
    number: int = 1
    at: datetime = NOON
    town: str = "x"
    phone: Annotated[str | None, Unique()] = "5"
    in_town = Aggregate(Town, count="shops")


def item_of(entity: Entity) -> dict[str, Any]:
    mapping, values = mapping_of(type(entity)), vars(entity)
    found = {
        **mapping.encoder.encode(values),
        **mapping.primary_key.of(values),
        **index_keys(mapping, mapping.subject({}, values)),
    }
    return {**found, "_type": {"S": mapping.name}, "version": {"N": "1"}}


SPOILED: list[Any] = [
    None, 5, [], {}, {"S": 5}, {"N": "x"}, {"N": "1E999999"}, {"N": "NaN"}, {"B": "AA=="}, {"S": ""}, {"M": {}},
    {"L": [5]}, {"NULL": True}, {"S": "a", "N": "1"}, {"X": 1}, {"SS": []}, {"M": {"a": 5}}, {"BOOL": "x"}, {"N": "1"},
]  # fmt: skip


@st.composite
def spoiled(draw: st.DrawFn, item: dict[str, Any]) -> dict[str, Any]:
    """The item without some of its attributes, or with others in their place."""
    names = draw(st.lists(st.sampled_from(sorted(item)), min_size=1, max_size=2, unique=True))
    found = {name: draw(st.sampled_from([None, *SPOILED])) for name in names}
    kept = {name: value for name, value in item.items() if name not in found or draw(st.booleans())}
    return {**kept, **{name: value for name, value in found.items() if name in kept}}


ANYTHING: list[Any] = [
    *SPOILED,
    "x",
    [None],
    [{}],
    {"Keys": 5},
    {"TableStatus": "ACTIVE"},
    {"replies-shops": []},
    True,
    -1,
]


@st.composite
def damages(draw: st.DrawFn) -> dict[str, Any]:
    """What stands in the place of some members of a reply; None for nothing."""
    return draw(st.dictionaries(st.sampled_from(MEMBERS), st.sampled_from(ANYTHING), max_size=2))


MEMBERS = [
    "Attributes", "CancellationReasons", "ConsumedCapacity", "Count", "Item", "Items", "LastEvaluatedKey",
    "NextShardIterator", "Records", "Responses", "ScannedCount", "ShardIterator", "StreamDescription", "Table",
    "TableDescription", "TimeToLiveDescription", "UnprocessedItems", "UnprocessedKeys", "message",
]  # fmt: skip
SHARD = {"ShardId": "s", "SequenceNumberRange": {"StartingSequenceNumber": "1"}}
TABLE = {"TableStatus": "ACTIVE", "LatestStreamArn": "arn", "ItemCount": 1, "TableArn": "a:b:c:d:e:f"}


@dataclass(frozen=True)
class Spoiling:
    """Answers with spoiled items and damaged members, with their checksum or without.

    ``refusals`` are the codes with which it refuses writes, one after the other; then it carries them out.
    """

    item: dict[str, Any]
    key: dict[str, Any]
    damaged: dict[str, Any]
    has_checksum: bool
    refusals: list[str]

    def call(self, call: Call, /) -> Reply:
        status, content = 200, self._content(call)
        if call.operation in WRITES and self.refusals:
            code = self.refusals.pop()
            status, content = 400, {"__type": f"com.amazonaws#{code}", "message": "m", **self._refusal(call)}
        for name, value in self.damaged.items():
            if value is None:
                content.pop(name, None)
            elif name in content:
                content[name] = value
        raw = json.dumps(content).encode()
        headers = {"x-amz-crc32": str(crc32(raw))} if self.has_checksum else {}
        return reply_of(call.operation, status, headers, raw)

    def _refusal(self, call: Call) -> dict[str, Any]:
        actions = len(call.request.get("TransactItems", ()))
        reason = {"Code": "ConditionalCheckFailed", "Message": "m", "Item": self.item}
        return {"Item": self.item, "CancellationReasons": [reason, *[{"Code": "None"}] * (actions - 1)]}

    def _content(self, call: Call) -> dict[str, Any]:
        requested = call.request.get("RequestItems", {})
        table = next(iter(requested), "")
        keys = requested[table]["Keys"] if call.operation == "BatchGetItem" else ()
        last = {} if "ExclusiveStartKey" in call.request else {"LastEvaluatedKey": self.key}
        read = {"Items": [self.item], "ConsumedCapacity": {"CapacityUnits": 1}, "ScannedCount": 1, **last}
        image = {"Keys": self.key, "NewImage": self.item, "SequenceNumber": "1"}
        answers: dict[str, dict[str, Any]] = {
            "GetItem": {"Item": self.item},
            "Query": read,
            "Scan": read,
            "BatchGetItem": {
                "Responses": {table: [self.item]},
                "UnprocessedKeys": {table: {"Keys": [self.key]}} if len(keys) > 1 else {},
            },
            "BatchWriteItem": {"UnprocessedItems": {table: [{"PutRequest": {"Item": self.item}}, self.key]}},
            "TransactGetItems": {
                "Responses": [{"Item": self.item}] * len(call.request.get("TransactItems", ()))
            },
            "UpdateItem": {"Attributes": self.item},
            "DescribeTable": {"Table": {**definition(shops, "replies-shops"), **TABLE}},
            "DescribeStream": {"StreamDescription": {"StreamStatus": "DISABLED", "Shards": [SHARD]}},
            "GetShardIterator": {"ShardIterator": "i"},
            "GetRecords": {"Records": [{"eventName": "INSERT", "dynamodb": image}]},
        }
        return dict(answers.get(call.operation, {}))


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
        "get_many": lambda session: session.get_many([Key(kind, name=name, number=1) for name in "ab"]),
        "snapshot": lambda session: session.snapshot([Key(kind, name="a", number=1)]),
        "update": lambda session: session.update(Key(kind, name="a", number=1), F.at.set(NOON)),
        "update once": lambda session: session.update(
            Key(kind, name="a", number=1), F.at.set(NOON), exactly_once=True
        ),
        "upsert": lambda session: session.upsert(Key(kind, name="a", number=1), F.at.set(NOON)),
        "save": lambda session: session.save(kind(name="a")),
        "overwrite": lambda session: session.save(kind(name="a"), overwrite=True),
        "save_many": lambda session: session.save_many([kind(name="a"), kind(name="b")], per_transaction=2),
        "transaction": lambda session: transaction(session, kind),
        "change": lambda session: change(session, kind),
        "delete": lambda session: session.delete(Key(kind, name="a", number=1)),
        "verify": lambda session: list(tools.verify(session, mapping_of(kind).table)),
        "repair": lambda session: list(tools.repair(session, mapping_of(kind).table)),
    }


def transaction(session: Session, kind: Any) -> None:
    with session.transaction(token="T") as tx:
        tx.save(kind(name="b"))
        tx.update(Key(kind, name="a", number=1), F.at.set(NOON))
        tx.delete(Key(kind, name="c", number=1))


def change(session: Session, kind: Any) -> None:
    entity = session.get_one(kind, name="a", number=1)
    entity.at = LATER
    session.save(entity)
    session.refresh(entity)
    session.delete(entity)


READS: Mapping[type[Entity], Mapping[str, Callable[[Session], object]]] = {
    Book: {
        **reads_of(Book),
        "index": lambda session: session.query(Book.by_time).ge(at=NOON).all(),
        "part": lambda session: session.query(Book.in_part).ge(at=NOON).all(),
        "part page": lambda session: session.scan(Book.in_part).page(1),
        "history": lambda session: list(session.history(Key(Book, name="a", number=1))),
        "as_of": lambda session: session.get(Key(Book, name="a", number=1), as_of=NOON),
        "restore": lambda session: session.restore(Key(Book, name="a", number=1), version=1),
        "prune": lambda session: tools.prune(session, Key(Book, name="a", number=1), keep=1),
    },
    Shop: {
        **reads_of(Shop),
        "get_by": lambda session: session.get_by(Shop, phone="5"),
        "create_table": lambda session: session.create_table(shops),
        "compare_table": lambda session: tools.compare_table(session, shops),
        "delete_table": lambda session: session.delete_table(shops, name=shops.name),
        "follow": lambda session: list(tools.follow(session, shops, idle=0)),
        "move": lambda session: session.move(Shop(name="a")),
    },
    Page: {
        **reads_of(Page),
        "index": lambda session: session.query(Page.by_time).ge(at=NOON).all(),
        "bulk_load": lambda session: session.bulk_load([Page(name=name) for name in "ab"]),
    },
}


@given(data=st.data(), kind=st.sampled_from([Book, Page, Shop]))
def test_answers_that_no_dynamodb_gives_are_an_error_of_dynaorm(
    data: st.DataObject, kind: type[Entity]
) -> None:
    item = item_of(kind.model_validate({"name": "a"}))
    key = {name: item[name] for name in ("PK", "SK")}
    stored = data.draw(st.just(item) | spoiled(item), label="item")
    last = data.draw(st.just(key) | spoiled(key), label="key")
    codes = st.sampled_from(["ConditionalCheckFailedException", "TransactionCanceledException"])
    refusals = data.draw(st.lists(codes, max_size=2), label="refusals")
    has_checksum = data.draw(st.booleans(), label="checksum")
    transport = Spoiling(stored, last, data.draw(damages(), label="damaged"), has_checksum, refusals)
    session = Session(transport=transport, clock=FakeClock(jitter=0), retry=Retry(attempts=2))
    verb = data.draw(st.sampled_from(sorted(READS[kind])), label="verb")
    with suppress(DynaormError):
        READS[kind][verb](session)
