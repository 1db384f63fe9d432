"""Whatever is stored, a write on it is refused and changes nothing, or stores exactly what it says."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Entity, Session, detached, inspect, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, DynaormError, InvalidValue, OutcomeUnknown, UnexpectedRefusal
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.fuzz.fixtures import CHANGES, SOUND, TABLES, key_names, key_of, spoiled
from tests.fuzz.shelf import Shelf


class Store:
    """Strict moto with one entity in it."""

    def __init__(self, engine: Transport) -> None:
        self.engine = engine

    def call(self, operation: str, table: str, **rest: Any) -> Any:
        return self.engine.call(Call(operation, {"TableName": table, **rest}))

    def raw(self) -> list[tuple[str, Item]]:
        found = [(table.name, item) for table in TABLES for item in self.call("Scan", table.name)["Items"]]
        return sorted(found, key=repr)

    def hold(self, items: list[tuple[str, Item]]) -> None:
        for name, item in self.raw():
            keys = next(table.key_names for table in TABLES if table.name == name)
            self.call("DeleteItem", name, Key={one: item[one] for one in keys})
        for name, item in items:
            self.call("PutItem", name, Item=item)


@pytest.fixture(scope="module")
def store(engine: Transport) -> Store:
    for table in TABLES:
        Session(transport=engine).create_table(table)
    return Store(engine)


def changed(loaded: Any) -> Any:
    vars(loaded).update(CHANGES[type(loaded)][1])
    return loaded


class Write(NamedTuple):
    """A way to write. ``leaves`` returns the values the entity must have afterwards, None if it must be gone."""

    name: str
    make: Callable[[Session, Any], Any]
    leaves: Callable[[Any], dict[str, Any] | None]

    def __str__(self) -> str:
        return self.name


def fields(loaded: Any) -> dict[str, Any]:
    return {name: vars(loaded)[name] for name in mapping_of(type(loaded)).fields}


def nothing(_: Any) -> None:
    """What a deletion leaves."""


WRITES = (
    Write(
        "save",
        lambda session, loaded: session.save(changed(loaded)),
        lambda loaded: CHANGES[type(loaded)][1],
    ),
    Write(
        "update",
        lambda session, loaded: session.update(loaded, CHANGES[type(loaded)][0]),
        lambda loaded: CHANGES[type(loaded)][0],
    ),
    Write(
        "update by key",
        lambda session, loaded: session.update(key_of(loaded), CHANGES[type(loaded)][0]),
        lambda loaded: CHANGES[type(loaded)][0],
    ),
    Write(
        "update something derived by key",
        lambda session, loaded: session.update(key_of(loaded), CHANGES[type(loaded)][1]),
        lambda loaded: CHANGES[type(loaded)][1],
    ),
    Write("delete", lambda session, loaded: session.delete(loaded), nothing),
    Write("delete by key", lambda session, loaded: session.delete(key_of(loaded)), nothing),
    Write("insert", lambda session, loaded: session.save(detached(loaded)), fields),
    Write(
        "overwrite", lambda session, loaded: session.save(detached(changed(loaded)), overwrite=True), fields
    ),
)


@pytest.mark.parametrize("write", WRITES, ids=str)
@given(entity=st.sampled_from(SOUND), data=st.data())
@settings(max_examples=max(4, settings().max_examples // 5))
def test_a_write_is_refused_or_leaves_what_it_says(
    store: Store, write: Write, entity: Entity, data: st.DataObject
) -> None:
    shelf, clock = Shelf(TABLES), FakeClock(ids="id-", jitter=0)
    shelf.fill(entity, Session(transport=shelf, clock=clock))
    loaded: Any = Session(transport=shelf, clock=clock).get_one(key_of(entity))
    items = [(name, item) for name, found in shelf.items.items() for item in found]
    for place in data.draw(st.lists(st.integers(0, len(items) - 1), min_size=1, max_size=3, unique=True)):
        name, item = items[place]
        items[place] = name, data.draw(spoiled(item, key_names(shelf.tables[name])))
    store.hold(items)
    before, session = store.raw(), Session(transport=store.engine, clock=FakeClock(jitter=0))
    known = inspect(loaded).revision
    error = refusal(lambda: write.make(session, loaded))
    if error is not None:
        # An update that reads nothing finds out only afterwards that the item it changed cannot be read.
        blind = isinstance(error, DecodeError) and write.name.startswith("update")
        assert blind or store.raw() == before
        assert inspect(loaded).revision == known
    else:
        wanted = encoded(loaded, write.leaves(loaded))
        assert found_in(store.raw(), loaded, wanted or ()) == wanted


def refusal(work: Callable[[], Any]) -> DynaormError | None:
    """The error that refused a write, which names a cause; None if the write was made."""
    try:
        work()
    except (OutcomeUnknown, InvalidValue):
        raise
    except DynaormError as error:
        # If the latest copy has lost its number, the version that would be the first exists already.
        # Also, moto compares a number with a text by Python's rules; in DynamoDB the text is not smaller.
        told = isinstance(error, UnexpectedRefusal) and error.code != "TypeError"
        if told and "is already stored" not in str(error):
            raise
        return error
    return None


def encoded(loaded: Any, values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Field values as attributes, None for absence; None if there are no values."""
    mapping = mapping_of(type(loaded))
    if values is None:
        return None
    fields = [mapping.fields[name] for name in values if not mapping.fields[name].in_key]
    return {field.name: mapping.encoder.encode_field(field, values) for field in fields}


def found_in(raw: list[tuple[str, Item]], loaded: Any, names: Collection[str]) -> dict[str, Any] | None:
    """The attributes of these fields as stored under the key of an entity, None for absence."""
    mapping, key = mapping_of(type(loaded)), key_of(loaded).primary_key
    for name, item in raw:
        is_it = name == mapping.table.name and mapping.key_of(item) == key
        if is_it and (names or not mapping.is_tombstone(item)):
            return {one: item.get(mapping.fields[one].attribute) for one in names}
    return None


@given(data=st.data(), entity=st.sampled_from([one for one in SOUND if mapping_of(type(one)).versioning]))
@settings(max_examples=max(4, settings().max_examples // 5))
def test_versions_are_restored_pruned_and_purged_or_all_is_left(
    store: Store, entity: Entity, data: st.DataObject
) -> None:
    shelf, clock = Shelf(TABLES), FakeClock(ids="id-", jitter=0)
    shelf.fill(entity, Session(transport=shelf, clock=clock))
    items = [(name, item) for name, found in shelf.items.items() for item in found]
    place = data.draw(st.integers(0, len(items) - 1))
    items[place] = items[place][0], data.draw(spoiled(items[place][1], frozenset({"PK", "SK"})))
    store.hold(items)
    session, key = Session(transport=store.engine, clock=FakeClock(jitter=0)), key_of(entity)
    for work in (
        lambda: session.restore(key, version=1),
        lambda: tools.prune(session, key, keep=1),
        lambda: session.delete(key),
        lambda: session.restore(key, version=1),
        lambda: session.delete(key),
        lambda: tools.purge(session, key),
    ):
        before = store.raw()
        assert refusal(work) is None or store.raw() == before
