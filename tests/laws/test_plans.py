"""What a plan says is what is sent, and what the table becomes, for every verb that writes.

Each write is made twice from one state, at one moment and with the same identifiers. The first time its request is
lost, which leaves the plan; the second time nothing is lost. A reference of 50 lines applies the plan to the raw items.
"""

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynaorm import F, Key, Plan, Retry, Session, Table, detached, inspect
from dynaorm.errors import BulkError, DynaormError, OutcomeUnknown, UsageError
from dynaorm.flow.call import Call
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import holds
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, Remove, SetIfMissing, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.testing import FakeClock, Fault, FaultyTransport
from dynaorm.transport import NoAnswer, Transport
from tests.laws.test_writes import assigned, change_for, new_entity
from tests.laws.written_classes import INDEXES, OTHERS, SPECS, Kind, Spec, check_derived, make

WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})

MOMENTS: Final = count()
"""Each has identifiers of its own, because the engine remembers tokens."""

Items: TypeAlias = dict[tuple[str, str], Item]
"""Items by their primary keys."""


def _lose(call: Call, inner: Transport) -> Any:
    raise NoAnswer("the request was lost", sent=True)


LOST: Final = Fault("lost", _lose, operations=WRITES)


class World:
    """A class, and its stored entities as they load."""

    def __init__(self, spec: Spec, engine: Transport) -> None:
        self.spec, self.engine = spec, engine
        self.kind: Any = make(spec)
        self.moment = next(MOMENTS)
        self.live: dict[str, Any] = {}
        for partition, sort in self.raw():
            key = {"PK": {"S": partition}, "SK": {"S": sort}}
            engine.call(Call("DeleteItem", {"TableName": "written", "Key": key}))

    def raw(self) -> Items:
        found = self.engine.call(Call("Scan", {"TableName": "written", "ConsistentRead": True}))["Items"]
        return {(one["PK"]["S"], one["SK"]["S"]): one for one in found}

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(1_704_067_200 + self.moment, UTC)

    def session(self, *faults: Fault) -> tuple[Session, FaultyTransport]:
        """All sessions of one moment have the same time and identifiers."""
        wire = FaultyTransport(self.engine, *faults)
        clock = FakeClock(self.now.timestamp(), ids=f"{self.moment}-")
        return Session(transport=wire, clock=clock, retry=Retry(attempts=1 if faults else 10)), wire

    def go_on(self) -> None:
        """Go to the next moment, and load what is stored then."""
        self.moment = next(MOMENTS)
        found: list[Any] = self.session()[0].scan(self.kind).all()
        self.live = {one.name: one for one in found}


# -- the reference -----------------------------------------------------------------------------------------------------


def applied(before: Items, plan: Plan) -> Items | None:
    """The items after a plan; None if a condition does not hold."""
    after = dict(before)
    for planned in plan.actions:
        action = planned.action
        key = action.item if isinstance(action, Put) else action.key
        place = key["PK"]["S"], key["SK"]["S"]
        old = before.get(place)
        if action.condition is not None and not holds(action.condition, old or {}):
            return None
        match action:
            case Put():
                after[place] = action.item
            case Delete():
                after.pop(place, None)
            case Update():
                after[place] = changed(old or key, action.changes)
            case ConditionCheck():
                pass
        if planned.after is not None:
            assert comparable({"M": after[place]}) == comparable({"M": planned.after}), planned.purpose
    return after


def changed(item: Item, changes: Iterable[Change]) -> Item:
    """The item after the changes of an update, each of which sees the item before it."""
    after: dict[str, Any] = copy.deepcopy(dict(item))
    for change in changes:
        *parents, name = change.path
        there, here = item, after
        for step in parents:
            there, here = there[str(step)]["M"], here[str(step)]["M"]
        value = outcome(change, there.get(str(name)))
        if value is None:
            here.pop(str(name), None)
        else:
            here[str(name)] = value
    return after


def outcome(change: Change, old: AttributeValue | None) -> AttributeValue | None:
    """The value that a change makes of an old one; None for no value."""
    match change:
        case SetTo(value=value):
            return dict(value)
        case SetIfMissing(value=value):
            return dict(value) if old is None else old
        case AddTo(value=value, start=start):
            ((kind, more),) = value.items()
            has = (old or start or {}).get(kind, "0" if kind == "N" else [])
            return {kind: str(Decimal(has) + Decimal(more)) if kind == "N" else [*{*has, *more}]}
        case Append(values=values, start=start):
            return {"L": [*(old or start or {"L": []})["L"], *values]}
        case Prepend(values=values, start=start):
            return {"L": [*values, *(old or start or {"L": []})["L"]]}
        case Discard() | Remove():
            assert isinstance(change, Remove), "no verb below discards"
    return None


def comparable(value: AttributeValue) -> Any:
    """A value without the order of its sets and the spelling of its numbers."""
    ((kind, content),) = value.items()
    if kind == "M":
        return {name: comparable(one) for name, one in content.items()}
    if kind in ("L", "SS", "NS", "BS"):
        members = [comparable({kind[0]: one}) if kind != "L" else comparable(one) for one in content]
        return members if kind == "L" else (kind, frozenset(members))
    return kind, Decimal(content) if kind == "N" else content


