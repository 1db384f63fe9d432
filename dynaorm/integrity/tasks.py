"""Divide a verification, a repair or a backfill of live tables into tasks, which any engine can map over.

Rule 1. A task is a segment, as plain values that can be pickled. It can be run again at any time, and goes on where its
        checkpoint is.
Rule 2. Tasks say what they found, and at their ends the facts that only all segments together can be judged by.
        ``finish_tasks`` judges them. So totals are included, and nothing is found twice.
Rule 3. The tasks that run at the same time share the rate.
"""

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from importlib import import_module
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, TypeAlias

from dynaorm.argument import (
    all_of,
    check_amount,
    check_count,
    check_function,
    check_plain_function,
    names_of,
)
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import counted, shown
from dynaorm.flow.integrity.finding import Fact, Finding, RepairResult, Uncertainty
from dynaorm.flow.integrity.reads import FASTEST
from dynaorm.flow.windows import Progress, check_progress
from dynaorm.integrity.keyed import (
    FactKind,
    KeyedScope,
    ShuffleRecord,
    finding_of,
    keyed,
    modules_of,
    name_of,
    records_of,
    target_named,
)
from dynaorm.integrity.run import RunOptions, Used, run_final, run_segment
from dynaorm.record import record, replace
from dynaorm.session.session import Session
from dynaorm.tools.line_file import path_of

__all__ = ["SegmentTask", "findings_in", "finish_tasks", "run_tasks", "segment_tasks"]

Verb: TypeAlias = Literal["verify", "repair", "backfill"]
_VERBS: Final = ("verify", "repair", "backfill")


@record
class SegmentTask:
    """One segment of a run on live tables, for any process on any machine.

    Attributes:
        verb: ``verify``, ``repair`` or ``backfill``.
        targets: the tables and classes, each as ``module:Name``.
        session: makes the session in the process that runs the task.
        segment: the number of the segment, from 0.
        segments: into how many segments each table is divided.
        rate: the share of this task in the capacity units per second; None for no limit.
        whole_rate: the capacity units per second of all tasks.
        checkpoint: the file that holds the position of this task; None starts again from the beginning.
        foreign_attributes: attributes that other programs write.
        modules: the modules that declare further classes of the tables.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import findings_in, finish_tasks, segment_tasks


        def open_session() -> Session:
            return Session(region="eu-west-1")


        def main() -> None:
            tasks = segment_tasks("backfill", "shop.models:app", session=open_session, segments=16)
            facts = [fact for task in tasks for fact in task.run()]  # an engine does this on many machines
            for result in [*findings_in(tasks, facts), *finish_tasks(tasks, facts)]:
                print(result)
        ```
    """

    verb: Verb
    targets: tuple[str, ...]
    session: Callable[[], Session]
    segment: int
    segments: int
    rate: float | None = None
    whole_rate: float | None = None
    checkpoint: str | None = None
    foreign_attributes: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def run(self, progress: Progress | None = None, used: Used | None = None) -> Iterator[ShuffleRecord]:
        """Do the task, and say what came of it.

        What was found is among the facts: ``findings_in`` reads it. The others are for ``finish_tasks``. A task that
        runs again says again what was left, and not what was repaired.

        Args:
            progress: called after each step with the number of items examined, and the approximate number of all.
            used: called after each step with the read and write units that it used.

        Raises:
            UsageError: a target cannot be found in this process, or the checkpoint is that of another run.
            Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as ``verify`` and ``repair``.

        Examples:
            ```python
            from dynaorm import Session
            from dynaorm.integrity.tasks import segment_tasks


            def main() -> None:
                for task in segment_tasks("verify", "shop.models:app", session=Session, segments=4):
                    print(list(task.run(progress=print)))
            ```
        """
        checkpoint = None if self.checkpoint is None else Path(self.checkpoint)
        options = RunOptions(
            segments=self.segments,
            segment=self.segment,
            rate=self.rate,
            progress=progress,
            checkpoint=checkpoint,
            foreign_attributes=self.foreign_attributes,
        )
        with self.session() as session:
            for one in run_segment(self.verb, session, *self.named(), options=options, used=used):
                yield keyed(one)

    @property
    def declared(self) -> KeyedScope:
        """What the task verifies, with its classes loaded."""
        return KeyedScope(self.targets, 0.0, modules=self.modules)

    def named(self) -> list[Table | type[Any]]:
        """The tables and classes in this process. Raises UsageError.

        Examples:
            ```python
            from dynaorm import Session
            from dynaorm.integrity.tasks import segment_tasks


            def main() -> None:
                (task,) = segment_tasks("verify", "shop.models:app", session=Session, segments=1)
                print(task.named())
            ```
        """
        for module in self.modules:
            import_module(module)
        return [target_named(one) for one in self.targets]


