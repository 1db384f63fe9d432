"""Transactions: what the methods collect, what they refuse at once, and when the block ends."""

import asyncio
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial

import pytest

from dynaorm import AsyncSession, F, Key, Retry, Session, Transaction, inspect, tools
from dynaorm.errors import (
    Contention,
    EntityNotFound,
    InvalidValue,
    SessionClosed,
    StaleEntity,
    UnknownField,
    UsageError,
)
from dynaorm.flow.call import Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport, conflict
from dynaorm.transport.asynchronous import ThreadedTransport
from tests.cast.orders import Stock
from tests.cast.people import Plain, User


def in_block(session: Session, *steps: Callable[[Transaction], object]) -> None:
    with session.transaction() as tx:
        for step in steps:
            step(tx)


def test_everything_a_block_collects_is_one_transaction(session: Session, wire: FaultyTransport) -> None:
    gone, mover, checked = (session.save(User(user_id=name, email=name)) for name in ("1", "2", "3"))
    session.save(Stock(sku="s", left=5))
    wire.calls.clear()
    new = User(user_id="9", email="nine")
    with session.transaction() as tx:
        assert tx.save(new) is new
        tx.update(Key(Stock, sku="s"), F.left.add(-1), condition=F.left >= 1)
        tx.delete(gone)
        mover.user_id = "22"
        assert tx.move(mover) is mover
        tx.check(checked)
        assert wire.calls == []
    assert [call.operation for call in wire.calls] == ["TransactWriteItems"]
    assert [next(iter(one)) for one in wire.calls[0].request["TransactItems"]] == [
        "Put", "Put", "Update", "Delete", "Delete", "Delete", "Put", "Put", "ConditionCheck",
    ]  # fmt: skip
    assert session.get(User, user_id="1") is None
    assert session.get_by(User, email="2") == mover == session.get(User, user_id="22")
    assert session.get_one(Key(Stock, sku="s")).left == 4
    assert (inspect(new).loaded, inspect(gone).loaded, inspect(mover).key) == (
        True,
        False,
        Key(User, user_id="22"),
    )


def test_a_block_that_raises_sends_nothing(session: Session, wire: FaultyTransport) -> None:
    stock, called = Stock(sku="s"), []
    with pytest.raises(ZeroDivisionError):
        in_block(
            session,
            lambda tx: tx.save(stock),
            lambda tx: tx.on_commit(lambda: called.append("hook")),
            lambda _: 1 / 0,
        )
    assert (wire.calls, called, inspect(stock).loaded) == ([], [], False)
    session.save(stock)


@pytest.mark.parametrize(
    ("verb", "write"),
    [
        ("save", lambda session: session.save(Stock(sku="x"))),
        ("update", lambda session: session.update(Key(Stock, sku="s"), F.left.add(1))),
        ("delete", lambda session: session.delete(Key(Stock, sku="s"))),
        ("move", lambda session: session.move(session.get_one(Key(Stock, sku="s")))),
    ],
)
def test_writing_past_tx_inside_its_block_is_refused_and_names_tx(
    session: Session, wire: FaultyTransport, verb: str, write: Callable[[Session], object]
) -> None:
    session.save(Stock(sku="s"))
    wire.calls.clear()
    with (
        pytest.raises(UsageError, match=rf"session\.{verb}\(\) inside .*write tx\.{verb}\("),
        session.transaction(),
    ):
        write(session)
    assert "PutItem" not in [call.operation for call in wire.calls]


def test_what_no_transaction_can_do_is_refused_inside_one_too(session: Session) -> None:
    key = Key(Stock, sku="s")
    with pytest.raises(UsageError, match=r"session\.restore"), session.transaction():
        session.restore(key, version=1)
    with pytest.raises(UsageError, match=r"prune\(session, \.\.\.\)"), session.transaction():
        tools.prune(session, key, keep=1)
    with pytest.raises(UsageError, match=r"purge\(session, \.\.\.\)"), session.transaction():
        tools.purge(session, key)


def test_a_block_inside_a_block_is_refused(session: Session) -> None:
    with session.transaction() as tx:
        with pytest.raises(UsageError, match="the open block's tx"), session.transaction():
            pass
        with pytest.raises(UsageError, match="the open block's tx"):
            session.run(lambda _: None)
        tx.save(Stock(sku="s"))
    assert session.get(Stock, sku="s") is not None


def test_a_task_that_begins_inside_a_block_may_write_after_it(session: Session) -> None:
    with session.transaction() as tx:
        tx.save(Stock(sku="s"))
        context = copy_context()
        with pytest.raises(UsageError, match=r"write tx\.save"):
            context.run(session.save, Stock(sku="inside"))
    context.run(session.save, Stock(sku="after"))
    assert not session.exists(Stock, sku="inside")
    assert session.exists(Stock, sku="after")


def test_a_block_may_end_in_another_context_than_it_began(session: Session) -> None:
    """So it is in a dependency of FastAPI with ``yield``, whose two halves run in two threads."""

    def unit_of_work() -> Iterator[Transaction]:
        with session.transaction() as tx:
            yield tx

    work, before = unit_of_work(), copy_context()
    tx = before.run(next, work)
    tx.save(Stock(sku="s"))
    assert copy_context().run(next, work, None) is None
    assert session.exists(Stock, sku="s")
    before.run(session.save, Stock(sku="after"))
    assert session.exists(Stock, sku="after")


