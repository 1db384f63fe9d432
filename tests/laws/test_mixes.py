"""Laws 1 and 4 where every pair of declarations meets: what must be stored is computed without dynaorm.

A model keeps the entities as plain values. For every verb it says which errors are right, and which items must be
stored afterwards. Answers and requests are lost; calls are synchronous and asynchronous, alone and in blocks.
"""

import copy
import os
import uuid
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import F, Key, Retry, Session, inspect, tools
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    ConditionFailed,
    Contention,
    DynaormError,
    OutcomeUnknown,
    StaleEntity,
    StillCounted,
    StoreError,
    UsageError,
)
from dynaorm.testing import FakeClock, Fault, FaultyTransport
from dynaorm.transport import Call, NoAnswer, Transport
from tests.iam_requests import Recorder
from tests.laws.mixed_classes import (
    GUARDS,
    NOON,
    SMALL,
    TABLE,
    Info,
    Pick,
    Spec,
    Values,
    groups_of,
    make,
    spec_of,
    value_of,
)
from tests.laws.mixed_streams import check_stream, known_of
from tests.laws.mixed_world import (
    Checked,
    Model,
    One,
    Problems,
    Raw,
    State,
    now_of,
    number_in,
    raw_items,
)
from tests.world.awaited import awaited_session, use

WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})


def _lose_request(call: Call, inner: Transport) -> Any:
    raise NoAnswer("the request was lost", sent=True)


def _lose_answer(call: Call, inner: Transport) -> Any:
    inner.call(call)
    raise NoAnswer("the answer was lost", sent=True)


FAULTS: Final[dict[str, tuple[Fault, ...]]] = {
    "": (),
    "request": (Fault("request", _lose_request, operations=WRITES),),
    "answer": (Fault("answer", _lose_answer, operations=WRITES),),
}


