"""Run the tasks of a divided run in processes of this machine, and judge here what all of them together tell.

Rule 1. A process that was killed is started again, and goes on where its checkpoint is. What it said is said once.
Rule 2. The facts of a process count when it has come to its end: half of a sum would be a wrong sum.
Rule 3. A process ends when the one that started it is gone.
"""

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from dynaorm.argument import check_count
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.finding import Finding, RepairResult
from dynaorm.flow.windows import Progress, check_progress
from dynaorm.integrity.keyed import FactKind, ShuffleRecord, finding_of
from dynaorm.integrity.run import Used
from dynaorm.integrity.tasks import SegmentTask, check_used, checked_tasks, finish_tasks
from dynaorm.record import replace

__all__ = ["run_tasks"]

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
        from dynaorm.integrity.processes import run_tasks
        from dynaorm.integrity.run import Used
        from dynaorm.integrity.tasks import segment_tasks


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
