"""Bugs of other libraries with reads before writes, silent failures, and retries."""

from typing import TYPE_CHECKING, Any

import pytest

from dynaorm import F, Key, inspect
from dynaorm.errors import ConditionFailed, Contention, OutcomeUnknown, PlanTooLarge, UniqueViolation
from dynaorm.flow.protocol.call import Call, Reason, Refusal, Reply, Transport
from dynaorm.testing.faults import Fault, conflict, in_progress, lost_answer, lost_request, throttle
from tests.story.field_bugs import LegacyUser, Note, User, app, table_of

if TYPE_CHECKING:
    from tests.story.conftest import Engine


@pytest.fixture(params=[User, LegacyUser], ids=["revision", "legacy"])
def kind(request: pytest.FixtureRequest, engine: "Engine") -> Any:
    """A user class: of a table whose items have a revision, and of one whose items do not."""
    engine.create(table_of(request.param))
    return request.param


# -- reads before writes -----------------------------------------------------------------------------------------------


def test_every_read_that_a_write_rests_on_is_strongly_consistent(engine: "Engine", kind: Any) -> None:
    """Bug: the old value comes from an eventually consistent read, and the wrong guard is released."""
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x"))
        session.update(Key(kind, user_id="u1"), {"email": "b@x"})
        session.save(kind(user_id="u1", email="c@x"), overwrite=True)
        session.refresh(user)
        assert session.get_by(kind, email="c@x") == user
        user.user_id = "u2"
        session.move(user)
        session.delete(Key(kind, user_id="u2"))
        assert engine.raw(table_of(kind)) == []
    reads = [call.request for call in engine.calls if call.operation == "GetItem"]
    # The reads: update, overwrite, refresh, guard and owner, delete, and the move of an item without revision.
    assert len(reads) == (6 if kind is User else 7)
    assert all(request["ConsistentRead"] for request in reads)


def test_reads_for_versions_are_strongly_consistent_too(engine: "Engine") -> None:
    """Bug: the newest number comes from an eventually consistent read, and a version is written twice."""
    engine.create(app)
    with engine.session() as session:
        note = session.save(Note(note_id="n1", text="1"))
        session.update(Key(Note, note_id="n1"), {"text": "2"})
        session.restore(Key(Note, note_id="n1"), version=1)
        session.delete(Key(Note, note_id="n1"))
        session.save(Note(note_id="n1", text="again"))
        assert [one.number for one in session.history(note)] == [4, 3, 2, 1]
    reads = [call.request for call in engine.calls if call.operation == "GetItem"]
    assert reads
    assert all(request["ConsistentRead"] for request in reads)
    (batch,) = (call.request for call in engine.calls if call.operation == "BatchGetItem")
    assert batch["RequestItems"][engine.name("App")]["ConsistentRead"]


# -- silence -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"visits": 2}, {"email": "b@x"}, {"email": "a@x"}])
def test_an_update_whose_condition_does_not_hold_raises_and_writes_nothing(
    engine: "Engine", kind: Any, change: dict[str, object]
) -> None:
    """Bug: an update with a failed condition returns None, as if it had been made."""
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x", visits=1))
        before = engine.raw(table_of(kind))
        for named in (Key(kind, user_id="u1"), user):
            with pytest.raises(ConditionFailed) as failed:
                session.update(named, change, condition=F.visits > 5)
            assert failed.value.key == Key(kind, user_id="u1")
            with pytest.raises(ConditionFailed):
                session.delete(named, condition=F.visits > 5)
        with pytest.raises(ConditionFailed):
            session.save(user, condition=F.visits > 5)
    assert engine.raw(table_of(kind)) == before


def test_a_block_of_more_than_a_hundred_actions_is_refused_and_never_split(engine: "Engine") -> None:
    """Bug: writes that do not fit into one transaction are committed in several, so half of them may stay."""
    engine.create(app)
    with engine.session() as session:
        users = [User(user_id=str(number), email=f"{number}@x") for number in range(51)]

        def block(users: list[User]) -> None:
            with session.transaction() as tx:
                for user in users:
                    tx.save(user)

        with pytest.raises(PlanTooLarge) as refused:
            block(users)
        assert refused.value.actions == 102
        assert engine.calls == []
        assert not any(inspect(user).loaded for user in users)
        block(users[:50])
    assert engine.operations == ["TransactWriteItems"]
    assert len(engine.raw(app)) == 100