class World:
    """A table, its sessions, and the model of it."""

    def __init__(self, spec: Spec, engine: Transport, pick: Pick) -> None:
        self.spec, self.pick, self.engine = spec, pick, engine
        self.classes, self.model, self.state = make(spec), Model(spec), State()
        self.recorder = Recorder(engine)
        self.wire, self.clock = FaultyTransport(self.recorder), FakeClock(NOON.timestamp())
        named: dict[str, Any] = {
            "clock": self.clock,
            "retry": Retry(attempts=4),
            "timeout": pick((None, 60)),
        }
        self.plain = Session(transport=self.wire, **named)
        self.awaited = awaited_session(self.wire, **named)
        self.log: list[str] = []
        self.result: Any = None
        self.plain.create_table(self.classes.table)
        if spec.counted and spec.totals:
            self.plain.create_table(self.classes.tables[1])
        self.recorder.needed.clear()

    @property
    def now(self) -> datetime:
        return now_of(self.clock.now())

    def raw(self) -> Raw:
        return raw_items(self.engine, self.classes)

    def live(self) -> list[One]:
        return [one for _, one in sorted(self.state.ones.items()) if self.model.is_live(one, self.now)]

    def chosen(self) -> One | None:
        found = self.live()
        return self.pick(found) if found else None

    def written(self, one: One) -> tuple[State, Problems]:
        """The state after a write of an entity, and why that is refused."""
        state = self.state.copy()
        return state, self.model.write(state, one, self.now)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def key(self, values: Values, *, kind: str = "Thing") -> Key[Any]:
        spec = self.spec
        found: dict[str, Any] = {"group": values["group"]}
        found |= {"blob": values["blob"]} if spec.sort == "B" else {"n": values["n"]}
        if spec.key == "one of":
            found["shard"] = values["shard"]
        if spec.key == "nested":
            found["info.city"] = values["info"].city
        if spec.key == "computed" and self.pick((True, False)):
            found["bucket"] = f"b{values['n'] % 2}"
        return Key(self.classes.thing if kind == "Thing" else self.classes.special, **found)

    def stored(self, one: One) -> Any:
        return self.plain.get_one(self.key(one.values), consistent=True)

    # -- a write -------------------------------------------------------------------------------------------------------

    def attempt(
        self,
        what: str,
        work: Callable[[Any], Any],
        outcome: tuple[State, Iterable[type[DynaormError]]],
        *objects: Any,
        faults: bool = True,
    ) -> bool:
        """Make a write, and check that it did what the model says: all of it, or nothing."""
        state, problems = outcome[0], tuple(outcome[1])
        self.clock.advance(7.25)
        session = self.pick((self.plain, self.plain, self.awaited))
        fault = self.pick(("", "", "", "", "request", "answer")) if faults else ""
        self.log.append(f"{what} {type(session).__name__} {fault} {[one.__name__ for one in problems]}")
        before, since = self.raw(), self.now
        snapshots = [(one, copy.deepcopy(vars(one)), inspect(one).revision) for one in objects]
        self.wire.inject(*FAULTS[fault])
        try:
            self.result = work(session)
        except DynaormError as error:
            self.wire.inject()
            reason = error.failures[0][1] if isinstance(error, BulkError) else error
            self.log.append(f"  {type(reason).__name__}: {reason}")
            if isinstance(reason, OutcomeUnknown):
                assert fault, "nothing was lost"
                self._settle(reason, (state, problems), before, since)
                return False
            assert isinstance(reason, problems), (reason, problems)
            assert self.raw() == before, "a refused write changed the table"
            for one, values, revision in snapshots:
                assert (vars(one), inspect(one).revision) == (values, revision)
            self._check_stored(reason)
            return False
        self.wire.inject()
        assert not problems, ("was not refused", problems)
        self.check(state, before, since)
        self.state = state
        return True

    def check(self, state: State, before: Raw, since: datetime) -> None:
        after, known = self.raw(), known_of(self.state)
        Checked(self.classes, self.state, before, after, since, self.now).check(state)
        check_stream(self.classes, self.model, (known, known_of(state)), (before, after))

    def _settle(
        self, unknown: OutcomeUnknown, outcome: tuple[State, Any], before: Raw, since: datetime
    ) -> None:
        """A write without an answer was made, or it was not. Its plan can be resumed."""
        state, problems = outcome
        if self.pick((True, False)):
            self._resume(unknown, before, state)
        if self.raw() != before:
            assert not problems, "a refused write changed the table"
            self.check(state, before, since)
            self.state = state
        self.reload()

    def _resume(self, unknown: OutcomeUnknown, before: Raw, state: State) -> None:
        try:
            is_in_effect = self.plain.resume(unknown.plan)
        except OutcomeUnknown:
            return
        except StoreError:
            is_in_effect = False
        # What changes nothing is in effect, whether it was made or not.
        is_idle = known_of(state) == known_of(self.state)
        assert is_in_effect == (self.raw() != before) or (is_in_effect and is_idle)

    def _check_stored(self, error: DynaormError) -> None:
        """What an error says to be stored is what the model says."""
        found = getattr(error, "stored", None)
        if hasattr(found, "group"):
            self.check_object(found, self.state.ones[self.model.place(vars(found))])

    def check_object(self, found: Any, one: One) -> None:
        values, expected = vars(found), one.values
        assert type(found).__name__ == one.kind
        names = {name for name in {*values, *expected} if values.get(name) != expected.get(name)}
        assert not names, {name: (values.get(name), expected.get(name)) for name in names}

    def keep(self, one: One, found: Any) -> None:
        """An object stands for an entity from now on."""
        if self.model.is_live(one, self.now):
            found = self.stored(one) if found is None else found
            self.check_object(found, one)
            assert inspect(found).changes == {}
            one.object = found

    def reload(self) -> None:
        for one in self.live():
            self.keep(one, None)


# -- values ------------------------------------------------------------------------------------------------------------

