"""Lost answers: a committed write is recognised, and an unknown outcome is never reported as a loss."""

from collections.abc import Callable

import pytest

from dynaorm import F, Session, inspect
from dynaorm.errors import OutcomeUnknown, Unreachable, UsageError
from dynaorm.testing.faults import conflict, lost_answer, lost_request, throttle
from tests.faults.entities import FOREVER, LIZ, Account, User, app
from tests.faults.store import Store


def test_a_new_entity_whose_answer_was_lost_is_saved_once_and_loaded(store: Store) -> None:
    session, wire = store.line(lost_answer(operation="PutItem"))
    account = session.save(Account(name="liz"))
    assert [call.operation for call in wire.calls] == ["PutItem", "PutItem"]
    stored = store.items(app)
    assert len(stored) == 1
    assert stored[0]["_rev"]["S"] == inspect(account).revision
    account.city = "Basel"
    session.save(account)
    assert [item["city"] for item in store.items(app)] == [{"S": "Basel"}]


def test_a_changed_entity_whose_answer_was_lost_is_recognised_by_its_revision(store: Store) -> None:
    session, wire = store.line(lost_answer(operation="UpdateItem"))
    account = session.save(Account(name="liz"))
    account.city = "Basel"
    session.save(account)
    assert [call.operation for call in wire.calls] == ["PutItem", "UpdateItem", "UpdateItem"]
    assert [item["_rev"]["S"] for item in store.items(app)] == [inspect(account).revision]
    assert inspect(account).changes == {}


def test_an_answer_lost_nine_times_of_ten_is_still_a_success(store: Store) -> None:
    session, wire = store.line(lost_answer(times=9))
    session.save(User(user_id="1", email="liz@x.org"))
    assert len(wire.calls) == 10
    assert len(store.items(app)) == 2


@pytest.mark.parametrize("times", [1, 4])
def test_a_request_that_never_arrived_is_simply_made_again(store: Store, times: int) -> None:
    session, _ = store.line(lost_request(times=times))
    account = session.save(Account(name="liz"))
    account.city = "Basel"
    session.save(account)
    assert [item["city"] for item in store.items(app)] == [{"S": "Basel"}]


def test_a_lost_delete_that_then_finds_nothing_is_done(store: Store) -> None:
    session, wire = store.line(lost_answer(operation="DeleteItem"))
    account = session.save(Account(name="liz"))
    session.delete(account)
    assert [call.operation for call in wire.calls] == ["PutItem", "DeleteItem", "DeleteItem"]
    assert store.items(app) == []
    assert not inspect(account).loaded


def test_a_lost_delete_of_a_guarded_entity_is_applied_once(store: Store) -> None:
    session, wire = store.line(lost_answer(at=2))
    user = session.save(User(user_id="1", email="liz@x.org"))
    session.delete(user)
    assert len(wire.calls) == 3
    assert store.items(app) == []


def test_a_lost_insert_whose_key_then_holds_another_entity_has_an_unknown_outcome(store: Store) -> None:
    """Our item may have been written and replaced since, so AlreadyExists would be a guess."""

    def replace() -> None:
        other, _ = store.line()
        other.save(Account(name="liz", city="Chur"), overwrite=True)

    session, _ = store.line(lost_answer(operation="PutItem"), store.meanwhile(replace, "PutItem", at=2))
    with pytest.raises(OutcomeUnknown):
        session.save(Account(name="liz", city="Bern"))
    assert [item["city"] for item in store.items(app)] == [{"S": "Chur"}]


def test_a_lost_update_that_somebody_overwrote_has_an_unknown_outcome(store: Store) -> None:
    def overwrite() -> None:
        other, _ = store.line()
        account = other.get_one(LIZ, consistent=True)
        account.visits = 7
        other.save(account)

    session, _ = store.line(
        lost_answer(operation="UpdateItem"), store.meanwhile(overwrite, "UpdateItem", at=2)
    )
    account = session.save(Account(name="liz"))
    account.city = "Basel"
    with pytest.raises(OutcomeUnknown):
        session.save(account)
    (item,) = store.items(app)
    assert (item["city"], item["visits"]) == ({"S": "Basel"}, {"N": "7"})


