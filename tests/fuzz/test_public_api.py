"""After any sequence of calls, every way to read agrees with a model in plain Python.

The other machines compare the items of the table with the model. This one compares every answer of a session: by key,
by unique value, by index, pages, counts, collections, scans, versions. Transactions, bulk operations, copies and
pickles of loaded objects, and stale objects change what is stored. A refused operation must change nothing.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from dynaorm import Key, Session, Transaction, any_of, detached, inspect, tools
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    DynaormError,
    EntityNotFound,
    StaleEntity,
    UniqueViolation,
    UsageError,
)
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from tests.counted_rules import CountingMachine, rule, run_counted
from tests.fuzz.api_model import (
    KEYS,
    KINDS,
    LOADABLE,
    POOLS,
    TABLES,
    Blob,
    Ident,
    Kind,
    Model,
    Page,
    Person,
    Robot,
    Values,
    ident_of,
    key_of,
    made,
    values_of,
)
from tests.memory import MEMORY

IDENTS = st.sampled_from([(kind, key) for kind, (_, keys) in KEYS.items() for key in keys])
PICK = st.integers(0, 99)


def values_for(kind: Kind) -> st.SearchStrategy[Values]:
    return st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(pool) for name, pool in POOLS[kind].items()}
    )


def _delete(key: Key[Any], tx: Transaction) -> None:
    tx.delete(key)


def _overwrite(entity: Any, tx: Transaction) -> None:
    tx.save(entity, overwrite=True)


class Machine(CountingMachine):
    """The operations of users. ``held`` are loaded objects, each with the stamp it was loaded at."""

    def __init__(self, engine: Transport) -> None:
        super().__init__()
        self.engine, self.model = engine, Model()
        self.session = Session(transport=engine, clock=FakeClock(jitter=0), consistent=True)
        self.stamps: Counter[Ident] = Counter()
        self.held: list[tuple[Any, int]] = []
        for table in TABLES:
            for item in engine.call(Call("Scan", {"TableName": table.name}))["Items"]:
                key = {name: item[name] for name in table.key_names}
                engine.call(Call("DeleteItem", {"TableName": table.name, "Key": key}))

    # -- what changes --------------------------------------------------------------------------------------------------

    def write(
        self, changes: dict[Ident, Values | None], work: Callable[[], Any], wrong: set[type[DynaormError]]
    ) -> bool:
        """Run an operation, and check its outcome against the model; return whether it was made."""
        before = self.raw() if wrong else None
        try:
            work()
        except DynaormError as error:
            if type(error) not in wrong:
                raise
            assert self.raw() == before
            self.note(is_made=False)
            return False
        assert not wrong
        self.note(is_made=True)
        for ident, values in changes.items():
            if self.model.live.get(ident) != values:
                self.stamps[ident] += 1
            self.model.put(ident, values)
        return True

    def raw(self) -> list[str]:
        scans = [self.engine.call(Call("Scan", {"TableName": table.name})) for table in TABLES]
        return sorted(repr(sorted(item.items())) for scan in scans for item in scan["Items"])

    def hold(self, entity: Any) -> None:
        self.held.append((entity, self.stamps[ident_of(entity)]))
        del self.held[:-6]

    def clashes(self, changes: dict[Ident, Values | None]) -> set[type[DynaormError]]:
        """The violation that these changes must be refused with, judged by the final state."""
        final = {**self.model.live, **changes}
        handles = Counter(one["handle"] for one in final.values() if one and one.get("handle") is not None)
        return {UniqueViolation} if any(count > 1 for count in handles.values()) else set()

    @rule(ident=IDENTS, data=st.data(), over=st.booleans())
    def save_new(self, ident: Ident, data: st.DataObject, over: bool) -> None:
        entity = made(ident, data.draw(values_for(ident[0])))
        wrong = self.clashes({ident: values_of(entity)})
        if not over and ident in self.model.live:
            wrong = {AlreadyExists}
        if self.write({ident: values_of(entity)}, lambda: self.session.save(entity, overwrite=over), wrong):
            # A replacement by the same values is a write, too.
            self.stamps[ident] += 1
            if ident[0] is Page and self.model.newest[ident] != inspect(entity).version:
                self.model.newest[ident] += 1
                self.model.versions[ident][self.model.newest[ident]] = values_of(entity)
            self.hold(entity)

    @rule(pick=PICK, data=st.data(), way=st.sampled_from(["save", "update", "delete", "pickled", "copied"]))
    def use_a_loaded_one(self, pick: int, data: st.DataObject, way: str) -> None:
        if not self.held:
            return
        entity, stamp = self.held.pop(pick % len(self.held))
        if way in ("pickled", "copied"):
            entity = pickle.loads(pickle.dumps(entity)) if way == "pickled" else entity.model_copy(deep=True)
        ident = ident_of(entity)
        changes = data.draw(values_for(ident[0]))
        values = {**values_of(entity), **changes}
        is_stale = stamp != self.stamps[ident] or ident not in self.model.live
        if way == "delete":
            wrong: set[type[DynaormError]] = {StaleEntity} if is_stale else set()
            self.write({ident: None}, lambda: self.session.delete(entity), wrong)
            return
        if values == values_of(entity):
            return
        wrong = {StaleEntity} if is_stale else self.clashes({ident: values})
        vars(entity).update(changes if way != "update" else {})
        work = (
            (lambda: self.session.update(entity, changes))
            if way == "update"
            else (lambda: self.session.save(entity))
        )
        if self.write({ident: values}, work, wrong):
            self.hold(entity)

    @rule(ident=IDENTS, data=st.data(), delete=st.booleans())
    def change_by_key(self, ident: Ident, data: st.DataObject, delete: bool) -> None:
        stored = self.model.live.get(ident)
        wrong: set[type[DynaormError]] = set() if stored else {EntityNotFound}
        if delete:
            self.write({ident: None}, lambda: self.session.delete(key_of(ident)), wrong)
            return
        changes = data.draw(values_for(ident[0]))
        if changes:
            values = {**(stored or {}), **changes}
            wrong = wrong or self.clashes({ident: values})
            if self.write({ident: values}, lambda: self.session.update(key_of(ident), changes), wrong):
                self.stamps[ident] += 1  # even if it was not: the other machine checks that

    @rule(idents=st.lists(IDENTS, min_size=2, max_size=4, unique=True), data=st.data())
    def block(self, idents: list[Ident], data: st.DataObject) -> None:
        changes: dict[Ident, Values | None] = {}
        steps: list[Callable[[Any], Any]] = []
        for ident in idents:
            if data.draw(st.booleans()) and ident in self.model.live:
                changes[ident] = None
                steps.append(partial(_delete, key_of(ident)))
            else:
                entity = made(ident, data.draw(values_for(ident[0])))
                changes[ident] = values_of(entity)
                steps.append(partial(_overwrite, entity))

        def work() -> None:
            with self.session.transaction() as tx:
                for step in steps:
                    step(tx)

        if self.write(changes, work, self.clashes(changes)):
            self.note_overwrites(idents)

    def note_overwrites(self, idents: list[Ident]) -> None:
        for ident in idents:
            self.stamps[ident] += 1
            if ident[0] is Page and ident in self.model.live:
                stored = inspect(self.session.get_one(key_of(ident))).version
                assert stored in (self.model.newest[ident], self.model.newest[ident] + 1)
                self.model.newest[ident] = stored
                self.model.versions[ident][stored] = dict(self.model.live[ident])

    @rule(idents=st.lists(IDENTS, min_size=1, max_size=4, unique=True), data=st.data())
    def save_many(self, idents: list[Ident], data: st.DataObject) -> None:
        entities = [made(ident, data.draw(values_for(ident[0]))) for ident in idents]
        failed: list[Any] = []
        try:
            self.session.save_many(entities, concurrency=1)
        except BulkError as error:
            failed = [entity for entity, _ in error.failures]
        for entity in entities:
            ident, values = ident_of(entity), values_of(entity)
            taken = ident in self.model.live or bool(self.clashes({ident: values}))
            assert any(one is entity for one in failed) is taken
            self.note(is_made=not taken)
            if not taken:
                self.stamps[ident] += 1
                self.model.put(ident, values)

    @rule(idents=st.lists(IDENTS, min_size=1, max_size=3, unique=True))
    def delete_many(self, idents: list[Ident]) -> None:
        absent = [key_of(ident) for ident in idents if ident not in self.model.live]
        failed: list[Any] = []
        try:
            self.session.delete_many([key_of(ident) for ident in idents], concurrency=1)
        except BulkError as error:
            failed = [key for key, _ in error.failures]
        assert failed == absent
        self.note(is_made=len(absent) < len(idents))
        for ident in idents:
            self.model.put(ident, None)

    @rule(kind=st.sampled_from(LOADABLE), data=st.data())
    def bulk_load(self, kind: Kind, data: st.DataObject) -> None:
        entities = [made((kind, key), data.draw(values_for(kind))) for key in KEYS[kind][1]]
        assert self.session.bulk_load(entities) == len(entities)
        self.note(is_made=True)
        for entity in entities:
            self.stamps[ident_of(entity)] += 1
            self.model.put(ident_of(entity), values_of(entity))

    @rule(pick=PICK, ident=IDENTS)
    def move(self, pick: int, ident: Ident) -> None:
        movable = [
            one for one in self.model.live if one[0] is ident[0] and one[0] is not Page and one != ident
        ]
        if not movable:
            return
        old = movable[pick % len(movable)]
        entity = self.session.get_one(key_of(old))
        vars(entity).update(zip(KEYS[old[0]][0], ident[1], strict=True))
        wrong: set[type[DynaormError]] = {AlreadyExists} if ident in self.model.live else set()
        if self.write({old: None, ident: values_of(entity)}, lambda: self.session.move(entity), wrong):
            self.hold(entity)

    @rule(ident=IDENTS.filter(lambda one: one[0] is Page), number=st.integers(1, 4))
    def restore(self, ident: Ident, number: int) -> None:
        old = self.model.versions.get(ident, {}).get(number)
        wrong: set[type[DynaormError]] = set() if old else {EntityNotFound}
        self.write({ident: old}, lambda: self.session.restore(key_of(ident), version=number), wrong)

    @rule(ident=IDENTS.filter(lambda one: one[0] is Page), keep=st.integers(1, 2))
    def prune_or_purge(self, ident: Ident, keep: int) -> None:
        versions = self.model.versions.get(ident, {})
        if ident in self.model.live:
            doomed = [one for one in versions if one <= self.model.newest[ident] - keep]
            assert tools.prune(self.session, key_of(ident), keep=keep) == len(doomed)
            self.model.versions[ident] = {one: old for one, old in versions.items() if one not in doomed}
            self.write({}, lambda: tools.purge(self.session, key_of(ident)), {UsageError})
        elif self.write(
            {}, lambda: tools.purge(self.session, key_of(ident)), set() if versions else {EntityNotFound}
        ):
            self.model.versions.pop(ident)
            self.model.newest.pop(ident)

    # -- what is asked -------------------------------------------------------------------------------------------------

    @rule(idents=st.lists(IDENTS, min_size=1, max_size=3))
    def ask_by_key(self, idents: list[Ident]) -> None:
        for ident in idents:
            assert self.session.exists(key_of(ident)) is (ident in self.model.live)
            found = self.session.get(key_of(ident))
            assert (None if found is None else values_of(found)) == self.model.live.get(ident)
            if found is not None:
                assert inspect(found).changes == {}
                assert values_of(self.session.refresh(found)) == self.model.live[ident]
                self.session.plan(detached(found))
                self.hold(found)
        many = self.session.get_many([key_of(ident) for ident in idents])
        assert [one and values_of(one) for one in many] == [self.model.live.get(ident) for ident in idents]

    @rule(kind=st.sampled_from([Person, Robot]), handle=st.sampled_from(["h", "i"]))
    def ask_by_value(self, kind: Kind, handle: str) -> None:
        holder, found = self.model.holder(handle), self.session.get_by(kind, handle=handle)
        expected = holder if holder is not None and holder[0] is kind else None
        assert (None if found is None else ident_of(found)) == expected

    @rule(kind=st.sampled_from(KINDS), size=st.integers(1, 3), back=st.booleans())
    def ask_a_partition(self, kind: Kind, size: int, back: bool) -> None:
        name, keys = KEYS[kind]
        for first in sorted({key[0] for key in keys}):
            stored = [one for one in self.model.of(kind) if one[name[0]] == first]
            stored.sort(key=lambda one: one[name[-1]], reverse=back)
            query = self.session.query(kind, **{name[0]: first})
            query = query.descending() if back else query
            assert [values_of(one) for one in query.all()] == stored
            assert (query.count(), len(query.keys().all())) == (len(stored), len(stored))
            assert [values_of(one) for one in query.limit(size)] == stored[:size]
            paged, cursor = [], None
            while True:
                page = query.page(size, after=cursor)
                paged += [values_of(one) for one in page]
                assert len(page) <= size
                if (cursor := page.cursor) is None:
                    break
            assert paged == stored

    @rule(
        cities=st.lists(st.sampled_from(["r", "q#"]), min_size=1, max_size=2, unique=True),
        least=st.integers(0, 2),
    )
    def ask_a_sharded_index(self, cities: list[str], least: int) -> None:
        found = self.session.query(Person.by_city, city=any_of(*cities)).ge(size=least).all()
        stored = [one for one in self.model.of(Person) if one["city"] in cities and one["size"] >= least]
        assert sorted(map(repr, map(values_of, found))) == sorted(map(repr, stored))
        assert [one.size for one in found] == sorted(one.size for one in found)

    @rule(size=st.integers(0, 1))
    def ask_an_index_of_keys(self, size: int) -> None:
        found = self.session.query(Robot.by_size, size=size).all()
        stored = [one for one in self.model.of(Robot) if one["size"] == size]
        assert sorted(map(repr, map(values_of, found))) == sorted(map(repr, stored))

    @rule(club=st.sampled_from(["a", "a#", "b"]))
    def ask_for_a_collection(self, club: str) -> None:
        kinds: list[Kind] = [Person, Robot, Page]
        each: Iterable[list[Any]] = self.session.collection(*kinds, club=club).split()
        for kind, found in zip(kinds, each, strict=True):
            stored = [one for one in self.model.of(kind) if one["club"] == club]
            assert sorted(map(repr, map(values_of, found))) == sorted(map(repr, stored))

    @rule(ident=IDENTS.filter(lambda one: one[0] is Page))
    def ask_for_versions(self, ident: Ident) -> None:
        versions, key = self.model.versions.get(ident, {}), key_of(ident)
        found = list(self.session.history(key))
        assert {one.number: dict(one.values) for one in found} == versions
        assert [one.number for one in found] == sorted(versions, reverse=True)
        for number in range(1, 5):
            old = self.session.get(key, version=number)
            assert (None if old is None else values_of(old)) == versions.get(number)
        if len(versions) > 1:
            first, last = min(versions), max(versions)
            differing = {name for name in versions[first] if versions[first][name] != versions[last][name]}
            assert self.session.diff(key, first, last).keys() == differing

    @rule(
        kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True),
        segments=st.integers(1, 2),
    )
    def ask_for_everything(self, kinds: list[Kind], segments: int) -> None:
        for kind in kinds:
            parts = 1 if kind is Blob else segments  # moto cannot divide binary keys
            found = [values_of(one) for one in self.session.scan(kind, segments=parts).all()]
            assert sorted(map(repr, found)) == sorted(map(repr, self.model.of(kind)))

    def teardown(self) -> None:
        """At the end, everything is stored, and no guard item lacks its owner or belongs to a deleted entity."""
        self.ask_for_everything(KINDS, 1)
        guards = [
            item
            for item in self.engine.call(Call("Scan", {"TableName": "api-app"}))["Items"]
            if "owner" in item
        ]
        held = {one["handle"] for one in self.model.live.values() if one.get("handle") is not None}
        assert {item["PK"]["S"] for item in guards} == {f"handle#{one}" for one in held}
        for item in guards:
            holder = self.model.holder(item["PK"]["S"].removeprefix("handle#"))
            assert holder is not None
            assert item["owner"]["M"] == key_of(holder).primary_key
        self.held.clear()


def test_every_answer_is_always_as_the_model_says(moto_transport: Transport) -> None:
    with MEMORY.empty():
        for table in TABLES:
            Session(transport=moto_transport).create_table(table)

        class OnMoto(Machine):
            def __init__(self) -> None:
                super().__init__(moto_transport)

        run_counted(
            OnMoto,
            settings(max_examples=max(3, settings().max_examples // 10), stateful_step_count=25),
            chance=50,  # the model predicts each refusal, and in three examples little may be stored
        )
