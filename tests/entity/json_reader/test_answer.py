"""Replies are read into entities; damaged items and items of other classes are returned as items."""

import copy
import gc
import pickle
import tracemalloc
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from dynaorm import LOADING, BinaryKey, Entity, ExpiresAt, Table, inspect
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import LazyItem, Loaded, ParsedReply, carried_by, state_of
from dynaorm.errors import StaleEntity
from dynaorm.item.json_body import Body, encode_body
from tests.dynamodb_json import Item

APP = Table("app")
NOW = 1_700_000_000.0

# An attribute in which two maps look like the end of one item and the beginning of another.
MAPS_NAMED_M: dict[str, Any] = {"maps": {"L": [{"M": {"M": {"M": {"a": {"S": "x"}}}}}] * 2}}


class Shape(Entity, table=APP, pk="SHAPE#{slug}", sk="A"):
    slug: str
    corners: int = 0


class Note(Entity, table=APP, pk="NOTE#{slug}", sk="A"):
    slug: str
    until: Annotated[datetime | None, ExpiresAt()] = None


class Audit(Entity, table=APP, pk="AUDIT#{slug}", sk="A", versioned=True):
    slug: str
    seen: list[str] = Field(default=[])


def stored(entity: Entity) -> dict[str, Any]:
    """The item an entity is stored as."""
    mapping, values = mapping_of(type(entity)), vars(entity)
    named = {"_type": {"S": mapping.name}, "_rev": {"S": "r1"}}
    return {**mapping.encoder.encode(values), **mapping.primary_key.of(values), **named}


def read(*items: Item, wanted: tuple[type, ...] = (Entity,), now: float | None = NOW) -> ParsedReply:
    reply = {"Items": items, "Count": len(items), "ScannedCount": 9}
    return parsed(APP, wanted, "Query", reply, now=now)


def parsed(
    table: Table,
    wanted: tuple[type, ...],
    operation: str,
    reply: Mapping[str, Any],
    *,
    now: float | None = NOW,
    names: tuple[str, ...] | None = None,
) -> ParsedReply:
    reader = json_reader_of(table, wanted, operation, names)
    assert reader is not None
    found = reader.read(Body(encode_body(reply)), now)
    assert found is not None
    return found


def test_an_entity_that_is_read_has_its_item_and_defaults() -> None:
    item = {**stored(Shape(slug="a")), "unknown": {"SS": ["x"]}}
    del item["corners"]
    (entity,) = read(item).found
    assert state_of(entity) == Loaded(item, {"corners": {"N": "0"}})
    assert (inspect(entity).revision, inspect(entity).changes) == ("r1", {})


def test_expired_entities_are_left_out_unless_no_time_is_given() -> None:
    expired = stored(Note(slug="n", until=datetime.fromtimestamp(NOW, UTC)))
    note, shape = Note(slug="m", until=datetime.fromtimestamp(NOW + 1, UTC)), Shape(slug="a")
    reading = read(expired, stored(note), expired, stored(shape))
    assert reading.found == [note, shape]
    assert [head["PK"]["S"] for head in reading.heads] == ["NOTE#m", "SHAPE#a"]
    assert state_of(reading.found[1]) == Loaded(stored(shape))
    assert len(read(expired, stored(note), now=None).found) == 2


def test_a_tombstone_is_not_an_entity() -> None:
    tombstone = {**stored(Audit(slug="a")), "deleted": {"BOOL": True}}
    assert read(tombstone).found == [tombstone]
    assert read({**stored(Audit(slug="a")), "version": {"N": "1"}}).found == [Audit(slug="a")]


def test_validators_run_with_the_loading_context() -> None:
    contexts: list[Any] = []

    class Watched(Entity, table=Table("other"), pk="W#{slug}", sk="A"):
        slug: str

        def model_post_init(self, context: Any, /) -> None:
            contexts.append(context)

    item = stored(Watched(slug="a"))
    contexts.clear()
    parsed(mapping_of(Watched).table, (Watched,), "GetItem", {"Item": item})
    assert contexts == [LOADING]


