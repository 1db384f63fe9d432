"""What the rules of the state machine use: it makes a change in the table and in the model, and compares both."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from dynaorm import Entity, Retry, Session, inspect
from dynaorm.errors import DynaormError, OutcomeUnknown, StaleEntity, StoreError
from dynaorm.flow.call import Call, Transport
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport
from tests.counted_rules import CountingMachine
from tests.story.machine_model import (
    NEW,
    POOLS,
    PREFIX,
    Ident,
    Model,
    Values,
    Write,
    expiry,
    sort_of,
    values_of,
)

GIVEN_BY_THE_WRITE = ("_rev", "version_at", "previous_deletion")
"""Attributes that the model does not predict: a revision, and times."""


@dataclass
class Held:
    """An object in memory. ``base`` is the stamp it was loaded at; NEW if it is not stored."""

    entity: Any
    values: Values
    base: int

    @property
    def ident(self) -> Ident:
        return type(self.entity), self.values["id"]


class Bench(CountingMachine):
    """A table, the objects in memory, and the model of both. Subclasses add the rules."""

    def __init__(self, engine: Transport) -> None:
        super().__init__()
        self.engine, self.clock, self.model = engine, FakeClock(jitter=0), Model()
        self.held: list[Held] = []
        self.revisions: dict[Ident, tuple[int, str]] = {}
        self.calm = self.session(None)
        for key in self.raw():
            body = {"PK": {"S": key[0]}, "SK": {"S": key[1]}}
            engine.call(Call("DeleteItem", {"TableName": "machine", "Key": body}))

    def session(self, fault: Fault | None) -> Session:
        faults = [] if fault is None else [fault]
        return Session(
            transport=FaultyTransport(self.engine, *faults), clock=self.clock, retry=Retry(attempts=4)
        )

    def raw(self) -> dict[tuple[str, str], Item]:
        items = self.engine.call(Call("Scan", {"TableName": "machine", "ConsistentRead": True}))["Items"]
        return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}

    def memory(self) -> list[Any]:
        return [self.raw(), *((values_of(one.entity), inspect(one.entity)) for one in self.held)]

    def attempt(
        self, work: Callable[[Session], object], wrong: type[DynaormError] | None, fault: Fault | None
    ) -> bool:
        """Send a change and check its outcome against the model; return whether it was made."""
        is_made = self.is_made(work, wrong, fault)
        self.note(is_made=is_made)
        return is_made

    def is_made(
        self, work: Callable[[Session], object], wrong: type[DynaormError] | None, fault: Fault | None
    ) -> bool:
        # No two writes have one time: it is what tells a version from another writer's with equal values.
        self.clock.advance(0.001)
        quiet = wrong is None and fault is None
        before = None if quiet else self.memory()
        try:
            work(self.session(fault))
        except OutcomeUnknown as unknown:
            if self.settled(unknown.plan):
                assert wrong is None
                return True
        except DynaormError as error:
            if type(error) is not wrong:
                raise
        else:
            assert wrong is None
            return True
        assert not quiet
        assert self.memory() == before
        return False

    def settled(self, plan: Any) -> bool:
        """Whether a plan is in effect. Nobody else writes here: an update by key that the item does not show is not."""
        try:
            return self.calm.resume(plan)
        except OutcomeUnknown:
            self.clock.advance(600)
        except StoreError:
            return False
        try:
            return self.calm.resume(plan)
        except OutcomeUnknown:
            return False

    def write(
        self, writes: list[Write], work: Callable[[Session], object], fault: Fault | None, wrong: Any = None
    ) -> bool:
        now = self.clock.now()
        done = self.attempt(work, wrong or self.model.judge(writes, now), fault)
        if done:
            self.model.book(writes, now)
        return done

    def check_table(self) -> None:
        found = self.raw()
        for (kind, name), record in self.model.records.items():
            revision = found[f"{PREFIX[kind]}#{name}", sort_of(kind)]["_rev"]["S"]
            stamp, known = self.revisions.get((kind, name), (record.stamp, revision))
            assert (stamp == record.stamp) is (known == revision)
            self.revisions[kind, name] = (record.stamp, revision)
        bare = {
            key: {name: value for name, value in item.items() if name not in GIVEN_BY_THE_WRITE}
            for key, item in found.items()
        }
        assert bare == self.model.table()
        assert all(("version_at" in item) is ("version" in item) for item in found.values())

    def hold(self, entity: Any) -> None:
        ident = type(entity), entity.id
        self.held.append(Held(entity, values_of(entity), self.model.records[ident].stamp))
        del self.held[:-8]

    def settle_held(self, one: Held) -> None:
        """Note that the object now equals what is stored."""
        one.values, one.base = values_of(one.entity), self.model.records[one.ident].stamp
        assert (inspect(one.entity).loaded, inspect(one.entity).changes) == (True, {})
        assert inspect(one.entity).version == (self.model.records[one.ident].number or None)

    def drawn(self, kind: type[Entity], data: st.DataObject, least: int = 0) -> Values:
        pool = {name: st.sampled_from(values) for name, values in POOLS[kind].items()}
        names = data.draw(st.lists(st.sampled_from(list(pool)), unique=True, min_size=least, max_size=4))
        found = {name: data.draw(pool[name]) for name in names}
        if found.get("until") is not None:
            # Whole seconds, as they are stored.
            found["until"] = datetime.fromtimestamp(int(self.clock.now()) + found["until"], UTC)
        return found

    def some(self, pick: int, *kinds: type[Entity]) -> Ident:
        """The identity of a stored record, or of one that was never stored."""
        stored = [ident for ident in self.model.records if ident[0] in kinds]
        return [*stored, *stored, (kinds[pick % len(kinds)], "9")][pick % (2 * len(stored) + 1)]

    def picked(self, pick: int, *kinds: type[Entity]) -> Held | None:
        fitting = [one for one in self.held if not kinds or type(one.entity) in kinds]
        return fitting[pick % len(fitting)] if fitting else None

    def saving(self, one: Held) -> tuple[list[Write], type[DynaormError] | None]:
        """The record that saving an object writes, and the error of the object itself."""
        now, end = values_of(one.entity), expiry(one.values)
        if one.base == NEW:
            return [Write(one.ident, now, NEW)], None
        if end is not None and end <= self.clock.now():
            return [], StaleEntity
        return ([Write(one.ident, now, one.base)] if now != one.values else []), None
