"""``verify``, ``repair`` and ``backfill``: reading tables step by step, mending what is found, and remembering how far.

Rule 1. A page is behind us when everything found on it was dealt with: whoever is killed does it again, which changes
        nothing that is mended already.
Rule 2. Whatever may be decided in two ways is left to people, and reported.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.flow.bulk.limits import Progress
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Kind
from dynaorm.flow.integrity.mend import Mended, Outcome
from dynaorm.flow.integrity.repair import completion, dealing, unsettled
from dynaorm.flow.integrity.verify import describe, verification
from dynaorm.flow.protocol.call import Flow
from dynaorm.integrity.checkpoint import Checkpoint
from dynaorm.integrity.report import DuplicatesFile, as_json, finding_in, mended_in
from dynaorm.session.session import Session

Named = Table | type[Any]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How the work is done.

    Attributes:
        segments: into how many parts each table is divided, for machines or requests side by side.
        segment: the one part that is read here; None for all of them. Totals need all of them, and are left out.
        rate: capacity units per second, read and written, to keep to.
        progress: called after each step of the reading with how many items were examined, and about how many there are.
        checkpoint: a file that remembers how far the work came, so that it goes on there when it is begun again; it is
            gone when all is done. Each process needs its own.
        duplicates: a file for the values that several entities hold, as JSON lines. Each process needs its own.
        dry_run: write nothing; the outcomes are plans. A dry run begins anew each time, whatever the checkpoint.
    """

    segments: int = 1
    segment: int | None = None
    rate: float | None = None
    progress: Progress | None = None
    checkpoint: Path | None = None
    duplicates: Path | None = None
    dry_run: bool = False


DEFAULT: Final = RunOptions()


def verify(session: Session, *named: Named, options: RunOptions = DEFAULT) -> Iterator[Finding]:
    """What is wrong with the items of some tables or classes, as ``session.verify``; resumable, and flat in memory.

    Going on with a checkpoint, it first gives again what was found before.

    Raises:
        UsageError: nothing was named; there is no such segment; the checkpoint is that of other work.
        Throttled, Unreachable, TableNotFound: as any read.
    """
    with _Job("verify", session, named, options) as job:
        yield from map(finding_in, job.told())
        for diagnoses in job.steps():
            for diagnosis in diagnoses:
                job.tell(diagnosis.finding, as_json(diagnosis.finding))
                yield diagnosis.finding


def repair(session: Session, *named: Named, options: RunOptions = DEFAULT) -> Iterator[Mended]:
    """Mend what ``verify`` finds, as far as that needs no choice, and give what became of each finding.

    Each is mended by one transaction that is refused if anything it relies on was written since it was read; it is
    judged anew then. So a table may be repaired while writers run, and repaired twice. Going on with a checkpoint, it
    first gives again what was left before.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound: as ``verify``; what was mended stays.
        UnexpectedRefusal: DynamoDB does not let these credentials write.
    """
    yield from _mended("repair", session, named, options)


def backfill(session: Session, *named: Named, options: RunOptions = DEFAULT) -> Iterator[Mended]:
    """Complete the entities that were stored before their class declared a constraint, an index, versions or totals.

    Writers must run the new class already: what they write is complete. Every entity that is not is completed by one
    transaction, refused if anybody wrote it since; values that two entities hold are reported, and never decided.
    Going on with a checkpoint, it first gives again what was left before.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as ``repair``; what was completed stays.
    """
    yield from _mended("backfill", session, named, options)


def _mended(name: str, session: Session, named: Sequence[Named], options: RunOptions) -> Iterator[Mended]:
    with _Job(name, session, named, options) as job:
        yield from map(mended_in, job.told())
        for diagnoses in job.steps():
            for some in dealing(diagnoses, job.work, dry_run=options.dry_run):
                for one in job.run(some):
                    if one.outcome is Outcome.LEFT:
                        job.tell(one.finding, as_json(one))
                    yield one
        yield from unsettled(job.work)


class _Job(ExitStack):
    """A piece of work and its files."""

    def __init__(self, name: str, session: Session, named: Sequence[Named], options: RunOptions) -> None:
        super().__init__()
        self.options = options
        begin = completion if name == "backfill" else verification
        self.work = begin(
            named,
            session._context,
            segments=options.segments,
            segment=options.segment,
            rate=options.rate,
        )
        self._session = session
        path = None if options.dry_run else options.checkpoint
        described = self._described() if path is not None or options.progress is not None else []
        self._total = _item_count(described)
        identity = {
            "work": name,
            "tables": [[one.get("TableArn"), one.get("TableId")] for one in described],
            "named": [one.name if isinstance(one, Table) else one.__qualname__ for one in named],
            "classes": [
                _shape(one) for table in self.work.scope.tables for one in catalog_of(table).mappings.values()
            ],
            "segments": [options.segments, options.segment],
        }
        self._checkpoint = self.enter_context(Checkpoint(path, identity))
        self._checkpoint.resume(self.work)
        self.work.ledger = self._checkpoint
        self._duplicates: DuplicatesFile | None = None
        if options.duplicates is not None:
            self._duplicates = self.enter_context(DuplicatesFile(options.duplicates))

    def _described(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.run(describe(self.work.scope.tables, self.work.limiter.context))
        return found

    def run(self, flow: Flow[Any]) -> Any:
        return self._session._run(flow)

    def told(self) -> Iterator[str]:
        """What an interrupted run has told of the pages behind it."""
        return self._checkpoint.told()

    def tell(self, finding: Finding, line: str) -> None:
        """Write down what is wrong still."""
        self._checkpoint.tell(line)
        if self._duplicates is not None and finding.kind is Kind.DUPLICATE:
            self._duplicates.add(finding)

    def steps(self) -> Iterator[list[Diagnosis]]:
        """The faults of each step, which is behind us when the next is asked for."""
        self._tell()
        yield from map(self.run, self.work.steps(self._keep))

    def _keep(self) -> None:
        self._checkpoint.keep(self.work)
        self._tell()

    def _tell(self) -> None:
        if self.options.progress is not None:
            share = 1 if self.options.segment is None else self.options.segments
            total = None if self._total is None else self._total // share
            self.options.progress(self.work.examined, total)


def _item_count(described: Sequence[dict[str, Any]]) -> int | None:
    """About how many items there are: DynamoDB counts them every six hours. None where it does not say."""
    counts = [one["ItemCount"] for one in described if one.get("ItemCount") is not None]
    return sum(counts) if len(counts) == len(described) else None


def _shape(mapping: EntityMapping) -> list[Any]:
    """What a class declares: work that was begun with another declaration is other work."""
    declared = (mapping.constraints, mapping.indexes, mapping.aggregates)
    return [mapping.name, mapping.versioning is not None, *(sorted(names) for names in declared)]
