"""``verify``, ``repair`` and ``backfill`` for large tables: with a checkpoint, limits and files.

Rule 1. The position moves behind a page when every finding on it was dealt with. A run that was killed does the last
        page again, which changes nothing that is already repaired.
Rule 2. If a finding can be corrected in more than one way, it is reported and left to people.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dynaorm.argument import check_count, check_flag, check_kind, names_of
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.index_places import When
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import TableNotFound, UsageError
from dynaorm.flow.call import Flow
from dynaorm.flow.integrity.finding import (
    Fact,
    Finding,
    Outcome,
    RepairResult,
    Uncertainty,
)
from dynaorm.flow.integrity.judge import judge_address
from dynaorm.flow.integrity.reads import ItemAddress, RateLimiter, ScannedPage, ScanSegment, read_pages
from dynaorm.flow.integrity.repair import backfill_run
from dynaorm.flow.integrity.verify import Verification, describe, recheck, verification
from dynaorm.flow.read import get_item
from dynaorm.flow.tables import TableLocation, location_of
from dynaorm.flow.windows import Progress, check_progress
from dynaorm.integrity.checkpoint import Checkpoint
from dynaorm.integrity.serialize import as_json, finding_in, repair_result_in
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import replace
from dynaorm.session.session import Session
from dynaorm.tools.line_file import path_of
from dynaorm.tools.table_tools import repair_results, verification_findings

# A digest of what a class derives from its entities, so that no run continues under other declarations.
#
# Rule 1. The digest is the same in every process that has the same source and the same version of Python.
# Rule 2. A function is known by its name, its code and its plain constants. Functions that it calls are not looked at.

# Constants whose text is the same in every process.
_PLAIN: Final = (str, bytes, bool, int, float, complex, type(None))


def declared_digest(mapping: EntityMapping) -> str:
    """The digest of a class's keys, attributes, constraints, indexes and totals."""
    constraints = [
        (name, one.fields, one.shared, _texts(one.parts), _function(one.normalize), _when(one.when))
        for name, one in mapping.constraints.items()
    ]
    indexes = [(name, one.name, _texts(one.parts), _when(one.when)) for name, one in mapping.indexes.items()]
    stored = [(name, one.attribute) for name, one in mapping.stored.items()]
    totals = [
        (name, one.target.__qualname__, dict(one.key), one.count, dict(one.sums), _when(one.when))
        for name, one in mapping.aggregates.items()
    ]
    defaults = {name: one.default for name, one in mapping.entity.model_fields.items()}
    fields = [
        (name, one.attribute, one.formerly, _plain([defaults.get(name)]))
        for name, one in mapping.fields.items()
    ]
    expires = None if mapping.expires is None else (mapping.expires.name, mapping.expiry)
    declared = (_texts(mapping.primary_parts), fields, expires, constraints, indexes, stored, totals)
    return hashlib.sha256(repr(declared).encode()).hexdigest()[:16]


def _texts(parts: Iterable[KeyPart]) -> list[tuple[str, str]]:
    return [(part.attribute.name, part.text) for part in parts]


def _when(when: When | None) -> str:
    if when is None:
        return ""
    return repr(when.condition) if when.condition is not None else _function(when.given)