def test_a_block_that_raises_sends_nothing_and_changes_no_object(engine: "Engine") -> None:
    """Bug: if an exception leaves a batch, the writes collected so far are committed."""
    engine.create(app)
    told: list[str] = []
    with engine.session() as session:
        first = session.save(User(user_id="u1", email="a@x"))
        engine.forget()

        def block() -> None:
            with session.transaction() as tx:
                first.email = "b@x"
                tx.save(first)
                tx.delete(Key(User, user_id="u9"))
                tx.on_commit(lambda: told.append("sent"))
                first.visits = 1 // 0

        with pytest.raises(ZeroDivisionError):
            block()
        assert engine.calls == []
        assert told == []
        assert inspect(first).changes == {"email": ("a@x", "b@x")}
    assert engine.guards(app) == {"email#a@x": "USER#u1"}


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [conflict, throttle, in_progress, lost_answer, lost_request], ids=lambda fault: fault.__name__
)
def test_a_repeated_transaction_has_one_token_and_the_same_bytes(
    engine: "Engine", kind: Any, fault: Any
) -> None:
    """Bug: each attempt has a new token, so after a lost answer the repetition is refused by its own guards."""
    with engine.session(fault(times=2)) as session:
        user = session.save(kind(user_id="u1", email="a@x"))
        assert engine.operations == ["TransactWriteItems"] * 3
        assert inspect(user).loaded
        session.save(kind(user_id="u2", email="b@x"))
    first, second, third, other = (call.request for call in engine.calls)
    assert first == second == third
    assert first["ClientRequestToken"] != other["ClientRequestToken"]
    assert engine.guards(table_of(kind)) == {"email#a@x": "USER#u1", "email#b@x": "USER#u2"}


def mixed(call: Call, inner: Transport) -> Reply:
    """A conflict on one action, and on another a condition that an unfinished transaction made fail."""
    reasons = [None, *(Reason("ConditionalCheckFailed") for _ in call.request["TransactItems"][1:])]
    reasons[0] = Reason("TransactionConflict")
    raise Refusal("TransactionCanceledException", "", reasons=tuple(reasons))


def test_a_conflict_beside_a_failed_condition_is_repeated_before_anybody_is_blamed(
    engine: "Engine", kind: Any
) -> None:
    """Bug: nothing is repeated, or a failed condition is repeated for ever."""
    fault = Fault("mixed", mixed, at=1, times=1, operations=frozenset({"TransactWriteItems"}))
    with engine.session() as other:
        with engine.session(fault) as session:
            session.save(kind(user_id="u1", email="a@x"))
        with engine.session(fault) as session, pytest.raises(UniqueViolation) as refused:
            session.save(kind(user_id="u2", email="a@x"))
        assert refused.value.owner == Key(kind, user_id="u1")
        engine.forget()
        with pytest.raises(UniqueViolation):
            other.save(kind(user_id="u3", email="a@x"))
        assert engine.operations == ["TransactWriteItems"]
    assert engine.guards(table_of(kind)) == {"email#a@x": "USER#u1"}


def test_conflicts_without_end_are_reported_as_such_and_the_object_can_be_saved_later(
    engine: "Engine", kind: Any
) -> None:
    """Bug: a conflict is reported as a taken value, or not at all."""
    with engine.session() as session:
        user = session.save(kind(user_id="u1", email="a@x"))
        before = engine.raw(table_of(kind))
        user.email = "b@x"
        with engine.session(conflict(times=10)) as busy, pytest.raises(Contention) as refused:
            busy.save(user)
        assert (refused.value.attempts, refused.value.code) == (10, "TransactionConflict")
        assert engine.raw(table_of(kind)) == before
        session.save(user)
    assert engine.guards(table_of(kind)) == {"email#b@x": "USER#u1"}


def test_a_write_that_is_never_answered_is_neither_success_nor_failure_and_settles_itself(
    engine: "Engine", kind: Any
) -> None:
    """Bug: after a lost answer, the write conflicts with itself, or is made twice."""
    with engine.session(lost_answer(times=10)) as session:
        user = kind(user_id="u1", email="a@x")
        with pytest.raises(OutcomeUnknown):
            session.save(user)
        user.email = "b@x"
        session.save(user)
        assert session.get_by(kind, email="b@x") == user
    assert engine.guards(table_of(kind)) == {"email#b@x": "USER#u1"}
