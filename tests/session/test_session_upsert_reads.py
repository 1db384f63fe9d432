"""Upserts that have to read first, get or create, lost answers, and what happens in between."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import (
    Attribute,
    Call,
    Entity,
    F,
    Key,
    Session,
    UpdatedAt,
    inspect,
)
from dynaorm.errors import (
    DynaormError,
    UniqueViolation,
    UsageError,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.item.condition import Condition
from dynaorm.testing import FakeClock
from dynaorm.testing.faults import Fault, FaultyTransport, lost_answer
from tests.session.people import operations
from tests.session.upserted import (
    ROOT,
    Hits,
    Member,
    Page,
    Place,
    Ruled,
    Team,
    Ticket,
    User,
    app,
    stored,
)

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


def test_a_class_with_a_constraint_that_claims_nothing_is_not_read(
    session: Session, wire: FaultyTransport
) -> None:
    assert session.upsert(Key(User, user_id="1"), F.visits.add(1)).visits == 1
    assert operations(wire) == ["UpdateItem"]


def test_a_unique_value_is_claimed_and_refused(session: Session, moto: Transport) -> None:
    session.upsert(Key(User, user_id="1"), F.email.set("a@x"))
    assert "email#a@x email#a@x" in stored(moto)
    with pytest.raises(UniqueViolation):
        session.upsert(Key(User, user_id="2"), F.email.set("a@x"))
    assert session.get(User, user_id="2") is None


def test_a_total_counts_what_is_created_once(session: Session) -> None:
    for _ in range(2):
        session.upsert(Key(Member, name="m"), F.team.set("red"))
    assert session.get_one(Team, team="red").members == 1


def test_the_target_of_totals_is_created_with_totals_of_zero(session: Session, wire: FaultyTransport) -> None:
    team = session.upsert(Key(Team, team="red"), F.goal.set(3))
    assert operations(wire) == ["UpdateItem"]
    assert (team.goal, team.members) == (3, 0)
    with pytest.raises(UsageError, match="members"):
        session.upsert(Key(Team, team="red"), F.members.set(3))


def test_an_upsert_takes_the_totals_of_its_transaction(session: Session) -> None:
    with session.transaction() as tx:
        tx.upsert(Key(Team, team="red"), F.goal.set(3))
        tx.save(Member(name="m", team="red"))
    assert session.get_one(Team, team="red").members == 1


def test_versions_are_counted_from_the_creation_on(session: Session) -> None:
    key = Key(Page, name="p")
    assert inspect(session.upsert(key, F.text.set("a"))).version == 1
    assert inspect(session.upsert(key, F.text.set("b"))).version == 2
    session.delete(key)
    assert inspect(session.upsert(key, F.text.set("c"))).version == 3


def test_index_keys_are_those_of_the_values_that_are_stored(session: Session, moto: Transport) -> None:
    session.upsert(Key(Ticket, number=1), F.visits.add(1))
    assert stored(moto)["TICKET#1 T"]["GSI1PK"] == {"S": "STATUS#open"}
    session.upsert(Key(Ticket, number=1), F.status.set("done"))
    assert stored(moto)["TICKET#1 T"]["GSI1PK"] == {"S": "STATUS#done"}


def test_a_part_of_an_absent_value_cannot_be_created(session: Session) -> None:
    with pytest.raises(UsageError, match=r"set the whole field: F.place.set\(...\)$"):
        session.upsert(ROOT, F.place.city.set("Rome"))
    session.save(Hits(page="/", place=Place()))
    changed = session.upsert(ROOT, F.place.city.set("Rome"))
    assert changed.place == Place(city="Rome")


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


class Renamed(Entity, table=app, pk="RENAMED#{name}", sk="R", formerly=("Named",)):
    name: str
    uses: int = 0


def test_an_entity_under_a_former_name_of_its_class_gets_the_present_one(
    session: Session, moto: Transport, wire: FaultyTransport
) -> None:
    item = {"PK": {"S": "RENAMED#a"}, "SK": {"S": "R"}, "_type": {"S": "Named"}, "name": {"S": "a"}}
    moto.call(Call("PutItem", {"TableName": "upsert-app", "Item": {**item, "uses": {"N": "1"}}}))
    assert session.upsert(Key(Renamed, name="a"), F.uses.add(1)).uses == 2
    assert operations(wire) == ["UpdateItem"]
    assert stored(moto)["RENAMED#a R"]["_type"] == {"S": "Renamed"}


class Counter(Entity, table=app, pk="COUNTER#{name}", sk="C"):
    name: str
    uses: Annotated[int, Attribute("uses", formerly=("used",))] = 0
    changed: Annotated[datetime | None, UpdatedAt()] = None


@pytest.mark.parametrize("condition", [None, F.uses == 1])
def test_a_call_without_effect_does_not_rename_attributes(
    session: Session, moto: Transport, wire: FaultyTransport, condition: Condition | None
) -> None:
    item = {"PK": {"S": "COUNTER#a"}, "SK": {"S": "C"}, "_type": {"S": "Counter"}, "name": {"S": "a"}}
    moto.call(Call("PutItem", {"TableName": "upsert-app", "Item": {**item, "used": {"N": "1"}}}))
    key = Key(Counter, name="a")
    assert session.upsert(key, condition=condition).uses == 1
    assert session.upsert(key, F.uses.set_if_missing(5), condition=condition).uses == 1
    assert session.update(key, {"uses": 1}, condition=condition).uses == 1
    loaded = session.get_one(key)
    session.update(loaded, {"uses": 1}, condition=condition)
    assert stored(moto)["COUNTER#a C"] == {**item, "used": {"N": "1"}}
    assert {"UpdateItem", "PutItem"}.isdisjoint(operations(wire))
    session.update(loaded, {"uses": 2})
    changed = stored(moto)["COUNTER#a C"]
    assert (changed["uses"], "used" in changed) == ({"N": "2"}, False)