KEPT: Final = ("created", "changed", "created_ms", "changed_iso")
FREE: Final = (
    *("shard", "text", "nick", "slug", "mail", "tag", "num", "state", "info", "at"),
    *("tags", "extra", "doc", "note", "until", "kind", "more"),
)


def new_one(world: World, *, kind: str) -> One:
    spec, n = world.spec, world.pick((1, 2, 3))
    found: Values = {"group": world.pick(groups_of(spec)), "n": n}
    found["blob"] = bytes([n]) if spec.sort == "B" else b"z"
    model = world.classes.thing if kind == "Thing" else world.classes.special
    for name in model.model_fields:
        if name not in found:
            found[name] = None if name in KEPT else value_of(spec, name, world.pick)
    return One(kind, world.model.normal(found))


def built(world: World, one: One) -> Any:
    model = world.classes.thing if one.kind == "Thing" else world.classes.special
    return model(**copy.deepcopy(one.values))


def changes_of(world: World, one: One) -> Values:
    """New values for some fields, none of which is in the key."""
    of_key = {"one of": "shard", "nested": "info"}.get(world.spec.key)
    names = [name for name in FREE if name in one.values and name != of_key]
    chosen = [world.pick(names) for _ in range(world.pick((1, 1, 2, 3)))]
    return {name: value_of(world.spec, name, world.pick) for name in chosen}


def change_of(world: World, one: One) -> tuple[list[Any], Values]:
    """Changes, and the values that they make."""
    kind = world.pick(("set", "set", "set", "add", "tags", "floor", "remove", "if missing"))
    if kind == "add":
        by = world.pick((1, 2, -1, 8))
        return [F.num.add(by)], {"num": one.values["num"] + by}
    if kind == "tags":
        more = world.pick(({"a"}, {"b", "c"}))
        return [F.tags.add(more)], {"tags": one.values["tags"] | more}
    if kind == "floor" and world.spec.key != "nested":
        return [F.info.floor.set(7)], {"info": one.values["info"].model_copy(update={"floor": 7})}
    if kind == "remove":
        name = world.pick(("text", "nick", "note", "mail"))
        return [F[name].remove()], {name: None}
    if kind == "if missing":
        name = world.pick(("text", "note", "tag"))
        value, old = value_of(world.spec, name, world.pick), one.values[name]
        return [F[name].set_if_missing(value)], {name: value if old is None else old}
    found = changes_of(world, one)
    return [F[name].set(copy.deepcopy(value)) for name, value in found.items()], found


# -- verbs -------------------------------------------------------------------------------------------------------------


def in_block(session: Any, method: str, *given: Any) -> Any:
    with session.transaction() as tx:
        getattr(tx, method)(*given)


def in_run(session: Any, method: str, *given: Any) -> Any:
    session.run(lambda tx: getattr(tx, method)(*given))


SAVES: Final[dict[str, Callable[[Any, Any], object]]] = {
    "save": lambda session, one: session.save(one),
    "once": lambda session, one: session.save(one, exactly_once=True),
    "many": lambda session, one: session.save_many([one]),
    "many in blocks": lambda session, one: session.save_many([one], per_transaction=2),
    "block": lambda session, one: in_block(session, "save", one),
    "run": lambda session, one: in_run(session, "save", one),
}
REPLACES: Final[dict[str, Callable[[Any, Any], object]]] = {
    "overwrite": lambda session, one: session.save(one, overwrite=True),
    "replacing": lambda session, one: session.save(one, replacing=F.num < SMALL),
}


