"""After any sequence of operations, every total has changed by exactly as much as its sources.

After every step, both are computed from the raw items: the change of the sum over the live sources that name a target,
and the change of the target's fields. They must be equal for a target that existed before. A new target must begin with
that sum. An operation that is refused must leave the table as it was, and the items must show why it was refused.
"""

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any

from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from pydantic import computed_field

from dynaorm import Aggregate, Computed, Entity, F, Key, Session, Table, Transaction, inspect, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    DynaormError,
    EntityNotFound,
    InvalidValue,
    OutcomeUnknown,
    SameItemTwice,
    StaleEntity,
    UsageError,
)
from dynaorm.flow.call import Call, Transport
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.item.value import Item
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport, conflict, lost_answer, lost_request, throttle
from tests.counted_rules import CountingMachine, rule, run_counted
from tests.memory import MEMORY

app, tallies = Table("machine"), Table("machine-tallies", sk=None)


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str
    members: int = 0
    hours: Decimal = Decimal(0)
    pay: Decimal = Decimal(0)


class Tally(Entity, table=tallies, pk="TALLY#{day}"):
    day: str
    note: str | None = None
    total: int = 0


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    hours: Decimal | None = None
    active: bool = True
    day: str | None = None
    in_group = Aggregate(
        Group, count="members", sum={"hours": "hours", "pay": "pay"}, when=lambda one: one.active
    )
    on_day = Aggregate(Tally, count="total")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def pay(self) -> Annotated[Decimal, Computed(of="hours")]:
        return (self.hours or Decimal(1)) * 3


class Shift(Entity, table=app, pk="SHIFT#{group_id}", sk="SHIFT", versioned=True):
    group_id: str
    of: str | None = None
    hours: Decimal = Decimal(0)


class Team(Entity, table=app, pk="TEAM#{of}", sk="INFO"):
    of: str
    shifts: int = 0
    worked: Decimal = Decimal(0)


class Watch(Shift):
    in_team = Aggregate(Team, count="shifts", sum={"hours": "worked"})


GROUPS, USERS = st.sampled_from("gh"), st.sampled_from("uvw")
DAYS, HOURS = st.sampled_from([None, "mon", "tue"]), st.sampled_from([None, Decimal(1), Decimal("2.5")])
MEMBERSHIP: dict[str, st.SearchStrategy[Any]] = {"hours": HOURS, "active": st.booleans(), "day": DAYS}
WATCH: dict[str, st.SearchStrategy[Any]] = {
    "of": st.sampled_from([None, "a", "b"]),
    "hours": st.sampled_from([Decimal(0), Decimal(3)]),
}
PICK = st.integers(0, 99)
FAULTS = st.sampled_from([None, None, None, lost_answer(), lost_request(), conflict(), throttle()])

Totals = dict[tuple[str, str], Decimal]
Step = Callable[[Transaction], object]


def number(item: Item, name: str) -> Decimal:
    return Decimal(item[name]["N"]) if name in item else Decimal(0)


def sums(items: list[Item]) -> Totals:
    """The sums over the live sources, from raw items."""
    found: Totals = {}

    def add(target: str, name: str, more: Decimal) -> None:
        found[target, name] = found.get((target, name), Decimal(0)) + more

    for item in items:
        kind = item.get("_type", {}).get("S")
        if kind == "Membership":
            if item["active"]["BOOL"]:
                add(f"GROUP#{item['group_id']['S']}", "members", Decimal(1))
                add(f"GROUP#{item['group_id']['S']}", "hours", number(item, "hours"))
                pay = 3 * (number(item, "hours") if "hours" in item else Decimal(1))
                add(f"GROUP#{item['group_id']['S']}", "pay", pay)
            if "day" in item:
                add(f"TALLY#{item['day']['S']}", "total", Decimal(1))
        elif kind == "Watch" and "of" in item:
            add(f"TEAM#{item['of']['S']}", "shifts", Decimal(1))
            add(f"TEAM#{item['of']['S']}", "worked", number(item, "hours"))
    return found


def totals(items: list[Item]) -> Totals:
    """The totals of the targets, from raw items."""
    kept = {"Group": ("members", "hours", "pay"), "Tally": ("total",), "Team": ("shifts", "worked")}
    return {
        (str(item["PK"]["S"]), name): number(item, name)
        for item in items
        for name in kept.get(item.get("_type", {}).get("S", ""), ())
    }


