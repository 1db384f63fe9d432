"""Conflicts, throttles and missing answers are repeated within limits, and the error says which of them remained."""

from collections.abc import Callable

import pytest

from dynaorm import Entity, F, Key, Retry, Table
from dynaorm.errors import (
    Contention,
    ItemTooLarge,
    OutcomeUnknown,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.testing import Fault, conflict, in_progress, lost_answer, lost_request, throttle
from dynaorm.transport import Call, Reason, Refusal, Reply, Transport
from tests.faults.entities import FOREVER, LIZ, Account, User, app
from tests.faults.store import Store


@pytest.fixture
def store(moto: Store) -> Store:
    return moto


def refused(code: str, *reasons: str | None, at: int = 1, times: int = 1) -> Fault:
    """Refuse any call with this code. ``reasons`` cancel a transaction, with one code for each action."""
    given = tuple(None if reason is None else Reason(reason, "said so") for reason in reasons)

    def strike(call: Call, inner: Transport) -> Reply:
        raise Refusal(code, "said so", reasons=given, request_id="request-1")

    return Fault("refused", strike, at, times)


def cancelled(*reasons: str | None, at: int = 1, times: int = 1) -> Fault:
    return refused("TransactionCanceledException", *reasons, at=at, times=times)


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempts", [1, 2, 10])
def test_a_call_is_attempted_as_often_as_the_session_says(store: Store, attempts: int) -> None:
    session, wire = store.line(conflict(times=FOREVER), retry=Retry(attempts=attempts))
    with pytest.raises(Contention) as caught:
        session.save(Account(name="liz"))
    assert caught.value.attempts == len(wire.calls) == attempts
    assert len(store.clock.pauses) == attempts - 1


# -- what is left over -------------------------------------------------------------------------------------------------


def save_plain(store: Store, fault: Fault) -> object:
    session, _ = store.line(fault)
    return session.save(Account(name="liz"))


def save_guarded(store: Store, fault: Fault) -> object:
    session, _ = store.line(fault)
    return session.save(User(user_id="1", email="liz@x.org"))


def read(store: Store, fault: Fault) -> object:
    session, _ = store.line(fault)
    return session.get(LIZ)


@pytest.mark.parametrize(
    ("work", "fault", "error", "code"),
    [
        (save_plain, conflict(times=FOREVER), Contention, "TransactionConflictException"),
        (save_guarded, conflict(times=FOREVER), Contention, "TransactionConflict"),
        (save_guarded, cancelled("ConditionalCheckFailed", "TransactionConflict", times=FOREVER),
         Contention, "TransactionConflict"),
        (save_plain, throttle(times=FOREVER), Throttled, "ProvisionedThroughputExceededException"),
        (save_guarded, throttle(times=FOREVER), Throttled, "ThrottlingError"),
        (save_guarded, cancelled("TransactionConflict", "ThrottlingError", times=FOREVER),
         Throttled, "ThrottlingError"),
        (read, throttle(times=FOREVER), Throttled, "ProvisionedThroughputExceededException"),
        (save_plain, lost_answer(times=FOREVER), OutcomeUnknown, None),
        (save_guarded, lost_request(times=FOREVER), OutcomeUnknown, None),
        (save_guarded, in_progress(times=FOREVER), OutcomeUnknown, None),
        (save_plain, lost_request(times=FOREVER, sent=False), Unreachable, None),
        (read, lost_answer(times=FOREVER), Unreachable, None),
        (read, lost_request(times=FOREVER, sent=False), Unreachable, None),
    ],
)  # fmt: skip
def test_each_kind_of_failure_has_an_error_of_its_own(
    store: Store,
    work: Callable[[Store, Fault], object],
    fault: Fault,
    error: type[Exception],
    code: str | None,
) -> None:
    with pytest.raises(error) as caught:
        work(store, fault)
    assert type(caught.value) is error
    assert getattr(caught.value, "code", None) == code


# -- mixed reasons -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
)
def test_beside_a_conflict_no_failed_condition_is_blamed(store: Store, trouble: str) -> None:
    session, wire = store.line(cancelled("ConditionalCheckFailed", trouble, times=2))
    session.save(User(user_id="1", email="liz@x.org"))
    assert len(wire.calls) == 3


