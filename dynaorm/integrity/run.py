"""``verify``, ``repair`` and ``backfill``: reading tables step by step, mending what is found, and remembering how far.

Rule 1. A page is behind us when everything found on it was dealt with: whoever is killed does it again, which changes
        nothing that is mended already.
Rule 2. Whatever may be decided in two ways is left to people, and reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.backfill import complete
from dynaorm.flow.bulk import CONCURRENCY, Progress
from dynaorm.flow.call import Flow
from dynaorm.flow.finding import Fault, Finding, Kind
from dynaorm.flow.inquiry import Place
from dynaorm.flow.mend import Mended, Outcome, mend, plan_of
from dynaorm.flow.together import gather
from dynaorm.flow.verify import Verification, count_items, verification
from dynaorm.flow.verify_totals import recount
from dynaorm.integrity.checkpoint import Checkpoint
from dynaorm.integrity.report import DuplicatesFile
from dynaorm.record import replace
from dynaorm.session.sync import Session

Named = Table | type[Any]

# How often a total is counted again that changed before it was mended.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the work is done.

    Attributes:
        segments: into how many parts each table is divided, for machines or requests side by side.
        segment: the one part that is read here; None for all of them. Totals need all of them.
        rate: capacity units per second, read and written, to keep to.
        progress: called after each step with how many items were examined, and about how many there are.
        checkpoint: a file that remembers how far the work came; it is gone when all is done.
        duplicates: a file for the values that several entities hold, as JSON lines.
        dry_run: write nothing; the outcomes are plans.
    """

    segments: int = 1
    segment: int | None = None
    rate: float | None = None
    progress: Progress | None = None
    checkpoint: Path | None = None
    duplicates: Path | None = None
    dry_run: bool = False


DEFAULT: Final = Options()


def verify(session: Session, *named: Named, options: Options = DEFAULT) -> Iterator[Finding]:
    """What is wrong with the items of some tables or classes, as ``session.verify``; resumable, and flat in memory.

    Raises:
        UsageError: nothing was named; there is no such segment; the checkpoint is that of other work.
        Throttled, Unreachable, TableNotFound: as any read.
    """
    job = _Job(session, "verify", named, options)
    for faults in job.steps():
        for fault in faults:
            if fault.finding.kind is Kind.DUPLICATE:
                job.report(fault.finding)
            yield fault.finding


def repair(session: Session, *named: Named, options: Options = DEFAULT) -> Iterator[Mended]:
    """Mend what ``verify`` finds, as far as that needs no choice, and give what became of each finding.

    Each is mended by one transaction that is refused if anything it relies on was written since it was read; it is
    judged anew then. So a table may be repaired while writers run, and repaired twice.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound: as ``verify``; what was mended stays.
    """
    yield from _mended(_Job(session, "repair", named, options))


def backfill(session: Session, *named: Named, options: Options = DEFAULT) -> Iterator[Mended]:
    """Complete the entities that were stored before their class declared a constraint, an index, versions or totals.

    Writers must run the new class already: what they write is complete. Every entity that is not is completed by one
    transaction, refused if anybody wrote it since; values that two entities hold are reported, and never decided.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound: as ``verify``; what was completed stays.
    """
    job = _Job(session, "backfill", named, options)
    job.work.judge = complete
    job.work.scope = replace(job.work.scope, with_new_targets=True)
    yield from _mended(job)


class _Job:
    """A piece of work and its files."""

    def __init__(self, session: Session, name: str, named: Sequence[Named], options: Options) -> None:
        self.options = options
        self.work: Verification = verification(
            named,
            session._context,
            segments=options.segments,
            segment=options.segment,
            rate=options.rate,
        )
        self._session = session
        self._identity = {
            "work": name,
            "tables": [session._context.table_name(table.name) for table in self.work.scope.tables],
            "named": [one.name if isinstance(one, Table) else one.__qualname__ for one in named],
            "segments": [options.segments, options.segment],
        }
        self._total: int | None = None
        self._duplicates: DuplicatesFile | None = None

    def run(self, flow: Flow[Any]) -> Any:
        return self._session._run(flow)

    def report(self, finding: Finding) -> None:
        """Write down a value that several entities hold."""
        if self._duplicates is not None:
            self._duplicates.add(finding)

    def steps(self) -> Iterator[list[Fault]]:
        """The faults of each step, which is behind us when the next is asked for."""
        path = self.options.duplicates
        if path is None:
            yield from self._checked_steps()
            return
        with DuplicatesFile(path) as self._duplicates:
            yield from self._checked_steps()

    def _checked_steps(self) -> Iterator[list[Fault]]:
        work = self.work
        if self.options.progress is not None:
            self._total = self.run(count_items(work.scope.tables, work.pace.context))
        with Checkpoint(self.options.checkpoint, self._identity) as checkpoint:
            work.ledger = checkpoint
            checkpoint.resume(work)
            for step in work.steps(lambda: checkpoint.keep(work)):
                yield self.run(step)
                self._tell()

    def _tell(self) -> None:
        if self.options.progress is not None:
            share = 1 if self.options.segment is None else self.options.segments
            total = None if self._total is None else self._total // share
            self.options.progress(self.work.examined, total)


def _mended(job: _Job) -> Iterator[Mended]:
    for faults in job.steps():
        for one in _dealt_with(job, faults):
            if one.finding.kind is Kind.DUPLICATE:
                job.report(one.finding)
            yield one
    for place in job.work.unsettled:
        yield _unsettled(place)


def _dealt_with(job: _Job, faults: Sequence[Fault]) -> Iterator[Mended]:
    if job.options.dry_run:
        yield from (_planned(job, fault) for fault in faults)
        return
    for _ in range(_ATTEMPTS):
        flows = [mend(fault, job.work.pace) for fault in faults]
        moved: list[Place] = []
        for fault, mended in zip(faults, job.run(gather(flows, CONCURRENCY)), strict=True):
            if fault.finding.kind is Kind.TOTAL and mended[0].outcome is Outcome.LEFT and mended[0].reason:
                moved.append(_target(job, fault.finding))
            else:
                yield from mended
        if not moved:
            return
        faults, left = job.run(recount(moved, job.work.scope, job.work.pace, job.options.segments))
        job.work.unsettled += left
    job.work.unsettled += moved


def _target(job: _Job, finding: Finding) -> Place:
    (table,) = (one for one in job.work.scope.known_tables if one.name == finding.table)
    return Place(table, finding.key)


def _planned(job: _Job, fault: Fault) -> Mended:
    if not fault.actions:
        return Mended(fault.finding, Outcome.LEFT)
    try:
        return Mended(fault.finding, Outcome.PLANNED, plan=plan_of(fault, job.work.pace))
    except DynaormError as problem:
        return Mended(fault.finding, Outcome.LEFT, str(problem))


def _unsettled(place: Place) -> Mended:
    detail = "it changed each time it was counted"
    finding = Finding(Kind.TOTAL, place.table.name, place.key, None, detail, mendable=True)
    return Mended(
        finding, Outcome.LEFT, "it could not be counted while it changes; try again in a quieter hour"
    )