def insert(world: World) -> None:
    one = new_one(world, kind=world.pick(("Thing", "Special")) if world.spec.subclass else "Thing")
    stood = world.state.ones.get(world.model.place(one.values))
    way, problems = world.pick((*SAVES, *REPLACES)), Problems()
    if stood is not None and world.model.is_live(stood, world.now):
        if way not in REPLACES:
            problems.append(AlreadyExists)
        elif way == "replacing" and stood.values["num"] >= SMALL:
            problems.append(ConditionFailed)
        one.values |= {name: stood.values[name] for name in ("created", "created_ms") if name in stood.values}
    entity = built(world, one)
    state, more = world.written(one)
    verb = (SAVES | REPLACES)[way]
    what = f"insert {way} {one.kind} {one.values}"
    if world.attempt(what, lambda session: verb(session, entity), (state, [*problems, *more]), entity):
        world.keep(one, entity)


def save(world: World) -> None:
    if (one := world.chosen()) is None:
        return
    found, entity = changes_of(world, one), copy.deepcopy(one.object)
    new = one.copy(**world.model.normal({**one.values, **found}))
    for name, value in found.items():
        setattr(entity, name, copy.deepcopy(value))
    way, condition = world.pick((*SAVES, "condition")), current(world, one)

    def work(session: Any) -> None:
        if way == "condition":
            session.save(entity, condition=condition)
        else:
            SAVES[way](session, entity)

    what = f"save {way} {world.model.place(one.values)} {found}"
    if world.attempt(what, work, world.written(new), entity):
        world.keep(new, entity)


def current(world: World, one: One) -> Any:
    """A condition that holds for an entity: it names its revision, if that is a number."""
    number = number_in(world.raw()[TABLE][world.model.place(one.values)])
    if number is None or world.spec.revision == "text":
        return F.num == one.values["num"]
    return F.changes == number


def update(world: World) -> None:
    if (one := world.chosen()) is None:
        return
    given, found = change_of(world, one)
    new = one.copy(**world.model.normal({**one.values, **found}))
    state, problems = world.written(new)
    way, condition = (
        world.pick(("", "", "once", "block", "run", "condition", "false", "again")),
        current(world, one),
    )
    refused: dict[str, Problems] = {"false": [ConditionFailed], "again": [Contention]}
    problems += refused.get(way, [])
    by_key = world.pick((True, True, False))
    target = world.key(one.values, kind=one.kind) if by_key else copy.deepcopy(one.object)

    def work(session: Any) -> Any:
        if way in ("block", "run"):
            return (in_block if way == "block" else in_run)(session, "update", target, *given)
        if way == "again":
            never = F.num == 77
            return session.run(
                lambda tx: tx.update(target, *given, condition=never), attempts=2, retry_on=ConditionFailed
            )
        conditions = {"condition": condition, "false": F.num == 77}
        return session.update(target, *given, condition=conditions.get(way), exactly_once=way == "once")

    what = f"update {way} {by_key} {world.model.place(one.values)} {given}"
    if world.attempt(what, work, (state, problems), *([] if by_key else [target])):
        if world.result is not None:
            world.check_object(world.result, new)
        world.keep(new, None if by_key else target)


DEFAULTS: Final[Values] = {
    "shard": 1, "text": None, "nick": None, "slug": None, "mail": None, "tag": None, "num": 0, "state": "open",
    "info": Info(), "at": NOON, "tags": set(), "extra": None, "doc": {}, "note": None, "until": None, "kind": "x",
    **dict.fromkeys(KEPT),
}  # fmt: skip


def of_key_and_defaults(world: World, values: Values) -> One:
    """The entity that an upsert makes of a key alone."""
    found = {name: copy.deepcopy(DEFAULTS.get(name, value)) for name, value in values.items()}
    if world.spec.key == "one of":
        found["shard"] = values["shard"]
    if world.spec.sort != "B":
        found["blob"] = b""
    return One("Thing", found)


