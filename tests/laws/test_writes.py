"""Law 1: what is stored is what loads, and a refused write changes nothing, in the table or in memory.

A plain model judges: a write stores what constructing the entity gives, if constructing it once more gives the same.
"""

import copy
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from dynaorm import Entity, F, Key, Session, Table, inspect
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    ConditionFailed,
    DynaormError,
    InvalidValue,
    UniqueViolation,
)
from dynaorm.item.condition import Condition
from dynaorm.item.path import value_at
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.iam_requests import Recorder
from tests.laws.written_classes import (
    INDEXES,
    KEPT,
    OTHERS,
    SPECS,
    TEXTS,
    TIMES,
    Kind,
    Place,
    Spec,
    check_derived,
    is_counted,
    is_storable,
    make,
)


@pytest.fixture(scope="module")
def engine_with_table(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Table("written", indexes=INDEXES))
    return engine


# -- the model ---------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as an argument of a constructor: nested models are constructed anew."""
    if isinstance(value, BaseModel):
        return {name: plain(one) for name, one in vars(value).items()}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


def exact(value: Any) -> Any:
    """A value with its types, at every depth."""
    if isinstance(value, BaseModel):
        return type(value), exact(vars(value))
    if isinstance(value, dict):
        return dict, {name: exact(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [exact(one) for one in value]
    if isinstance(value, set | frozenset):
        return type(value), {exact(one) for one in value}
    return type(value), value


def without_times(values: dict[str, Any]) -> dict[str, Any]:
    """Values without the times that the session keeps, whatever the caller gave."""
    return {name: value for name, value in values.items() if name not in KEPT}


def constructed(kind: type[Entity], values: dict[str, Any]) -> dict[str, Any] | None:
    """The values that a write of these must store; None if it must be refused."""
    values = without_times(values)
    try:
        once = vars(kind(**plain(values)))
        twice = vars(kind(**plain(once)))
    except ValidationError:
        return None
    if exact(once) != exact(twice) or not all(map(is_storable, once.values())):
        return None
    if isinstance(once.get("until"), datetime):
        expiry = mapping_of(kind).expiry
        assert expiry is not None
        once["until"] = _cut(once["until"], 1000 if expiry.unit == "ms" else 1_000_000)
    return dict(once)


# -- what is checked after every operation -----------------------------------------------------------------------------


class World:
    """A class, its stored entities, and the objects that stand for them."""

    def __init__(self, spec: Spec, engine: Transport) -> None:
        self.spec, self.kind, self.engine = spec, make(spec), engine
        self.recorder, self.clock = Recorder(engine), FakeClock()
        self.session = Session(transport=self.recorder, clock=self.clock)
        self.births: dict[str, datetime] = {}
        self.live: dict[str, Any] = {}
        self.refusals: tuple[type[DynaormError], ...] = ()
        self.has_number = self.spec.revision == "number"
        for item in self.raw():
            key = {name: item[name] for name in ("PK", "SK")}
            engine.call(Call("DeleteItem", {"TableName": "written", "Key": key}))

    def raw(self) -> list[Item]:
        found = self.engine.call(Call("Scan", {"TableName": "written", "ConsistentRead": True}))["Items"]
        return sorted(found, key=repr)

    def stored(self, name: str) -> Any:
        return self.session.get(Key(self.kind, name=name))

    def attempt(self, write: Callable[[], Any], expected: dict[str, Any] | None, *objects: Any) -> bool:
        """Make a write; whether it was acknowledged, as the model says it must be."""
        self.clock.advance(1)
        before = self.before = self.raw()
        memory = [
            (exact(copy.deepcopy(vars(one))), inspect(one).revision, inspect(one).loaded) for one in objects
        ]
        try:
            write()
        except DynaormError as error:
            assert self.raw() == before
            after = [(exact(vars(one)), inspect(one).revision, inspect(one).loaded) for one in objects]
            assert after == memory
            reason = error.failures[0][1] if isinstance(error, BulkError) else error
            wanted = InvalidValue if expected is None else (AlreadyExists, UniqueViolation, *self.refusals)
            assert isinstance(reason, wanted), (type(reason), str(reason), expected)
            return False
        assert expected is not None, "accepted, though constructing it fails"
        return True

    def check(self, expected: dict[str, Any], *objects: Any) -> None:
        """What is stored loads, equals memory, and has the guards, index keys and versions of what loads."""
        found: list[Any] = self.session.scan(self.kind).all()
        loaded = {one.name: one for one in found}
        assert exact(without_times(vars(loaded[expected["name"]]))) == exact(without_times(expected))
        if self.spec.times:
            self.check_times(loaded[expected["name"]])
        for one in objects:
            assert exact(vars(one)) == exact(vars(loaded[one.name]))
            assert inspect(one).changes == {}
        check_derived(self.spec, self.raw(), loaded)
        if self.has_number:
            self.check_numbers()

    def check_numbers(self) -> None:
        """Each write of an item raises its number by one."""
        before = {str((one["PK"], one["SK"])): one for one in self.before}
        for item in self.raw():
            was = before.get(str((item["PK"], item["SK"])), item)
            if was != item and "owner" not in item:  # a guard item has no revision
                assert number_in(item) == (number_in(was) or 0) + 1

    def current(self, entity: Any) -> Condition | None:
        """The condition that an entity has the revision with which it was loaded."""
        if not self.has_number:
            return None
        path = F.version_number if self.spec.revision == "number" else F.kept.number
        return path == int(inspect(entity).revision or 0)

    def check_times(self, entity: Any) -> None:
        """The time of the creation stays, and a write that changes the entity sets that of the change."""
        key = {"S": f"THING#{entity.name}"}
        before, after = ([one for one in items if one["PK"] == key] for items in (self.before, self.raw()))
        now = datetime.fromtimestamp(self.clock.now(), UTC)
        assert entity.created == self.births.setdefault(entity.name, now)
        assert entity.changed == now or after == before
        # Every field of a time has the same one, as exact as it is stored.
        assert entity.created_ms == _cut(entity.created, 1000)
        assert entity.changed_iso == _cut(entity.changed, 1_000_000)


def number_in(item: Item) -> int | None:
    """The revision of an item, if it is a number."""
    found = value_at(item, ("version_number",))
    return None if found is None else int(found["N"])


def _cut(at: datetime, microseconds: int) -> datetime:
    return at.replace(microsecond=at.microsecond // microseconds * microseconds)


# -- operations --------------------------------------------------------------------------------------------------------


def value_for(world: Any, name: str, draw: Any) -> Any:
    spec = world.spec
    inputs: dict[str, tuple[Any, ...]] = {
        "name": TEXTS, "text": TEXTS, "number": spec.number.inputs, "many": spec.many.inputs,
        **dict.fromkeys(KEPT, TIMES),
        "kind": ("x", "y", "z", 5, None),
        "other": spec.other.inputs, "note": (None, "small", "echo", "Note", 5), "until": TIMES,
    }  # fmt: skip
    return copy.deepcopy(draw(st.sampled_from(inputs[name])))


def new_entity(world: Any, draw: Any) -> Any:
    given = {name: value_for(world, name, draw) for name in world.kind.model_fields if draw(st.booleans())}
    given.setdefault("name", draw(st.sampled_from(["a", "Bob"])))
    given.setdefault("text", draw(st.sampled_from(["a", "b", "Bob"])))
    return world.kind.model_construct(**given)


def put(world: World, entity: Any, *, overwrite: bool = False) -> None:
    expected = constructed(world.kind, vars(entity))

    def make_it() -> None:
        world.session.save(entity, overwrite=overwrite)

    if world.attempt(make_it, expected, entity) and expected is not None:
        world.live[entity.name] = entity
        world.check(expected, entity)


def insert(world: World, draw: Any) -> None:
    put(world, new_entity(world, draw), overwrite=draw(st.booleans()))


def load_in_bulk(world: World, draw: Any) -> None:
    if world.spec.unique or world.spec.versioned or is_counted(world.spec) or world.has_number:
        return
    entity = new_entity(world, draw)
    expected = constructed(world.kind, vars(entity))
    if expected is not None:
        world.births.pop(expected["name"], None)  # it replaces whatever is stored, unread
    if world.attempt(lambda: world.session.bulk_load([entity]), expected, entity) and expected is not None:
        world.live[entity.name] = entity
        world.check(expected, entity)


def chosen(world: World, draw: Any) -> Any:
    return world.live[draw(st.sampled_from(sorted(world.live)))] if world.live else None


def assigned(world: Any, draw: Any) -> tuple[str, Any]:
    _, *names = world.kind.model_fields
    name = draw(st.sampled_from([*names, "note", "other", "other"]))
    return name, value_for(world, name, draw)


def assign(world: World, draw: Any) -> None:
    if (entity := chosen(world, draw)) is None:
        return
    if draw(st.booleans()):
        entity = entity.model_copy()
    vars(entity).update([assigned(world, draw) for _ in range(draw(st.integers(1, 2)))])
    expected = constructed(world.kind, vars(entity))
    if world.attempt(lambda: world.session.save(entity), expected, entity) and expected is not None:
        world.live[entity.name] = entity
        world.check(expected, entity)
    else:
        world.live[entity.name] = world.session.refresh(world.live[entity.name])


def move(world: World, draw: Any) -> None:
    if (entity := chosen(world, draw)) is None or world.spec.versioned:
        return
    former = entity.name
    entity.name = value_for(world, "name", draw)
    expected = constructed(world.kind, vars(entity))
    if world.attempt(lambda: world.session.move(entity), expected, entity) and expected is not None:
        del world.live[former]
        world.live[entity.name] = entity
        world.births[entity.name] = world.births.pop(former, datetime.fromtimestamp(world.clock.now(), UTC))
        world.check(expected, entity)
    else:
        world.live[former] = world.stored(former)


def change_for(world: Any, entity: Any, draw: Any) -> tuple[Any, str, Any]:
    """A change, the field that it names, and the value that it makes of the stored one."""
    kind, many = draw(st.sampled_from(["set", "set", "add", "extend", "part", "remove"])), entity.many
    if kind == "remove":
        return F.note.remove(), "note", None
    if kind == "add":
        by = draw(st.sampled_from([1, -1, 4, 8]))
        return F.number.add(by), "number", entity.number + by
    if kind == "extend" and isinstance(many, set | frozenset):
        more = draw(st.sampled_from([{"a"}, {"a", "C"}, {"x", "y", "z"}]))
        return F.many.add(more), "many", many | more
    if kind == "extend":
        some = draw(
            st.sampled_from([[1], [1, 2]] if isinstance(many, tuple) else [["a"], ["a", "B"], ["a"] * 3])
        )
        if draw(st.booleans()):
            return F.many.append(*some), "many", [*many, *some]
        return F.many.prepend(*some), "many", [*some, *many]
    if kind == "part" and isinstance(entity.other, Place):
        step, value = draw(st.sampled_from([("city", "LIMA"), ("floor", 2), ("floor", -1)]))
        return F.other[step].set(value), "other", {**vars(entity.other), step: value}
    name, value = assigned(world, draw)
    while name in KEPT:
        name, value = assigned(world, draw)
    return F[name].set(value), name, value


def update(world: World, draw: Any) -> None:
    if (entity := chosen(world, draw)) is None:
        return
    change, name, value = change_for(world, entity, draw)
    target = Key(world.kind, name=entity.name) if draw(st.booleans()) else entity
    expected = constructed(world.kind, {**vars(entity), name: value})
    returned: list[Any] = []

    def make_it() -> None:
        returned.append(world.session.update(target, change, condition=world.current(entity)))

    if world.attempt(make_it, expected, entity) and expected is not None:
        world.live[entity.name] = returned[0]
        world.check(expected, returned[0])
    world.live[entity.name] = world.session.refresh(world.live[entity.name])


def upsert(world: World, draw: Any) -> None:
    """An upsert of an entity that is stored, or of one that the key, the defaults and the changes make."""
    name = draw(st.sampled_from(sorted({*world.live, "a", "Bob", "new"})))
    entity = world.live.get(name)
    text = value_for(world, "text", draw)
    start = entity if entity is not None else world.kind.model_construct(name=name, text=text)
    change, field, value = change_for(world, start, draw)
    expected = constructed(world.kind, {**vars(start), "text": text, field: value})
    if expected is not None and expected["name"] != name:
        expected = None
    returned: list[Any] = []

    def make_it() -> None:
        changes = [change] if field == "text" else [F.text.set(text), change]
        returned.append(world.session.upsert(Key(world.kind, name=name), *changes))

    objects = () if entity is None else (entity,)
    if world.attempt(make_it, expected, *objects) and expected is not None:
        world.live[name] = returned[0]
        world.check(expected, returned[0])
    elif entity is not None:
        world.live[name] = world.session.refresh(entity)


def transact(world: World, draw: Any) -> None:
    """An insert and an update by key, both or neither."""
    if (entity := chosen(world, draw)) is None:
        return
    change, name, value = change_for(world, entity, draw)
    new = new_entity(world, draw)
    with suppress(ValidationError):
        if TypeAdapter(world.spec.name.annotation).validate_python(new.name) == entity.name:
            return  # that is refused for a reason of its own
    made, changed = constructed(world.kind, vars(new)), constructed(world.kind, {**vars(entity), name: value})

    def block() -> None:
        with world.session.transaction() as tx:
            tx.save(new)
            tx.update(Key(world.kind, name=entity.name), change)

    if world.attempt(block, made if changed is not None else None, new, entity) and made and changed:
        world.live[new.name] = new
        world.check(made, new)
        world.check(changed)
    world.live[entity.name] = world.session.refresh(entity)


def restore(world: World, draw: Any) -> None:
    if (entity := chosen(world, draw)) is None or not world.spec.versioned:
        return
    version = draw(st.integers(1, inspect(entity).version or 1))
    found = world.session.get(Key(world.kind, name=entity.name), version=version)
    assert found is not None
    if world.attempt(lambda: world.session.restore(entity, version=version), dict(vars(found)), entity):
        world.check(dict(vars(found)), entity)


def touch(world: World, draw: Any) -> None:
    """A touch stores what is stored, whatever the object has by now."""
    if (entity := chosen(world, draw)) is None or not (world.spec.revision or world.spec.times):
        return
    expected, touched = dict(vars(entity)), entity.model_copy()
    before = inspect(touched).revision
    assert world.attempt(lambda: world.session.touch(touched), expected, touched)
    assert not world.spec.revision or inspect(touched).revision != before
    world.live[entity.name] = touched
    world.check(expected, touched)


def take(world: World, draw: Any) -> None:
    """An insert, or the replacement of what fulfils a condition."""
    entity, least = new_entity(world, draw), draw(st.sampled_from([0, 3, 100]))
    expected = constructed(world.kind, vars(entity))
    stood = None if expected is None else world.live.get(expected["name"])
    is_free = stood is None or stood.number < least

    def make_it() -> None:
        world.session.save(entity, replacing=F.number < least)

    world.refusals = () if is_free else (ConditionFailed,)
    is_made = world.attempt(make_it, expected, entity)
    world.refusals = ()
    if is_made and expected is not None:
        assert is_free
        world.live[entity.name] = entity
        world.check(expected, entity)
    else:
        assert expected is None or world.spec.unique or not is_free


def delete(world: World, draw: Any) -> None:
    if (entity := chosen(world, draw)) is not None:
        world.session.delete(entity)
        world.births.pop(entity.name, None)
        del world.live[entity.name]


OPERATIONS = (
    insert, insert, assign, assign, load_in_bulk, move, update, update, upsert, upsert, transact, restore, touch, take,
    delete,
)  # fmt: skip


@pytest.mark.parametrize("other", OTHERS)
@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "225")) // len(OTHERS))
@given(spec=SPECS, data=st.data())
def test_what_is_stored_is_what_loads(
    other: Kind, spec: Spec, data: st.DataObject, engine_with_table: Transport
) -> None:
    world = World(spec._replace(other=other), engine_with_table)
    put(world, world.kind.model_construct(name="a", text="Bobby"))
    for _ in range(data.draw(st.integers(1, 6))):
        data.draw(st.sampled_from(OPERATIONS))(world, data.draw)
    world.recorder.check([mapping_of(world.kind).table], "read", "write", "tools")
