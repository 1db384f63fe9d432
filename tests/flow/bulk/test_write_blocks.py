"""Saving many by transactions of several entities: what is sent, and who fails if one of them does."""

from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, Key, Retry, Session, Table, Unique
from dynaorm.errors import (
    AlreadyExists,
    BulkError,
    Contention,
    EntityNotFound,
    InvalidValue,
    OutcomeUnknown,
    StaleEntity,
    TableNotFound,
    UniqueViolation,
    UsageError,
)
from dynaorm.flow.call import Call, Refusal, Reply, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport, conflict, lost_request

app = Table("blocks-app")
away = Table("blocks-away")


class Group(Entity, table=app, pk="GROUP#{group}", sk="G"):
    group: str
    name: str
    members: int = 0
    hours: int = 0


class Member(Entity, table=app, pk="MEMBER#{name}", sk="M"):
    name: str
    group: str
    hours: int = 2
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"})


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    email: Annotated[str, Unique()]
    phone: Annotated[str, Unique()]


class Absent(Entity, table=away, pk="ABSENT#{name}", sk="A"):
    name: str


@pytest.fixture
def groups(session: Session, wire: FaultyTransport) -> Session:
    for name in "gh":
        session.save(Group(group=name, name=name.upper()))
    wire.calls.clear()
    return session


def members(count: int, group: str = "g") -> list[Member]:
    return [Member(name=f"{group}{number}", group=group) for number in range(count)]


def sizes(wire: FaultyTransport) -> list[int]:
    """The number of actions of each transaction; 1 for a plain write."""
    return [len(call.request.get("TransactItems", [1])) for call in wire.calls]


def users(count: int) -> list[User]:
    return [User(name=str(one), email=f"{one}@x", phone=f"+{one}") for one in range(count)]


def failed(error: BulkError) -> list[tuple[str, type[Exception]]]:
    return [(getattr(one, "name", ""), type(problem)) for one, problem in error.failures]


def test_a_block_is_one_transaction_with_one_action_for_each_total(
    groups: Session, wire: FaultyTransport
) -> None:
    saved = groups.save_many(members(50), per_transaction=25)
    assert [one.name for one in saved] == [f"g{number}" for number in range(50)]
    assert sizes(wire) == [26, 26]
    group = groups.get_one(Group, group="g")
    assert (group.members, group.hours) == (50, 100)


@pytest.mark.parametrize("by_key", [True, False])
def test_a_block_is_deleted_in_one_transaction_with_one_action_for_each_total(
    groups: Session, wire: FaultyTransport, *, by_key: bool
) -> None:
    saved = groups.save_many([*members(20), Member(name="h", group="h")], per_transaction=25)
    stale = groups.get_one(Member, name="g7")
    stale.hours = 5
    groups.save(stale)
    targets: list[Any] = [Key(Member, name=one.name) for one in saved] if by_key else saved
    wire.calls.clear()
    if by_key:
        groups.delete_many(targets, per_transaction=30)
        assert sum(call.operation == "TransactWriteItems" for call in wire.calls) == 1
        assert sizes(wire)[-1] == 23
    else:
        with pytest.raises(BulkError) as caught:
            groups.delete_many(iter(targets), per_transaction=30)
        assert failed(caught.value) == [("g7", StaleEntity)]
        assert sizes(wire) == [23, 11, 6, 6, 3, 4, 2, 3, 13]
    assert groups.get_one(Group, group="g").members == (0 if by_key else 1)
    assert groups.get_one(Group, group="h").members == 0


def test_each_kind_of_fault_is_named_with_its_entity(groups: Session) -> None:
    groups.save(User(name="taken", email="0@x", phone="+taken"))
    stale = groups.save(Member(name="stale", group="g"))
    other = groups.get_one(Member, name="stale")
    other.hours = 5
    groups.save(other)
    stale.hours = 7
    wrong = Member(name="wrong", group="g")
    wrong.hours = "many"  # type: ignore[assignment]  # that is what is tested
    many: list[Any] = [
        *users(3),
        stale,
        wrong,
        Member(name="lost", group="nowhere"),
        *members(3),
        "no entity",
    ]
    with pytest.raises(BulkError) as caught:
        groups.save_many(many, per_transaction=25)
    assert failed(caught.value) == [
        ("0", UniqueViolation),
        ("stale", StaleEntity),
        ("wrong", InvalidValue),
        ("lost", EntityNotFound),
        ("", UsageError),
    ]
    assert groups.get_one(Group, group="g").members == 4
    assert [groups.exists(Key(User, name=name)) for name in "012"] == [False, True, True]