def upsert(world: World) -> None:
    if world.spec.key == "nested":  # its key says a part of a field, which an upsert would have to set
        return
    values = new_one(world, kind="Thing").values
    stood = world.state.ones.get(world.model.place(values))
    is_there = stood is not None and world.model.is_live(stood, world.now)
    start = stood.copy() if stood is not None and is_there else of_key_and_defaults(world, values)
    given, found = change_of(world, start)
    if world.spec.sort == "B":
        given = [*given, F.n.set(start.values["n"])]
    new = start.copy(**world.model.normal({**start.values, **found}))
    way, target = world.pick(("", "", "once", "block")), world.key(values, kind=start.kind)

    def work(session: Any) -> Any:
        if way == "block":
            return in_block(session, "upsert", target, *given)
        return session.upsert(target, *given, exactly_once=way == "once")

    what = f"upsert {way} {world.model.place(values)} {given}"
    if world.attempt(what, work, world.written(new)):
        world.keep(new, world.result)


def count_up(world: World) -> None:
    if (one := world.chosen()) is None:
        return
    new = one.copy(num=one.values["num"] + 1)
    target, once = world.key(one.values), world.pick((True, False))
    what = f"next number {once} {target}"
    if world.attempt(
        what, lambda session: session.next_number(target, "num", exactly_once=once), world.written(new)
    ):
        assert world.result == new.values["num"]
        world.keep(new, None)


def touch(world: World) -> None:
    if (one := world.chosen()) is None:
        return
    state, problems = world.written(new := one.copy())
    problems += [] if world.spec.revision or world.spec.times else [UsageError]
    entity, is_alone = copy.deepcopy(one.object), world.pick((True, False))
    place = world.model.place(one.values)
    before = world.raw()[TABLE][place]

    def work(session: Any) -> None:
        _ = session.touch(entity) if is_alone else in_block(session, "touch", entity)

    if world.attempt(f"touch {is_alone} {place}", work, (state, problems), entity):
        assert world.raw()[TABLE][place] != before
        world.keep(new, entity)


def delete(world: World) -> None:
    """A deletion of what is there, or by key of what has expired."""
    if not world.state.ones:
        return
    one = world.pick([one for _, one in sorted(world.state.ones.items())])
    is_live, place, state = (
        world.model.is_live(one, world.now),
        world.model.place(one.values),
        world.state.copy(),
    )
    world.model.delete(state, place)
    by_key = world.pick((True, False)) or not is_live
    way = world.pick(
        ("", "returning", "once", "block", "many", "false") if is_live else ("", "returning", "once")
    )
    target = world.key(one.values) if by_key else copy.deepcopy(one.object)

    def work(session: Any) -> Any:
        if way == "block":
            return in_block(session, "delete", target)
        if way == "many":
            return session.delete_many([target], per_transaction=2)
        condition = F.num == 77 if way == "false" else None
        return session.delete(
            target, returning=way == "returning", exactly_once=way == "once", condition=condition
        )

    problems = [ConditionFailed] if way == "false" else []
    what = f"delete {way} {by_key} {place}"
    if world.attempt(what, work, (state, problems), *([] if by_key else [target])):
        if is_live and way == "returning" and world.result is not None:
            world.check_object(world.result, one)
            assert not inspect(world.result).loaded
        assert by_key or not inspect(target).loaded


def move(world: World) -> None:
    if (one := world.chosen()) is None:
        return
    n = world.pick((1, 2, 3))
    changes: Values = {"group": world.pick(groups_of(world.spec)), "n": n}
    changes |= {"blob": bytes([n])} if world.spec.sort == "B" else {}
    new = one.copy(**changes)
    former, place = world.model.place(one.values), world.model.place(new.values)
    if place == former:
        return
    state, problems = world.state.copy(), Problems()
    if world.spec.versioned:
        problems = [UsageError]
    elif world.model.is_live(state.ones.get(place), world.now):
        problems = [AlreadyExists]
    problems += world.model.write(state, new, world.now, former=former)
    entity, is_alone = copy.deepcopy(one.object), world.pick((True, False))
    for name, value in changes.items():
        setattr(entity, name, value)

    def work(session: Any) -> None:
        _ = session.move(entity) if is_alone else in_block(session, "move", entity)

    if world.attempt(f"move {is_alone} {former} -> {place}", work, (state, problems), entity):
        world.keep(new, entity)


