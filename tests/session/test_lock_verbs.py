"""What locks, leases and counters need: touch, replacing=, delete(returning=True), next_number, errors' ``stored``."""

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import F, Key, Session, Transaction, inspect, tools
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    Contention,
    EntityNotFound,
    OutcomeUnknown,
    StaleEntity,
    StoreError,
    UniqueViolation,
    UsageError,
)
from dynaorm.testing import FakeClock, FaultyTransport, lost_answer
from dynaorm.transport import NoAnswer, Transport
from tests.cast.documents import Letter
from tests.cast.orders import Stock
from tests.cast.others import Loose, Spot, Stall
from tests.cast.people import USER, Staff, Team, User
from tests.cast.seen import items, operations, put
from tests.cast.tables import fleeting


def at(clock: FakeClock, seconds: float) -> datetime:
    return datetime.fromtimestamp(clock.now() + seconds, UTC)


# -- touch -------------------------------------------------------------------------------------------------------------


def test_a_touch_writes_a_new_revision_and_nothing_else(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    stock = session.save(Stock(sku="a", left=1))
    before, _ = items(moto)["STOCK#a S"], operations(wire)
    stock.left = 7
    assert session.touch(stock) is stock
    assert operations(wire) == ["UpdateItem"]
    after = items(moto)["STOCK#a S"]
    assert after == {**before, "_rev": after["_rev"]}
    assert after["_rev"] != before["_rev"]
    # What was not saved is still to be saved.
    assert (stock.left, set(inspect(stock).changes)) == (7, {"left"})
    assert session.save(stock) == session.get(Key(Stock, sku="a"))


def test_a_touch_sets_the_time_of_the_last_write_and_adds_no_version_of_other_fields(
    session: Session, clock: FakeClock
) -> None:
    team = session.save(Team(team="t"))
    clock.advance(60)
    session.touch(team)
    assert session.get_one(Team, team="t") == team
    assert team.changed == at(clock, 0)
    document = session.save(Letter(name="d", text="a"))
    session.touch(document)
    assert [version.number for version in session.history(document)] == [1]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Key(Stock, sku="a"), "get the entity and touch the object"),
        (Stock(sku="a"), "save"),
        (Loose(name="l"), "revision_attribute"),
    ],
)
def test_what_cannot_be_touched_is_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport, target: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        session.touch(target)
    assert operations(wire) == []


# -- delete(returning=True) --------------------------------------------------------------------------------------------


def test_a_deletion_returns_what_it_deleted_without_a_further_request(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Stock(sku="a", left=3))
    operations(wire)
    deleted = session.delete(Key(Stock, sku="a"), returning=True)
    assert deleted == Stock(sku="a", left=3)
    assert operations(wire) == ["DeleteItem"]
    assert deleted is not None
    # It is a new entity, so it can be stored again.
    assert not inspect(deleted).loaded
    session.save(deleted)


@pytest.mark.parametrize("by_key", [True, False], ids=["by key", "as loaded"])
def test_a_deletion_that_is_recognised_by_its_tombstone_returns_what_it_deleted(
    session: Session, wire: FaultyTransport, *, by_key: bool
) -> None:
    document = session.save(Letter(name="d", text="a"))
    values = document.model_copy()
    wire.inject(lost_answer(operation="PutItem"))
    assert session.delete(Key(Letter, name="d") if by_key else document, returning=True) == values
    assert operations(wire)[-2:] == ["PutItem", "PutItem"]  # the refusal of the second shows the tombstone
    assert session.get(Letter, name="d") is None


def test_a_deletion_that_got_no_answer_does_not_guess_what_it_deleted(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Stock(sku="a"))
    wire.inject(lost_answer(operation="DeleteItem"))
    assert session.delete(Key(Stock, sku="a"), returning=True) is None
    with pytest.raises(EntityNotFound):
        session.delete(Key(Stock, sku="a"), returning=True)


# -- what stands there -------------------------------------------------------------------------------------------------


def refusals(session: Session) -> dict[str, tuple[StoreError, Any]]:
    """Each refusal, and the entity that stands there."""
    session.save(User(user_id="2", email="taken"))
    there = session.save(User(user_id="1", email="a"))
    stale = there.model_copy()
    session.update(there, F.visits.add(1))
    stale.name = "n"
    found: dict[str, tuple[StoreError, Any]] = {}
    works: dict[str, Callable[[], object]] = {
        "insert": lambda: session.save(User(user_id="1")),
        "insert with two causes": lambda: session.save(User(user_id="1", email="taken")),
        "insert of another class": lambda: session.save(Staff(user_id="1")),
        "stale save": lambda: session.save(stale),
        "stale delete": lambda: session.delete(stale),
        "condition": lambda: session.update(USER, F.visits.add(1), condition=F.visits > 9),
        "condition of a read": lambda: session.update(USER, {"email": None}, condition=F.visits > 9),
        "deletion": lambda: session.delete(USER, condition=F.visits > 9),
    }
    for name, work in works.items():
        with pytest.raises(StoreError) as refused:
            work()
        found[name] = refused.value, there
    return found


