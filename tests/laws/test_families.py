"""What holds for a class holds for those that derive from it, in whatever tables the rest of it lies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import Key, Session, Table, tools
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.flow.integrity.finding import Outcome
from dynaorm.iam import iam_policy
from dynaorm.streams import handler
from dynaorm.testing.clock import FakeClock
from dynaorm.transport import Call, Transport
from tests.counted_rules import check_made
from tests.fuzz.shelf import Shelf
from tests.iam_requests import WHERE, Recorder, allowed
from tests.laws.classes import NOON
from tests.laws.family_classes import Classes, declare, world_of
from tests.laws.family_world import History, Raw, damaged, family_below, place_of, raw_items, scopes_of
from tests.streams.events import in_lambda, written

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "10"))
RANDOMS = st.randoms(use_true_random=False)


@contextmanager
def history_of(engine: Transport, random: Random) -> Iterator[tuple[Classes, Session]]:
    """A world with what a history of writes left in it."""
    classes = declare(world_of(random.choice))
    with Session(transport=engine, clock=FakeClock(NOON.timestamp())) as session:
        for table in classes.tables[:-1]:
            session.create_table(table)
        if not any(table.guard_table for table in classes.tables):
            session.create_table(classes.tables[-1])
        history = History(session, classes, random.choice)
        for _ in range(random.choice((5, 10, 20))):
            history.step()
        yield classes, session
    for table in classes.tables:
        engine.call(Call("DeleteTable", {"TableName": table.name}))


def read_only(classes: Classes, raw: Raw) -> Shelf:
    """The same items in memory. Every write fails."""
    shelf = Shelf(classes.tables)
    for (table, _), item in raw.items():
        shelf.items[table].append(item)
    return shelf


def session_on(transport: Any) -> Session:
    return Session(transport=transport, clock=FakeClock(NOON.timestamp()))


@pytest.fixture(scope="module", autouse=True)
def writes_are_made() -> Iterator[None]:
    """A history whose writes are always refused would prove nothing."""
    yield
    check_made(History.made, History.refused)


@settings(max_examples=EXAMPLES)
@given(random=RANDOMS)
def test_no_scope_has_a_problem_and_every_request_is_allowed(engine: Transport, random: Random) -> None:
    check_sound(engine, random)


@settings(max_examples=EXAMPLES)
@given(random=RANDOMS)
def test_damage_is_mended_with_each_class_it_concerns(engine: Transport, random: Random) -> None:
    check_damage(engine, random)


def check_sound(engine: Transport, random: Random) -> None:
    with history_of(engine, random) as (classes, _):
        raw = raw_items(engine, classes)
    for scope in scopes_of(classes, random.choice, 3):
        recorder = Recorder(read_only(classes, raw))
        session = session_on(recorder)
        assert list(tools.verify(session, *scope)) == [], scope
        check_policy(recorder, scope, "tools")
        assert list(tools.repair(session, *scope)) == [], scope
        new = [one.finding for one in tools.backfill(session, *scope, dry_run=True)]
        assert [one for one in new if "does not exist" not in one.detail] == [], scope
        check_policy(recorder, scope, "tools")
    check_reads(session_on(read_only(classes, raw)), classes, raw)


def check_policy(recorder: Recorder, scope: tuple[Any, ...], *actions: Any) -> None:
    if not any(isinstance(one, Table) for one in scope):
        denied = recorder.needed - allowed(iam_policy(*scope, **WHERE, actions=actions))
        assert not denied, (scope, denied)


def check_reads(session: Session, classes: Classes, raw: Raw) -> None:
    """Base classes and derived ones find what a plain filter over all items finds."""
    for kind in classes.everything:
        mapping, names = mapping_of(kind), {one.__name__ for one in family_below(kind, classes)}
        types = {
            place: item["_type"]["S"]
            for (table, place), item in raw.items()
            if table == mapping.table.name and item.get("_type", {}).get("S") in names
        }
        scanned: list[Any] = list(session.scan(kind))
        places = [place_of(mapping.primary_key.rendered(dict(one))) for one in scanned]
        assert dict(zip(places, (type(one).__name__ for one in scanned), strict=True)) == types
        name, values = ("id", "ab") if "id" in kind.model_fields else ("team", "pq")
        for value in values:
            check_reads_of_one(session, Key(kind, **{name: value}), scanned)
        check_found_by(session, kind, scanned)
        if mapping.versioning is not None:
            check_histories(session, kind, scanned, raw)
        check_stream(kind, scanned, raw)


def check_histories(session: Session, kind: Any, scanned: list[Any], raw: Raw) -> None:
    """Each class finds all versions of its entities, also those that are of a class above it."""
    mapping = mapping_of(kind)
    for entity in scanned:
        latest = mapping.primary_key.rendered(dict(entity))
        beside = [item for (table, _), item in raw.items() if table == mapping.table.name]
        versions = [
            int(one["version"]["N"])
            for one in beside
            if one["PK"] == latest["PK"] and "version" in one and one["SK"] != latest["SK"]
        ]
        found = list(session.history(Key(kind, id=entity.id)))
        assert [one.number for one in found] == sorted(versions, reverse=True)
        assert found[0].entity == entity


def check_stream(kind: Any, scanned: list[Any], raw: Raw) -> None:
    """A function for a class gets its entities, and those of the classes that derive from it."""
    table, on, told = mapping_of(kind).table, handler(mapping_of(kind).table), list[Any]()
    on.inserted(kind)(lambda change: told.append(change.new))
    images = [item for (name, _), item in raw.items() if name == table.name]
    records = [written(None, item, table=table.name, sequence=at) for at, item in enumerate(images, 1)]
    assert on(in_lambda(*records)) == {"batchItemFailures": []}
    assert sorted(told, key=repr) == sorted(scanned, key=repr)


def check_reads_of_one(session: Session, key: Key[Any], scanned: list[Any]) -> None:
    kind: Any = key.entity
    expected = [one for one in scanned if {*key.fields.items()} <= {*dict(one).items()}]
    assert session.get(key) == (expected[0] if expected else None)
    assert session.get_many([key]) == expected if expected else session.get_many([key]) in ([], [None])
    assert session.exists(key) is bool(expected)
    assert list(session.query(kind, **key.fields)) == expected
    assert session.collection(kind, **key.fields).split() == (expected,)


def check_found_by(session: Session, kind: Any, scanned: list[Any]) -> None:
    """Unique values and indexes find the entities that have the values."""
    mapping = mapping_of(kind)
    for constraint in mapping.constraints.values():
        (field,) = constraint.fields
        for value in "xyz":
            holders = [one for one in scanned if getattr(one, field) == value]
            assert session.get_by(kind, **{field: value}) == (holders[0] if holders else None)
    for name in mapping.indexes:
        for team in "pq":
            found = session.query(getattr(kind, name), team=team)
            expected = [one for one in scanned if one.team == team]
            assert sorted(found, key=repr) == sorted(expected, key=repr)


Told: TypeAlias = tuple[Any, ...]
"""What is wrong, by its kind, its table and its key; then the class, the details, and whether it can be mended."""


def found_in(session: Session, *scope: Any) -> set[Told]:
    return {
        (
            one.kind,
            one.table,
            repr(one.item_key),
            one.entity,
            one.detail,
            one.repairable,
            one.uncertain_because,
        )
        for one in tools.verify(session, *scope)
    }


def check_damage(engine: Transport, random: Random) -> None:
    with history_of(engine, random) as (classes, session):
        said = damaged(engine, raw_items(engine, classes), random.choice)
        now = session_on(read_only(classes, raw_items(engine, classes)))
        tables = tuple({mapping_of(kind).table: None for kind in classes.everything})
        everything = found_in(now, *tables)
        found = {kind: found_in(now, kind) for kind in classes.everything}
        check_scopes(now, classes, found, everything, said)
        kind = random.choice([one for one in classes.everything if found[one]] or classes.everything)
        outcomes = list(tools.repair(session, kind))
        assert {one.outcome for one in outcomes} <= {
            Outcome.REPAIRED,
            Outcome.NEEDS_DECISION,
            Outcome.SKIPPED,
        }, (said, outcomes)
        mended = {
            (one.finding.kind, one.finding.table, repr(one.finding.item_key))
            for one in outcomes
            if one.outcome is Outcome.REPAIRED
        }
        assert mended == {one[:3] for one in found[kind] if one[5]}, (said, kind)
        after = found_in(session_on(read_only(classes, raw_items(engine, classes))), *tables)
        assert {one[:3] for one in after} == {one[:3] for one in everything} - mended, (said, kind)


def check_scopes(
    now: Session, classes: Classes, found: dict[Any, set[Told]], everything: set[Told], said: str
) -> None:
    """Each class finds what concerns it, its base class finds that, too, and nothing else is found anywhere."""
    for kind, own in found.items():
        assert own <= everything, (said, kind, own - everything)
        named = {one for one in everything if one[3] == kind.__name__}
        for base in classes.everything:
            if kind in family_below(base, classes):
                assert own | named <= found[base], (said, kind, base, (own | named) - found[base])
    for table in {mapping_of(kind).table for kind in classes.everything}:
        of_classes = [found[kind] for kind in classes.everything if mapping_of(kind).table is table]
        together, own = set[Told]().union(*of_classes), found_in(now, table)
        assert together <= own, (said, table, together - own)
        assert {one[3] for one in own - together} <= {None}, (said, table, own - together)
    for pair in combinations(classes.everything, 2):
        assert found_in(now, *pair) == found[pair[0]] | found[pair[1]], (said, pair)