# -- verbs: each takes a session, and an entity, or its key and a change of it ----------------------------------------


def in_block(method: str, *more: Any) -> Callable[..., Any]:
    def verb(session: Session, *given: Any) -> None:
        with session.transaction() as tx:
            getattr(tx, method)(*given, *more)

    return verb


def beside_a_check(session: Session, entity: Any) -> None:
    """Unchanged, but for what is saved beside it."""
    with session.transaction() as tx:
        tx.check(entity)
        tx.save(detached(entity, name="beside", text="beside"))


SAVES: Final[Mapping[str, Callable[[Session, Any], Any]]] = {
    "save": Session.save,
    "save a copy": lambda session, one: session.save(one.model_copy()),
    "save once": lambda session, one: session.save(one, exactly_once=True),
    "save under a condition": lambda session, one: session.save(one, condition=F.name.exists()),
    "save many": lambda session, one: session.save_many([one]),
    "save many in blocks": lambda session, one: session.save_many([one], per_transaction=2),
    "overwrite": lambda session, one: session.save(one, overwrite=True),
    "replace": lambda session, one: session.save(detached(one), replacing=F.number < 4),
    "overwrite detached": lambda session, one: session.save(detached(one), overwrite=True),
    "save in a block": in_block("save"),
}
EDITS: Final[Mapping[str, Callable[[Session, Any, Any], Any]]] = {
    "update": Session.update,
    "update once": lambda session, target, change: session.update(target, change, exactly_once=True),
    "update under a condition": lambda session, target, change: session.update(
        target, change, condition=F.number < 4
    ),
    "update in a block": in_block("update"),
    "run": lambda session, target, change: session.run(lambda tx: tx.update(target, change)),
}
UPSERTS: Final[Mapping[str, Callable[[Session, Any, Any], Any]]] = {
    "upsert": lambda session, key, change: session.upsert(key, *change),
    "upsert once": lambda session, key, change: session.upsert(key, *change, exactly_once=True),
    "upsert in a block": lambda session, key, change: in_block("upsert", *change)(session, key),
}
ENDS: Final[Mapping[str, Callable[[Session, Any], Any]]] = {
    "delete": Session.delete,
    "delete once": lambda session, target: session.delete(target, exactly_once=True),
    "delete and return": lambda session, target: session.delete(target, returning=True),
    "delete under a condition": lambda session, target: session.delete(target, condition=F.number < 4),
    "delete in a block": in_block("delete"),
}
MOVES: Final[Mapping[str, Callable[[Session, Any], Any]]] = {
    "move": Session.move,
    "move in a block": in_block("move"),
}

Write: TypeAlias = Callable[[Session], Any]
"""A write of objects of its own: it can be made again."""


def inserted(world: World, draw: Any) -> tuple[str, Write]:
    name, entity = draw(st.sampled_from(sorted(SAVES))), new_entity(world, draw)
    return name, lambda session: SAVES[name](session, copy.deepcopy(entity))


def saved(world: World, draw: Any) -> tuple[str, Write]:
    name, entity = draw(st.sampled_from(sorted(SAVES))), chosen(world, draw)
    vars(entity).update([assigned(world, draw) for _ in range(draw(st.integers(0, 2)))])
    return name, lambda session: SAVES[name](session, copy.deepcopy(entity))


def edited(world: World, draw: Any) -> tuple[str, Write]:
    name, entity = draw(st.sampled_from(sorted(EDITS))), chosen(world, draw)
    change, by_key = change_for(world, entity, draw)[0], draw(st.booleans())
    key = Key(world.kind, name=entity.name)
    return name, lambda session: EDITS[name](session, key if by_key else copy.deepcopy(entity), change)


def upserted(world: World, draw: Any) -> tuple[str, Write]:
    name, entity = draw(st.sampled_from(sorted(UPSERTS))), chosen(world, draw)
    change, field, _ = change_for(world, entity, draw)
    key = Key(world.kind, name=draw(st.sampled_from([entity.name, "new"])))
    changes = [change] if field == "text" else [F.text.set("upserted"), change]
    return name, lambda session: UPSERTS[name](session, key, changes)


def ended(world: World, draw: Any) -> tuple[str, Write]:
    name, entity, by_key = draw(st.sampled_from(sorted(ENDS))), chosen(world, draw), draw(st.booleans())
    key = Key(world.kind, name=entity.name)
    return name, lambda session: ENDS[name](session, key if by_key else copy.deepcopy(entity))


def moved(world: World, draw: Any) -> tuple[str, Write]:
    name, entity = draw(st.sampled_from(sorted(MOVES))), chosen(world, draw)
    entity.name = draw(st.sampled_from(["a", "b", "moved", "Moved"]))
    return name, lambda session: MOVES[name](session, copy.deepcopy(entity))


