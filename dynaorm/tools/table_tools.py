"""What operators do: compare, apply, dump, load, follow, verify, repair and backfill tables; thin out histories.

With an ``AsyncSession``, a function that is ``async`` here is awaited, and the results of another are iterated over
with ``async for``. With a ``Session``, each is an ordinary function. ``dynaorm.integrity.run`` verifies, repairs and
backfills tables that take hours: its runs can be interrupted and divided.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from dynaorm.argument import check_flag
from dynaorm.flow.windows import CONCURRENCY, Progress, check_progress
from dynaorm.late import late
from dynaorm.tools.either_session import (
    EitherSession,
    iterating,
    opened,
    returning,
    run,
    run_blocking,
    run_write,
)

if TYPE_CHECKING:
    from dynaorm.entity.key import Key
    from dynaorm.entity.table import Table
    from dynaorm.flow import application, dump_and_load, history, read, stream, tables
    from dynaorm.flow.application import Applied, ApplyPlan, OnProgress
    from dynaorm.flow.dump_and_load import DumpResult, LoadResult
    from dynaorm.flow.integrity import repair as repairs
    from dynaorm.flow.integrity import verify as verifying
    from dynaorm.flow.integrity.finding import Finding, RepairResult
    from dynaorm.flow.integrity.verify import Verification
    from dynaorm.flow.table_definition import Difference
    from dynaorm.session._async.session import AsyncSession
    from dynaorm.session.session import Session
    from dynaorm.streams.event import AnyChange, StreamChange
    from dynaorm.tools import line_file
else:
    late(
        globals(),
        application="dynaorm.flow.application",
        dump_and_load="dynaorm.flow.dump_and_load",
        history="dynaorm.flow.history",
        line_file="dynaorm.tools.line_file",
        repairs="dynaorm.flow.integrity.repair",
        stream="dynaorm.flow.stream",
        tables="dynaorm.flow.tables",
        read="dynaorm.flow.read",
        verifying="dynaorm.flow.integrity.verify",
    )

Stop: TypeAlias = Callable[[], bool]
"""A function that says whether to end."""


@returning
async def compare_table(session: EitherSession, table: Table, /) -> tuple[Difference, ...]:
    """What differs between a table's declaration and the live table: keys, indexes, projections, stream, TTL.

    The guard table is compared, too. Nothing is changed. Each difference says whether it is harmless, what to do,
    and which requests make the table as declared, if there are any.

    Raises:
        UsageError: ``table`` is no Table.
        TableNotFound: the table does not exist.

    Examples:
        >>> compare_table(session, app)
        ()
    """
    return await run(session, "compare_table", tables.compare_table(table, session._context))


@returning
async def plan_apply(session: EitherSession, table: Table, /, *, backfill: bool = True) -> ApplyPlan:
    """What ``apply`` would do with the live table as it is now. Nothing is changed.

    Raises:
        UsageError: ``table`` is no Table.
        StoreError: DynamoDB refused a request.

    Examples:
        >>> songs = Table("songs", indexes=[GlobalIndex("GSI1")])
        >>> print(plan_apply(session, songs))
        songs: there is no table 'songs': create the table 'songs'
    """
    return await run(
        session, "plan_apply", application.plan_apply(table, session._context, backfill=backfill)
    )


@returning
async def apply(
    session: EitherSession,
    table: Table,
    /,
    *,
    backfill: bool = True,
    segments: int = 1,
    rate: float | None = None,
    wait: float = 86400.0,
    progress: OnProgress | None = None,
) -> Applied:
    """Bring a live table and its guard table to their declarations, as far as nothing is removed.

    Creates a table that does not exist, adds global indexes one at a time, and switches TTL and the stream on. Where
    it adds an index or a guard table, it then completes the entities, as the function ``backfill`` does. A table that
    is as declared is not read. Each step is judged from the live table, so you can repeat an interrupted call; then
    call ``backfill``, too. What would need something to be deleted or replaced is left, with the reason.

    Deploy classes with new constraints, indexes or totals to all writers before the entities are completed: call it
    with ``backfill=False``, deploy, then call ``backfill``. See "Changing a model".

    Args:
        table: what is declared.
        backfill: complete the entities where something is added.
        segments: as for ``verify``.
        rate: as for ``verify``.
        wait: the seconds to wait at most for DynamoDB to end one change, such as filling an index.
        progress: called with an ``ApplyProgress`` when a step begins, waits for something else, or is done.

    Raises:
        UsageError: an argument is not valid; a change took longer than ``wait``.
        StoreError: DynamoDB refused a request. What was done before stays.

    Examples:
        >>> songs = Table("songs", indexes=[GlobalIndex("GSI1")])
        >>> applied = apply(session, songs)
        >>> [step.text for step in applied.steps], applied.is_complete
        (["create the table 'songs'"], True)
    """
    context = session._context
    application.check_apply(table, wait, progress, backfill)
    work = repairs.backfill_run([table], context, segments=segments, rate=rate)
    flow = application.apply_table(table, context, wait=wait, progress=progress)
    steps, is_added = await run_write(session, "apply", flow)
    left: list[RepairResult] = []
    if backfill and is_added and await run(session, "apply", application.can_backfill(table, context)):
        repaired = _repair_results(session, "apply", work, dry_run=False)
        left = [result async for result in repaired if result.is_left]
    plan = await run(session, "apply", application.plan_apply(table, context, backfill=False))
    return application.Applied(steps, plan.left, tuple(left))


@returning
async def dump(
    session: EitherSession,
    table: Table,
    target: line_file.Target,
    /,
    *,
    entities: bool = False,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
    progress: Progress | None = None,
) -> DumpResult:
    """Write every item of a table to a file, one line each, in the form of an export to S3. Memory stays flat.

    The lines are DynamoDB JSON, ``{"Item": {...}}``, in the order of the scan, each with its attributes sorted. A
    dump holds all values, secrets too. Writers may run: it is no state of the table at one moment; for that, export
    the table to S3.

    Args:
        table: what is read. Guard items in a ``guard_table`` are in that table's own dump.
        target: the path of a new file, which is compressed if it ends with ``.gz``; or an open binary file. An
            asynchronous session writes it in a thread, so that other tasks go on.
        entities: entities in readable JSON, ``{"User": {...}}``, without what belongs to them. An entity that would
            not load as itself from such a line is written as an item: one with a secret, or with attributes that
            no class knows.
        segments: the number of parts that the table is divided into, several of which are read at the same time.
        segment: only this part, from 0; other processes dump the others into files of their own.
        rate: the capacity units per second to stay below.
        progress: called as ``progress(lines, None)`` after each step.

    Raises:
        UsageError: the file exists or cannot be written; an argument is not valid.
        DecodeError: with ``entities``, an item that cannot be read, unless the session has ``on_decode_error``.
        TableNotFound: the table does not exist.
        Throttled: DynamoDB refused to answer at every attempt.
        Unreachable: no attempt had an answer.

    Examples:
        >>> import io
        >>> file = io.BytesIO()
        >>> dumped = dump(session, app, file, entities=True)
        >>> dumped.lines, dumped.left_out
        (5, {'guard': 1, 'version': 2})
    """
    work = dump_and_load.dump_of(
        table, session._context, entities=entities, segments=segments, segment=segment, rate=rate
    )
    check_progress(progress)
    async with opened(session, line_file.new_file, target) as file:
        for step in work.steps():
            await run_blocking(session, file.writelines, await run(session, "dump", step))
            if progress is not None:
                progress(work.lines, None)
    return work.result


@returning
async def load(
    session: EitherSession,
    table: Table,
    source: line_file.Source,
    /,
    *,
    raw: bool = False,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> LoadResult:
    """Load the lines of ``dump``, or of an export to S3, into a table. What is refused is in the result.

    Each entity is saved anew, with everything that belongs to it: guard items, version 1, its share in totals. So
    guard items, versions and tombstones in the lines are left out, and counted. An entity that is stored already as
    it is in its line is done, so a load can be repeated. Attributes that no class knows are kept.

    Args:
        table: what is written.
        source: the path of a file, which is compressed if it ends with ``.gz``; an open binary file; or a list of
            them, such as all files of an export. A file may also be what ``aws dynamodb scan`` prints, a file of
            ``batch-write-item``, or a JSON array of items; such a file is read into memory.
        raw: put every item exactly as it is instead, over whatever is stored under its key. Nothing is checked:
            ``verify`` the table afterwards.
        concurrency: the number of requests at a time; 8 unless given.
        progress: called as ``progress(items, None)`` after each window.

    Raises:
        UsageError: a file cannot be used, or nothing in it has a form that is known; an argument is not valid.
        TableNotFound: the table does not exist.
        Throttled: DynamoDB refused to answer at every attempt. What was stored before stays.
        Unreachable: no attempt had an answer.
        UnexpectedRefusal: the credentials do not allow the write.

    Examples:
        >>> import io
        >>> file = io.BytesIO()
        >>> dumped = dump(session, app, file)
        >>> start = file.seek(0)
        >>> loaded = load(session, app, file)
        >>> loaded.stored, loaded.present, loaded.is_complete
        (0, 5, True)
    """
    work = dump_and_load.line_load(table, session._context, raw=raw, concurrency=concurrency)
    check_progress(progress)
    async with opened(session, line_file.LoadFiles, work, source) as files:
        windows = files.windows()
        while (window := await run_blocking(session, next, windows, None)) is not None:
            await run_write(session, "load", work.load(*window))
            if progress is not None:
                progress(work.items, None)
    return work.result


@overload
def follow(
    session: Session,
    table: Table,
    /,
    *,
    after: str | None = None,
    idle: float | None = None,
    stop: Stop | None = None,
    internal: Literal[False] = False,
) -> Iterator[StreamChange]: ...
@overload
def follow(
    session: Session,
    table: Table,
    /,
    *,
    after: str | None = None,
    idle: float | None = None,
    stop: Stop | None = None,
    internal: bool,
) -> Iterator[AnyChange]: ...
@overload
def follow(
    session: AsyncSession,
    table: Table,
    /,
    *,
    after: str | None = None,
    idle: float | None = None,
    stop: Stop | None = None,
    internal: Literal[False] = False,
) -> AsyncIterator[StreamChange]: ...
@overload
def follow(
    session: AsyncSession,
    table: Table,
    /,
    *,
    after: str | None = None,
    idle: float | None = None,
    stop: Stop | None = None,
    internal: bool,
) -> AsyncIterator[AnyChange]: ...
@iterating
def follow(
    session: EitherSession,
    table: Table,
    /,
    *,
    after: str | None = None,
    idle: float | None = None,
    stop: Stop | None = None,
    internal: bool = False,
) -> AsyncGenerator[Any]:
    """Iterate over the changes of a table's entities, as its stream reports them, oldest first.

    For tests, development and small workers: one process reads all shards. The writes of each item stay in order.
    Use AWS Lambda or the Kinesis adapter for more. Every change can come again after a restart.

    Args:
        table: a table whose stream is on, see ``Table(stream=...)``.
        after: the ``checkpoint`` of the last change that you handled; None for the oldest record, which is at most
            24 hours old.
        idle: end after so many seconds without a record, 0 once every closed shard is read to its end, and every
            open one gave five answers in a row without a record. With None, go on until you leave the loop.
        stop: called before each request, about once a second; True ends the iteration.
        internal: also return an ``Internal`` for each write of an item that is no entity.

    Raises:
        UsageError: the table has no stream, or an argument is not valid.
        InvalidCursor: ``after`` is no checkpoint.
        CheckpointExpired: records after the checkpoint may be gone.
        TableNotFound: the table or its stream does not exist.
        Throttled: DynamoDB refused to answer at every attempt.
        Unreachable: no attempt had an answer.

    Examples:
        ```python
        for change in follow(session, app, idle=0):
            print(change.key, change.checkpoint)
        ```
    """
    reader = stream.StreamReader(
        stream.following(table, after, idle, stop, internal=internal), session._context
    )
    return _changes(session, reader)


async def _changes(session: EitherSession, reader: stream.StreamReader) -> AsyncGenerator[AnyChange]:
    while (page := await run(session, "follow", reader.next_page())) is not None:
        for change in reader.changes(page):
            yield change
        reader.finish(page)


@iterating
def verify(
    session: EitherSession,
    /,
    *named: Table | type[Any],
    segments: int = 1,
    rate: float | None = None,
    progress: Progress | None = None,
) -> AsyncGenerator[Finding]:
    """Check the items of tables or classes, and yield each problem as you iterate. Nothing is written.

    Reads every item once and compares it with the items that belong to it: guards, versions, index keys, totals. A
    suspicious item is read again in one transaction with its related items, so that concurrent writers cause no
    false findings. Guard items and totals are checked at the end.

    Args:
        *named: tables and classes.
        segments: the number of parts that a table is divided into, several of which are read at the same time.
        rate: the capacity units per second to stay below, for reads and writes together.
        progress: called as ``progress(examined, None)`` after each step, with the number of items read so far.

    Raises:
        UsageError: nothing is named, or something is not a table or a class; ``segments`` or ``rate`` is not
            positive.
        TableNotFound: a table does not exist.
        Throttled: DynamoDB refused to answer at every attempt.
        Unreachable: no attempt had an answer.

    Examples:
        >>> [finding.kind for finding in verify(session, User, Ticket)]
        []
    """
    work = verifying.verification(named, session._context, segments=segments, rate=rate)
    return _findings(session, work, _reporting(work, progress))


@iterating
def repair(
    session: EitherSession,
    /,
    *named: Table | type[Any],
    segments: int = 1,
    rate: float | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    findings: Iterable[Finding] | None = None,
) -> AsyncGenerator[RepairResult]:
    """Correct the problems that ``verify`` finds and that have only one solution; yield the result for each.

    Each repair is one transaction. If a related item changed since it was read, the transaction is refused and the
    item is checked again. You can repair a table while others write to it, and repeat or interrupt a repair.

    Args:
        *named: tables and classes.
        segments: as for ``verify``.
        rate: as for ``verify``.
        dry_run: write nothing; each ``RepairResult`` has its plan.
        progress: as for ``verify``.
        findings: those of an earlier ``verify``, or of ``verify_export``. Only what they name is judged, as it is
            now: a finding that is no longer so is ``GONE``. Then ``segments`` is 1.

    Raises:
        UnexpectedRefusal: the credentials do not allow the write.
        DynaormError: as for ``verify``.

    Examples:
        >>> [result.outcome for result in repair(session, app, dry_run=True)]
        []
    """
    check_flag("dry_run={}", dry_run)
    if findings is None:
        work = verifying.verification(named, session._context, segments=segments, rate=rate)
    else:
        work = verifying.recheck(named, findings, session._context, rate=rate)
    return _repair_results(session, "repair", work, _reporting(work, progress), dry_run=dry_run)


@iterating
def backfill(
    session: EitherSession,
    /,
    *named: Table | type[Any],
    segments: int = 1,
    rate: float | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> AsyncGenerator[RepairResult]:
    """Complete entities that were stored before their class declared a constraint, an index, versions or totals.

    Deploy the new class to all writers first. Each incomplete entity is completed by one transaction, which is
    refused if the entity changed since it was read. A unique value that two entities hold is reported and not
    changed.

    Args:
        *named: tables and classes.
        segments: as for ``verify``.
        rate: as for ``verify``.
        dry_run: as for ``repair``.
        progress: as for ``verify``.

    Raises:
        UnexpectedRefusal: the credentials do not allow the write.
        DynaormError: as for ``verify``.

    Examples:
        >>> [result.outcome for result in backfill(session, User)]
        []
    """
    check_flag("dry_run={}", dry_run)
    work = repairs.backfill_run(named, session._context, segments=segments, rate=rate)
    return _repair_results(session, "backfill", work, _reporting(work, progress), dry_run=dry_run)


@returning
async def prune(
    session: EitherSession,
    target: Key[Any] | Any,
    /,
    *,
    keep: int | None = None,
    older_than: datetime | None = None,
) -> int:
    """Delete old versions of an entity, and return how many were deleted.

    The newest version always stays. An interrupted call can be repeated. Give ``keep`` or ``older_than``.

    Args:
        target: an entity, or its ``Key``.
        keep: delete all versions but the newest so many.
        older_than: delete the versions from before this time.

    Raises:
        UsageError: not exactly one of ``keep`` and ``older_than`` is given.
        EntityNotFound: the entity was never stored.

    Examples:
        >>> prune(session, Key(Audit, equipment_id="e1"), keep=1)
        1
    """
    target = read.target_of(target)
    return await run_write(
        session, "prune", history.prune(target, session._context, keep=keep, older_than=older_than)
    )


@returning
async def purge(session: EitherSession, target: Key[Any] | Any, /) -> int:
    """Delete the versions of a deleted entity, then its tombstone; return how many versions were deleted.

    An interrupted call can be repeated.

    Args:
        target: the ``Key`` of the entity, or the deleted object.

    Raises:
        UsageError: the entity is not deleted.
        EntityNotFound: nothing is stored of the entity.

    Examples:
        >>> session.delete(Key(Audit, equipment_id="e1"))
        >>> purge(session, Key(Audit, equipment_id="e1"))
        2
    """
    return await run_write(session, "purge", history.purge(read.target_of(target), session._context))


async def _findings(
    session: EitherSession, work: Verification, report: Callable[[], object]
) -> AsyncGenerator[Finding]:
    for step in work.steps(report):
        for diagnosis in await run(session, "verify", step):
            yield diagnosis.finding


async def _repair_results(
    session: EitherSession,
    tool: str,
    work: Verification,
    report: Callable[[], object] = bool,
    *,
    dry_run: bool,
    at_most: int | None = None,
) -> AsyncGenerator[RepairResult]:
    made = 0
    for step in work.steps(report):
        allowed, refused = repairs.within_limit(await run(session, tool, step), made, at_most)
        for flow in repairs.repair_flows(allowed, work, dry_run=dry_run):
            for result in await run_write(session, tool, flow):
                yield result
        if refused is not None:
            yield refused
            return
        made += sum(bool(one.actions) for one in allowed)
    for result in work.rest():
        yield result


verification_findings = iterating(_findings)
"""What a verification finds. It calls ``report`` when the findings of some pages were dealt with."""
repair_results = iterating(_repair_results)
"""What becomes of the findings of a verification, of which at most so many are repaired; otherwise the same."""


def _reporting(work: Verification, progress: Progress | None) -> Callable[[], object]:
    check_progress(progress)
    # ``bool()`` does nothing.
    return bool if progress is None else lambda: progress(work.examined, None)
