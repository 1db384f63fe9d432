"""An entity whose last write has an unknown outcome settles it before its next write, also after Ctrl-C."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import Session, detached, inspect
from dynaorm.errors import EntityNotFound, OutcomeUnknown, StaleEntity, StoreError, UsageError
from dynaorm.testing import Fault, FaultyTransport, lost_answer, lost_request, throttle
from dynaorm.transport import Call, Reply, Transport
from tests.faults.entities import NINE_MINUTES, ONE_TRY, Account, Page, User, app
from tests.faults.store import Store


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
@pytest.mark.parametrize("elapsed", [0.0, NINE_MINUTES])
def test_an_unknown_outcome_is_settled_before_the_next_write(
    store: Store, fault: Callable[[], Fault], elapsed: float
) -> None:
    session, _ = store.line(fault(), retry=ONE_TRY)
    user = User(user_id="1", email="liz@x.org", full_name="Liz")
    store.unknown(lambda: session.save(user))
    store.clock.advance(elapsed)
    user.full_name = "Elizabeth"
    session.save(user)
    assert [item.get("full_name") for item in store.items(app)] == [{"S": "Elizabeth"}, None]
    assert inspect(user).revision == store.items(app)[0]["_rev"]["S"]


def test_while_there_is_no_answer_it_is_not_written(store: Store) -> None:
    session, wire = store.line(lost_request(times=2), retry=ONE_TRY)
    account = Account(name="liz")
    plan = store.unknown(lambda: session.save(account))
    account.city = "Basel"
    assert store.unknown(lambda: session.save(account)) is plan
    assert wire.calls == [wire.calls[0]] * 2


def test_one_write_settles_every_entity_of_a_lost_block(store: Store) -> None:
    session, wire = store.line(lost_answer(), retry=ONE_TRY)
    one, two = User(user_id="1", email="one@x.org"), Account(name="two")

    def block() -> None:
        with session.transaction() as tx:
            tx.save(one)
            tx.save(two)

    store.unknown(block)
    one.full_name = "One"
    session.save(one)
    two.city = "Basel"
    session.save(two)
    assert [call.operation for call in wire.calls] == ["TransactWriteItems"] * 2 + ["UpdateItem"] * 2


def test_a_block_settles_what_it_names_before_it_is_sent(store: Store) -> None:
    session, wire = store.line(lost_request(), retry=ONE_TRY)
    account = Account(name="liz")
    store.unknown(lambda: session.save(account))
    with session.transaction() as tx:
        account.city = "Basel"
        tx.save(account)
        tx.save(User(user_id="1", email="liz@x.org"))
    assert [call.operation for call in wire.calls] == ["PutItem", "PutItem", "TransactWriteItems"]
    assert store.items(app)[0]["city"] == {"S": "Basel"}


def test_a_settled_refusal_leaves_the_entity_as_it_was(
    store: Store,
) -> None:
    session, _ = store.line(lost_request(at=2), retry=ONE_TRY)
    user = session.save(User(user_id="1", email="liz@x.org"))
    user.full_name, user.email = "Liz", "elizabeth@x.org"
    store.unknown(lambda: session.save(user))
    other = store.line().session
    theirs = other.get_one(User, user_id="1")
    theirs.full_name = "Somebody else's"
    other.save(theirs)
    with pytest.raises(StaleEntity):
        session.save(user)
    assert store.items(app)[0]["full_name"] == {"S": "Somebody else's"}
    assert (user.full_name, user.email) == ("Liz", "elizabeth@x.org")


@pytest.mark.parametrize("copied", [pickle.dumps, None], ids=["pickled", "model_copy"])
@pytest.mark.parametrize("fault", [lost_answer, lost_request])
def test_a_copy_of_an_entity_of_unknown_outcome_settles_it_too(
    moto: Store, fault: Callable[[], Fault], copied: Callable[[Any], bytes] | None
) -> None:
    session, _ = moto.line(fault(), retry=ONE_TRY)
    user = User(user_id="1", email="liz@x.org")
    moto.unknown(lambda: session.save(user))
    copy: User = user.model_copy() if copied is None else pickle.loads(copied(user))
    copy.full_name = "Elizabeth"
    moto.line().session.save(copy)
    assert [item.get("full_name") for item in moto.items(app)] == [{"S": "Elizabeth"}, None]
    assert inspect(copy).revision == moto.items(app)[0]["_rev"]["S"]


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
def test_a_copy_that_settles_late_leaves_the_original_as_it_is(
    moto: Store, fault: Callable[[], Fault]
) -> None:
    session, _ = moto.line(fault(), retry=ONE_TRY)
    user = User(user_id="1", email="liz@x.org")
    plan = moto.unknown(lambda: session.save(user))
    copy = user.model_copy()
    session = moto.line().session
    user.full_name = "Liz"
    session.save(user)
    copy.full_name = "Elizabeth"
    with pytest.raises(StoreError):
        session.save(copy)
    session.resume(plan)
    assert inspect(user).revision == moto.items(app)[0]["_rev"]["S"]
    user.full_name = "Lizzy"
    session.save(user)
    assert moto.items(app)[0]["full_name"] == {"S": "Lizzy"}


def test_refresh_tells_whether_an_unknown_insert_is_there(store: Store) -> None:
    session, wire = store.line(lost_answer(), lost_request(at=3), retry=ONE_TRY)
    made, lost = Account(name="liz"), Account(name="bobby")
    store.unknown(lambda: session.save(made))
    assert session.refresh(made) is made
    assert inspect(made).revision == store.items(app)[0]["_rev"]["S"]
    store.unknown(lambda: session.save(lost))
    with pytest.raises(EntityNotFound, match="bobby"):
        session.refresh(lost)
    session.save(lost)
    assert [item["name"]["S"] for item in store.items(app)] == ["bobby", "liz"]
    assert [call.operation for call in wire.calls] == ["PutItem", "GetItem", "PutItem", "GetItem", "PutItem"]


# -- stopped in the middle ---------------------------------------------------------------------------------------------


def interrupted(*, after: bool, error: type[BaseException] = KeyboardInterrupt) -> Fault:
    """The program is stopped while an attempt is under way, before or after DynamoDB carried it out."""

    def strike(call: Call, inner: Transport) -> Reply:
        if after:
            inner.call(call)
        raise error

    return Fault("interrupted", strike)


class TimeIsUpError(Exception):
    """What a handler of SIGALRM raises, wherever the program is; job queues limit the time of a job like this."""


@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeIsUpError, MemoryError])
@pytest.mark.parametrize("entity", [Account(name="liz"), User(user_id="1", email="liz@x.org")])
def test_an_interrupted_attempt_is_settled_by_the_next_save(
    store: Store, entity: Any, error: type[BaseException], after: bool
) -> None:
    session, wire = store.line(interrupted(after=after, error=error))
    subject = entity.model_copy()
    with pytest.raises(error):
        session.save(subject)
    assert not inspect(subject).loaded
    session.save(subject)
    assert wire.calls == [wire.calls[0]] * 2
    assert inspect(subject).revision == store.items(app)[0]["_rev"]["S"]


def interrupted_in_its_pause(moto: Store, session: Session, account: Account) -> None:
    """Save an account, and stop the program in the first pause between two attempts."""

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moto.clock, "pause", stop)
        with pytest.raises(KeyboardInterrupt):
            session.save(account)


def test_an_interrupted_pause_after_a_lost_answer_is_settled(moto: Store) -> None:
    session, wire = moto.line(lost_answer())
    account = Account(name="liz")
    interrupted_in_its_pause(moto, session, account)
    account.city = "Basel"
    session.save(account)
    assert [call.operation for call in wire.calls] == ["PutItem", "PutItem", "UpdateItem"]


def test_an_interrupted_pause_after_a_refusal_settles_nothing(moto: Store) -> None:
    """Every attempt was refused: a write that the caller gave up must not happen later."""
    session, wire = moto.line(throttle())
    account = Account(name="liz", city="Given up")
    interrupted_in_its_pause(moto, session, account)
    account.city = "Basel"
    session.save(account)
    assert [call.operation for call in wire.calls] == ["PutItem", "PutItem"]
    assert wire.calls[1].request["Item"]["city"] == {"S": "Basel"}


def test_a_broken_transport_leaves_the_outcome_to_settle(
    moto: Store,
) -> None:
    """For example, credentials that expire between two attempts."""
    broken = interrupted(after=False, error=PermissionError)
    session, wire = moto.line(lost_answer(), Fault("broken", broken.strike, at=2))
    account = Account(name="liz")
    moto.unknown(lambda: session.save(account))
    account.city = "Basel"
    session.save(account)
    assert [call.operation for call in wire.calls] == ["PutItem"] * 3 + ["UpdateItem"]


# -- restored, and deleted twice ---------------------------------------------------------------------------------------


def texts(store: Store) -> list[tuple[str, str]]:
    """The sort key and text of every item of a page."""
    return [(item["SK"]["S"], item["text"]["S"]) for item in store.items(app)]


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
def test_an_unknown_restoration_is_settled(store: Store, fault: Callable[..., Fault]) -> None:
    session, _ = store.line(fault(at=3, operation="TransactWriteItems"), retry=ONE_TRY)
    page = session.save(Page(name="home", text="one"))
    page.text = "two"
    session.save(page)
    store.unknown(lambda: session.restore(page, version=1))
    assert (page.text, inspect(page).version) == ("two", 2)
    session.save(page)
    assert texts(store) == [("v0_TEXT", "one"), ("v1_TEXT", "one"), ("v2_TEXT", "two"), ("v3_TEXT", "one")]
    assert (page.text, inspect(page).version, inspect(page).changes) == ("one", 3, {})


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
@pytest.mark.parametrize(
    "entity", [Account(name="liz"), User(user_id="1", email="liz@x.org"), Page(name="home", text="one")]
)
def test_deleting_again_settles_an_unknown_deletion(
    store: Store, entity: Any, fault: Callable[..., Fault]
) -> None:
    session, _ = store.line(fault(at=2), retry=ONE_TRY)
    subject = session.save(entity.model_copy())
    store.unknown(lambda: session.delete(subject))
    session.delete(subject)
    assert [item for item in store.items(app) if "deleted" not in item and "version" not in item] == []
    assert not inspect(subject).loaded
    with pytest.raises(UsageError, match=r"this .* is not stored"):
        session.delete(subject)


def test_what_nobody_can_tell_any_more_names_a_remedy_that_helps(store: Store) -> None:
    session, _ = store.line(lost_answer(at=2), retry=ONE_TRY)
    account = session.save(Account(name="liz"))
    account.city = "Basel"
    plan = store.unknown(lambda: session.save(account))
    other = store.line().session
    theirs = other.get_one(Account, name="liz")
    theirs.tags = frozenset("a")
    other.save(theirs)
    for again in (lambda: session.save(account), lambda: session.resume(plan)):
        with pytest.raises(OutcomeUnknown) as caught:
            again()
        assert caught.value.remedy == (
            "what is stored is not what this write left, so sending it again finds out nothing; get the entity to see "
            "what is stored, and decide again"
        )
    session.refresh(account)
    account.city = "Chur"
    session.save(account)
    assert store.items(app)[0]["city"] == {"S": "Chur"}


# -- another table, another key ----------------------------------------------------------------------------------------


def test_a_session_of_another_stage_settles_nothing(moto: Store) -> None:
    """The first write belongs to the first stage. It must not be finished there and taken for one in the second."""
    session, _ = moto.line(lost_request(), retry=ONE_TRY)
    account = Account(name="liz")
    plan = moto.unknown(lambda: session.save(account))
    wire = FaultyTransport(moto.transport)
    other = Session(transport=wire, clock=moto.clock, table_names=lambda name: f"other-{name}")
    other.create_table(app)
    wire.calls.clear()
    for work in (lambda: other.save(account), lambda: other.resume(plan)):
        with pytest.raises(UsageError, match="in table 'App', and this session writes to 'other-App'"):
            work()
    assert wire.calls == []
    other.save(detached(account))
    assert moto.items(app) == []
    session.save(account)
    assert len(moto.items(app)) == 1


def test_an_abandoned_key_is_not_inserted_by_settling(store: Store) -> None:
    session, wire = store.line(lost_request(), retry=ONE_TRY)
    account = Account(name="liz")
    plan = store.unknown(lambda: session.save(account))
    account.name = "elizabeth"
    assert store.unknown(lambda: session.save(account)) is plan
    assert [call.operation for call in wire.calls] == ["PutItem", "GetItem"]
    assert store.items(app) == []
    store.clock.advance(NINE_MINUTES)
    session.save(account)
    assert store.keys(app) == ["ACCOUNT#elizabeth ACCOUNT"]
