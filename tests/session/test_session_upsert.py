"""Upserts: one request where that is possible, the entity that is created, and what decides between the two."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import (
    Call,
    F,
    Key,
    Session,
    inspect,
)
from dynaorm.errors import (
    ConditionFailed,
    DynaormError,
    InvalidValue,
    UnknownField,
    UsageError,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.item.condition import Condition
from dynaorm.testing import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport, lost_answer
from tests.cast.documents import Counter, Page
from tests.cast.orders import ROOT, Hits, Ruled, Tally
from tests.cast.others import Stall
from tests.cast.people import Member, Team, User
from tests.cast.seen import items, operations, put
from tests.cast.tables import app
from tests.cast.tickets import Job, Nightly, Ticket

# -- one request -------------------------------------------------------------------------------------------------------


def test_an_entity_is_created_by_one_update_item(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    hits = session.upsert(ROOT, F.count.add(1))
    assert operations(wire) == ["UpdateItem"]
    assert (hits.count, hits.least, hits.owner, hits.made, hits.seen) == (1, 100, None, [7], set())
    assert items(moto) == {
        "PAGE#/ HITS": {
            "PK": {"S": "PAGE#/"},
            "SK": {"S": "HITS"},
            "_type": {"S": "Hits"},
            "_rev": {"S": inspect(hits).revision},
            "page": {"S": "/"},
            "count": {"N": "1"},
            "least": {"N": "100"},
            "made": {"L": [{"N": "7"}]},
            "GSI1PK": {"S": "HITS"},
            "GSI1SK": {"S": "/"},
        }
    }


def test_a_row_of_another_writer_without_type_is_updated(session: Session, moto: Transport) -> None:
    session.save(Hits(page="/", count=3))
    session.update(ROOT, F.owner.set("x"))
    item = {
        name: value for name, value in items(moto)["PAGE#/ HITS"].items() if name not in ("_type", "_rev")
    }
    put(moto, item)
    assert session.upsert(ROOT, F.count.add(1)).count == 4


def test_a_subclass_keeps_its_own_defaults(session: Session, moto: Transport) -> None:
    session.save(Nightly(number="1"))
    put(moto, {name: value for name, value in items(moto)["JOB#1 JOB"].items() if name != "rank"})
    found = session.upsert(Key(Job, number="1"))
    assert (type(found), found.rank) == (Nightly, 2)
    assert session.upsert(Key(Job, number="1"), F.rank.add(1)).rank == 3


# -- expiry ------------------------------------------------------------------------------------------------------------


def test_an_expired_entity_is_created_anew(session: Session, clock: FakeClock, wire: FaultyTransport) -> None:
    key = Key(Stall, name="l")
    soon = datetime.fromtimestamp(clock.now(), UTC) + timedelta(seconds=60)
    assert session.upsert(key, F.visits.add(1), F.until.set(soon)).visits == 1
    assert session.upsert(key, F.visits.add(1)).visits == 2
    assert operations(wire) == ["UpdateItem", "UpdateItem"]
    clock.advance(120)
    fresh = session.upsert(key, F.visits.add(1), condition=F.visits == 0)
    assert (fresh.visits, fresh.until) == (1, None)


# -- conditions --------------------------------------------------------------------------------------------------------


def test_a_condition_is_judged_on_what_is_stored_and_otherwise_on_the_defaults(session: Session) -> None:
    for count in (1, 2, 3):
        assert session.upsert(ROOT, F.count.add(1), condition=F.count < 3).count == count
    with pytest.raises(ConditionFailed):
        session.upsert(ROOT, F.count.add(1), condition=F.count < 3)
    with pytest.raises(ConditionFailed):
        session.upsert(Key(Hits, page="/other"), F.count.add(1), condition=F.count > 0)
    assert session.get(Hits, page="/other") is None


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "change", "error"),
    [
        (Hits(page="/"), F.count.add(1), UsageError),
        (ROOT, F.nothing.add(1), UnknownField),
        (ROOT, F.page.set("x"), UsageError),
        (ROOT, F.count.set("x"), InvalidValue),
        (ROOT, "count", UsageError),
    ],
    ids=["object", "field", "key", "value", "change"],
)
def test_a_mistake_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport, target: Any, change: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        session.upsert(target, change)
    assert operations(wire) == []


# -- a read first ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "change", "insert"),
    [
        (Key(User, user_id="1"), F.email.set("a@x"), ["GetItem", "TransactWriteItems"]),
        (Key(Member, name="m"), F.team.set("red"), ["GetItem", "TransactWriteItems"]),
        (Key(Page, name="p"), F.text.set("x"), ["GetItem", "TransactWriteItems"]),
        (Key(Ruled, name="r"), F.low.set(1), ["GetItem", "PutItem"]),
        (Key(Ticket, number=1), F.visits.add(1), ["GetItem", "PutItem"]),
    ],
    ids=["unique", "counted", "versioned", "ruled", "indexed"],
)
def test_what_depends_on_what_is_stored_is_read_first(
    session: Session, wire: FaultyTransport, key: Key[Any], change: Any, insert: list[str]
) -> None:
    session.save(Team(team="red"))
    wire.calls.clear()
    session.upsert(key, change)
    assert operations(wire) == insert
    session.upsert(key, change)
    assert operations(wire)[0] == "GetItem"
    assert session.get(key) is not None


def test_an_upsert_takes_the_totals_of_its_transaction(session: Session) -> None:
    with session.transaction() as tx:
        tx.upsert(Key(Team, team="red"), F.goal.set(3))
        tx.save(Member(name="m", team="red"))
    assert session.get_one(Team, team="red").members == 1


# -- without changes, exactly once, and races --------------------------------------------------------------------------


def test_without_changes_it_gets_or_creates(session: Session, wire: FaultyTransport) -> None:
    created = session.upsert(ROOT)
    assert operations(wire) == ["GetItem", "PutItem"]
    found = session.upsert(ROOT)
    assert operations(wire) == ["GetItem"]
    assert inspect(found).revision == inspect(created).revision


@pytest.mark.parametrize("exists", [False, True])
def test_exactly_once_survives_a_lost_answer(moto: Transport, clock: FakeClock, exists: bool) -> None:
    session = Session(transport=moto, clock=clock)
    session.create_table(app)
    if exists:
        session.save(Hits(page="/", count=1))
    careful = Session(
        transport=FaultyTransport(moto, lost_answer(operation="TransactWriteItems")), clock=clock
    )
    assert careful.upsert(ROOT, F.count.add(1), exactly_once=True).count == 1 + exists


def test_a_lost_answer_of_one_request_is_recognised_by_its_revision(
    moto: Transport, clock: FakeClock
) -> None:
    Session(transport=moto, clock=clock).create_table(app)
    wire = FaultyTransport(moto, lost_answer(operation="UpdateItem"))
    assert Session(transport=wire, clock=clock).upsert(ROOT, F.count.add(1)).count == 1
    assert operations(wire) == ["UpdateItem", "GetItem"]


def test_what_happens_between_the_read_and_the_write_is_taken_into_account(
    moto: Transport, clock: FakeClock
) -> None:
    """Both ways: somebody creates it before the insert, and deletes it before the update."""
    other = Session(transport=moto, clock=clock)
    other.create_table(app)
    key = Key(Ruled, name="r")
    steps: list[Callable[[], object]] = [
        lambda: other.save(Ruled(name="r", low=5)),
        lambda: other.delete(key),
    ]

    def strike(call: Call, inner: Transport) -> Any:
        if steps:
            steps.pop(0)()
        return inner.call(call)

    meanwhile = Fault("meanwhile", strike, 1, 2, frozenset({"PutItem", "UpdateItem"}))
    wire = FaultyTransport(moto, meanwhile)
    found = Session(transport=wire, clock=clock).upsert(key, F.low.add(1))
    assert found.low == 1
    assert operations(wire) == ["GetItem", "PutItem", "UpdateItem", "GetItem", "PutItem"]


def test_an_equal_block_under_one_token_is_applied_once(session: Session) -> None:
    for _ in range(2):
        with session.transaction(token="T1") as tx:
            tx.upsert(ROOT, F.count.add(1))  # its default factories are called twice
            tx.upsert(Key(Page, name="p"), F.text.set("x"))
    assert session.get_one(ROOT).count == 1
    with pytest.raises(DynaormError), session.transaction(token="T1") as tx:
        tx.upsert(ROOT, F.count.add(2))
        tx.upsert(Key(Page, name="p"), F.text.set("x"))
    assert session.get_one(ROOT).count == 1


def test_an_entity_under_a_former_name_of_its_class_gets_the_present_one(
    session: Session, moto: Transport, wire: FaultyTransport
) -> None:
    key = {"PK": {"S": "TALLY#a"}, "SK": {"S": "T"}}
    put(moto, {**key, "_type": {"S": "Sum"}, "name": {"S": "a"}, "number": {"N": "1"}})
    assert session.upsert(Key(Tally, name="a"), F.number.add(1)).number == 2
    assert operations(wire) == ["UpdateItem"]
    assert items(moto)["TALLY#a T"]["_type"] == {"S": "Tally"}


@pytest.mark.parametrize("condition", [None, F.visits == 1])
def test_a_call_without_effect_does_not_rename_attributes(
    session: Session, moto: Transport, wire: FaultyTransport, condition: Condition | None
) -> None:
    item = {"PK": {"S": "COUNTER#a"}, "SK": {"S": "C"}, "_type": {"S": "Counter"}, "name": {"S": "a"}}
    put(moto, {**item, "Visits": {"N": "1"}})
    key = Key(Counter, name="a")
    assert session.upsert(key, condition=condition).visits == 1
    assert session.upsert(key, F.visits.set_if_missing(5), condition=condition).visits == 1
    assert session.update(key, {"visits": 1}, condition=condition).visits == 1
    loaded = session.get_one(key)
    session.update(loaded, {"visits": 1}, condition=condition)
    assert items(moto)["COUNTER#a C"] == {**item, "Visits": {"N": "1"}}
    assert {"UpdateItem", "PutItem"}.isdisjoint(operations(wire))
    session.update(loaded, {"visits": 2})
    changed = items(moto)["COUNTER#a C"]
    assert (changed["visits"], "Visits" in changed) == ({"N": "2"}, False)
