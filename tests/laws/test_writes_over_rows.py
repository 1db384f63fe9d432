"""Law 1 over rows that others wrote: a write stores what loads, and the rest stays as it is stored.

Classes and rows are those of the law of reads: keys of every type, subclasses, renamed attributes, fields in the key
alone, indexes of every kind and places under conditions. The judge is the item of a new entity with the same values:
what differs between the items before and after must be stored so, and everything else must be as it was.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import F, Key, Session, detached, inspect, item_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import AlreadyExists
from dynaorm.flow.call import Call, Transport
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from tests.laws.classes import (
    LATER,
    NATIVE_SORT,
    NOON,
    YESTERDAY,
    Declared,
    declare,
    rows,
    schemas,
    values_of,
)
from tests.laws.test_reads import Stored, store

# -- ways to write -----------------------------------------------------------------------------------------------------


def saved(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    return session.save(entity)


def saved_as_a_copy(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    return session.save(entity.model_copy(update=values), exactly_once=True)


def saved_with_many(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    session.save_many([entity])
    return entity


def saved_in_a_block_of_many(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    session.save_many([entity], per_transaction=2)
    return entity


def saved_in_a_transaction(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    with session.transaction() as tx:
        tx.save(entity)
    return entity


def updated(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    return session.update(entity, values)


def updated_by_key(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    return session.update(key_of(entity), *(F[name].set(value) for name, value in values.items()))


def updated_exactly_once(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    return session.update(key_of(entity), dict(values), exactly_once=True)


def updated_in_a_transaction(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    with session.transaction() as tx:
        tx.update(key_of(entity), dict(values))
    return session.refresh(entity)


def upserted(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    """With all fields, as what creates the entity must have them: its stored key need not give all of its own back."""
    own = key_fields(entity)
    given = {name: one for name, one in {**vars(entity), **values}.items() if name not in own}
    key = Key(type(entity), **own)
    return session.upsert(key, *(F[name].set(value) for name, value in given.items()))


def moved(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    return session.move(entity)


def moved_in_a_transaction(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    vars(entity).update(values)
    with session.transaction() as tx:
        tx.move(entity)
    return entity


def overwritten(session: Session, entity: Any, values: Mapping[str, Any]) -> Any:
    return session.save(detached(entity, **values), overwrite=True)


Way = Callable[[Session, Any, Mapping[str, Any]], Any]
SAVES: Final[tuple[Way, ...]] = (
    saved, saved_as_a_copy, saved_with_many, saved_in_a_block_of_many, saved_in_a_transaction,
)  # fmt: skip
UPDATES: Final[tuple[Way, ...]] = (
    updated, updated_by_key, updated_exactly_once, updated_in_a_transaction, upserted,
)  # fmt: skip
MOVES: Final[tuple[Way, ...]] = (moved, moved_in_a_transaction)


def key_of(entity: Any) -> Key[Any]:
    key = inspect(entity).key
    assert isinstance(key, Key)
    return key


# -- the judge ---------------------------------------------------------------------------------------------------------


def fresh(entity: Any) -> Item:
    """The item of a new entity with the same values."""
    return item_of(type(entity)(**vars(entity)))


IN_INDEXES: Final = frozenset(
    {"GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "LSI1SK", "NativePK1", "NativePK2", *NATIVE_SORT}
)


def check_item(before: Item, after: Item, old: Item, new: Item, *, names_all: bool) -> None:
    """What changed is stored as for a new entity, the rest as before.

    The keys of an index and the values that an update names may be spelled anew, if anything changed.
    """
    changes = {name for name in {*old, *new} if old.get(name) != new.get(name)}
    for name in {*before, *after, *old, *new} - {"_rev"}:
        if name in changes:
            assert after.get(name) == new.get(name), name
        elif names_all or (changes and name in IN_INDEXES):
            assert after.get(name) in (before.get(name), new.get(name)), name
        else:
            assert after.get(name) == before.get(name), name
    changed = {name: one for name, one in after.items() if name != "_rev"} != {
        name: one for name, one in before.items() if name != "_rev"
    }
    assert (after["_rev"] != before["_rev"]) if changed else names_all or after == before


def raw(engine: Transport, declared: Declared) -> dict[int, Item]:
    """The items by their rows. It fails if two items have one row."""
    items = engine.call(Call("Scan", {"TableName": declared.table.name, "ConsistentRead": True}))["Items"]
    found = {int(item["row"]["N"]): item for item in items}
    assert len(found) == len(items)
    return found


# -- the law -----------------------------------------------------------------------------------------------------------


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "40")))
@given(data=st.data())
def test_a_write_changes_what_it_says_of_a_row_and_nothing_else(
    engine: Transport, data: st.DataObject
) -> None:
    schema = data.draw(schemas(), label="schema")
    declared = declare(schema)
    session = Session(transport=engine, clock=FakeClock(NOON.timestamp()))
    drawn = data.draw(rows(schema, most=6), label="rows")
    stored = store(session, engine, declared, drawn)
    try:
        for number in [one for one, entity in stored.entities.items() if one in stored.items]:
            if stored.entities[number].until != YESTERDAY:
                write(session, engine, stored, number, data)
    finally:
        engine.call(Call("DeleteTable", {"TableName": declared.table.name}))


def write(session: Session, engine: Transport, stored: Stored, number: int, data: st.DataObject) -> None:
    declared = stored.declared
    kind = type(stored.entities[number])
    entity: Any = session.get(Key(kind, **key_fields(stored.entities[number])))
    assert entity == stored.entities[number]
    values = data.draw(changes_of(declared, kind), label=f"changes of row {number}")
    expected: Any = kind(**{**vars(entity), **values})
    old, new, before = fresh(entity), fresh(expected), raw(engine, declared)
    names = declared.table.key_names
    has_moved = any(old[name] != new[name] for name in names)
    ways: tuple[Way, ...] = MOVES
    if not has_moved:
        is_of_key = not key_fields(entity).keys().isdisjoint(values)
        ways = (*SAVES, *MOVES, overwritten) if is_of_key else (*SAVES, *UPDATES, *MOVES, overwritten)
    way = data.draw(st.sampled_from(ways), label="way")
    event(way.__name__)
    met = [
        one for one, item in before.items() if has_moved and all(item[name] == new[name] for name in names)
    ]
    taken = [one for one in met if stored.entities[one].until != YESTERDAY]
    try:
        written = way(session, entity, values)
    except AlreadyExists:
        assert taken
        assert raw(engine, declared) == before
        return
    assert not taken
    after = raw(engine, declared)
    written_over = {number, *met}  # what has expired gives its place away
    assert {one: item for one, item in after.items() if one != number} == {
        one: item for one, item in before.items() if one not in written_over
    }
    if way is overwritten:
        assert {name: one for name, one in after[number].items() if name != "_rev"} == new
    else:
        check_item(before[number], after[number], old, new, names_all=way in UPDATES)
    assert type(written) is kind
    assert written == expected
    assert inspect(written).changes == {}
    assert session.get(key_of(written)) == expected


def key_fields(entity: Any) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    return {name: getattr(entity, name) for name in mapping.key_fields}


@st.composite
def changes_of(draw: st.DrawFn, declared: Declared, kind: Any) -> dict[str, Any]:
    """New values for one to three fields, by the names of the class."""
    own = declared.spec(kind).own
    names = draw(st.lists(st.sampled_from(declared.fields(kind)), min_size=1, max_size=3, unique=True))
    return {own(name): draw(_LIVE if name == "until" else values_of(name)) for name in names}


_LIVE: Final = st.sampled_from([None, LATER])