# -- blocks ------------------------------------------------------------------------------------------------------------


def values_to_swap(one: One) -> Values:
    return {name: one.values[name] for name in ("text", "nick", "slug", "mail", "tag", "num")}


def swap(world: World) -> None:
    """Two entities exchange their unique values."""
    ones = world.live()
    if len(ones) < 2:
        return
    first, second = ones[0], world.pick(ones[1:])
    new = [first.copy(**values_to_swap(second)), second.copy(**values_to_swap(first))]
    state, objects = world.state.copy(), [copy.deepcopy(one.object) for one in (first, second)]
    for one in (first, second):
        world.model.release(state, world.model.place(one.values))
    problems = [problem for one in new for problem in world.model.write(state, one, world.now)]
    for one, entity in zip(new, objects, strict=True):
        vars(entity).update(values_to_swap(one))

    def work(session: Any) -> None:
        with session.transaction() as tx:
            for entity in objects:
                tx.save(entity)

    if world.attempt(f"swap {first.values} {second.values}", work, (state, problems), *objects):
        for one, entity in zip(new, objects, strict=True):
            world.keep(one, entity)


def block(world: World) -> None:
    """A change and a deletion or a check, perhaps under a token; and the same again."""
    ones = world.live()
    if len(ones) < 2:
        return
    first, second = ones[0], world.pick(ones[1:])
    token, remember = world.pick(((None, None), (new_token(), None), (new_token(), timedelta(days=1))))
    deletes, limit = world.pick((True, False)), world.pick((0, 10))
    new = first.copy(num=first.values["num"] + 1)
    state, problems = world.state.copy(), Problems()
    if deletes:
        world.model.delete(state, world.model.place(second.values))
    elif second.values["num"] >= limit:
        problems.append(ConditionFailed)
    problems += world.model.write(state, new, world.now)
    state.tokens += token is not None
    changed, other = world.key(first.values), world.key(second.values)

    def work(session: Any) -> None:
        with session.transaction(token, remember=remember) as tx:
            tx.update(changed, F.num.add(1))
            _ = tx.delete(other) if deletes else tx.check(other, F.num < limit)

    what = f"block {deletes} {token} {remember} {first.values} {second.values}"
    if world.attempt(what, work, (state, problems)):
        world.keep(new, None)
        if token is not None:
            again(world, work)


def again(world: World, work: Callable[[Any], None]) -> None:
    """A block under a token is applied once."""
    before = world.raw()
    work(world.plain)
    assert world.raw() == before


def new_token() -> str:
    """The engine remembers tokens from example to example."""
    return uuid.uuid4().hex


# -- versions, totals, others ------------------------------------------------------------------------------------------


def restore(world: World) -> None:
    if world.spec.versioned in ("", "some") or not world.state.versions:
        return
    place = world.pick(sorted(world.state.versions))
    number = world.pick(sorted(world.state.versions[place]))
    new, stood = world.state.versions[place][number].copy(), world.state.ones.get(place)
    if stood is not None:
        if stood.kind != new.kind:
            return
        new.values |= {name: stood.values[name] for name in KEPT if name in stood.values}
        new.former = stood.former
    target = world.key(new.values)
    what = f"restore {place} {number}"
    if world.attempt(what, lambda session: session.restore(target, version=number), world.written(new)):
        world.keep(new, world.result)


def prune(world: World) -> None:
    if not world.state.versions:
        return
    place, state = world.pick(sorted(world.state.versions)), world.state.copy()
    numbers, keep = sorted(state.versions[place]), world.pick((1, 2, 3))
    for number in (pruned := numbers[:-keep]):
        del state.versions[place][number]
    target = world.key(world.state.versions[place][numbers[-1]].values)
    what = f"prune {place} {keep} of {numbers}"
    if world.attempt(
        what, lambda session: use(tools.prune, session, target, keep=keep), (state, []), faults=False
    ):
        assert world.result == len(pruned)


