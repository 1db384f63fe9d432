"""The machine that drives every verb of a session, alone and in transactions, beside the oracle.

It writes with objects, stale objects, copies and keys, while calls are throttled and answers are lost. After every call
the raw items, the objects in memory and what the call returned are compared with the oracle.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any, ClassVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from dynaorm import F, Key, Retry, Session, inspect, tools
from dynaorm.errors import (
    BulkError,
    ConditionFailed,
    DynaormError,
    EntityNotFound,
    OutcomeUnknown,
    StoreError,
    TokenReused,
    UsageError,
)
from dynaorm.testing import (
    FakeClock,
    FaultyTransport,
    assert_consistent,
    conflict,
    in_progress,
    lost_answer,
    lost_request,
    throttle,
)
from dynaorm.transport import Call, Transport
from tests.counted_rules import CountingMachine, rule
from tests.world.awaited import awaited_session, use
from tests.world.cast import (
    FACTS,
    TABLES,
    Audit,
    Item,
    Kind,
    Lamp,
    Lead,
    Login,
    Member,
    Name,
    Page,
    Point,
    Tally,
    Team,
    Values,
)
from tests.world.oracle import (
    ANY,
    NEW,
    OVER,
    UPSERT,
    Base,
    Change,
    Row,
    World,
    Wrong,
    comparable,
    expiry,
    name_of,
    place,
)

READS = {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}
GIVEN_BY_THE_WRITE = {"_rev", "version_at", "previous_deletion", "_block", "_revision", "_until"}
"""Attributes that the oracle does not predict: revisions, times, and what a token stands for."""
FAULTS = [
    lost_answer(),
    lost_answer(2),
    lost_request(),
    lost_request(sent=False),
    conflict(),
    throttle(),
    in_progress(),
]
BY_KEY = ["insert", "overwrite", "update by key", "add by key", "upsert", "delete by key"]
WITH_OBJECT = ["save", "save", "update", "delete", "move", "touch"]
VERBS = [*BY_KEY, *WITH_OBJECT]
KINDS = list(FACTS)
VERSIONED = {facts.family: kind for kind, facts in FACTS.items() if facts.versioned is not None}
MACHINES = count()


def values_of(entity: Any) -> Values:
    return dict(vars(entity))


def key_of(kind: Kind, name: Any) -> Key[Any]:
    return Key(kind, **FACTS[kind].beside, name=name)


def saving(entity: Any) -> Callable[[Any], Any]:
    return lambda to: to.save(entity)


class Once:
    """A session whose verbs are called with ``exactly_once=True``."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: getattr(self.session, name)(*given, exactly_once=True, **named)


def predicted(item: Item) -> dict[str, Any]:
    """What the oracle says of an item. A total without sources may be absent, because its default is 0."""
    left_out = GIVEN_BY_THE_WRITE | ({"until"} if "_block" in item else set())
    kept = comparable({name: value for name, value in item.items() if name not in left_out})
    totals = next(
        (facts.totals for kind, facts in FACTS.items() if item.get("_type") == {"S": kind.__name__}),
        frozenset(),
    )
    return {name: value for name, value in kept.items() if not (name in totals and value == 0)}


@dataclass(eq=False)
class Held:
    """An object in memory, and what it was loaded as."""

    entity: Any
    base: Base


@dataclass
class Step:
    """A write: what it means to the oracle, how it is called, and the object that holds the result.

    Attributes:
        alone: how it is called outside of a block, if otherwise.
        again: how another process calls it, which has not the object that was saved.
        wrong: errors that the call has whatever the oracle says.
        checked: the key that it only looks at.
        returns: what the call returns if it is made alone; None if that is not looked at.
    """

    verb: str
    change: Change | None
    call: Callable[[Any], Any]
    alone: Callable[[Any], Any] | None = None
    again: Callable[[Any], Any] | None = None
    held: Held | None = None
    new: Any = None
    wrong: frozenset[Wrong] = frozenset()
    checked: Name | None = None
    returns: Values | None = None


def wrong_in_history(row: Row | None, number: int, way: str) -> set[Wrong]:
    """The error of a call that restores, prunes or purges; empty if it is made."""
    if row is None or (way == "restore" and number not in row.versions):
        return {EntityNotFound}
    if way == "restore":
        # The other fields of a deleted entity are gone.
        return {UsageError} if row.values is None and row.kind is Audit else set()
    return {UsageError} if way == "purge" and row.values is not None else set()