def is_explained(refused: DynaormError, items: list[Item]) -> bool:
    """Whether the items show why an operation was refused."""
    if not isinstance(refused, AlreadyExists | ConditionFailed | EntityNotFound | StaleEntity):
        return False
    key = refused.key.primary_key.items()
    stored = next((item for item in items if key <= item.items() and "deleted" not in item), None)
    if isinstance(refused, AlreadyExists):
        return stored is not None
    if isinstance(refused, EntityNotFound):
        return stored is None
    if isinstance(refused, ConditionFailed):  # the only condition: a check of ``F.members < 3``
        return stored is None or int(stored["members"]["N"]) >= 3
    # Of two objects of one entity in a block one is stale, which is known without a read.
    return stored is None or refused.found is None or stored["_rev"]["S"] != refused.expected


class Machine(CountingMachine):
    """The operations of users, one by one and in transactions."""

    def __init__(self, engine: Transport) -> None:
        super().__init__()
        self.engine, self.clock = engine, FakeClock(jitter=0)
        self.calm = Session(transport=engine, clock=self.clock)
        self.held: list[Any] = []
        for table in (app, tallies):
            for item in self.items(table):
                key = {one.name: item[one.name] for one in table.keys}
                engine.call(Call("DeleteItem", {"TableName": table.name, "Key": key}))

    def items(self, table: Table) -> list[Item]:
        request = {"TableName": table.name, "ConsistentRead": True}
        found: list[Item] = self.engine.call(Call("Scan", request))["Items"]
        return found

    def do(
        self,
        work: Callable[[Session], object],
        fault: Fault | None = None,
        wrong: tuple[type[DynaormError], ...] = (),
    ) -> bool:
        """Run an operation, and compare the change of the sources with the change of the totals.

        ``wrong``: errors that the operation itself may cause, whatever is stored.
        """
        before = [*self.items(app), *self.items(tallies)]
        transport = FaultyTransport(self.engine, *([fault] if fault is not None else []))
        done = False
        try:
            work(Session(transport=transport, clock=self.clock))
            done = True
        except OutcomeUnknown as unknown:
            event("unknown")
            with suppress(DynaormError):
                self.calm.resume(unknown.plan)
        except DynaormError as refused:
            event(type(refused).__name__)
            if type(refused) not in wrong and not is_explained(refused, before):
                raise
            assert [*self.items(app), *self.items(tallies)] == before
        after = [*self.items(app), *self.items(tallies)]
        was, now, zero = totals(before), totals(after), Decimal(0)
        came, went = sums(after), sums(before)
        assert {one: number - was.get(one, zero) for one, number in now.items()} == {
            one: came.get(one, zero) - went.get(one, zero) for one in now
        }
        self.check_held(after)
        self.note(is_made=done)
        return done

    def check_held(self, items: list[Item]) -> None:
        """An object with the stored revision must hold the stored totals."""
        stored = {(str(item["PK"]["S"]), str(item.get("SK", {}).get("S"))): item for item in items}
        for entity in self.held:
            found = inspect(entity)
            if found.key is not None and isinstance(entity, Group | Tally | Team):
                key = found.key.primary_key
                item = stored.get((str(key["PK"]["S"]), str(key.get("SK", {}).get("S"))))
                if item is not None and item["_rev"]["S"] == found.revision:
                    fresh = mapping_of(type(entity)).loader.hydrate(item)
                    assert not [
                        name
                        for name in mapping_of(type(entity)).maintained
                        if getattr(entity, name) != getattr(fresh, name)
                    ]

    def picked(self, pick: int, *kinds: type[Entity]) -> Any:
        """An object in memory; reloaded first if ``pick`` is even."""
        found = [one for one in self.held if not kinds or isinstance(one, kinds)]
        if not found:
            return Group(group_id="g", name="first")
        entity = found[pick % len(found)]
        with suppress(DynaormError):
            if pick % 2 == 0:
                self.calm.refresh(entity)
        return entity

    @initialize()
    def begin(self) -> None:
        self.held = [Group(group_id="g", name="g"), Group(group_id="h", name="h"), Team(of="a")]
        self.held += [Membership(group_id="g", user_id="u", day="mon"), Watch(group_id="g", of="a")]
        for one in self.held:
            self.do(lambda session, one=one: session.save(one))  # type: ignore[misc]  # a loop's default

    # -- single writes -------------------------------------------------------------------------------------------------

    @rule(
        group=GROUPS, user=USERS, values=st.fixed_dictionaries(MEMBERSHIP), over=st.booleans(), fault=FAULTS
    )
    def insert(self, group: str, user: str, values: dict[str, Any], over: bool, fault: Fault | None) -> None:
        entity = Membership(group_id=group, user_id=user, **values)
        if self.do(lambda session: session.save(entity, overwrite=over), fault):
            self.held.append(entity)

    @rule(name=GROUPS, values=st.fixed_dictionaries(WATCH), over=st.booleans(), fault=FAULTS)
    def insert_versioned(self, name: str, values: dict[str, Any], over: bool, fault: Fault | None) -> None:
        entity = Watch(group_id=name, **values)
        if self.do(lambda session: session.save(entity, overwrite=over), fault):
            self.held.append(entity)

    @rule(
        group=GROUPS,
        way=st.sampled_from(["insert", "overwrite", "re-create"]),
        joined=st.booleans(),
        fault=FAULTS,
    )
    def put_group(self, group: str, way: str, joined: bool, fault: Fault | None) -> None:
        entity = Group(group_id=group, name=way)

        def work(session: Session) -> None:
            with session.transaction() as tx:
                if way == "re-create":
                    tx.delete(Key(Group, group_id=group))
                tx.save(entity, overwrite=way == "overwrite")
                if joined:
                    tx.save(Membership(group_id=group, user_id="first"), overwrite=True)

        if self.do(work, fault):
            self.held.append(entity)

    @rule(pick=PICK, data=st.data(), fault=FAULTS, edit=st.booleans())
    def change(self, pick: int, data: st.DataObject, fault: Fault | None, edit: bool) -> None:
        entity = self.picked(pick, Membership, Watch)
        fields = MEMBERSHIP if isinstance(entity, Membership) else WATCH
        changes = data.draw(st.fixed_dictionaries({}, optional=fields))
        if not changes or isinstance(entity, Group):
            return
        if edit:
            # An object that was deleted is new again.
            wrong = () if inspect(entity).loaded else (UsageError,)
            self.do(lambda session: session.update(entity, changes), fault, wrong)
            return
        for name, value in changes.items():
            setattr(entity, name, value)
        self.do(lambda session: session.save(entity), fault)

    @rule(pick=PICK, hours=HOURS, active=st.booleans(), fault=FAULTS)
    def update_by_key(self, pick: int, hours: Decimal | None, active: bool, fault: Fault | None) -> None:
        entity = self.picked(pick, Membership)
        changes = {"hours": hours, "active": active}
        if isinstance(entity, Membership):
            self.do(lambda session: session.update(key_of(entity), changes), fault)

    @rule(pick=PICK, by_key=st.booleans(), fault=FAULTS)
    def delete(self, pick: int, by_key: bool, fault: Fault | None) -> None:
        entity = self.picked(pick)
        wrong = () if by_key or inspect(entity).loaded else (UsageError,)
        self.do(lambda session: session.delete(key_of(entity) if by_key else entity), fault, wrong)

    @rule(day=st.sampled_from(["mon", "tue"]))
    def forget(self, day: str) -> None:
        if self.calm.exists(Key(Tally, day=day)):
            self.do(lambda session: session.delete(Key(Tally, day=day)))

    @rule(pick=PICK, group=GROUPS, user=USERS, fault=FAULTS)
    def move(self, pick: int, group: str, user: str, fault: Fault | None) -> None:
        entity = self.picked(pick, Membership, Group)
        before = dict(vars(entity))
        entity.group_id = group
        if isinstance(entity, Membership):
            entity.user_id = user
        wrong = () if inspect(entity).loaded else (UsageError,)
        if not self.do(lambda session: session.move(entity), fault, wrong):
            vars(entity).update(before)

    @rule(name=GROUPS, version=st.sampled_from([1, 1, 2]), fault=FAULTS)
    def restore(self, name: str, version: int, fault: Fault | None) -> None:
        place = {"PK": {"S": f"SHIFT#{name}"}, "SK": {"S": f"v{version}_SHIFT"}}
        is_kept = any(place.items() <= item.items() for item in self.items(app))
        wrong = () if is_kept else (EntityNotFound,)
        self.do(lambda session: session.restore(Key(Watch, group_id=name), version=version), fault, wrong)

    @rule(kind=st.sampled_from([Group, Membership, Watch, Tally]), group=GROUPS, user=USERS, day=DAYS)
    def load(self, kind: type[Entity], group: str, user: str, day: str | None) -> None:
        keys = {Group: {"group_id": group}, Membership: {"group_id": group, "user_id": user}}
        keys |= {Watch: {"group_id": group}, Tally: {"day": day or "mon"}}
        found = self.calm.get(kind, **keys[kind])
        if found is not None:
            self.held.append(found)

    # -- blocks --------------------------------------------------------------------------------------------------------

    @rule(data=st.data(), size=st.integers(2, 4), fault=FAULTS)
    def block(self, data: st.DataObject, size: int, fault: Fault | None) -> None:
        drawn = [self.step(data) for _ in range(size)]

        def work(session: Session) -> None:
            with session.transaction() as tx:
                for one, _ in drawn:
                    one(tx)

        # What a block may not hold; ``new`` objects in it are not loaded, or were changed by hand.
        if self.do(work, fault, (SameItemTwice, UsageError, InvalidValue)):
            self.held += [entity for _, entity in drawn if entity is not None]

    def step(self, data: st.DataObject) -> tuple[Step, Any]:
        """One write of a transaction, and the new entity that it saves."""
        group, user = data.draw(GROUPS), data.draw(USERS)
        entity, key = self.picked(data.draw(PICK)), Key(Group, group_id=group)
        kind = data.draw(
            st.sampled_from(
                ["insert", "new group", "save", "edit", "check", "check loaded", "delete", "delete by key"]
            )
        )
        if kind == "insert":
            new = Membership(group_id=group, user_id=user, **data.draw(st.fixed_dictionaries(MEMBERSHIP)))
            return lambda tx: tx.save(new), new
        if kind == "new group":
            target, over = Group(group_id=group, name="new"), data.draw(st.booleans())
            return lambda tx: tx.save(target, overwrite=over), target
        if kind == "save":
            if isinstance(entity, Group):
                entity.name = data.draw(st.sampled_from(["x", "y"]))
            return lambda tx: tx.save(entity), None
        if kind == "edit":
            return lambda tx: tx.update(key, F.name.set("edited")), None
        if kind == "check":
            return lambda tx: tx.check(key, F.members < 3), None
        if kind == "check loaded":
            return lambda tx: tx.check(entity), None
        return lambda tx: tx.delete(entity if kind == "delete" else key_of(entity)), None

    # -- by hand -------------------------------------------------------------------------------------------------------

    @rule(pick=PICK, group=GROUPS)
    def meddle(self, pick: int, group: str) -> None:
        entity = self.picked(pick, Group)
        meddled = entity.model_copy(update={"members": entity.members + 1})
        for work in (
            lambda session: session.save(meddled),
            lambda session: session.update(Key(Group, group_id=group), F.members.add(1)),
        ):
            problem: UsageError | None = None
            try:
                assert not self.do(work)  # refused earlier, as the stored items explain
            except UsageError as refused:
                problem = refused
                self.note(is_made=True)
            assert problem is None or "Membership.in_group" in str(problem)

    def teardown(self) -> None:
        # A target that is deleted while sources name it loses its totals. ``verify`` must find that, and nothing else.
        items = [*self.items(app), *self.items(tallies)]
        due = sums(items)
        wrong = {
            target for (target, name), number in totals(items).items() if number != due.get((target, name), 0)
        }
        findings = list(tools.verify(self.calm, app, tallies))
        assert {one.item_key["PK"]["S"] for one in findings if one.kind is FindingKind.TOTAL} == wrong
        assert len(findings) == len(wrong)
        self.held.clear()


def key_of(entity: Any) -> Key[Any]:
    return Key(type(entity), **{name: getattr(entity, name) for name in mapping_of(type(entity)).key_fields})


def test_totals_always_follow_their_sources(moto_transport: Transport) -> None:
    with MEMORY.empty():
        for table in (app, tallies):
            Session(transport=moto_transport).create_table(table)

        class OnMoto(Machine):
            def __init__(self) -> None:
                super().__init__(moto_transport)

        run_counted(
            OnMoto,
            settings(max_examples=settings().max_examples // 3, stateful_step_count=25),
        )
