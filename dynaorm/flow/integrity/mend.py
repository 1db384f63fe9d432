"""Mending one fault: a transaction on exactly what was read, and another look where that is refused.

Rule 1. Whatever was written meanwhile wins: the transaction is refused, and the fault judged anew.
Rule 2. An attempt that got no answer is one more reason to look again. What is mended is not mended twice.
"""

from enum import Enum
from typing import Final

from dynaorm.errors import (
    Contention,
    DynaormError,
    StoreError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.flow.commit import setting_of
from dynaorm.flow.integrity.finding import Fault, Finding, Kind
from dynaorm.flow.integrity.inquiry import answer_at_once
from dynaorm.flow.integrity.scan import Pace
from dynaorm.flow.protocol.call import Flow, Pause
from dynaorm.flow.write import send
from dynaorm.plan.plan import Plan, check_limits
from dynaorm.plan.verdict import Committed
from dynaorm.record import record

_ATTEMPTS: Final = 8
_HOPELESS: Final = (TableNotFound, Throttled, Unreachable)
_OF_THIS_PLAN: Final = ("TransactionCanceledException", "ValidationException")


class Outcome(Enum):
    """What became of a fault."""

    MENDED = "mended"
    """A transaction of ours mended it."""

    GONE = "gone"
    """It is no fault any more: somebody else wrote, or an attempt without an answer had succeeded."""

    PLANNED = "planned"
    """Nothing was to be written; the plan says what would be."""

    LEFT = "left"
    """It is there still: mending it needs a choice, or everything concerned changes all the time."""


@record
class Mended:
    """A finding, and what became of it.

    Attributes:
        finding: what was found.
        outcome: what became of it.
        reason: why it was left.
        plan: what would mend it, where nothing is to be written.
    """

    finding: Finding
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None


def plan_of(fault: Fault, pace: Pace) -> Plan:
    """The one transaction that mends a fault. Raises PlanTooLarge, ItemTooLarge."""
    setting = setting_of(pace.context)
    return check_limits(Plan(fault.actions, setting.write_id, made_at=setting.now))


def mend(fault: Fault, pace: Pace) -> Flow[list[Mended]]:
    """Mend a fault, if it is there still and can be mended without a choice.

    What becomes of it; and the duplicate values found while looking again, where somebody else was faster.

    Raises:
        Throttled, Unreachable, TableNotFound, UnexpectedRefusal: DynamoDB does not let us.
    """
    pauses = pace.context.retry.pauses(pace.context.clock)
    reason = ""
    others: list[Mended] = []
    for _ in range(_ATTEMPTS):
        if not fault.actions:
            break
        refusal = yield from _attempt(fault, pace)
        if refusal is None:
            return [Mended(fault.finding, Outcome.MENDED), *others]
        reason = str(refusal)
        found = yield from _look_again(fault, pace)
        if found is None or isinstance(refusal, UsageError):
            break
        others = [Mended(one.finding, Outcome.LEFT) for one in found if one.finding.kind is Kind.DUPLICATE]
        looked = next((one for one in found if one.identity == fault.identity), None)
        if looked is None:
            return [Mended(fault.finding, Outcome.GONE), *others]
        fault = looked
        yield Pause(next(pauses, 0.0))
    return [Mended(fault.finding, Outcome.LEFT, reason), *others]


def _attempt(fault: Fault, pace: Pace) -> Flow[DynaormError | None]:
    """None where the fault is mended, or else why it is not, or may not be."""
    try:
        plan = plan_of(fault, pace)
        yield from pace.keep()
        # What is refused is paid for, too.
        pace.written += plan.write_units
        outcome = yield from send(plan, pace.context)
    except _HOPELESS:
        raise
    except UnexpectedRefusal as refused:
        # One says something of this plan; any other (no permission, no such account) of all there will be.
        if refused.code not in _OF_THIS_PLAN:
            raise
        return refused
    except (StoreError, UsageError) as refused:
        return refused
    if isinstance(outcome, Committed):
        return None
    return Contention(attempts=1, code="ConditionalCheckFailed")


def _look_again(fault: Fault, pace: Pace) -> Flow[list[Fault] | None]:
    """Every fault of the same item as it is now; None where nobody can tell."""
    if fault.again is None:
        return None
    return (yield from answer_at_once(fault.again, pace.context, pace.cost))
