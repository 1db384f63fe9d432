"""Endings that no sequence of ``worlds.py`` has: pauses that fail, invalid actions, additions that no item can show."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, F, Key, Plan, Retry, Session, Table
from dynaorm.entity.state import unsettled_of
from dynaorm.errors import OutcomeUnknown, UsageError
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.testing.transports import Answer
from dynaorm.transport import NoAnswer, Reason, Refusal
from tests.faults.endings_cases import Stock, User


def insert(session: Session) -> None:
    session.save(Stock(sku="a"))


def insert_guarded(session: Session) -> None:
    session.save(User(name="a", email="a@x"))


def count_once(session: Session) -> None:
    with session.transaction(token="order-17") as tx:
        tx.update(Key(Stock, sku="a"), F.left.add(1))


TROUBLES = (
    UsageError(problem="the credentials have expired", remedy="log in again"),
    OSError("no file"),
    ValueError("a signer that cannot sign"),
    TimeoutError("the time limit of the job"),
)
LOST = NoAnswer("timeout")
THROTTLED = Refusal("ThrottlingException")


class Impatient(FakeClock):
    """Its pauses may be interrupted."""

    trouble: Exception | None = None

    def pause(self, seconds: float) -> None:
        if self.trouble is not None:
            raise self.trouble
        super().pause(seconds)


def raising(trouble: BaseException) -> Callable[[Any], Any]:
    def fail(call: object) -> Any:
        raise trouble

    return fail


def ending_of(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the tests judge every kind of ending
        return error
    raise AssertionError("the write ended with a success")


def session_on(*answers: Answer, clock: FakeClock | None = None, attempts: int = 9) -> Session:
    return Session(
        transport=ScriptedTransport(*answers), clock=clock or FakeClock(), retry=Retry(attempts=attempts)
    )


@given(st.sampled_from((insert, insert_guarded, count_once)), st.sampled_from(TROUBLES))
def test_an_interrupted_pause_leaves_an_unknown_outcome(
    write: Callable[[Session], None], trouble: Exception
) -> None:
    clock = Impatient()
    clock.trouble = trouble
    ending = ending_of(lambda: write(session_on(LOST, clock=clock)))
    assert isinstance(ending, OutcomeUnknown)
    assert ending.__cause__ is trouble
    assert ending_of(lambda: write(session_on(THROTTLED, clock=clock))) is trouble


UNFIT = "The document path provided in the update expression is invalid for update"


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal("ValidationException", UNFIT),
        Refusal("TransactionCanceledException", reasons=(Reason("ValidationError", "what"),)),
    ],
    ids=["the request", "an action"],
)
def test_a_resumed_transaction_is_not_refused_as_invalid(
    refusal: Refusal,
) -> None:
    """Only a condition that failed shows that a revision was replaced."""
    stock = Stock(sku="a")
    session = session_on({}, LOST, LOST, refusal, attempts=2)
    session.save(stock)
    stock.left = 1
    with pytest.raises(OutcomeUnknown) as first:
        session.save(stock, exactly_once=True)
    with pytest.raises(OutcomeUnknown):
        session.resume(first.value.plan)
    assert unsettled_of(stock) is not None


bare = Table("BareEndings", revision_attribute=None, type_attribute=None)


class Tally(Entity, table=bare, pk="TALLY#{name}", sk="TALLY"):
    name: str
    count: int = 0


def test_an_addition_nobody_sees_is_never_said_not_to_be_made() -> None:
    """Without a revision, an item with another number may be what the addition left, or what it was before."""
    clock = FakeClock()
    lost = session_on(LOST, clock=clock, attempts=1)
    with pytest.raises(OutcomeUnknown) as first, lost.transaction() as tx:
        tx.update(Key(Tally, name="a"), F.count.add(1))
        tx.update(Key(Tally, name="b"), F.count.add(1))
    clock.advance(600)
    plan = first.value.plan
    assert isinstance(plan, Plan)
    items = [{**one.item_key, "name": {"S": "a"}, "count": {"N": "7"}} for one in plan.actions]
    with pytest.raises(OutcomeUnknown, match="cannot show the write"):
        session_on(*[{"Item": item} for item in items], clock=clock).resume(plan)
    assert session_on({"Item": items[0]}, {}, clock=clock).resume(plan) is False
