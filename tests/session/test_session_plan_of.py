"""``plan_of``: the plan of a block that is not sent."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import AsyncSession, Key, Plan, Retry, Session, Transaction
from dynaorm.errors import OutcomeUnknown, SessionClosed, UsageError
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.transport import NoAnswer, Transport
from dynaorm.transport.asynchronous import ThreadedTransport
from tests.cast.people import USER, User


@pytest.mark.parametrize("work", [None, "tx.delete", USER])
def test_what_is_no_function_is_refused(session: Session, work: Any) -> None:
    with pytest.raises(UsageError, match=r"plan_of\(.* is not a function"):
        session.plan_of(work)


def test_a_synchronous_session_refuses_asynchronous_functions(session: Session) -> None:
    async def work(tx: Transaction) -> None:
        tx.delete(USER)

    with pytest.raises(UsageError, match="asynchronous function"):
        session.plan_of(work)


def test_a_write_beside_the_block_is_refused_while_it_is_planned(session: Session) -> None:
    with pytest.raises(UsageError, match=r"session\.save\(\) inside this session's open transaction"):
        session.plan_of(lambda _: session.save(User(user_id="1")))
    with pytest.raises(UsageError, match=r"session\.plan_of\(\) inside"), session.transaction() as tx:
        session.plan_of(lambda _: tx.save(User(user_id="1")))
    assert session.get(USER) is None
    session.save(User(user_id="1"))  # the block that was planned is closed


def test_a_function_for_the_commit_is_not_called(session: Session) -> None:
    called: list[str] = []

    def block(tx: Transaction) -> None:
        tx.save(User(user_id="1"))
        tx.on_commit(lambda: called.append("commit"))

    session.plan_of(block)
    assert called == []


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lambda session, user: session.plan(user), id="plan"),
        pytest.param(lambda session, user: session.plan_of(lambda tx: tx.save(user)), id="plan_of"),
    ],
)
def test_an_object_with_a_write_of_unknown_outcome_is_not_planned(
    plan: Callable[[Session, User], Plan],
) -> None:
    transport = ScriptedTransport(NoAnswer("timeout"), NoAnswer("timeout"))
    session = Session(transport=transport, clock=FakeClock(), retry=Retry(attempts=1))
    user = User(user_id="1")
    with pytest.raises(OutcomeUnknown):
        session.save(user)
    with pytest.raises(UsageError, match=r"the last write of User\(.*\) got no answer") as caught:
        plan(session, user)
    assert str(caught.value).endswith("refresh() the object, or resume() the plan of the OutcomeUnknown")
    assert len(transport.calls) == 1


def test_a_closed_session_plans_nothing(session: Session) -> None:
    session.close()
    with pytest.raises(SessionClosed):
        session.plan_of(lambda tx: tx.delete(USER))


def test_an_asynchronous_session_takes_functions_of_both_kinds(session: Session, wire: Transport) -> None:
    session.save(User(user_id="1", email="bobby@x.com"))

    async def plans() -> list[Plan]:
        async with AsyncSession(transport=ThreadedTransport(wire)) as own:

            async def work(tx: Transaction) -> None:
                tx.delete(await own.get_one(Key(User, user_id="1")))

            return [await own.plan_of(work), await own.plan_of(lambda tx: tx.delete(USER))]

    for plan in asyncio.run(plans()):
        assert [one.purpose.value for one in plan.actions] == ["delete", "release"]