def test_a_lost_delete_whose_item_was_created_anew_has_an_unknown_outcome(store: Store) -> None:
    def create_anew() -> None:
        other, _ = store.line()
        other.save(Account(name="liz", city="Chur"))

    session, _ = store.line(
        lost_answer(operation="DeleteItem"), store.meanwhile(create_anew, "DeleteItem", at=2)
    )
    account = session.save(Account(name="liz"))
    with pytest.raises(OutcomeUnknown):
        session.delete(account)
    assert [item["city"] for item in store.items(app)] == [{"S": "Chur"}]


def test_a_lost_transaction_that_is_then_refused_has_an_unknown_outcome(store: Store) -> None:
    """The first request may still be under way, and the second may have overtaken it."""

    def take_the_address() -> None:
        other, _ = store.line()
        other.save(User(user_id="2", email="liz@x.org"))

    session, _ = store.line(
        lost_request(operation="TransactWriteItems"),
        store.meanwhile(take_the_address, "TransactWriteItems", at=2),
    )
    with pytest.raises(OutcomeUnknown):
        session.save(User(user_id="1", email="liz@x.org"))
    assert store.keys(app) == ["USER#2 PROFILE", "email#liz@x.org email#liz@x.org"]


def test_a_condition_that_fails_after_an_unanswered_attempt_is_not_blamed(store: Store) -> None:
    """The caller's condition may fail because the first attempt succeeded."""
    session, _ = store.line(lost_answer(operation="DeleteItem"), conflict(at=2, operation="DeleteItem"))
    account = session.save(Account(name="liz"))
    session.delete(account, condition=F.visits == 0)
    assert store.items(app) == []


def test_all_answers_lost_is_an_unknown_outcome_that_keeps_the_plan(store: Store) -> None:
    session, wire = store.line(lost_answer(times=FOREVER))
    user = User(user_id="1", email="liz@x.org")
    with pytest.raises(OutcomeUnknown) as caught:
        session.save(user)
    assert len(wire.calls) == 10
    assert caught.value.plan.to_request() == wire.calls[0].request  # type: ignore[attr-defined]
    assert not inspect(user).loaded
    assert len(store.items(app)) == 2


def test_a_write_that_was_certainly_never_sent_is_unreachable_and_not_unknown(store: Store) -> None:
    session, wire = store.line(lost_request(times=10, sent=False))
    account = Account(name="liz")
    with pytest.raises(Unreachable) as caught:
        session.save(account)
    assert (caught.value.operation, caught.value.attempts) == ("PutItem", 10)
    session.save(account)
    assert [call.operation for call in wire.calls[10:]] == ["PutItem"], "nothing had to be settled"


def test_one_sent_attempt_among_unsent_ones_makes_the_outcome_unknown(store: Store) -> None:
    session, _ = store.line(lost_answer(at=3), lost_request(times=FOREVER, sent=False))
    with pytest.raises(OutcomeUnknown):
        session.save(Account(name="liz"))
    assert len(store.items(app)) == 1


def test_a_throttle_after_an_unanswered_attempt_leaves_the_outcome_unknown(store: Store) -> None:
    session, _ = store.line(lost_answer(), throttle(at=2, times=FOREVER))
    with pytest.raises(OutcomeUnknown):
        session.save(Account(name="liz"))


# -- updates by key ----------------------------------------------------------------------------------------------------


def test_an_update_by_key_is_not_sent_again_but_read_back(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_answer(operation="UpdateItem"))
    account = session.update(LIZ, F.visits.add(1))
    assert [call.operation for call in wire.calls] == ["UpdateItem", "GetItem"]
    assert wire.calls[1].request["ConsistentRead"] is True
    assert account.visits == 1
    assert [item["visits"] for item in store.items(app)] == [{"N": "1"}]


def test_an_update_by_key_that_cannot_be_found_again_has_an_unknown_outcome(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_request(operation="UpdateItem"))
    with pytest.raises(OutcomeUnknown):
        session.update(LIZ, F.visits.add(1))
    assert [call.operation for call in wire.calls] == ["UpdateItem", "GetItem"]
    assert [item["visits"] for item in store.items(app)] == [{"N": "0"}]