def restored(name: Name, row: Row, number: int) -> list[Change]:
    if number not in row.versions or (row.values is None and row.kind is Audit):
        return []
    if row.values is None:
        return [Change(row.kind, name, row.versions[number], NEW)]
    values = {**row.values, **row.versions[number]}
    return [Change(row.kind, name, values, Base(row.stamp, row.kind, row.values, row.number))]


class Writes(CountingMachine):
    """The rules that write. ``Machine`` adds those that read."""

    is_async: ClassVar = False
    has_faults: ClassVar = True

    def __init__(self, engine: Transport) -> None:
        super().__init__()
        # A server remembers the tokens of all machines.
        self.engine, self.clock, self.world = engine, FakeClock(jitter=0, ids=f"{next(MACHINES)}-"), World()
        self.held: list[Held] = []
        self.blocks: list[tuple[str, list[Step]]] = []
        self.calm = self.session(None)
        for table in TABLES:
            for item in self.scanned(table.name):
                key = {one.name: item[one.name] for one in table.keys}
                engine.call(Call("DeleteItem", {"TableName": table.name, "Key": key}))

    def session(self, fault: Any) -> Any:
        self.wire = FaultyTransport(self.engine, *([fault] if fault else []))
        settings: Any = {"clock": self.clock, "retry": Retry(attempts=4), "consistent": True}
        return (
            awaited_session(self.wire, **settings)
            if self.is_async
            else Session(transport=self.wire, **settings)
        )

    def scanned(self, table: str) -> list[Item]:
        items: list[Item] = self.engine.call(Call("Scan", {"TableName": table, "ConsistentRead": True}))[
            "Items"
        ]
        return items

    def raw(self) -> dict[str, Item]:
        return {place(table.name, item): item for table in TABLES for item in self.scanned(table.name)}

    def memory(self) -> Any:
        return self.raw(), [(values_of(held.entity), inspect(held.entity)) for held in self.held]

    @property
    def now(self) -> float:
        return self.clock.now()

    @initialize()
    def begin(self) -> None:
        for kind, facts in FACTS.items():
            if kind is not Lead:
                values: Values = {"title": ""} if kind is Team else {"alias": "b"} if kind is Login else {}
                self.run("begin", [self.inserted(kind, facts.names[0], values, NEW)])

    # -- steps ---------------------------------------------------------------------------------------------------------

    def drawn(self, kind: Kind, data: st.DataObject, least: int = 0) -> Values:
        pools = FACTS[kind].pools
        names = data.draw(st.lists(st.sampled_from(sorted(pools)), unique=True, min_size=least, max_size=4))
        values = {name: data.draw(st.sampled_from(pools[name])) for name in names}
        if values.get("until") is not None:
            values["until"] = datetime.fromtimestamp(int(self.now) + values["until"], UTC)
        return values

    def inserted(self, kind: Kind, name: Any, values: Values, base: str) -> Step:
        entity: Any = kind(name=name, **values)
        change = Change(kind, name_of(kind, values_of(entity)), values_of(entity), base)
        verb = "insert" if base == NEW else "overwrite"
        again = lambda to: to.save(kind(name=name, **values), overwrite=base == OVER)  # noqa: E731
        return Step(verb, change, lambda to: to.save(entity, overwrite=base == OVER), again=again, new=entity)

    def step(self, data: st.DataObject, verbs: list[str], busy: list[Step] | None = None) -> Step | None:
        verb = data.draw(st.sampled_from(verbs))
        if verb in WITH_OBJECT:
            held = [
                held
                for held in self.held
                if self.is_clean(held) and held not in [one.held for one in busy or ()]
            ]
            if not held and (
                names := [name for name in self.world.rows if self.world.stored(name, self.now)]
            ):
                name = data.draw(st.sampled_from(names))
                self.hold(self.calm.get(key_of(self.world.rows[name].kind, name[1])))
                held = self.held[-1:]
            return self.with_object(data, verb, data.draw(st.sampled_from(held))) if held else None
        kind = data.draw(st.sampled_from(KINDS))
        live = [
            name
            for name in FACTS[kind].names
            if self.world.values((FACTS[kind].family, name), self.now, kind)
        ]
        wanted = (
            live
            if live and verb not in ("insert", "upsert") and data.draw(st.booleans())
            else FACTS[kind].names
        )
        name = data.draw(st.sampled_from(wanted))
        if verb in ("insert", "overwrite"):
            values = self.drawn(kind, data)
            values |= {"title": ""} if kind is Team and "title" not in values else {}
            return self.inserted(kind, name, values, NEW if verb == "insert" else OVER)
        return self.checked(data, kind, name) if verb == "check" else self.by_key(data, verb, kind, name)

    def is_expired(self, name: Name) -> bool:
        """Whether an entity is stored that has expired: it may be deleted by its key, or not."""
        row = self.world.rows.get(name)
        return row is not None and row.values is not None and self.world.stored(name, self.now) is None

    def is_clean(self, held: Held) -> bool:
        end = expiry(held.base.values)
        return values_of(held.entity) == held.base.values and not (end is not None and end <= self.now)

    def by_key(self, data: st.DataObject, verb: str, kind: Kind, name: Any) -> Step | None:
        key, facts, at = key_of(kind, name), FACTS[kind], (FACTS[kind].family, name)
        row, before = self.world.stored(at, self.now), self.world.values(at, self.now, kind)
        true_kind = row.kind if row is not None and before is not None else kind
        if verb == "delete by key":
            if self.is_expired(at):
                return None
            change = Change(true_kind, at, None, ANY)
            alone: Any = (lambda to: to.delete(key, returning=True)) if data.draw(st.booleans()) else None
            return Step(verb, change, lambda to: to.delete(key), alone=alone, returns=before)
        changes: Any = self.drawn(kind, data, 1)
        after = {**(before or {}), **changes}
        blind = set(changes) <= facts.blind
        if verb == "add by key":
            if (counter := facts.counter) is None:
                return None
            after, blind = (
                {**(before or {}), counter: (before or {}).get(counter, 0) + 1},
                counter in facts.blind,
            )
            changes = F[counter].add(1)
        if verb != "upsert":
            change = Change(true_kind, at, after if before is not None else None, ANY, blind=blind)
            return Step(verb, change, lambda to: to.update(key, changes), returns=after)
        if before is None:
            created: Any = kind(name=name, **({"title": "", **changes} if kind is Team else changes))
            changes, after = ({"title": "", **changes} if kind is Team else changes), values_of(created)
        blind = before is None or (blind and kind in (Tally, Lamp, Point))
        change = Change(true_kind, at, after, UPSERT, blind=blind)
        return Step(verb, change, lambda to: to.upsert(key, changes), returns=after)

    def checked(self, data: st.DataObject, kind: Kind, name: Any) -> Step | None:
        field = data.draw(st.sampled_from(sorted(FACTS[kind].pools)))
        pool = [value for value in FACTS[kind].pools[field] if value is not None]
        if field == "until":
            return None
        value, at = data.draw(st.sampled_from(pool)), (FACTS[kind].family, name)
        before = self.world.values(at, self.now, kind)
        wrong: Wrong | None = (
            EntityNotFound if before is None else None if before[field] == value else ConditionFailed
        )
        key = key_of(kind, name)
        return Step(
            "check",
            None,
            lambda to: to.check(key, F[field] == value),
            wrong=frozenset(() if wrong is None else (wrong,)),
            checked=at,
        )

    def with_object(self, data: st.DataObject, verb: str, held: Held) -> Step | None:
        entity, base = held.entity, held.base
        kind, facts = type(entity), FACTS[type(entity)]
        at = name_of(kind, base.values)
        if verb == "delete":
            return Step(verb, Change(kind, at, None, base), lambda to: to.delete(entity), held=held)
        if verb == "touch":
            if facts.relied_on is not None:
                return None
            return Step(
                verb, Change(kind, at, base.values, base, blind=True), lambda to: to.touch(entity), held=held
            )
        if verb == "move":
            names = [name for name in facts.names if name != at[1]]
            name = data.draw(
                st.sampled_from([one for one in names if (at[0], one) not in self.world.rows] or names)
            )
            if facts.versioned is not None:
                return None
            moved = {**base.values, "name": name, **dict.fromkeys(facts.totals, 0)}
            entity.name = name
            change = Change(kind, at, moved, base, moved_to=(at[0], name))
            return Step(verb, change, lambda to: to.move(entity), held=held)
        changes = self.drawn(kind, data, 1)
        change = Change(kind, at, {**base.values, **changes}, base)
        if verb == "save":
            vars(entity).update(changes)
            return Step(verb, change, lambda to: to.save(entity), held=held)
        return Step(verb, change, lambda to: to.update(entity, changes), held=held)

    # -- writing -------------------------------------------------------------------------------------------------------

    def run(
        self,
        verb: str,
        steps: list[Step],
        fault: Any = None,
        *,
        block: bool = False,
        once: bool = False,
        token: str | None = None,
    ) -> bool:
        """Make steps as one call or one transaction, and compare everything with the oracle; whether they were made."""
        # No two writes have one time: it is what tells a version from another writer's with equal values.
        self.clock.advance(0.001)
        now, self.running = self.now, verb
        changes = [step.change for step in steps if step.change is not None]
        wrong = self.world.judge(changes, now) | {error for step in steps for error in step.wrong}
        session, before = self.session(fault), self.memory()
        wire = self.wire
        returned: list[Any] = []

        def work() -> None:
            if not block:
                returned.append((steps[0].alone or steps[0].call)(Once(session) if once else session))
                return
            with session.transaction(**({} if token is None else {"token": token})) as tx:
                for step in steps:
                    step.call(tx)

        note(f"{[(step.verb, step.change) for step in steps]} {fault} {wrong}")
        is_gone = all(change.values is None and change.base == ANY for change in changes)
        is_made = self.is_made(work, wrong, fault, is_gone=is_gone)
        self.note(is_made=is_made)
        assert is_made or self.memory() == before
        for held in [step.held for step in steps if step.held is not None]:
            self.held.remove(held)
        if not is_made:
            return False
        sent = [call for call in wire.calls if call.operation not in READS]
        at_once = self.is_made_at_once(changes)
        written = self.world.apply(changes, now)
        assert fault or token or once or len(sent) <= 1 or not at_once
        assert fault or token or sent or not written
        for entity in returned:
            assert entity is None or steps[0].returns is None or values_of(entity) == steps[0].returns
        for step in steps:
            self.settle(step)
        return True

    def is_made_at_once(self, changes: list[Change]) -> bool:
        """Whether one request writes: what is deleted or expired, or a target that is gone, refuses the first one."""
        looked_at = [change.name for change in changes if change.name in self.world.rows]
        looked_at += [target for target, _ in self.world.deltas(changes, self.now)[0]]
        return all(self.world.stored(name, self.now) is not None for name in looked_at)

    def is_made(
        self, work: Callable[[], object], wrong: set[Wrong], fault: Any, *, is_gone: bool = False
    ) -> bool:
        before = self.memory()
        try:
            work()
        except OutcomeUnknown as unknown:
            assert fault is not None
            return self.is_settled(unknown.plan, before)
        except DynaormError as error:
            if type(error) not in wrong:
                raise
            return False
        # Without an answer, nobody knows who deleted what is not there.
        assert not wrong or (fault is not None and wrong == {EntityNotFound} and is_gone), wrong
        return not wrong

    def is_settled(self, plan: Any, before: Any) -> bool:
        """Whether a plan is in effect: where nobody can tell, the table shows whether all of it happened."""
        for _ in range(2):
            try:
                return bool(self.calm.resume(plan))
            except OutcomeUnknown:
                self.clock.advance(600)
            except StoreError:
                return False
        return bool(self.raw() != before[0])

    def settle(self, step: Step) -> None:
        """An object that was written is what is stored."""
        entity = step.new if step.held is None else step.held.entity
        if entity is None or step.change is None:
            return
        if step.change.values is None:
            assert not inspect(entity).loaded
            return
        if step.held is not None and step.change.is_nothing:
            self.held.append(step.held)
            return
        row = self.world.rows[step.change.target]
        assert values_of(entity) == row.values
        assert (inspect(entity).loaded, inspect(entity).changes) == (True, {})
        assert inspect(entity).version == (row.number or None)
        self.hold(entity)

    def hold(self, entity: Any) -> None:
        row = self.world.rows[name_of(type(entity), values_of(entity))]
        self.held.append(Held(entity, Base(row.stamp, type(entity), values_of(entity), row.number)))
        del self.held[:-6]

    def fault(self, data: st.DataObject) -> Any:
        return data.draw(st.sampled_from([None] * len(FAULTS) + FAULTS)) if self.has_faults else None

    @rule(data=st.data(), times=st.integers(1, 6))
    def write(self, data: st.DataObject, times: int) -> None:
        for _ in range(times):
            if (step := self.step(data, VERBS)) is not None:
                once = data.draw(st.booleans())
                if once and step.change is not None and step.verb != "touch":
                    step.change.blind = False  # it reads
                self.run(step.verb, [step], self.fault(data), once=once)
                self.check_tables()

    def block(self, data: st.DataObject, verbs: list[str], size: int) -> list[Step]:
        steps: list[Step] = []
        taken: set[Any] = set()
        for _ in range(size):
            step = self.step(data, verbs, steps)
            if step is None:
                continue
            names = {step.checked} if step.change is None else {step.change.name, step.change.target}
            if not names & taken:
                taken |= names
                steps.append(step)
            elif step.held is not None:
                self.held.remove(step.held)
        return steps

    @rule(data=st.data(), size=st.integers(2, 4))
    def write_a_block(self, data: st.DataObject, size: int) -> None:
        if steps := self.block(data, [*VERBS, "check"], size):
            self.run("block", steps, self.fault(data), block=True)

    @rule(data=st.data(), field=st.sampled_from(["email", "desk"]))
    def rotate(self, data: st.DataObject, field: str) -> None:
        """Members pass on a unique value in a circle, in one transaction."""
        names = [name for name in self.world.rows if self.world.values(name, self.now, Member) is not None]
        members = [self.calm.get(key_of(Member, name[1])) for name in names]
        values = [getattr(member, field) for member in members]
        steps: list[Step] = []
        for member, value in zip(members, values[1:] + values[:1], strict=True):
            self.hold(member)
            held, base = self.held[-1], self.held[-1].base
            setattr(member, field, value)
            change = Change(
                type(member), name_of(type(member), base.values), {**base.values, field: value}, base
            )
            steps.append(Step("save", change, saving(member), held=held))
        if len(steps) > 1:
            self.run("rotate", steps, self.fault(data), block=True)
        else:
            self.held.clear()

    @rule(data=st.data(), size=st.integers(1, 3))
    def write_under_a_token(self, data: st.DataObject, size: int) -> None:
        """A block under a token is made once, whatever was written since; another block under it is refused."""
        if self.blocks and data.draw(st.sampled_from([True, False])):
            past: tuple[str, list[Step]] = data.draw(st.sampled_from(self.blocks))
            self.repeat(*past, self.fault(data))
            return
        steps = [
            step for step in self.block(data, BY_KEY, size) if step.change and step.change.kind is not Point
        ]
        token = f"t{len(self.blocks)}"
        if not steps or not self.run("block under a token", steps, self.fault(data), block=True, token=token):
            return
        self.blocks.append((token, steps))
        first = steps[0].change
        assert first is not None
        self.world.tokens.add((FACTS[first.kind].table.name, token))
        self.repeat(token, steps)

    def repeat(self, token: str, steps: list[Step], fault: Any = None) -> None:
        """Run a block again as another process does, and another block under its token. Nothing is written."""
        before = self.raw()
        for repeated, wrong in (
            (steps, None),
            ([*steps, self.inserted(Page, "other", {}, NEW)], TokenReused),
        ):
            try:
                with self.session(fault).transaction(token=token) as tx:
                    for step in repeated:
                        (step.again or step.call)(tx)
                assert wrong is None
            except TokenReused:
                assert wrong is not None
            except OutcomeUnknown:
                assert fault is not None
            assert self.raw() == before

    @rule(
        data=st.data(),
        size=st.integers(1, 3),
        verb=st.sampled_from(["save_many", "delete_many", "bulk_load"]),
    )
    def write_many(self, data: st.DataObject, size: int, verb: str) -> None:
        """Each is made or named as a failure; ``bulk_load`` replaces without looking."""
        kind = data.draw(st.sampled_from([Point] if verb == "bulk_load" else [Page, Login, Point, Lamp]))
        self.clock.advance(0.001)
        names = data.draw(
            st.lists(st.sampled_from(FACTS[kind].names), unique=True, min_size=1, max_size=size)
        )
        names = [name for name in names if not self.is_expired((FACTS[kind].family, name))]
        entities: list[Any] = [kind(name=name, **self.drawn(kind, data)) for name in names]
        keys, failed, self.running = [key_of(kind, name) for name in names], [], verb
        try:
            if verb == "bulk_load":
                assert self.calm.bulk_load(entities) == len(entities)
            elif verb == "save_many":
                self.calm.save_many(entities, concurrency=1)
            else:
                self.calm.delete_many(keys, concurrency=1)
        except BulkError as error:
            failed = [target for target, _ in error.failures]
        for entity, key in zip(entities, keys, strict=True):
            values = None if verb == "delete_many" else values_of(entity)
            base = {"bulk_load": OVER, "save_many": NEW, "delete_many": ANY}[verb]
            change = Change(kind, name_of(kind, values_of(entity)), values, base)
            wrong = self.world.judge([change], self.now)
            assert any(target is entity or target is key for target in failed) is bool(wrong)
            self.note(is_made=not wrong)
            if not wrong:
                self.world.apply([change], self.now)

    @rule(data=st.data(), number=st.integers(1, 3), way=st.sampled_from(["restore", "prune", "purge"]))
    def rewrite_history(self, data: st.DataObject, number: int, way: str) -> None:
        at = self.versioned(data, deleted=way == "purge")
        row, fault = self.world.rows.get(at), self.fault(data)
        if row is not None and row.versions and way == "restore":
            number = data.draw(st.sampled_from([*row.versions, number]))
        key = key_of(VERSIONED[at[0]], at[1])
        self.clock.advance(0.001)
        session, before, self.running = self.session(fault), self.memory(), way
        work: dict[str, Callable[[], Any]] = {
            "restore": lambda: session.restore(key, version=number),
            "prune": lambda: use(tools.prune, session, key, keep=number),
            "purge": lambda: use(tools.purge, session, key),
        }
        changes = [] if row is None or way != "restore" else restored(at, row, number)
        wrong = self.world.judge(changes, self.now) | wrong_in_history(row, number, way)
        is_made = self.is_made(work[way], wrong, fault)
        self.note(is_made=is_made)
        if not is_made:
            assert self.memory() == before
        elif way == "restore":
            self.world.apply(changes, self.now)
        elif way == "prune" and row is not None:
            row.versions = {one: old for one, old in row.versions.items() if one > row.number - number}
        else:
            del self.world.rows[at]

    def versioned(self, data: st.DataObject, *, deleted: bool) -> Name:
        """The name of a versioned entity, most often of one that is stored, or deleted."""
        rows = self.world.rows.items()
        if deleted and not any(row.values is None for _, row in rows):
            name = data.draw(st.sampled_from([("PAGE", "1"), ("SHEET", "1"), ("AUDIT", "1")]))
            key = key_of(VERSIONED[name[0]], name[1])
            change = Change(key.entity, name, None, ANY)
            self.run("delete by key", [Step("delete by key", change, lambda to: to.delete(key))])
        fit = [name for name, row in rows if row.number and (row.values is None) is deleted]
        if fit and data.draw(st.sampled_from([True, True, False])):
            return data.draw(st.sampled_from(fit))
        kind = data.draw(st.sampled_from([*VERSIONED.values()]))
        return FACTS[kind].family, data.draw(st.sampled_from(FACTS[kind].names))

    @rule(data=st.data(), way=st.sampled_from(["copy", "pickle", "refresh"]))
    def hold_again(self, data: st.DataObject, way: str) -> None:
        if not self.held:
            return
        held = data.draw(st.sampled_from(self.held))
        if way != "refresh":
            copy = held.entity.model_copy() if way == "copy" else pickle.loads(pickle.dumps(held.entity))
            self.held.append(Held(copy, held.base))
            return
        row = self.world.stored(name_of(held.base.kind, held.base.values), self.now)
        self.held.remove(held)
        if row is not None and row.kind is held.base.kind:
            assert values_of(self.calm.refresh(held.entity)) == row.values
            self.hold(held.entity)

    @rule(seconds=st.sampled_from([1, 40, 70, 700]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @invariant()
    def check_tables(self) -> None:
        stored = {key: predicted(item) for key, item in self.raw().items()}
        due = {key: predicted(item) for key, item in self.world.items().items()}
        differing = {
            key: (stored.get(key), due.get(key)) for key in {*stored, *due} if stored.get(key) != due.get(key)
        }
        assert not differing, differing

    def teardown(self) -> None:
        findings = use(tools.verify, self.calm, *TABLES)
        kinds = {name: self.world.rows[name].kind for name in self.world.wrong_totals()}
        keys = {key_of(kind, name[1]).primary_key["PK"]["S"] for name, kind in kinds.items()}
        assert {finding.item_key["PK"]["S"] for finding in findings} == keys, [
            str(finding) for finding in findings
        ]
        if not findings and not self.is_async:
            assert_consistent(self.calm, *TABLES)
        self.held.clear()