def _function(function: Callable[..., Any] | Any | None) -> str:
    """The name of a function, and its code if it is written in Python."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is None:
        return str(name)
    return f"{name} {code.co_code.hex()} {code.co_names} {_plain(code.co_consts)}"


def _plain(values: Iterable[Any]) -> list[Any]:
    return [one for one in values if type(one) in _PLAIN]


__all__ = ["RunOptions", "backfill", "repair", "verify"]

Named = Table | type[Any]
Used = Callable[[float, float], object]
"""Is told the read and write units that were used."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Attributes:
        segments: into how many segments each table is divided, to be read in parallel.
        segment: the one segment that this run reads; None for all. Totals need all segments, so a run of one segment
            leaves them out.
        rate: the most capacity units per second, reads and writes together.
        progress: called after each step of the scan with the number of items examined, and the approximate number of
            all items.
        checkpoint: a file that holds the position of the run; the same run resumes from it. It is deleted when the run
            is finished. Each process needs its own.
        dry_run: write nothing; the outcomes are plans. A dry run ignores the checkpoint.
        at_most: the most repairs of this run. A run that wants more ends before the next one, with the outcome
            ``STOPPED``; its checkpoint stays.
        foreign_attributes: attributes that other programs write. An entity with any other attribute that its class does
            not declare may have been written by a newer declaration, and is not repaired.

    Examples:
        >>> from dynaorm.integrity.run import RunOptions, backfill, repair, verify
        >>> options = RunOptions(segments=4)
        >>> list(verify(session, app, options=options))
        []
    """

    segments: int = 1
    segment: int | None = None
    rate: float | None = None
    progress: Progress | None = None
    checkpoint: Path | None = None
    dry_run: bool = False
    at_most: int | None = None
    foreign_attributes: Sequence[str] = ()


DEFAULT: Final = RunOptions()


def verify(session: Session, *named: Named, options: RunOptions = DEFAULT) -> Iterator[Finding]:
    """The findings in some tables or classes, as ``dynaorm.tools.verify``; it can be resumed, and needs little memory.

    A resumed run first yields again what was found before.

    Args:
        session: reads, and writes what is repaired.
        named: tables and classes; of a table, all its classes.
        options: see ``RunOptions``.

    Raises:
        UsageError: the list is empty; the segment does not exist; the checkpoint belongs to another run.
        Throttled, Unreachable, TableNotFound: as any read.

    Examples:
        >>> from dynaorm.integrity.run import RunOptions, backfill, repair, verify
        >>> [finding.kind for finding in verify(session, app)]
        []
    """
    with _ResumableRun("verify", session, named, options) as run:
        yield from _verified(run)


def repair(
    session: Session,
    *named: Named,
    options: RunOptions = DEFAULT,
    findings: Iterable[Finding] | None = None,
) -> Iterator[RepairResult]:
    """Repair what ``verify`` finds, as far as that needs no choice, and yield what became of each finding.

    Each repair is one transaction, which is refused if another writer changed an item that it relies on; then the item
    is judged again. So you can repair a table while writers run, and repeat a repair. A resumed run first yields again
    what was left before.

    Args:
        session: reads, and writes what is repaired.
        named: tables and classes; of a table, all its classes.
        options: see ``RunOptions``.
        findings: those of an earlier verification, of the tables or of an export. Only what they name is judged, as it
            is now. With them, a run has no segments and no checkpoint.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound: as ``verify``; finished repairs stay.
        UnexpectedRefusal: these credentials may not write.

    Examples:
        >>> from dynaorm.integrity.run import RunOptions, backfill, repair, verify
        >>> [mended.outcome for mended in repair(session, app)]
        []
    """
    with _ResumableRun("repair", session, named, options, findings=findings) as run:
        yield from _mended(run)


def backfill(session: Session, *named: Named, options: RunOptions = DEFAULT) -> Iterator[RepairResult]:
    """Complete the entities that were stored before their class declared a constraint, an index, versions or totals.

    Deploy the new class to every writer first; what they write is complete. Each older entity is completed by one
    transaction, which is refused if another writer changed the entity. A value that two entities hold is reported. A
    resumed run first yields again what was left before.

    Args:
        session: reads, and writes what is repaired.
        named: tables and classes; of a table, all its classes.
        options: see ``RunOptions``.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as ``repair``; finished repairs stay.

    Examples:
        >>> from dynaorm.integrity.run import RunOptions, backfill, repair, verify
        >>> [mended.outcome for mended in backfill(session, User)]
        []
    """
    with _ResumableRun("backfill", session, named, options) as run:
        yield from _mended(run)


def run_segment(
    verb: str, session: Session, *named: Named, options: RunOptions, used: Used | None = None
) -> Iterator[Finding | RepairResult | Fact | Uncertainty]:
    """One segment of a run that is divided, and at its end what has to be judged with all segments.

    Its checkpoint stays: the same run again reads nothing that was read, and says the same at its end.

    Args:
        verb: ``verify``, ``repair`` or ``backfill``.
        session: reads, and writes what is repaired.
        named: tables and classes; of a table, all its classes.
        options: those of the segment.
        used: called after each step with the read and write units that it used.

    Raises:
        UsageError, StoreError: as that run.
    """
    with _ResumableRun(verb, session, named, options, is_part=True) as run:
        run.keep_checkpoint()
        run.used = used
        yield from _WORKS[verb](run)
        run.tell_used()
        yield from run.facts()


def run_final(
    verb: str,
    session: Session,
    *named: Named,
    options: RunOptions,
    said: Iterable[Fact | Uncertainty],
    used: Used | None = None,
) -> Iterator[Finding | RepairResult]:
    """The end of a run that is divided: what is judged with the facts of all segments.

    Args:
        verb: ``verify``, ``repair`` or ``backfill``.
        session: reads, and writes what is repaired.
        named: tables and classes; of a table, all its classes.
        options: those of the whole run.
        said: what the segments said at their ends.
        used: called with the read and write units that were used.

    Raises:
        UsageError, StoreError: as that run.
    """
    with _ResumableRun(verb, session, named, options) as run:
        run.used = used
        run.read_elsewhere(said)
        yield from _WORKS[verb](run)
        run.tell_used()


def table_locations(
    session: Session, *named: Named, writes: bool, options: RunOptions = DEFAULT
) -> list[TableLocation]:
    """The tables that a run on some tables and classes works on, and where they are.

    Args:
        session: the session of the run.
        *named: the tables and classes.
        writes: include the tables that a repair or a backfill may write, besides those that every run reads. Those of
            them that do not exist are left out.
        options: the options of the run. They are checked before anything is read.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound: as ``verify``.
    """
    _check(session, options)
    work = _verification(session, named, options)
    found = []
    for table in work.scope.known_tables if writes else work.scope.tables:
        try:
            (described,) = session._run("repair" if writes else "verify", describe([table], session._context))
        except TableNotFound:
            if table in work.scope.tables:
                raise
            continue
        found.append(location_of(table, session._context.table_name(table.name), described))
    return found


def _verification(session: Session, named: Sequence[Named], options: RunOptions) -> Verification:
    return verification(
        named,
        session._context,
        segments=options.segments,
        segment=options.segment,
        rate=options.rate,
    )


def _verified(run: "_ResumableRun") -> Iterator[Finding]:
    yield from (finding_in(line, run.work.scope.known_tables) for line in run.reported())
    for finding in verification_findings(run.session, run.work, run.save):
        run.report(finding)
        yield finding


def _mended(run: "_ResumableRun") -> Iterator[RepairResult]:
    yield from (repair_result_in(line, run.work.scope.known_tables) for line in run.reported())
    dry_run, at_most = run.options.dry_run, run.options.at_most
    for result in repair_results(run.session, run.name, run.work, run.save, dry_run=dry_run, at_most=at_most):
        if result.outcome is Outcome.LIMIT_REACHED:
            run.keep_checkpoint()
        elif result.is_left:
            run.report(result)
        yield result


_WORKS: Final[Mapping[str, Callable[["_ResumableRun"], Iterator[Finding | RepairResult]]]] = {
    "verify": _verified,
    "repair": _mended,
    "backfill": _mended,
}


class _ResumableRun(ExitStack):
    """A run, and the checkpoint that the same run resumes from."""

    def __init__(
        self,
        name: str,
        session: Session,
        named: Sequence[Named],
        options: RunOptions,
        *,
        findings: Iterable[Finding] | None = None,
        is_part: bool = False,
    ) -> None:
        super().__init__()
        _check(session, options)
        self.options = options
        self.name = name
        self.work = _begun(name, session, named, options, findings=findings, is_part=is_part)
        self.work.scope = replace(self.work.scope, foreign_attributes=frozenset(options.foreign_attributes))
        self.session = session
        path = None if options.dry_run else options.checkpoint
        described = self._described() if path is not None or options.progress is not None else []
        self._total = _item_count(described)
        identity = _identity(name, named, options, self.work, described=described, is_part=is_part)
        with ExitStack() as opened:
            self._checkpoint = opened.enter_context(Checkpoint(path, identity))
            self._checkpoint.resume(self.work)
            self.push(opened.pop_all())  # without an error, they stay open as long as the run
        self.work.ledger = self._checkpoint
        self.used: Used | None = None
        self._told = (0.0, 0.0)
        self._show_progress()

    def _described(self) -> list[dict[str, Any]]:
        return self.session._run(self.name, describe(self.work.scope.tables, self.work.limiter.context))

    def read_elsewhere(self, said: Iterable[Fact | Uncertainty]) -> None:
        """Take over what others have learned who read the items."""
        self.work.scan_segments = []
        for one in said:
            if isinstance(one, Uncertainty):
                self._checkpoint.doubt(one)
            else:
                self._checkpoint.add(one)

    def facts(self) -> Iterator[Fact | Uncertainty]:
        """What was learned, and is not judged yet."""
        yield from self._checkpoint.facts()
        yield from self._checkpoint.doubts()

    def keep_checkpoint(self) -> None:
        """Keep the checkpoint file at the end, because the run is not finished."""
        self._checkpoint.is_finished = False

    def reported(self) -> Iterator[str]:
        """What an interrupted run has reported up to its saved position."""
        return self._checkpoint.reported()

    def report(self, found: Finding | RepairResult) -> None:
        """Remember a finding that still exists, so that a resumed run can report it again."""
        self._checkpoint.report(as_json(found, with_secrets=True))

    def save(self) -> None:
        """Save the position: what was found up to there was dealt with."""
        self._checkpoint.save(self.work)
        self._show_progress()
        self.tell_used()

    def tell_used(self) -> None:
        """Say what was used since this was last said."""
        if self.used is not None:
            read, written = self._told
            self._told = self.work.limiter.cost.read_units, self.work.limiter.written
            self.used(self._told[0] - read, self._told[1] - written)

    def _show_progress(self) -> None:
        if self.options.progress is not None:
            share = 1 if self.options.segment is None else self.options.segments
            total = None if self._total is None else self._total // share
            self.options.progress(self.work.examined, total)


def _begun(
    name: str,
    session: Session,
    named: Sequence[Named],
    options: RunOptions,
    *,
    findings: Iterable[Finding] | None,
    is_part: bool,
) -> Verification:
    context = session._context
    if findings is not None:
        if (options.segments, options.segment, options.checkpoint) != (1, None, None):
            raise UsageError(
                problem="findings= names what is judged, so there are no segments and no position to keep",
                remedy="leave the segments and the checkpoint out: what is repaired is not repaired twice",
            )
        return recheck(named, findings, context, rate=options.rate)
    begin = backfill_run if name == "backfill" else verification
    return begin(
        named,
        context,
        segments=options.segments,
        segment=options.segment,
        rate=options.rate,
        is_part=is_part,
    )


def _check(session: object, options: RunOptions) -> None:
    """Raises UsageError for what no verification checks."""
    check_kind("{}", session, Session, "a Session")
    check_kind("options={}", options, RunOptions, "a RunOptions", remedy="give RunOptions(segments=...)")
    if options.checkpoint is not None:
        check_kind("checkpoint={}", options.checkpoint, Path, "a Path")
        path_of("checkpoint={}", options.checkpoint)
    names_of("foreign_attributes={}", options.foreign_attributes)
    if options.at_most is not None:
        check_count("at_most={}", options.at_most, least=0)
    check_flag("dry_run={}", options.dry_run)
    check_progress(options.progress)


def _identity(
    name: str,
    named: Sequence[Named],
    options: RunOptions,
    work: Verification,
    *,
    described: Sequence[dict[str, Any]],
    is_part: bool,
) -> dict[str, Any]:
    """What identifies a run: only a run of which all this is the same may resume from its checkpoint."""
    return {
        "work": name,
        # A table that was deleted and created again has the same ARN and another TableId.
        "tables": [[one.get("TableArn"), one.get("TableId")] for one in described],
        "named": [one.name if isinstance(one, Table) else one.__qualname__ for one in named],
        "classes": [
            _shape(one) for table in work.scope.tables for one in catalog_of(table).mappings.values()
        ],
        "segments": [options.segments, options.segment, *(["part"] if is_part else [])],
        "foreign": sorted(options.foreign_attributes),
    }


def _item_count(described: Sequence[dict[str, Any]]) -> int | None:
    """The approximate number of items, which DynamoDB updates every six hours; None if a table has none."""
    counts = [one["ItemCount"] for one in described if one.get("ItemCount") is not None]
    return sum(counts) if len(counts) == len(described) else None


def _shape(mapping: EntityMapping) -> list[Any]:
    """What a class declares: a run with other declarations cannot resume from a checkpoint."""
    declared = (mapping.constraints, mapping.indexes, mapping.aggregates, mapping.stored)
    names = [sorted(one) for one in declared]
    return [mapping.name, mapping.versioning is not None, *names, declared_digest(mapping)]


# One stored item, or those of one partition: what is there, and what is wrong with it.


def stored_item(session: Session, table: Table, key: Item) -> Item | None:
    """The item under a primary key as it is stored, read strongly consistent; None if nothing is there.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    return session._run("verify", get_item(table, key, session._context))


def stored_partition(session: Session, table: Table, value: AttributeValue, most: int) -> list[Item]:
    """The first items of a partition as they are stored, in the order of their sort keys. Raises as ``stored_item``."""
    segment = ScanSegment(table, partition=value)

    def first_items() -> Flow[list[Item]]:
        found: list[Item] = []
        while not segment.is_over and len(found) < most:
            limiter = RateLimiter(session._context, most=most - len(found))
            (page,) = yield from read_pages([segment], limiter)
            found += page.items
            page.finish()
        return found

    return session._run("verify", first_items())


def table_pages(session: Session, table: Table, most: int) -> Iterator[ScannedPage]:
    """The first items of a table that a scan meets, page by page as you iterate. Raises as ``stored_item``."""
    segment, left = ScanSegment(table), most
    while not segment.is_over and left > 0:
        (page,) = session._run("verify", read_pages([segment], RateLimiter(session._context, most=left)))
        yield page
        left -= len(page.items)
        page.finish()


def findings_of(session: Session, table: Table, key: Item) -> Sequence[Finding] | None:
    """What ``verify`` would find of one item, except in totals. None if it changes all the time.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    return session._run("verify", judge_address(ItemAddress(table, key), session._context))