def test_an_update_by_key_whose_reading_back_fails_too_has_an_unknown_outcome(store: Store) -> None:
    """The error is about the write. Unreachable would mean that nothing was written."""
    store.line().session.save(Account(name="liz"))
    session, _ = store.line(
        lost_answer(operation="UpdateItem"), lost_answer(times=FOREVER, operation="GetItem")
    )
    with pytest.raises(OutcomeUnknown) as caught:
        session.update(LIZ, F.visits.add(1))
    assert store.line().session.resume(caught.value.plan) is True
    assert [item["visits"] for item in store.items(app)] == [{"N": "1"}]


def test_an_update_by_key_that_was_never_sent_may_be_sent_again(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_request(sent=False), throttle(at=2), conflict(at=3))
    assert session.update(LIZ, F.visits.add(1)).visits == 1
    assert [call.operation for call in wire.calls] == ["UpdateItem"] * 4


def test_an_update_exactly_once_is_a_transaction_that_may_be_sent_again(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_answer(operation="TransactWriteItems", times=3))
    account = session.update(LIZ, F.visits.add(1), exactly_once=True)
    assert [call.operation for call in wire.calls] == ["GetItem"] + ["TransactWriteItems"] * 4
    assert account.visits == 1
    assert [item["visits"] for item in store.items(app)] == [{"N": "1"}]


def test_an_update_exactly_once_returns_what_it_made_though_others_went_on(store: Store) -> None:
    store.line().session.save(Account(name="liz"))
    session, _ = store.line(
        lost_answer(operation="TransactWriteItems"),
        store.meanwhile(
            lambda: store.line().session.update(LIZ, F.visits.add(1)), "TransactWriteItems", at=2
        ),
    )
    assert session.update(LIZ, F.visits.add(1), exactly_once=True).visits == 1
    assert [item["visits"] for item in store.items(app)] == [{"N": "2"}]


def test_a_delete_exactly_once_does_not_delete_what_was_created_meanwhile(store: Store) -> None:
    def create_anew() -> None:
        store.line().session.save(Account(name="liz", city="Chur"))

    store.line().session.save(Account(name="liz"))
    session, wire = store.line(lost_answer(), store.meanwhile(create_anew, "TransactWriteItems", at=2))
    session.delete(LIZ, exactly_once=True)
    assert [call.operation for call in wire.calls] == ["TransactWriteItems"] * 2
    assert [item["city"] for item in store.items(app)] == [{"S": "Chur"}]


def test_an_update_of_a_loaded_entity_is_bound_to_its_revision_and_sent_again(store: Store) -> None:
    session, wire = store.line(lost_answer(operation="UpdateItem"))
    account = session.save(Account(name="liz"))
    session.update(account, F.visits.add(1))
    assert [call.operation for call in wire.calls] == ["PutItem", "UpdateItem", "UpdateItem"]
    assert account.visits == 1
    assert [item["visits"] for item in store.items(app)] == [{"N": "1"}]


EXPIRED = UsageError(problem="The credentials have expired", remedy="log in again")
NO_FILE = OSError("no file")


@pytest.mark.parametrize("trouble", [EXPIRED, NO_FILE], ids=["credentials", "another library"])
@pytest.mark.parametrize(
    ("write", "operation", "then"),
    [
        (lambda session: session.save(Account(name="bob")), "PutItem", "PutItem"),
        (
            lambda session: session.save(User(user_id="1", email="a@x")),
            "TransactWriteItems",
            "TransactWriteItems",
        ),
        (lambda session: session.update(LIZ, F.visits.add(1)), "UpdateItem", "GetItem"),
        (lambda session: session.delete(LIZ), "DeleteItem", "GetItem"),
    ],
    ids=["an insert", "a transaction", "an update by key", "a delete by key"],
)
def test_a_lost_write_after_which_nothing_can_be_sent_has_an_unknown_outcome(
    store: Store, write: Callable[[Session], object], operation: str, then: str, trouble: Exception
) -> None:
    def fail() -> None:
        raise trouble

    store.line().session.save(Account(name="liz"))
    at = 2 if then == operation else 1
    session, _ = store.line(lost_answer(operation=operation), store.meanwhile(fail, then, at=at))
    with pytest.raises(OutcomeUnknown) as unknown:
        write(session)
    assert unknown.value.__cause__ is trouble
    if trouble is EXPIRED:
        assert "The credentials have expired" in str(unknown.value)
        assert "log in again" in unknown.value.remedy
    if operation != "UpdateItem":
        assert session.resume(unknown.value.plan)