def purge(world: World) -> None:
    if not world.state.versions:
        return
    place, state = world.pick(sorted(world.state.versions)), world.state.copy()
    problems: Problems = [] if place in state.deleted else [UsageError]
    state.deleted.discard(place)
    versions = state.versions.pop(place)
    target = world.key(versions[max(versions)].values)
    what = f"purge {place} {sorted(versions)}"
    if world.attempt(
        what, lambda session: use(tools.purge, session, target), (state, problems), faults=False
    ):
        assert world.result == len(versions)


def delete_total(world: World) -> None:
    if not world.spec.counted or not world.state.totals:
        return
    of, state = world.pick(sorted(world.state.totals)), world.state.copy()
    if any(state.totals[of]) and world.spec.counted != "restrict":
        return  # what was counted would be lost
    problems: Problems = [StillCounted] if any(state.totals[of]) else []
    del state.totals[of]
    target: Any = Key(world.classes.total, of=of)
    if world.pick((True, False)):
        target = world.plain.get_one(target, consistent=True)
    world.attempt(f"delete total {of}", lambda session: session.delete(target), (state, problems))


def be_late(world: World) -> None:
    """An object that is out of date writes nothing."""
    if not world.spec.revision or (one := world.chosen()) is None:
        return
    changed, fresh = copy.deepcopy(one.object), copy.deepcopy(one.object)
    changed.note, fresh.extra = "late", f"{one.values['extra']}+"[-9:]
    new = one.copy(extra=fresh.extra)
    if not world.attempt("freshen", lambda session: session.save(fresh), world.written(new), fresh):
        return
    world.keep(new, fresh)
    verb = world.pick(("save", "delete", "touch", "update", "check"))

    def work(session: Any) -> None:
        if verb == "update":
            session.update(changed, F.state.set("late"))
        elif verb == "check":
            in_block(session, "check", changed)
        else:
            getattr(session, verb)(changed)

    world.attempt(f"late {verb}", work, (world.state.copy(), [StaleEntity]), changed, faults=False)


def be_written(world: World) -> None:
    """Another program writes an item, with an attribute of its own and the names that it knows."""
    if world.spec.versioned or (one := world.chosen()) is None:
        return
    spec, item = world.spec, dict(copy.deepcopy(world.raw()[TABLE][world.model.place(one.values)]))
    one.more = {"zz": {"M": {"n": {"N": str(len(world.log))}}}}
    item |= one.more
    if (number := number_in(item)) is not None and spec.revision != "text":
        item["changes"] = {"N": str(number + 1)}
    if one.kind == "Thing" and spec.typed == "own" and spec.formerly:
        one.former = "Former"
        if "note" in item:
            item["remark"] = item.pop("note")
    item |= {"_type": {"S": one.former}} if one.former else {}
    world.engine.call(Call("PutItem", {"TableName": TABLE, "Item": item}))
    world.log.append(f"another program writes {world.model.place(one.values)}")
    world.reload()


# -- reads -------------------------------------------------------------------------------------------------------------

PLACES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "fields": ("by_own", ("state",)),
    "native": ("by_native", ("state", "group")),
    "shard": ("by_shard", ("state",)),
    "one of": ("by_choice", ()),
    "times": ("by_time", ()),
    "nested": ("by_city", ("info.city",)),
    "computed": ("by_label", ("label",)),
}
HOLDERS: Final = {"plain": "text", "normalize": "nick", "template": "tag", "computed": "label"}


def known(world: World, one: One) -> Values:
    """The values of an entity by the names that a query takes."""
    return {
        **one.values,
        "info.city": one.values["info"].city,
        "label": world.model.expected.label(one.values),
    }