def checked_tasks(tasks: object) -> list[SegmentTask]:
    """The tasks of a run. Raise UsageError for anything else, and for none."""
    remedy = "make them with segment_tasks()"
    found = all_of("tasks={}", tasks, SegmentTask, "a SegmentTask", remedy=remedy)
    if not found:
        raise UsageError(problem="there is no task to run", remedy=remedy)
    return found


def check_used(used: object) -> None:
    """Raise UsageError for what cannot be called after a step, which would be too late."""
    if used is not None:
        check_plain_function("used={}", used, takes=2)


def _checked_facts(facts: Iterable[object]) -> Iterator[ShuffleRecord]:
    """The facts of an iterable, one by one. Raise UsageError for anything else."""
    remedy = "give what task.run() yields"
    if not isinstance(facts, Iterable):
        raise UsageError(problem=f"facts={shown(facts)} cannot be iterated", remedy=remedy)
    for one in facts:
        if not isinstance(one, ShuffleRecord):
            raise UsageError(problem=f"{shown(one)} is no fact of a task", remedy=remedy)
        yield one


def segment_tasks(
    verb: Verb,
    /,
    *targets: Table | type[Any] | str,
    session: Callable[[], Session],
    segments: int,
    at_once: int | None = None,
    rate: float | None = None,
    checkpoint: str | Path | None = None,
    foreign_attributes: Iterable[str] = (),
) -> list[SegmentTask]:
    """The tasks of a run. Each entity is repaired or completed as by that run in one process.

    Args:
        verb: ``verify``, ``repair`` or ``backfill``.
        *targets: tables and classes, as objects or as ``module:Name``.
        session: makes a session in the process of each task, such as a function of a module.
        segments: into how many segments each table is divided.
        at_once: how many tasks run at the same time; None for all.
        rate: the most capacity units per second, of all tasks together.
        checkpoint: the beginning of the names of the tasks' checkpoint files, in a folder that every machine has, so
            that a task which was killed can go on anywhere. None for none: then it starts again, which does no harm.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Raises:
        UsageError: there is no such verb; the list is empty; other processes cannot find a target.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import segment_tasks


        def main() -> None:
            tasks = segment_tasks(
                "verify", "shop.models:app", session=Session, segments=8, at_once=2, rate=100
            )
            print(len(tasks), tasks[0].rate)  # 8 50.0
        ```
    """
    _check_begin(verb, targets)
    check_count("segments={}", segments, most=1_000_000)
    if at_once is not None:
        check_count("at_once={}", at_once)
    if rate is not None:
        check_amount("rate={}", rate, most=FASTEST)
    check_function("session={}", session, takes=0)
    foreign = names_of("foreign_attributes={}", foreign_attributes)
    if checkpoint is not None:
        path_of("checkpoint={}", checkpoint)
    names = tuple(map(name_of, targets))
    modules = modules_of(KeyedScope(names, 0.0).tables.values())
    share = None if rate is None else rate / min(segments, at_once or segments)
    return [
        SegmentTask(
            verb,
            names,
            session,
            segment,
            segments,
            rate=share,
            whole_rate=rate,
            checkpoint=None if checkpoint is None else f"{checkpoint}.{segment}",
            foreign_attributes=foreign,
            modules=modules,
        )
        for segment in range(segments)
    ]


def _check_begin(verb: object, targets: tuple[object, ...]) -> None:
    if not isinstance(verb, str) or verb not in _VERBS:
        raise UsageError(problem=f"no run is called {shown(verb)}", remedy=f"give one of {', '.join(_VERBS)}")
    if not targets:
        raise UsageError(problem="nothing was named", remedy="name tables, entity classes, or both")


def findings_in(
    tasks: Sequence[SegmentTask], facts: Iterable[ShuffleRecord]
) -> Iterator[Finding | RepairResult]:
    """The findings among some facts, or what became of them.

    Args:
        tasks: the tasks of the run.
        facts: what they said.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import findings_in, segment_tasks


        def main() -> None:
            tasks = segment_tasks("repair", "shop.models:app", session=Session, segments=4)
            for task in tasks:
                for result in findings_in(tasks, task.run()):
                    print(result)
        ```
    """
    declared = checked_tasks(tasks)[0].declared
    return (finding_of(one, declared) for one in _checked_facts(facts) if one.kind == FactKind.FINDING)


