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
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Kind
from dynaorm.flow.integrity.scan import RateLimiter
from dynaorm.flow.integrity.stored_check import answer_at_once
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


def plan_of(diagnosis: Diagnosis, limiter: RateLimiter) -> Plan:
    """The one transaction that mends a fault. Raises PlanTooLarge, ItemTooLarge."""
    setting = unit_of_work(limiter.context)
    return check_limits(Plan(diagnosis.actions, setting.write_id, made_at=setting.now))


def mend(diagnosis: Diagnosis, limiter: RateLimiter) -> Flow[list[Mended]]:
    """Mend a fault, if it is there still and can be mended without a choice.

    What becomes of it; and the duplicate values found while looking again, where somebody else was faster.

    Raises:
        Throttled, Unreachable, TableNotFound, UnexpectedRefusal: DynamoDB does not let us.
    """
    pauses = limiter.context.retry.pauses(limiter.context.clock)
    reason = ""
    others: list[Mended] = []
    for _ in range(_ATTEMPTS):
        if not diagnosis.actions:
            break
        refusal = yield from _attempt(diagnosis, limiter)
        if refusal is None:
            return [Mended(diagnosis.finding, Outcome.MENDED), *others]
        reason = str(refusal)
        found = yield from _look_again(diagnosis, limiter)
        if found is None or isinstance(refusal, UsageError):
            break
        others = [Mended(one.finding, Outcome.LEFT) for one in found if one.finding.kind is Kind.DUPLICATE]
        looked = next((one for one in found if one.identity == diagnosis.identity), None)
        if looked is None:
            return [Mended(diagnosis.finding, Outcome.GONE), *others]
        diagnosis = looked
        yield Pause(next(pauses, 0.0))
    return [Mended(diagnosis.finding, Outcome.LEFT, reason), *others]


def _attempt(diagnosis: Diagnosis, limiter: RateLimiter) -> Flow[DynaormError | None]:
    """None where the fault is mended, or else why it is not, or may not be."""
    try:
        plan = plan_of(diagnosis, limiter)
        yield from limiter.keep()
        # What is refused is paid for, too.
        limiter.written += plan.write_units
        outcome = yield from send(plan, limiter.context)
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


def _look_again(diagnosis: Diagnosis, limiter: RateLimiter) -> Flow[list[Diagnosis] | None]:
    """Every fault of the same item as it is now; None where nobody can tell."""
    if diagnosis.again is None:
        return None
    return (yield from answer_at_once(diagnosis.again, limiter.context, limiter.cost))