# -- invalid, however DynamoDB says so ---------------------------------------------------------------------------------


def test_a_validation_error_is_one_error_in_both_forms(store: Store) -> None:
    session, _ = store.line(cancelled(None, "ValidationError"), refused("ValidationException", at=2))
    with pytest.raises(UnexpectedRefusal) as as_reason:
        session.save(User(user_id="1", email="liz@x.org"))
    with pytest.raises(UnexpectedRefusal) as as_exception:
        session.save(Account(name="liz"))
    for caught in (as_reason, as_exception):
        assert caught.value.code == "ValidationException"
        assert (caught.value.message, caught.value.request_id) == ("said so", "request-1")
    assert "email" in as_reason.value.action
    assert "Account" in as_exception.value.action


def test_an_impossible_update_is_one_error_plain_or_in_a_block(
    ministack: Store,
) -> None:
    """An addition to a text: ministack answers ValidationException, or ValidationError as a reason."""
    session = ministack.line().session
    session.save(Account(name="liz"))
    (item,) = ministack.items(app)
    ministack.put(app, **{**item, "visits": {"S": "many"}})

    def alone() -> None:
        session.update(LIZ, F.visits.add(1))

    def in_a_block() -> None:
        with session.transaction() as tx:
            tx.update(LIZ, F.visits.add(1))
            tx.save(User(user_id="1", email="liz@x.org"))

    for write in (alone, in_a_block):
        with pytest.raises(UsageError, match="Account cannot be changed so: visits has type S, not N"):
            write()


def test_an_update_that_makes_an_item_too_large_says_how_large(ministack: Store) -> None:
    """Only DynamoDB knows the size of the item that an update by key adds to. It is read then."""

    class Note(Entity, table=Table("Notes"), pk="NOTE#{name}", sk="N"):
        name: str
        text: str = ""
        more: str | None = None
        tags: tuple[str, ...] = ()

    ministack.create(Table("Notes"))
    session = ministack.line().session
    note, change = Key(Note, name="a"), F.more.set("x" * 200_000)
    session.save(Note(name="a", text="x" * 300_000))

    def in_a_block(verb: str) -> None:
        with session.transaction() as tx:
            tx.save(Account(name="liz"))
            getattr(tx, verb)(note, change)

    for write in (
        lambda: session.update(note, change),
        lambda: session.update(note, change, exactly_once=True),
        lambda: session.update(note, F.tags.append("x" * 200_000)),
        lambda: session.upsert(note, change),
        lambda: session.upsert(note, F.more.set_if_missing("x" * 409_000)),
        lambda: session.upsert(note, change, exactly_once=True),
        lambda: in_a_block("update"),
        lambda: in_a_block("upsert"),
    ):
        with pytest.raises(ItemTooLarge) as caught:
            write()
        assert (caught.value.key, caught.value.bytes > 409_600) == (note, True)
    assert session.get_one(note) == Note(name="a", text="x" * 300_000)
    assert not session.exists(LIZ)


def test_an_upsert_that_does_not_fit_is_told_as_an_update(ministack: Store) -> None:
    session = ministack.line().session
    session.save(Account(name="liz"))
    (item,) = ministack.items(app)
    ministack.put(app, **{**item, "visits": {"S": "many"}})
    with pytest.raises(UsageError, match="Account cannot be changed so: visits has type S, not N"):
        session.upsert(LIZ, F.visits.add(1))


def test_an_invalid_action_is_told_beside_failed_conditions(store: Store) -> None:
    session, wire = store.line(cancelled("ConditionalCheckFailed", "ValidationError"))
    with pytest.raises(UnexpectedRefusal) as caught:
        session.save(User(user_id="1", email="liz@x.org"))
    assert caught.value.reasons == ("ConditionalCheckFailed", "ValidationError")
    assert len(wire.calls) == 1


def test_a_collection_that_is_full_is_not_repeated(store: Store) -> None:
    session, wire = store.line(cancelled("ItemCollectionSizeLimitExceeded", None))
    with pytest.raises(UnexpectedRefusal) as caught:
        session.save(User(user_id="1", email="liz@x.org"))
    assert caught.value.code == "ItemCollectionSizeLimitExceeded"
    assert len(wire.calls) == 1