def finish_tasks(
    tasks: Sequence[SegmentTask], facts: Iterable[ShuffleRecord], *, used: Used | None = None
) -> Iterator[Finding | RepairResult]:
    """Judge, and repair, what only all segments together tell, when all tasks have come to their ends.

    Then the checkpoint files are deleted, as far as this machine has them.

    Args:
        tasks: all tasks of the run.
        facts: what they said, each task once. Those that are findings are left out.
        used: called with the read and write units that were used.

    Raises:
        UsageError, Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as that run.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import finish_tasks, segment_tasks


        def main() -> None:
            tasks = segment_tasks("repair", "shop.models:app", session=Session, segments=4)
            for result in finish_tasks(tasks, (fact for task in tasks for fact in task.run())):
                print(result)
        ```
    """
    tasks = checked_tasks(tasks)
    check_used(used)
    first = tasks[0]
    options = RunOptions(
        segments=first.segments, rate=first.whole_rate, foreign_attributes=first.foreign_attributes
    )
    named = first.named()
    with first.session() as session:
        said = _said(facts, first.declared)
        yield from run_final(first.verb, session, *named, options=options, said=said, used=used)
    for task in tasks:
        if task.checkpoint is not None:
            Path(task.checkpoint).unlink(missing_ok=True)


def _said(facts: Iterable[ShuffleRecord], declared: KeyedScope) -> Iterator[Fact | Uncertainty]:
    for fact in _checked_facts(facts):
        if fact.kind != FactKind.FINDING:
            yield records_of(fact, declared)


# Run the tasks of a divided run in processes of this machine, and judge here what all of them together tell.
#
# Rule 1. A process that was killed is started again, and goes on where its checkpoint is. What it said is said once.
# Rule 2. The facts of a process count when it has come to its end: half of a sum would be a wrong sum.
# Rule 3. A process ends when the one that started it is gone.


_MOST_ENDS: Final = 3
"""How often in a row a process may end before it has read another page."""

# A copy of this process would share its threads' locks.
_NEW: Final = multiprocessing.get_context("spawn")


def run_tasks(
    tasks: Sequence[SegmentTask],
    /,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    used: Used | None = None,
) -> Iterator[Finding | RepairResult]:
    """Run the tasks of ``segment_tasks`` in processes of this machine, to the end of the whole run.

    Args:
        tasks: all tasks of the run.
        processes: how many tasks run at the same time; None for one per processor.
        progress: called with the number of items examined by all processes, and about how many there are.
        used: called with the read and write units that a process has used since it last said so.

    Raises:
        UsageError: there is no task; a process ended again and again.
        Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as the run in one process; finished repairs stay.

    Examples:
        ```python
        from dynaorm import Session
        from dynaorm.integrity.tasks import run_tasks, segment_tasks


        def open_session() -> Session:
            return Session(region="eu-west-1")


        def main() -> None:
            tasks = segment_tasks(
                "backfill", "shop.models:app", session=open_session, segments=32, at_once=4, rate=400
            )
            for result in run_tasks(tasks, processes=4):
                print(result)
        ```
    """
    count = os.cpu_count() or 1 if processes is None else processes
    check_count("processes={}", count)
    check_progress(progress)
    check_used(used)
    return _ran(checked_tasks(tasks), count, progress or _nothing, used or _nothing)


def _nothing(*_: object) -> None:
    """Nobody wants to know."""


def _ran(
    tasks: list[SegmentTask], count: int, progress: Progress, used: Used
) -> Iterator[Finding | RepairResult]:
    with ExitStack() as opened:
        folder = opened.enter_context(TemporaryDirectory(prefix="dynaorm-"))
        tasks = [
            one if one.checkpoint is not None else replace(one, checkpoint=str(Path(folder, str(number))))
            for number, one in enumerate(tasks)
        ]
        pool = opened.enter_context(_Pool(tasks, count))
        for kind, said in pool.said():
            if kind == "found":
                yield said
            elif kind == "used":
                used(*said)
            else:
                progress(*said)
        yield from finish_tasks(tasks, pool.facts(), used=used)


class _Pool(ExitStack):
    """Processes that do tasks, so many at a time, and the facts of those that have come to their end."""

    def __init__(self, tasks: Sequence[SegmentTask], count: int) -> None:
        super().__init__()
        self._tasks = tasks
        self._count = count
        self._store = self.enter_context(closing(_Store()))
        self._running: dict[Connection, _Process] = {}
        self._examined: dict[int, tuple[int, int | None]] = {}
        self.callback(self._stop)

    def said(self) -> Iterator[tuple[str, Any]]:
        """What the processes say, until all tasks are done."""
        left = iter(self._tasks)
        while True:
            for task in islice(left, self._count - len(self._running)):
                self._add(_Process(task, self._store))
            if not self._running:
                return
            for connection in wait(list(self._running)):
                assert isinstance(connection, Connection)
                one = self._running[connection]
                for kind, said in one.said():
                    yield (kind, said) if kind != "progress" else (kind, self._sum(one, said))
                del self._running[connection]
                if one.is_over:
                    one.stop()
                else:
                    self._add(one)

    def _add(self, one: "_Process") -> None:
        self._running[one.connection] = one

    def _sum(self, one: "_Process", said: tuple[int, int | None]) -> tuple[int, int | None]:
        self._examined[one.task.segment] = said
        totals = [total for _, total in self._examined.values() if total is not None]
        done = sum(done for done, _ in self._examined.values())
        return done, max(totals) * len(self._tasks) if totals else None

    def facts(self) -> Iterator[ShuffleRecord]:
        """The facts of all tasks."""
        return self._store.facts()

    def _stop(self) -> None:
        for one in self._running.values():
            one.stop()