def read_places(world: World, place: str, fields: tuple[str, ...], *, is_sparse: bool) -> None:
    """A query of an index finds the entities that are in it."""
    ones = [one for one in world.live() if not is_sparse or one.values["text"] is not None]
    for one in ones:
        asked = {field: known(world, one)[field] for field in fields}
        found = world.plain.query(getattr(world.classes.thing, place), **asked).all()
        wanted = [
            other
            for other in ones
            if asked.items() <= {name: known(world, other)[name] for name in fields}.items()
        ]
        assert sorted(world.model.place(vars(each)) for each in found) == sorted(
            world.model.place(each.values) for each in wanted
        )


def read_values(world: World) -> None:
    """Rows have the values of the entities, whatever is read for them."""
    names = sorted(
        {world.pick(("n", "group", *FREE)) for _ in range(3)} & world.classes.thing.model_fields.keys()
    )
    if not names:
        return
    wanted = [[one.values[name] for name in names] for one in world.live()]
    for row in world.plain.scan(world.classes.thing).values(*names):
        wanted.remove([getattr(row, name) for name in names])
    assert wanted == []


def read_history(world: World) -> None:
    """Every version that was not pruned has the values that the entity had then."""
    for place, versions in world.state.versions.items():
        target = world.key(versions[max(versions)].values)
        found = list(world.plain.history(target))
        assert [one.number for one in found] == sorted(versions, reverse=True), place
        for one in found if world.spec.versioned != "some" else ():
            world.check_object(one.entity, versions[one.number])


def read(world: World) -> None:
    """Entities are found by their keys and unique values, in a snapshot, in a scan and in indexes."""
    read_values(world)
    read_history(world)
    session, ones = world.pick((world.plain, world.awaited)), world.live()
    keys = [world.key(one.values) for one in ones]
    found = [*session.snapshot(keys), *session.get_many(keys, consistent=True)] if keys else []
    for entity, one in zip(found, [*ones, *ones], strict=True):
        world.check_object(entity, one)
    scanned = world.plain.scan(world.classes.thing).all()
    assert sorted(world.model.place(vars(one)) for one in scanned) == sorted(
        world.model.place(one.values) for one in ones
    )
    for name in (HOLDERS[one] for one in world.spec.unique if one in HOLDERS):
        for one in ones:
            if known(world, one)[name] is not None:
                world.check_object(
                    session.get_by(world.classes.thing, **{name: known(world, one)[name]}), one
                )
    for index in world.spec.indexes:
        if index in PLACES:
            read_places(world, *PLACES[index], is_sparse=index in ("native", "shard", "computed"))


# -- the law -----------------------------------------------------------------------------------------------------------

OPERATIONS: Final = (
    insert, insert, insert, save, save, save, update, update, update, update, upsert, upsert, count_up, touch, delete,
    move, swap, block, block, restore, prune, purge, delete_total, be_late, be_written, be_written, read,
)  # fmt: skip


def program(spec: Spec, engine: Transport, pick: Pick, *, steps: int) -> World:
    """A random program over the classes of a spec."""
    world = World(spec, engine, pick)
    try:
        for _ in range(steps):
            pick(OPERATIONS)(world)
        read(world)
        tables = [one for one in world.classes.tables if one.name != GUARDS]
        world.recorder.check(tables, "read", "write", "tools")
        assert list(tools.verify(world.plain, world.classes.table)) == []
    except BaseException as error:
        error.add_note("\n".join([repr(spec), *world.log[-12:]]))
        raise
    finally:
        for table in world.classes.tables:
            engine.call(Call("DeleteTable", {"TableName": table.name}))
    return world


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "30")))
@given(data=st.data())
def test_what_is_stored_follows_from_entities_and_declarations(
    engine: Transport, data: st.DataObject
) -> None:
    def pick(options: Any) -> Any:
        return data.draw(st.sampled_from(options))

    program(spec_of(pick), engine, pick, steps=10)
