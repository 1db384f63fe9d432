"""``session.run(work)`` calls work again in a new transaction after a lost race, and after no other error."""

import asyncio

import pytest

from dynaorm import AsyncSession, F, Key, Retry, Session, Transaction
from dynaorm.errors import (
    Contention,
    EntityNotFound,
    StaleEntity,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport, conflict
from dynaorm.transport.threaded import ThreadedTransport
from tests.cast.orders import Stock
from tests.cast.people import User


def test_run_returns_what_work_returns(session: Session) -> None:
    def work(tx: Transaction) -> str:
        tx.save(Stock(sku="s"))
        return "done"

    assert session.run(work) == "done"
    assert session.exists(Stock, sku="s")


def test_run_repeats_work_that_lost_a_race_in_a_fresh_transaction(session: Session, clock: FakeClock) -> None:
    session.save(Stock(sku="s", left=1))
    seen: list[Transaction] = []

    def work(tx: Transaction) -> None:
        stock = session.get_one(Key(Stock, sku="s"))
        if len(seen) < 2:
            Session(transport=session._transport).update(Key(Stock, sku="s"), F.left.add(10))
        seen.append(tx)
        stock.left += 1
        tx.save(stock)

    session.run(work)
    assert len(set(map(id, seen))) == 3
    assert session.get_one(Key(Stock, sku="s")).left == 22
    assert len(clock.pauses) == 2


def test_run_gives_up_after_its_attempts(session: Session) -> None:
    stale = session.save(Stock(sku="s"))
    session.update(Key(Stock, sku="s"), F.left.add(1))
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        stale.left = 9
        tx.save(stale)

    with pytest.raises(
        Contention, match=r"during 3 attempts.*StaleEntity.*load what you change inside"
    ) as lost:
        session.run(work, attempts=3)
    assert len(calls) == lost.value.attempts == 3
    assert [type(one) for one in lost.value.causes] == [StaleEntity]


def test_run_does_not_take_a_stale_entity_that_work_raises_for_a_lost_race(session: Session) -> None:
    session.save(Stock(sku="s"))
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.save(session.get_one(Key(Stock, sku="s")))
        raise StaleEntity(key=Key(Stock, sku="s"), expected=None, found="r")

    with pytest.raises(StaleEntity):
        session.run(work, attempts=3)
    assert len(calls) == 3


def test_an_asynchronous_run_that_lost_all_its_races_is_contention(session: Session, moto: Transport) -> None:
    stale = session.save(Stock(sku="s"))
    session.update(Key(Stock, sku="s"), F.left.add(1))
    stale.left = 9

    async def work(tx: Transaction) -> None:
        tx.save(stale)

    async def main() -> None:
        async with AsyncSession(transport=ThreadedTransport(moto), clock=FakeClock()) as other:
            await other.run(work, attempts=2)

    with pytest.raises(Contention, match="during 2 attempts"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("retry", "attempts", "called"),
    [(Retry(attempts=2), 1, 1), (Retry(attempts=2), 12, 12), (Retry(seconds=30), 12, 2)],
)
def test_the_time_of_a_session_limits_run_and_its_attempts_do_not(
    session: Session, clock: FakeClock, moto: Transport, retry: Retry, attempts: int, called: int
) -> None:
    stale = session.save(Stock(sku="s"))
    session.update(Key(Stock, sku="s"), F.left.add(1))
    stale.left = 9
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        clock.advance(20)
        tx.save(stale)

    with Session(transport=moto, clock=clock, retry=retry) as other, pytest.raises(Contention):
        other.run(work, attempts=attempts)
    assert len(calls) == called


def test_run_repeats_after_contention(session: Session, moto: Transport) -> None:
    faulty = FaultyTransport(moto, conflict(times=10, operation="PutItem"))
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.save(Stock(sku="s"))

    Session(transport=faulty, clock=FakeClock()).run(work)
    assert len(calls) == 2
    with pytest.raises(Contention):
        Session(transport=FaultyTransport(moto, conflict(times=99)), clock=FakeClock()).run(work, attempts=2)


def test_run_repeats_work_that_saw_a_value_with_its_former_and_with_its_present_owner(
    session: Session, wire: FaultyTransport
) -> None:
    first = session.save(User(user_id="1", email="e"))
    second = session.save(User(user_id="2"))
    loads: list[list[User]] = []

    def work(tx: Transaction) -> None:
        users = [session.get_one(User, user_id="1")]
        if not loads:
            with Session(transport=wire) as elsewhere, elsewhere.transaction() as other:
                first.email, second.email = None, "e"
                other.save(first)
                other.save(second)
        users.append(session.get_one(User, user_id="2"))
        loads.append(users)
        for user in users:
            user.visits += 1
            tx.save(user)

    session.run(work)
    assert [[user.email for user in users] for users in loads] == [["e", "e"], [None, "e"]]
    assert [session.get_one(User, user_id=one).visits for one in ("1", "2")] == [1, 1]


def test_run_repeats_nothing_else(session: Session) -> None:
    calls: list[int] = []

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.delete(Key(Stock, sku="nothing"))

    with pytest.raises(EntityNotFound):
        session.run(work)
    assert len(calls) == 1


def test_a_hook_that_raises_does_not_make_run_repeat_what_is_committed(session: Session) -> None:
    stale = session.save(Stock(sku="s"))
    session.update(Key(Stock, sku="s"), F.left.add(1))
    calls: list[int] = []

    def hook() -> None:
        stale.left = 5
        session.save(stale)

    def work(tx: Transaction) -> None:
        calls.append(1)
        tx.save(User(user_id=str(len(calls))))
        tx.on_commit(hook)

    with pytest.raises(StaleEntity):
        session.run(work)
    assert len(calls) == 1