class _Process:
    """A process that does one task, and another one in its place if it is killed."""

    def __init__(self, task: SegmentTask, store: "_Store") -> None:
        self.task = task
        self.is_over = False
        self._store = store
        self._ends = 0
        self._start()

    def _start(self) -> None:
        self.connection, theirs = _NEW.Pipe(duplex=False)
        self._process = _NEW.Process(target=_work, args=(self.task, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def said(self) -> Iterator[tuple[str, Any]]:
        """What the process says now. Raises the error that ended it."""
        try:
            kind, said = self.connection.recv()
        except (EOFError, OSError):
            self._start_again()
            return
        if kind == "failed":
            raise said
        if kind == "over":
            self.is_over = True
        elif kind == "fact":
            is_new = self._store.add(self.task.segment, said)
            if said.kind == FactKind.FINDING:
                found = finding_of(said, self.task.declared)
                is_done = isinstance(found, RepairResult) and not found.is_left
                # A process that was killed has told what is left.
                if is_done or is_new:
                    yield "found", found
        else:
            self._ends = 0
            yield kind, said

    def _start_again(self) -> None:
        self._process.join()
        self._ends += 1
        if self._ends >= _MOST_ENDS:
            raise UsageError(
                problem=f"the process of segment {self.task.segment} of {self.task.segments} ended "
                f"{counted(self._ends, 'time')} before it had read a page (exit code {self._process.exitcode})",
                remedy="take fewer processes if memory is short, and run it again: it goes on with its checkpoint",
            )
        self.connection.close()
        self._store.forget_facts(self.task.segment)
        self._start()

    def stop(self) -> None:
        """End the process, if it still runs."""
        if not self.is_over:
            self._process.terminate()
        self._process.join()
        self.connection.close()


class _Store:
    """What the tasks have said, in a temporary file: there may be a finding for each item.

    Findings are compared as they are, because a finding that was taken for another one would be lost.
    """

    def __init__(self) -> None:
        # SQLite makes a temporary file for an empty name. The transaction never ends, so nothing is synchronized.
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.execute(
            "CREATE TABLE said (task INTEGER, kind TEXT, key TEXT, text TEXT, UNIQUE (task, kind, key, text))"
        )
        self._file.execute("BEGIN")

    def add(self, task: int, fact: ShuffleRecord) -> bool:
        """Keep a fact of a task. Whether it was new."""
        return (
            self._file.execute("INSERT OR IGNORE INTO said VALUES (?, ?, ?, ?)", (task, *fact)).rowcount == 1
        )

    def forget_facts(self, task: int) -> None:
        """Forget what a task has said, but for its findings."""
        self._file.execute("DELETE FROM said WHERE task = ? AND kind <> ?", (task, FactKind.FINDING))

    def facts(self) -> Iterator[ShuffleRecord]:
        """The facts that are no findings."""
        rows = self._file.execute("SELECT kind, key, text FROM said WHERE kind <> ?", (FactKind.FINDING,))
        return map(ShuffleRecord._make, rows)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


# -- in the processes --------------------------------------------------------------------------------------------------


def _work(task: SegmentTask, connection: Connection) -> None:
    """Do a task, and say what comes of it."""
    # The one that started this process is interrupted, too, and ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    try:
        for fact in task.run(
            progress=lambda done, total: connection.send(("progress", (done, total))),
            used=lambda read, written: connection.send(("used", (read, written))),
        ):
            connection.send(("fact", fact))
        connection.send(("over", None))
    except Exception as failure:  # noqa: BLE001 - whatever it is, it is raised where somebody waits
        _tell(failure, connection)


def _tell(failure: Exception, connection: Connection) -> None:
    with suppress(OSError):  # nobody is there any more
        try:
            connection.send(("failed", failure))
        except Exception:  # noqa: BLE001 - an error of another library that cannot be sent
            connection.send(("failed", RuntimeError(f"{type(failure).__name__}: {failure}")))


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it is gone: nobody wants what it does."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(2)
