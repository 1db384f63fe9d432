"""After any sequence of operations, the table holds exactly the items of a model in plain Python.

After every step, all raw items are compared with those of the model: one guard per live value and one live owner per
guard, the latest copy equal to the newest version, versions without gaps, index keys as the fields say. An operation
that is refused must leave the table and every object as they were.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant

from dynaorm import Entity, F, Key, Session, inspect, tools
from dynaorm.errors import DynaormError, EntityNotFound, StaleEntity, UsageError
from dynaorm.testing.faults import (
    Fault,
    conflict,
    in_progress,
    lost_answer,
    lost_request,
    throttle,
)
from dynaorm.transport import Transport
from tests.counted_rules import rule, run_counted
from tests.memory import MEMORY
from tests.story.machine_bench import Bench, Held
from tests.story.machine_model import (
    ANY,
    NEW,
    OVER,
    POOLS,
    Audit,
    Document,
    Login,
    Record,
    User,
    Values,
    Write,
    app,
    expiry,
    values_of,
)

IDS = st.sampled_from(["1", "2", "3"])
CLASSES = st.sampled_from(list(POOLS))
PICK = st.integers(0, 99)
FAULTS = st.sampled_from(
    [None] * 6
    + [
        lost_answer(),
        lost_answer(2),
        lost_request(),
        lost_request(sent=False),
        conflict(),
        throttle(),
        in_progress(),
    ]
)
COUNTERS: dict[type[Entity], str] = {User: "visits", Login: "hits"}
BLIND: dict[type[Entity], set[str]] = {User: set(), Document: set(), Audit: {"note"}, Login: {"hits"}}
"""Fields that an update by key changes without a read, because nothing is derived from them."""


class Machine(Bench):
    """The operations of users."""

    @initialize()
    def begin(self) -> None:
        begun: list[Any] = [
            User(id=one, email=f"{one}@x", handle=one, number=int(one), team="x") for one in "123"
        ]
        begun += [Document(id="1", slug="s"), Document(id="2"), Audit(id="1"), Login(id="1", alias="a")]
        for entity in begun:
            self.calm.save(entity)
            self.model.book([Write((type(entity), entity.id), values_of(entity), NEW)], self.clock.now())
            self.hold(entity)

    @rule(kind=CLASSES, name=IDS, data=st.data(), fault=FAULTS, over=st.booleans())
    def insert(
        self, kind: type[Entity], name: str, data: st.DataObject, fault: Fault | None, over: bool
    ) -> None:
        entity = kind(id=name, **self.drawn(kind, data))  # type: ignore[call-arg]  # every class here has an id
        writes = [Write((kind, name), values_of(entity), OVER if over else NEW)]
        if self.write(writes, lambda session: session.save(entity, overwrite=over), fault):
            self.hold(entity)

    @rule(pick=PICK, data=st.data(), fault=FAULTS)
    def save(self, pick: int, data: st.DataObject, fault: Fault | None) -> None:
        if (one := self.picked(pick)) is None:
            return
        for name, value in self.drawn(type(one.entity), data, 1).items():
            setattr(one.entity, name, value)
        writes, wrong = self.saving(one)
        if self.write(writes, lambda session: session.save(one.entity), fault, wrong) and writes:
            self.settle_held(one)

    @rule(pick=PICK)
    def load(self, pick: int) -> None:
        kind, name = self.some(pick, *POOLS)
        entity = self.calm.get(Key(kind, id=name))
        expected = self.model.live((kind, name), self.clock.now())
        assert (None if entity is None else values_of(entity)) == expected
        if entity is not None:
            self.hold(entity)

    @rule(pick=PICK)
    def copy(self, pick: int) -> None:
        if (one := self.picked(pick)) is not None:
            self.held.append(Held(one.entity.model_copy(), one.values, one.base))

    @rule(pick=PICK)
    def refresh(self, pick: int) -> None:
        if (one := self.picked(pick)) is None or one.base == NEW:
            return
        if self.model.live(one.ident, self.clock.now()) is None:
            self.attempt(lambda session: session.refresh(one.entity), EntityNotFound, None)
        else:
            self.calm.refresh(one.entity)
            assert values_of(one.entity) == self.model.live(one.ident, self.clock.now())
            self.settle_held(one)

    @rule(picks=st.lists(PICK, min_size=2, max_size=4, unique=True), turn=st.integers(1, 3), fault=FAULTS)
    def rotate(self, picks: list[int], turn: int, fault: Fault | None) -> None:
        found = [one for pick in picks if (one := self.picked(pick, User)) is not None and one.base != NEW]
        chosen = list({one.ident: one for one in found}.values())
        for one, other in zip(
            chosen, [values_of(each.entity)["email"] for each in chosen[turn:] + chosen[:turn]], strict=True
        ):
            one.entity.email = other
        saves = [self.saving(one)[0] for one in chosen]

        def work(session: Session) -> None:
            with session.transaction() as tx:
                for one in chosen:
                    tx.save(one.entity)

        if self.write([write for writes in saves for write in writes], work, fault):
            for one, writes in zip(chosen, saves, strict=True):
                if writes:
                    self.settle_held(one)

    @rule(pick=PICK, fault=FAULTS)
    def delete(self, pick: int, fault: Fault | None) -> None:
        one = self.picked(pick)
        if one is None or one.base == NEW:
            return
        end = expiry(one.values)
        wrong = StaleEntity if end is not None and end <= self.clock.now() else None
        if self.write(
            [Write(one.ident, None, one.base)], lambda session: session.delete(one.entity), fault, wrong
        ):
            assert not inspect(one.entity).loaded
            one.values, one.base = values_of(one.entity), NEW

    @rule(pick=PICK, fault=FAULTS)
    def delete_by_key(self, pick: int, fault: Fault | None) -> None:
        kind, name = self.some(pick, *POOLS)
        record, live = self.model.records.get((kind, name)), self.model.live((kind, name), self.clock.now())
        if live is None and record is not None and record.values is not None:
            return  # What has expired can be deleted: the leases of the torture test do so.
        wrong = None if live is not None else EntityNotFound
        self.write(
            [Write((kind, name), None, ANY)], lambda session: session.delete(Key(kind, id=name)), fault, wrong
        )

    @rule(pick=PICK, data=st.data(), fault=FAULTS)
    def update_by_key(self, pick: int, data: st.DataObject, fault: Fault | None) -> None:
        kind, name = self.some(pick, *POOLS)
        changes, now = self.drawn(kind, data, 1), self.clock.now()
        stored = self.model.live((kind, name), now)
        wrong = EntityNotFound if stored is None else None
        counter = COUNTERS.get(kind, "")
        adding = [F[counter].add(1)] if counter and counter not in changes else []
        values: Values = {**(stored or {}), **changes}
        if adding:
            values[counter] = values.get(counter, 0) + 1
        unchanged = stored == values and self.reads(kind, changes)
        writes = [] if unchanged else [Write((kind, name), values, ANY)]
        self.write(writes, lambda session: session.update(Key(kind, id=name), changes, *adding), fault, wrong)

    @staticmethod
    def reads(kind: type[Entity], changes: Values) -> bool:
        """Whether an update by key needs a read. Otherwise it is sent, whatever is stored."""
        return bool(changes.keys() - BLIND[kind])

    @rule(pick=PICK, data=st.data(), fault=FAULTS)
    def update(self, pick: int, data: st.DataObject, fault: Fault | None) -> None:
        one = self.picked(pick)
        if one is None or one.base == NEW:
            return
        changes, end, pending = (
            self.drawn(type(one.entity), data, 1),
            expiry(one.values),
            values_of(one.entity),
        )
        wrong = StaleEntity if end is not None and end <= self.clock.now() else None
        values = {**one.values, **changes}
        writes = [Write(one.ident, values, one.base)] if values != one.values else []
        if self.write(writes, lambda session: session.update(one.entity, changes), fault, wrong):
            assert values_of(one.entity) == {**pending, **changes}
            if writes:
                one.values, one.base = values, self.model.records[one.ident].stamp

    @rule(pick=PICK, name=IDS, fault=FAULTS)
    def move(self, pick: int, name: str, fault: Fault | None) -> None:
        one = self.picked(pick, User)
        if one is None or one.base == NEW or one.entity.id != one.values["id"] or name == one.entity.id:
            return
        old = one.ident
        one.entity.id = name
        writes = [Write(old, None, one.base), Write((User, name), values_of(one.entity), NEW)]
        if self.write(writes, lambda session: session.move(one.entity), fault):
            one.values = values_of(one.entity)
            self.settle_held(one)
        else:
            one.entity.id = old[1]

    @rule(pick=PICK, fault=FAULTS)
    def delete_and_create_anew(self, pick: int, fault: Fault | None) -> None:
        one = self.picked(pick, User, Document)
        if one is None or one.base == NEW:
            return
        new = type(one.entity)(**one.values)

        def work(session: Session) -> None:
            with session.transaction() as tx:
                tx.save(new)
                tx.delete(one.entity)

        writes = [Write(one.ident, one.values, one.base)]
        if self.write(writes, work, fault):
            one.entity = new
            self.settle_held(one)

    @rule(pick=PICK, number=st.integers(1, 4), fault=FAULTS)
    def restore(self, pick: int, number: int, fault: Fault | None) -> None:
        kind, name = self.some(pick, Document, Audit)
        record = self.model.records.get((kind, name))
        wrong: type[DynaormError] | None = None
        writes: list[Write] = []
        if record is None or number not in record.versions:
            wrong = EntityNotFound
        elif record.values is None:
            wrong = UsageError if kind is Audit else None
            writes = [Write((kind, name), record.versions[number], NEW)]
        elif {**record.values, **record.versions[number]} != record.values:
            writes = [Write((kind, name), {**record.values, **record.versions[number]}, record.stamp)]
        self.write(writes, lambda session: session.restore(Key(kind, id=name), version=number), fault, wrong)

    @rule(pick=PICK, keep=st.integers(1, 3), fault=FAULTS)
    def prune(self, pick: int, keep: int, fault: Fault | None) -> None:
        kind, name = self.some(pick, Document, Audit)
        record = self.model.records.get((kind, name))
        wrong = EntityNotFound if record is None else None
        if (
            self.attempt(lambda session: tools.prune(session, Key(kind, id=name), keep=keep), wrong, fault)
            and record
        ):
            for number in [one for one in record.versions if one <= record.number - keep]:
                del record.versions[number]

    @rule(pick=PICK, fault=FAULTS)
    def purge(self, pick: int, fault: Fault | None) -> None:
        kind, name = self.some(pick, Document, Audit)
        record = self.model.records.get((kind, name))
        wrong = EntityNotFound if record is None else UsageError if record.values is not None else None
        if self.attempt(lambda session: tools.purge(session, Key(kind, id=name)), wrong, fault):
            del self.model.records[kind, name]
            self.revisions.pop((kind, name), None)

    @rule(pick=PICK)
    def read_history(self, pick: int) -> None:
        kind, name = self.some(pick, Document, Audit)
        record = self.model.records.get((kind, name)) or Record(None, 0)
        found = {one.number: dict(one.values) for one in self.calm.history(Key(kind, id=name))}
        assert list(found) == sorted(record.versions, reverse=True)
        assert found == record.versions
        assert list(found)[-1:] == [record.number - len(found) + 1][: len(found)]

    @rule(kind=st.sampled_from([User, Document, Login]), data=st.data())
    def find(self, kind: type[Entity], data: st.DataObject) -> None:
        name = {User: "email", Document: "slug", Login: "alias"}[kind]
        value = data.draw(st.sampled_from([one for one in POOLS[kind][name] if one is not None]))
        found = self.calm.get_by(kind, **{name: value})
        folded = value.casefold()
        holders = [
            values
            for (other, _), record in self.model.records.items()
            if other is kind
            and (values := record.values)
            and (values[name] or "").casefold() == folded
            and self.model.live((kind, values["id"]), self.clock.now())
        ]
        assert [values_of(one) for one in (found,) if one is not None] == holders

    @rule(seconds=st.sampled_from([1, 40, 70, 700]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    def teardown(self) -> None:
        assert [str(one) for one in tools.verify(self.calm, app)] == []
        self.held.clear()

    @invariant()
    def the_table_is_as_the_model_says(self) -> None:
        self.check_table()


def test_the_table_is_always_as_the_model_says(moto_transport: Transport) -> None:
    with MEMORY.empty():
        Session(transport=moto_transport).create_table(app)

        class OnMoto(Machine):
            def __init__(self) -> None:
                super().__init__(moto_transport)

        run_counted(
            OnMoto,
            settings(max_examples=settings().max_examples // 8, stateful_step_count=40),
        )