def test_a_reply_whose_validator_fails_is_left_to_the_codecs() -> None:
    def fail(value: str) -> str:
        raise StaleEntity(key=mapping_of(Shape), expected=value, found=None)  # type: ignore[arg-type]

    class Failing(Entity, table=Table("other"), pk="F#{slug}", sk="A"):
        slug: Annotated[str, AfterValidator(fail)]

    reader = json_reader_of(mapping_of(Failing).table, (Failing,), "GetItem")
    assert reader is not None
    item = {"slug": {"S": "a"}, "_type": {"S": "Failing"}}
    assert reader.read(Body(encode_body({"Item": item})), NOW) is None


def test_a_parsed_or_malformed_reply_is_left_to_the_codecs() -> None:
    reader = json_reader_of(APP, (Shape,), "Query")
    assert reader is not None
    answers: list[Mapping[str, Any]] = [
        {"Items": []},
        Body(b'{"Items":[{"a":{"S":"\\ud800"}}]}'),
        Body(b"[]"),
    ]
    assert [reader.read(answer, NOW) for answer in answers] == [None, None, None]


def test_a_class_that_joins_a_table_later_is_read() -> None:
    table = Table("other")

    class Base(Entity, table=table, pk="B#{slug}", sk="A"):
        slug: str

    assert json_reader_of(table, (Base,), "Query") is json_reader_of(table, (Base,), "Query")

    class Derived(Base):
        more: str

    derived = Derived(slug="a", more="x")
    assert parsed(table, (Base,), "Query", {"Items": [stored(derived)]}).found == [derived]


def test_a_batch_has_the_contents_of_the_key_of_each_item() -> None:
    table = Table("other", pk=BinaryKey("PK"), sk=None)

    class Blob(Entity, table=table, pk="{raw}"):
        raw: bytes

    items = [stored(Blob(raw=b"\xff")), stored(Blob(raw=b"a"))]
    left = {"other": {"Keys": [{"PK": {"B": b"c"}}]}}
    reply = {"Responses": {"other": items}, "UnprocessedKeys": left}
    reading = parsed(table, (Blob,), "BatchGetItem", reply)
    assert reading.found == [Blob(raw=b"\xff"), Blob(raw=b"a")]
    assert reading.idents == [(b"\xff",), (b"a",)]
    assert reading.rest == {"UnprocessedKeys": left}


@pytest.mark.parametrize("missing", ["PK", "SK"])
def test_a_batch_item_without_key_is_left_to_the_codecs(missing: str) -> None:
    item = {name: value for name, value in stored(Shape(slug="a")).items() if name != missing}
    reader = json_reader_of(APP, (Shape,), "BatchGetItem")
    assert reader is not None
    assert reader.read(Body(encode_body({"Responses": {APP.name: [item]}})), NOW) is None


def test_copies_keep_the_item_and_pickles_leave_out_the_page() -> None:
    big = stored(Audit(slug="x", seen=["x" * 50_000]))
    entity, other = read(stored(Shape(slug="a")), big).found
    state = Loaded(stored(Shape(slug="a")))
    for copied in (copy.copy(entity), copy.deepcopy(entity), entity.model_copy()):
        assert state_of(copied) == state
    written = pickle.dumps(read(stored(Shape(slug="a")), big).found[0])
    assert len(written) < 10_000
    assert state_of(pickle.loads(written)) == state_of(entity) == state
    assert state_of(other) == Loaded(big)


def test_an_entity_parses_its_item_once() -> None:
    entities = read(stored(Shape(slug="a")), stored(Shape(slug="b"))).found
    assert state_of(entities[0]) is state_of(entities[0])
    assert all(
        isinstance(carried_by(one), kind) for one, kind in zip(entities, (Loaded, LazyItem), strict=True)
    )


@pytest.mark.parametrize("extra", [{}, MAPS_NAMED_M], ids=["cut", "parsed"])
def test_a_kept_entity_keeps_its_own_item_alone(extra: dict[str, Any]) -> None:
    items = [stored(Audit(slug=f"{number:04d}", seen=["x" * 500])) | extra for number in range(200)]
    reply = Body(encode_body({"Items": items}))
    reader = json_reader_of(APP, (Audit,), "Query")
    assert reader is not None
    reader.read(reply, NOW)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        reading = reader.read(Body(bytes(bytearray(reply.raw))), NOW)
        assert reading is not None
        kept = reading.found[100]
        del reading
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000 < len(reply.raw) / 10
    assert state_of(kept) == Loaded(items[100])
