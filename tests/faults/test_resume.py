"""A write of unknown outcome can be settled by anybody: sent again while its token is valid, read back later."""

from collections.abc import Callable

import pytest

from dynaorm import Entity, F, Key, Retry, Session, Table, inspect
from dynaorm.testing import Fault, lost_answer, lost_request
from dynaorm.transport import Call, NoAnswer, Reply, Transport
from tests.faults.entities import NINE_MINUTES, ONE_TRY, Account, Page, User, app
from tests.faults.store import Store

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


def writes(calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.operation in WRITES]


# -- within the window -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [lost_answer, lost_request])
def test_a_recent_plan_is_sent_again_byte_for_byte(store: Store, fault: Callable[[], Fault]) -> None:
    session, wire = store.line(fault(), retry=ONE_TRY)
    user = User(user_id="1", email="liz@x.org")
    plan = store.unknown(lambda: session.save(user))
    store.clock.advance(NINE_MINUTES - 1)
    assert session.resume(plan) is True
    assert len(wire.calls) == 2
    assert wire.calls[0] == wire.calls[1]
    assert store.keys(app) == ["USER#1 PROFILE", "email#liz@x.org email#liz@x.org"]
    assert store.items(app)[0]["_rev"]["S"] == inspect(user).revision


def test_a_plan_is_not_repeated_past_the_token_window(moto: Store) -> None:
    """After ten minutes DynamoDB has forgotten the token, and would count the update twice."""
    moto.line().session.save(Account(name="liz"))
    made = moto.clock.now()
    first = moto.line(lost_answer(operation="TransactWriteItems"), retry=ONE_TRY).session
    key = Key(Account, name="liz")
    plan = moto.unknown(lambda: first.update(key, F.city.set("Chur"), exactly_once=True))
    moto.clock.advance(NINE_MINUTES - 5)
    sent_at: list[float] = []

    def silence(call: Call, inner: Transport) -> Reply:
        sent_at.append(moto.clock.now() - made)
        raise NoAnswer("the request was lost")

    session, _ = moto.line(Fault("silence", silence, times=1000), retry=Retry(attempts=1000, cap=20.0))
    moto.unknown(lambda: session.resume(plan))
    assert len(sent_at) > 3
    assert max(sent_at) <= NINE_MINUTES


def test_a_late_request_is_found_when_the_plan_is_resumed(store: Store) -> None:
    """Its own repetition overtook it and was refused, so no caller was told that the write lost."""
    late: list[Call] = []

    def delay(call: Call, inner: Transport) -> Reply:
        late.append(call)
        raise NoAnswer("timeout")

    other = store.line().session
    theirs = other.save(User(user_id="2", email="liz@x.org"))
    session, wire = store.line(Fault("delay", delay))
    user = User(user_id="1", email="liz@x.org")
    plan = store.unknown(lambda: session.save(user))
    other.delete(theirs)
    store.transport.call(*late)
    assert session.resume(plan) is True
    assert inspect(user).revision == store.items(app)[0]["_rev"]["S"]
    assert wire.calls == [wire.calls[0]] * 3


# -- past the window ---------------------------------------------------------------------------------------------------


def save_new(session: Session) -> None:
    session.save(Account(name="new", tags=frozenset("bac")))


def save_guarded(session: Session) -> None:
    session.save(User(user_id="new", email="new@x.org"))


def save_changed(session: Session) -> None:
    account = session.get_one(Account, name="liz")
    account.city = "Basel"
    session.save(account)


def delete_loaded(session: Session) -> None:
    session.delete(session.get_one(Account, name="liz"))


def delete_guarded(session: Session) -> None:
    session.delete(session.get_one(User, user_id="1"))


def delete_versioned(session: Session) -> None:
    session.delete(session.get_one(Page, name="home"))


def update_by_key(session: Session) -> None:
    session.update(Key(Account, name="liz"), F.city.set("Basel"), exactly_once=True)


def move(session: Session) -> None:
    account = session.get_one(Account, name="liz")
    account.name = "elizabeth"
    session.move(account)


WORKS = [
    save_new, save_guarded, save_changed, delete_loaded, delete_guarded, delete_versioned, update_by_key, move
]  # fmt: skip


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
@pytest.mark.parametrize(("fault", "in_effect"), [(lost_answer, True), (lost_request, False)])
def test_an_old_plan_is_settled_by_reading_and_never_sent_again(
    moto: Store, work: Callable[[Session], None], fault: Callable[..., Fault], in_effect: bool
) -> None:
    seeds = moto.line().session
    for seed in (Account(name="liz"), User(user_id="1", email="liz@x.org"), Page(name="home", text="Hi")):
        seeds.save(seed)
    faults = [fault(operation=operation) for operation in WRITES]
    session, wire = moto.line(*faults, retry=ONE_TRY)
    plan = moto.unknown(lambda: work(session))
    moto.clock.advance(NINE_MINUTES)
    before = moto.items(app)
    assert session.resume(plan) is in_effect
    assert len(writes(wire.calls)) == 1
    assert wire.calls[-1].operation == "GetItem"
    assert wire.calls[-1].request["ConsistentRead"] is True
    assert moto.items(app) == before


def test_an_old_plan_without_revisions_is_recognised(moto: Store) -> None:
    """Sets are returned in any order, and other attributes that somebody else changed do not matter."""
    bare = Table("Bare", revision_attribute=None, type_attribute=None)

    class Basket(Entity, table=bare, pk="BASKET#{name}", sk="BASKET"):
        name: str
        fruits: set[str]
        note: str = ""

    moto.create(bare)
    session, _ = moto.line(
        lost_answer(operation="UpdateItem"), lost_answer(operation="GetItem"), retry=ONE_TRY
    )
    basket = session.save(Basket(name="a", fruits={"fig"}))
    basket.fruits = {"kiwi", "apple", "fig"}
    plan = moto.unknown(lambda: session.save(basket))
    (stored,) = moto.items(bare)
    shuffled = {**stored, "fruits": {"SS": stored["fruits"]["SS"][::-1]}, "note": {"S": "by somebody else"}}
    moto.put(bare, **shuffled)
    moto.clock.advance(NINE_MINUTES)
    assert session.resume(plan) is True