def test_of_two_entities_with_one_key_or_value_the_second_fails(session: Session) -> None:
    many = [*users(2), User(name="0", email="9@x", phone="9"), User(name="8", email="1@x", phone="8")]
    with pytest.raises(BulkError) as caught:
        session.save_many(many, per_transaction=4)
    assert [(one is many[2], type(problem)) for one, problem in caught.value.failures] == [
        (True, AlreadyExists),
        (False, UniqueViolation),
    ]


def test_a_block_that_is_too_large_for_a_transaction_is_divided(
    session: Session, wire: FaultyTransport
) -> None:
    session.save_many(users(40), per_transaction=40)  # three actions each
    assert sizes(wire) == [60, 60]


def test_an_object_given_twice_is_saved_once(groups: Session, wire: FaultyTransport) -> None:
    one = Member(name="a", group="g")
    assert groups.save_many([one, one], per_transaction=2) == [one, one]
    assert groups.get_one(Group, group="g").members == 1


def test_without_an_answer_every_entity_of_the_block_waits_for_it(moto: Transport, clock: FakeClock) -> None:
    Session(transport=moto, clock=clock).create_table(app)
    wire = FaultyTransport(moto, lost_request(times=99, operation="TransactWriteItems"))
    session = Session(transport=wire, clock=clock, retry=Retry(attempts=2))
    many = users(3)
    with pytest.raises(BulkError) as caught:
        session.save_many(many, per_transaction=3)
    assert failed(caught.value) == [(name, OutcomeUnknown) for name in "012"]
    assert sizes(wire) == [9, 9]


def test_a_block_is_not_divided_for_a_conflict(moto: Transport, clock: FakeClock) -> None:
    Session(transport=moto, clock=clock).create_table(app)
    wire = FaultyTransport(moto, conflict(times=99))
    session = Session(transport=wire, clock=clock, retry=Retry(attempts=3))
    with pytest.raises(BulkError) as caught:
        session.save_many(users(2), per_transaction=2)
    assert failed(caught.value) == [("0", Contention), ("1", Contention)]
    assert sizes(wire) == [6, 6, 6]


def test_a_missing_table_is_no_fault_of_an_entity(moto: Transport, clock: FakeClock) -> None:
    wire = FaultyTransport(moto)
    with pytest.raises(BulkError) as caught:
        Session(transport=wire, clock=clock).save_many(
            [Absent(name="a"), Absent(name="b")], per_transaction=2
        )
    assert failed(caught.value) == [("a", TableNotFound), ("b", TableNotFound)]
    assert sizes(wire) == [2]


@pytest.mark.parametrize("number", [0, 101, True, 2.0])
def test_a_number_that_no_transaction_has_is_refused(
    session: Session, wire: FaultyTransport, number: Any
) -> None:
    for call in (session.save_many, session.delete_many):
        with pytest.raises(UsageError, match="per_transaction"):
            call(users(1), per_transaction=number)
    assert wire.calls == []


def test_totals_of_blocks_that_are_sent_at_the_same_time_are_exact(
    ministack_line: tuple[Transport, Any], unique_name: Any
) -> None:
    with Session(transport=ministack_line[0], table_names=unique_name) as session:
        session.create_table(app)
        session.save_many([Group(group=name, name="") for name in "ghij"])
        many = [
            Member(name=str(number), group="ghij"[number % 4 if number < 100 else 0]) for number in range(160)
        ]
        session.save_many(many, per_transaction=20)
        assert [session.get_one(Group, group=name).members for name in "ghij"] == [85, 25, 25, 25]
        ministack_line[1].delete_table(TableName=unique_name(app.name))


class Refusing:
    """Refuses every request with an item of one name, as DynamoDB refuses what it finds too large: without reasons."""

    def __init__(self, inner: Transport, name: str) -> None:
        self.inner = inner
        self.name = name

    def call(self, call: Call, /) -> Reply:
        actions = [one["Put"] for one in call.request.get("TransactItems", ())] or [call.request]
        if any(one.get("Item", {}).get("name") == {"S": self.name} for one in actions):
            raise Refusal("ValidationException", "Item size has exceeded the maximum allowed size")
        return self.inner.call(call)


def test_a_block_is_divided_where_the_refusal_of_one_entity_has_no_reasons(moto: Transport) -> None:
    with Session(transport=Refusing(moto, "b"), clock=FakeClock()) as session:
        session.create_table(app)
        groups = [Group(group=name, name=name) for name in "abcd"]
        with pytest.raises(BulkError) as caught:
            session.save_many(groups, per_transaction=4)
    assert [one for one, _ in caught.value.failures] == [groups[1]]