@pytest.mark.parametrize(
    "use",
    [
        lambda tx: tx.save(Stock(sku="s")),
        lambda tx: tx.update(Key(Stock, sku="s"), F.left.add(1)),
        lambda tx: tx.delete(Key(Stock, sku="s")),
        lambda tx: tx.check(Key(Stock, sku="s")),
        lambda tx: tx.move(Stock(sku="s")),
        lambda tx: tx.on_commit(print),
    ],
    ids=["save", "update", "delete", "check", "move", "on_commit"],
)
def test_a_tx_used_after_its_block_is_refused(session: Session, use: Callable[[Transaction], object]) -> None:
    with session.transaction() as tx:
        pass
    with pytest.raises(UsageError, match="block has ended"):
        use(tx)


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda tx: tx.save(Plain(name="x")), UsageError, "Plain is not mapped"),
        (lambda tx: tx.delete(Plain(name="x")), UsageError, "Plain is not mapped"),
        (lambda tx: tx.move(Plain(name="x")), UsageError, "Plain is not mapped"),
        (lambda tx: tx.save(Stock(sku="s"), condition=F.lft == 1), UnknownField, "did you mean 'left'"),
        (lambda tx: tx.check(Key(Stock, sku="s"), F.left == "many"), InvalidValue, r"Stock\.left"),
        (
            lambda tx: tx.delete(Key(Stock, sku="s"), condition=True),
            UsageError,
            "condition=True is not a condition",
        ),
        (lambda tx: tx.update(Key(Stock, sku="s")), UsageError, "nothing to change"),
        (lambda tx: tx.update(Key(Stock, sku="s"), {"lft": 1}), UnknownField, "did you mean 'left'"),
    ],
    ids=[
        "saved class",
        "deleted class",
        "moved class",
        "field",
        "value",
        "no condition",
        "no change",
        "changed field",
    ],
)
def test_what_can_be_seen_to_be_wrong_is_refused_on_the_call(
    session: Session, use: Callable[[Transaction], object], error: type[Exception], message: str
) -> None:
    with session.transaction() as tx, pytest.raises(error, match=message):
        use(tx)


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_hooks_are_called_in_order_once_everything_is_committed(session: Session) -> None:
    stock = Stock(sku="s")
    called: list[object] = []
    with session.transaction() as tx:
        tx.on_commit(lambda: called.append(inspect(stock).loaded))
        tx.save(stock)
        tx.on_commit(lambda: called.append(session.exists(Stock, sku="s")))
        assert called == []
    assert called == [True, True]


def test_hooks_of_a_refused_block_are_not_called(session: Session) -> None:
    called: list[int] = []
    with pytest.raises(EntityNotFound):
        in_block(
            session,
            lambda tx: tx.delete(Key(Stock, sku="s")),
            lambda tx: tx.on_commit(lambda: called.append(1)),
        )
    assert called == []


def test_a_hook_may_write_through_the_session(session: Session) -> None:
    with session.transaction() as tx:
        tx.on_commit(lambda: session.save(Stock(sku="later")))
    assert session.exists(Stock, sku="later")


def test_a_hook_that_raises_does_not_keep_the_others_from_running(session: Session) -> None:
    called: list[int] = []
    stock = Stock(sku="s")
    with pytest.raises(ZeroDivisionError) as raised:
        in_block(
            session,
            lambda tx: tx.save(stock),
            lambda tx: tx.on_commit(lambda: 1 / 0),
            lambda tx: tx.on_commit(lambda: called.append(1)),
        )
    assert (called, inspect(stock).loaded) == ([1], True)
    assert session.exists(Stock, sku="s")
    assert any("is committed" in note for note in raised.value.__notes__)


async def send_mail() -> None:
    raise AssertionError("nobody awaits this")


@pytest.mark.parametrize("hook", [send_mail, partial(send_mail)], ids=["function", "partial"])
def test_an_asynchronous_hook_is_refused_by_a_plain_session(
    session: Session, wire: FaultyTransport, hook: Callable[[], object]
) -> None:
    with pytest.raises(UsageError, match="asynchronous function"):
        in_block(session, lambda tx: tx.save(Stock(sku="s")), lambda tx: tx.on_commit(hook))
    assert wire.calls == []


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_a_session_closed_inside_the_block_sends_nothing(session: Session, wire: FaultyTransport) -> None:
    stock = Stock(sku="s")
    with pytest.raises(SessionClosed):
        in_block(session, lambda tx: tx.save(stock), lambda _: session.close())
    assert wire.calls == []
    assert not inspect(stock).loaded


# -- run: work that is repeated ----------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("edits", [False, True])
def test_two_loaded_objects_that_disagree_say_nothing_is_stored(
    session: Session, wire: FaultyTransport, edits: bool
) -> None:
    session.save(Stock(sku="s", left=5))
    old, new = (session.get_one(Stock, sku="s") for _ in range(2))
    new.left = 4
    session.save(new)
    wire.calls.clear()
    for one, other in [(old, new), (new, old)]:
        with pytest.raises(StaleEntity) as refused, session.transaction() as tx:
            tx.check(one)
            tx.check(other)
            if edits:
                tx.update(Key(Stock, sku="s"), {"left": 3})
        assert (refused.value.found, refused.value.stored) == (None, None)
    assert wire.calls == []


def test_run_hands_on_a_stale_entity_that_work_itself_raises(session: Session) -> None:
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


def test_run_does_not_repeat_after_a_hook_that_raises(session: Session) -> None:
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
