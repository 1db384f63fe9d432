"""Dealing with the faults of a verification: what can be mended is, and everything is told.

Rule 1. Faults are dealt with some at a time, so that what was done is told soon after; totals all at once.
Rule 2. A total that was written since it was counted is counted again; one that changes all the time is left.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.bulk.limits import CONCURRENCY, windows
from dynaorm.flow.integrity.backfill import complete
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Kind
from dynaorm.flow.integrity.judge_totals import recount
from dynaorm.flow.integrity.mend import Mended, Outcome, mend, plan_of
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.flow.integrity.verify import Verification, verification
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.together import gather
from dynaorm.record import replace

# How many faults are dealt with before they are told.
_WINDOW: Final = 100
# How often a total is counted again that changed before it was mended.
_ATTEMPTS: Final = 5


def completion(
    named: Sequence[Table | type[Any]],
    context: Context,
    *,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
) -> Verification:
    """A verification that asks of every entity what it lacks, not begun yet. Raises UsageError as ``verification``."""
    work = verification(named, context, segments=segments, segment=segment, rate=rate)
    work.judge = complete
    work.scope = replace(work.scope, with_new_targets=True)
    return work


def dealing(
    diagnoses: Sequence[Diagnosis], work: Verification, *, dry_run: bool
) -> Iterator[Flow[list[Mended]]]:
    """What there is to do about the faults of a step, in order: each is run before the next is asked for."""
    # Totals are counted again together, because that may read whole tables.
    together = any(diagnosis.finding.kind is Kind.TOTAL for diagnosis in diagnoses)
    for some in windows(diagnoses, len(diagnoses) if together else _WINDOW):
        yield _planned(some, work) if dry_run else _dealt_with(some, work)


def unsettled(work: Verification) -> Iterator[Mended]:
    """The totals that changed too often to be judged, or mended."""
    for address in work.unsettled:
        detail = "it changed each time it was counted"
        finding = Finding(Kind.TOTAL, address.table.name, address.key, None, detail, mendable=True)
        reason = "it could not be counted while it changes; try again in a quieter hour"
        yield Mended(finding, Outcome.LEFT, reason)


def _dealt_with(diagnoses: Sequence[Diagnosis], work: Verification) -> Flow[list[Mended]]:
    told: list[Mended] = []
    for _ in range(_ATTEMPTS):
        ended = yield from gather([mend(diagnosis, work.limiter) for diagnosis in diagnoses], CONCURRENCY)
        moved: list[ItemAddress] = []
        for diagnosis, mended in zip(diagnoses, ended, strict=True):
            if (
                diagnosis.finding.kind is Kind.TOTAL
                and mended[0].outcome is Outcome.LEFT
                and mended[0].reason
            ):
                moved.append(_target(diagnosis.finding, work))
            else:
                told += mended
        if not moved:
            return told
        diagnoses, left = yield from recount(moved, work.scope, work.limiter, work.segments)
        work.unsettled += left
    work.unsettled += [_target(diagnosis.finding, work) for diagnosis in diagnoses]
    return told


def _target(finding: Finding, work: Verification) -> ItemAddress:
    (table,) = (one for one in work.scope.known_tables if one.name == finding.table)
    return ItemAddress(table, finding.key)


def _planned(diagnoses: Sequence[Diagnosis], work: Verification) -> Flow[list[Mended]]:
    """Sends nothing."""
    yield from ()
    return [_planned_one(diagnosis, work) for diagnosis in diagnoses]


def _planned_one(diagnosis: Diagnosis, work: Verification) -> Mended:
    if not diagnosis.actions:
        return Mended(diagnosis.finding, Outcome.LEFT)
    try:
        return Mended(diagnosis.finding, Outcome.PLANNED, plan=plan_of(diagnosis, work.limiter))
    except DynaormError as problem:
        return Mended(diagnosis.finding, Outcome.LEFT, str(problem))