def touched(world: World, draw: Any) -> tuple[str, Write]:
    entity = chosen(world, draw)
    vars(entity).update([assigned(world, draw) for _ in range(draw(st.integers(0, 1)))])  # is not saved
    return "touch", lambda session: session.touch(copy.deepcopy(entity))


def numbered(world: World, draw: Any) -> tuple[str, Write]:
    key = Key(world.kind, name=draw(st.sampled_from([chosen(world, draw).name, "new"])))
    return "next number", lambda session: session.next_number(key, "number")


def restored(world: World, draw: Any) -> tuple[str, Write]:
    entity = chosen(world, draw)
    version = draw(st.integers(1, inspect(entity).version or 1))
    return "restore", lambda session: session.restore(copy.deepcopy(entity), version=version)


def checked(world: World, draw: Any) -> tuple[str, Write]:
    entity = chosen(world, draw)
    return "check", lambda session: beside_a_check(session, copy.deepcopy(entity))


def chosen(world: World, draw: Any) -> Any:
    return copy.deepcopy(world.live[draw(st.sampled_from(sorted(world.live)))])


KINDS: Final = (
    inserted,
    saved,
    saved,
    edited,
    edited,
    edited,
    upserted,
    upserted,
    ended,
    moved,
    touched,
    numbered,
    restored,
    checked,
)


# -- the law -----------------------------------------------------------------------------------------------------------


def planned(world: World, write: Write) -> tuple[Plan | None, type[DynaormError] | None]:
    """The plan of a write whose request is lost; or none, and how it was refused."""
    try:
        write(world.session(LOST)[0])
    except DynaormError as error:
        reason = error.failures[0][1] if isinstance(error, BulkError) else error
        if isinstance(reason, OutcomeUnknown):
            assert isinstance(reason.plan, Plan)
            return reason.plan, None
        return None, type(error)
    return None, None


def check(world: World, write: Write) -> None:
    plan, refused = planned(world, write)
    before, error = world.raw(), None
    session, wire = world.session()
    try:
        write(session)
    except DynaormError as raised:
        error = raised
    sent = [call for call in wire.calls if call.operation in WRITES]
    if plan is None:
        assert (sent, None if error is None else type(error), world.raw()) == ([], refused, before)
        return
    assert (sent[0].operation, sent[0].request) == (plan.operation, plan.to_request())
    assert len(plan.explain().splitlines()) == len(plan.actions) + 1
    expected = applied(before, plan)
    if expected is None:
        assert len(sent) > 1 or error is not None
        assert error is None or world.raw() == before
    else:
        assert (len(sent), error) == (1, None)
        assert {place: comparable({"M": one}) for place, one in world.raw().items()} == {
            place: comparable({"M": one}) for place, one in expected.items()
        }


def check_times(world: World, now: datetime, items: Items, entities: Mapping[str, Any]) -> None:
    """What was there was created when it was, unless it moved there; what changed was changed now, the rest before."""
    for name, one in world.live.items():
        place = f"THING#{name}", "v0_T" if world.spec.versioned else "T"
        if items.get(place) == world.raw()[place]:
            assert (one.created, one.changed) == (entities[name].created, entities[name].changed)
        else:
            assert one.changed == now
            assert one.created in {now, *(other.created for other in entities.values())}
            assert name not in entities or one.created == entities[name].created


def check_plan_of_save(world: World, draw: Any) -> None:
    """``session.plan`` gives the plan of a save, if that needs no reading."""
    entity = chosen(world, draw)
    vars(entity).update([assigned(world, draw)])
    plan, _ = planned(world, lambda session: session.save(copy.deepcopy(entity)))
    try:
        told = world.session()[0].plan(copy.deepcopy(entity))
    except UsageError:
        return
    assert (told.operation if told.actions else None) == (plan and plan.operation)
    assert plan is None or told.to_request() == plan.to_request()


@pytest.fixture(scope="module")
def engine_with_table(engine: Transport) -> Transport:
    with Session(transport=engine) as session:
        session.create_table(Table("written", indexes=INDEXES))
    return engine


@pytest.mark.parametrize("other", OTHERS)
@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "135")) // len(OTHERS))
@given(spec=SPECS, data=st.data())
def test_a_plan_says_what_is_sent_and_stored(
    other: Kind, spec: Spec, data: st.DataObject, engine_with_table: Transport
) -> None:
    world = World(spec._replace(other=other), engine_with_table)
    for name, text in (("a", "Bobby"), ("b", "other")):
        world.session()[0].save(world.kind(name=name, text=text))
        world.go_on()
    for _ in range(data.draw(st.integers(1, 5))):
        if not world.live:
            break
        kind = data.draw(st.sampled_from(KINDS))
        if (kind is moved and spec.versioned) or (kind is restored and not spec.versioned):
            continue
        name, write = kind(world, data.draw)
        event(name)
        items, entities = world.raw(), world.live
        check(world, write)
        now = world.now
        world.go_on()
        check_derived(world.spec, world.raw().values(), world.live)
        if spec.times:
            check_times(world, now, items, entities)
        if world.live:
            check_plan_of_save(world, data.draw)