def test_a_refusal_holds_the_entity_that_stands_there_and_asks_for_nothing_more(
    session: Session, wire: FaultyTransport
) -> None:
    for name, (error, there) in refusals(session).items():
        assert isinstance(error, (AlreadyExists, StaleEntity, ConditionFailed)), name
        assert error.stored == there, name
        assert inspect(error.stored).revision == inspect(there).revision, name
        assert "visits" not in repr(error), name
        assert pickle.loads(pickle.dumps(error)).stored == there, name
        assert copy.deepcopy(error).stored == there, name


def test_nothing_stands_there_where_nothing_is_stored_or_nothing_can_be_read(
    session: Session, moto: Transport
) -> None:
    stock = session.save(Stock(sku="a"))
    session.delete(Key(Stock, sku="a"))
    stock.left = 2
    with pytest.raises(StaleEntity) as gone:
        session.save(stock)
    assert gone.value.stored is None
    document = session.save(Letter(name="d", text="a"))
    stale = document.model_copy()
    session.delete(document)
    with pytest.raises(StaleEntity) as buried:
        session.touch(stale)
    assert buried.value.stored is None


# -- save(overwrite=True), save(replacing=...) -------------------------------------------------------------------------


def test_an_overwrite_is_one_put_where_nothing_is_derived(
    session: Session, wire: FaultyTransport, moto: Transport
) -> None:
    for left in (1, 2):
        stock = session.save(Stock(sku="a", left=left), overwrite=True)
        assert operations(wire) == ["PutItem"]
        assert session.get_one(Stock, sku="a") == stock
        assert inspect(stock).revision == items(moto)["STOCK#a S"]["_rev"]["S"]
        operations(wire)
    session.save(Loose(name="l", left=1), overwrite=True)
    session.save(Loose(name="l", left=2), overwrite=True)
    assert operations(wire) == ["PutItem", "PutItem"]


def test_an_overwrite_never_replaces_an_entity_of_a_class_that_it_does_not_know_of(
    session: Session, wire: FaultyTransport, moto: Transport, clock: FakeClock
) -> None:
    stall = session.save(Stall(name="p"))
    operations(wire)
    # A subclass keeps the time of its creation, which only its item tells.
    session.save(Stall(name="p", visits=2), overwrite=True)
    assert session.get_one(Stall, name="p").created == stall.created
    operations(wire)
    session.save(Spot(name="p"), overwrite=True)
    assert operations(wire) == ["PutItem", "PutItem"]
    put(moto, {**items(moto, fleeting)["PLACE#p P"], "_type": {"S": "Stranger"}}, fleeting)
    with pytest.raises(AlreadyExists, match="Stranger"):
        session.save(Spot(name="p"), overwrite=True)


def test_an_overwrite_without_an_answer_never_undoes_what_others_did(
    session: Session, wire: FaultyTransport
) -> None:
    wire.inject(lost_answer(operation="PutItem"))
    stock = session.save(Stock(sku="a", left=1), overwrite=True)
    assert inspect(stock).loaded

    class Meanwhile(FaultyTransport):
        """Somebody else writes after the put, whose answer is lost."""

        def call(self, call: Any, /) -> Any:
            reply = super().call(call)
            if call.operation == "PutItem":
                session.update(Key(Stock, sku="a"), F.left.set(9))
                raise NoAnswer("timeout")
            return reply

    with Session(transport=Meanwhile(wire)) as other, pytest.raises(OutcomeUnknown):
        other.save(Stock(sku="a", left=2), overwrite=True)
    assert session.get_one(Stock, sku="a").left == 9


def test_a_replacing_block_under_a_token_is_applied_once_and_another_condition_is_another_block(
    session: Session,
) -> None:
    def block(left: int) -> None:
        with session.transaction(token="T") as tx:
            tx.save(Stock(sku="a"), replacing=F.left == left)

    block(0)
    block(0)
    with pytest.raises(StoreError, match="token"):
        block(1)


def test_overwrite_and_replacing_contradict_each_other(session: Session, wire: FaultyTransport) -> None:
    with pytest.raises(UsageError, match="give one of the two"):
        session.save(Stock(sku="a"), overwrite=True, replacing=F.left == 0)
    with pytest.raises(UsageError, match="replacing='x'"):
        session.save(Stock(sku="a"), replacing="x")  # type: ignore[arg-type]
    assert operations(wire) == []


