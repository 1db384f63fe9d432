"""Two valid writes never merge into an invalid item, and an object is what is stored after it was written."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dynaorm import Key, Session, inspect
from dynaorm.errors import DynaormError, StaleEntity
from dynaorm.transport import Transport
from tests.faults.merging import (
    CLASSES,
    OF_OBJECTS,
    PLAIN,
    REVISIONS,
    RULES,
    SHAPES,
    TABLES,
    WAYS,
    Kind,
    Overtaken,
    Write,
    adopt,
    clear,
    items_of,
    save_in_block,
    update_key_in_block,
)

KINDS = st.builds(
    Kind,
    rule=st.sampled_from(RULES),
    shape=st.sampled_from(["plain", *SHAPES]),
    revision=st.sampled_from(["none", *REVISIONS]),
)
# Constructing an entity, and writing it.
REFUSED = (DynaormError, ValidationError)
# Two of those that change a or b are together too much for the rules.
CHANGES = st.sampled_from(
    [
        *({name: 6} for name in "abab"),
        {"a": 1},
        {"c": 6},
        {"email": "x"},
        {"email": None},
        {"a": 6, "email": "y"},
        {"b": 6, "c": 1},
        {"a": 11},
    ]
)
SEEDS = st.sampled_from([{}, {}, {"a": 1}, {"b": 4, "c": 2}, {"a": 5, "b": 5, "email": "z"}])


@pytest.fixture(scope="module")
def tables(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        for table in TABLES.values():
            session.create_table(table)
    return engine


class World:
    """One entity of a class, and two writers who have both loaded it."""

    def __init__(self, engine: Transport, kind: Kind, values: dict[str, Any]) -> None:
        self.engine, self.table, self.entity = engine, TABLES[kind.revision], CLASSES[kind]
        clear(engine, self.table)
        self.overtaken = Overtaken(engine)
        self.mine, self.theirs = Session(transport=self.overtaken), Session(transport=engine)
        self.theirs.save(self.entity(id="1", **values))
        if kind.revision == "adopted":
            adopt(engine, self.table)
        self.key = Key(self.entity, id="1")
        self.object, self.their_object = self.loaded(), self.loaded()

    def loaded(self) -> Any:
        return self.theirs.get_one(self.key, consistent=True)

    def items(self) -> list[Any]:
        return items_of(self.engine, self.table)

    def is_made(self, write: Write, session: Session, given: Any, changes: dict[str, Any]) -> bool:
        """Whether a write is acknowledged. A refused one leaves its object as it was."""
        before = deepcopy(vars(given))
        try:
            returned = write(session, given, changes)
        except REFUSED:
            is_saved = write.__name__.startswith("save")
            assert vars(given) == (before | changes if is_saved else before)
            return False
        if any(before[name] != value for name, value in changes.items()):  # what is unchanged is not written
            self.check(write, given, returned)
        return True

    def check(self, write: Write, given: Any, returned: Any) -> None:
        """What is stored loads, and is what the call returned and its object."""
        stored = self.loaded()
        if write is not update_key_in_block:
            assert vars(returned) == vars(stored)
            assert inspect(returned).revision == inspect(stored).revision
        if write in OF_OBJECTS:
            assert vars(given) == vars(stored)
            assert inspect(given).changes == {}
            assert inspect(given).revision == inspect(stored).revision


@given(KINDS, SEEDS, st.sampled_from(WAYS), CHANGES, st.sampled_from(WAYS), CHANGES)
def test_two_acknowledged_writes_leave_an_item_that_loads(
    tables: Transport,
    kind: Kind,
    seed: dict[str, Any],
    write: Write,
    changes: dict[str, Any],
    their_write: Write,
    their_changes: dict[str, Any],
) -> None:
    world = World(tables, kind, seed)
    after: list[Any] = []

    def strike() -> None:
        world.is_made(their_write, world.theirs, world.their_object, their_changes)
        after.append(world.items())

    world.overtaken.strike = strike
    is_made = world.is_made(write, world.mine, world.object, changes)
    assert is_made or not after or world.items() == after[0]
    world.loaded()


@settings(max_examples=settings().max_examples // 3)
@given(
    st.sampled_from(
        [one for one in CLASSES if one.rule == "none" and one.shape == "plain" and one.revision != "text"]
    ),
    st.sampled_from(PLAIN),
    st.sampled_from(PLAIN),
)
def test_writers_of_unrelated_fields_both_succeed(
    tables: Transport, kind: Kind, write: Write, their_write: Write
) -> None:
    """Except under a number: it changes with every write."""
    world = World(tables, kind, {"a": 1})
    world.overtaken.strike = lambda: their_write(world.theirs, world.their_object, {"b": 7})
    if kind.revision == "number" and write in OF_OBJECTS:
        with pytest.raises(StaleEntity):
            write(world.mine, world.object, {"a": 9})
        return
    returned = write(world.mine, world.object, {"a": 9})
    assert (returned.a, returned.b) == (9, 7)
    world.check(write, world.object, returned)


@settings(max_examples=settings().max_examples // 2)
@given(
    st.sampled_from([one for one in CLASSES if one.revision == "number"]),
    st.sampled_from(WAYS),
    CHANGES,
    CHANGES,
)
def test_an_object_of_an_earlier_life_is_stale(
    tables: Transport, kind: Kind, write: Write, changes: dict[str, Any], anew: dict[str, Any]
) -> None:
    """The numbers begin anew, so both may carry the same one."""
    world = World(tables, kind, {"c": 1})
    world.theirs.delete(world.key)
    try:
        world.theirs.save(world.entity(id="1", **anew))
    except REFUSED:
        return
    items = world.items()
    is_unchanged = all(getattr(world.object, name) == value for name, value in changes.items())
    try:
        returned = write(world.mine, world.object, changes)
    except REFUSED:
        assert world.items() == items
    else:
        # An unchanged entity sends nothing, and in a block only the other entity is sent.
        if world.overtaken.has_written and not (write is save_in_block and is_unchanged):
            world.check(write, world.object, returned)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("revision", ["none", "adopted"])
def test_an_unsaved_change_is_kept_and_writes_over_nobody(
    tables: Transport, rule: str, revision: str
) -> None:
    world = World(tables, Kind(rule, "plain", revision), {})
    world.theirs.update(world.their_object, {"c": 5})
    world.object.c = 3
    if rule in ("model", "factory"):  # it may look at c, too
        with pytest.raises(StaleEntity):
            world.mine.update(world.object, {"a": 1})
        return
    assert world.mine.update(world.object, {"a": 1}) is world.object
    assert (world.object.a, world.object.c) == (1, 3)
    items = world.items()
    with pytest.raises(StaleEntity):
        world.mine.save(world.object)
    assert world.items() == items
    assert world.loaded().c == 5