def test_a_plan_says_what_it_replaces(session: Session) -> None:
    plan = session.plan_of(lambda tx: tx.save(Stock(sku="a"), replacing=F.left == 0))
    assert plan.explain() == (
        "PutItem, 1 action, 1 write capacity unit\n"
        "1. Put app PK=STOCK#a SK=S: replace Stock(sku='a'), if the condition on what is replaced holds, or insert it "
        "if nothing is stored under its key"
    )
    plan = session.plan_of(lambda tx: tx.save(Stock(sku="a"), overwrite=True))
    assert plan.explain().endswith("replace Stock(sku='a'), or insert it if nothing is stored under its key")


ENTITIES = st.one_of(
    st.builds(Stock, sku=st.just("a"), left=st.integers(0, 2)),
    st.builds(Loose, name=st.just("l"), left=st.integers(0, 2)),
    st.builds(Spot, name=st.just("p"), visits=st.integers(0, 2)),
    st.builds(User, user_id=st.just("1"), email=st.sampled_from(["a", "b"]), visits=st.integers(0, 2)),
    st.builds(Letter, name=st.just("d"), text=st.sampled_from(["a", "b"])),
)


@settings(max_examples=30)
@given(before=st.none() | st.integers(0, 2), new=ENTITIES, wanted=st.integers(0, 2), overwrites=st.booleans())
def test_a_replacement_always_does_what_reading_first_would(
    before: int | None, new: Any, wanted: int, overwrites: bool
) -> None:
    kind = type(new)
    number = next((name for name in ("left", "visits") if name in kind.model_fields), "text")
    key = {name: getattr(new, name) for name in kind.__dynaorm_mapping__.key_fields}
    value = wanted if number != "text" else "ab"[wanted % 2]
    condition = F[number] == value
    table = kind.__dynaorm_mapping__.table
    with Session(endpoint="memory:") as session:
        session.create_table(table)
        if before is not None:
            session.save(kind(**key, **{number: before if number != "text" else "ab"[before % 2]}))
        stored = session.get(Key(kind, **key))
        allowed = overwrites or stored is None or getattr(stored, number) == value
        how: Any = {"overwrite": True} if overwrites else {"replacing": condition}
        if allowed:
            session.save(new, **how)
            assert session.get(Key(kind, **key)) == new
        else:
            with pytest.raises(ConditionFailed) as refused:
                session.save(new, **how)
            assert refused.value.stored == stored == session.get(Key(kind, **key))
        assert list(tools.verify(session, table)) == []


# -- next_number, run --------------------------------------------------------------------------------------------------


def test_each_number_is_given_once_by_one_request(session: Session, wire: FaultyTransport) -> None:
    counter = Key(Stock, sku="a")
    assert [session.next_number(counter, "left") for _ in range(3)] == [1, 2, 3]
    assert operations(wire) == ["UpdateItem"] * 3


def test_only_a_field_of_a_key_is_counted(session: Session, wire: FaultyTransport) -> None:
    with pytest.raises(UsageError, match="no field 'lefd'"):
        session.next_number(Key(Stock, sku="a"), "lefd")
    with pytest.raises(UsageError, match="takes a key"):
        session.next_number(Stock(sku="a"), "left")  # type: ignore[arg-type]
    assert operations(wire) == []


def test_a_run_repeats_the_refusals_it_is_told_to_and_is_contention_in_the_end(session: Session) -> None:
    session.save(Stock(sku="a", left=1))
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.update(Key(Stock, sku="a"), F.left.set(2), condition=F.left == len(calls) - 2)

    session.run(work, attempts=5, retry_on=ConditionFailed)
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(Contention) as lost:
        session.run(
            lambda tx: tx.check(Key(Stock, sku="a"), F.left > 9), attempts=2, retry_on=ConditionFailed
        )
    assert [type(cause) for cause in lost.value.causes] == [ConditionFailed]
    with pytest.raises(ConditionFailed):
        session.run(lambda tx: tx.check(Key(Stock, sku="a"), F.left > 9))


def test_a_run_never_repeats_what_the_work_itself_raises(session: Session) -> None:
    calls: list[int] = []

    def work(_: Transaction) -> None:
        calls.append(1)
        session.get_one(Stock, sku="none")

    with pytest.raises(EntityNotFound):
        session.run(work, retry_on=(EntityNotFound, UniqueViolation))
    assert calls == [1]


@pytest.mark.parametrize(
    "kind", [OutcomeUnknown, StoreError, ValueError, "ConditionFailed", (ConditionFailed, 1)]
)
def test_a_run_is_repeated_only_after_refusals(session: Session, kind: Any) -> None:
    with pytest.raises(UsageError, match="retry_on"):
        session.run(lambda _: None, retry_on=kind)
