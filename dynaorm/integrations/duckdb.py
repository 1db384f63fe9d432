"""Verify an export with DuckDB: a table of any size on one machine, without a request to DynamoDB.

Needs the extra ``dynaorm[duckdb]``. Python processes judge the items, and DuckDB groups the facts: what does not fit
into its memory lies in a temporary folder.
"""

import csv
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import Any, Final

import duckdb

from dynaorm.argument import check_count
from dynaorm.entity.table import Table
from dynaorm.flow.integrity.finding import Finding
from dynaorm.integrity.exported import ExportFile
from dynaorm.integrity.keyed import FactKind, KeyedFact, KeyedScope
from dynaorm.integrity.keyed_export import Sources, mapped, reduced, sources_of
from dynaorm.integrity.report import finding_in

__all__ = ["verify_export"]

_ROWS: Final = 4000
"""How many rows a process gets at a time, if one key has no more."""

# An item of 400 KB whose every character is escaped, twice.
_LONGEST_LINE: Final = 8_000_000

_FROM_FILE: Final = (
    "SELECT * FROM read_csv(?, columns = {'key': 'VARCHAR', 'text': 'VARCHAR'}, auto_detect = false, "
    "header = false, delim = '\t', quote = '\"', escape = '\"', nullstr = '\x01', max_line_size = ?)"
)

# An answer, or a fact: how a process sees the rows of one key.
_Row = tuple[Any, ...]


def verify_export(
    path: str | Mapping[str, str],
    /,
    *targets: Table | type[Any] | str,
    workers: int | None = None,
    memory_limit: str = "1GB",
    temp_directory: str | None = None,
    now: float | None = None,
    foreign_attributes: Iterable[str] = (),
) -> Iterator[Finding]:
    """The findings in a full export, as ``session.verify`` would have found them at its moment.

    Args:
        path: the folder of the export, or the folders by the names of their tables, if several belong together.
        *targets: tables and classes, as objects or as ``module:Name``.
        workers: how many processes judge items; None for one per processor. 1 starts none.
        memory_limit: the most memory that DuckDB uses, such as ``"4GB"``.
        temp_directory: the folder for what does not fit into memory; it needs about six times the size of the export.
            None for that of the system.
        now: what has expired by then is absent, in seconds since the Unix epoch; None for the time of the export.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Raises:
        UsageError: it is no full export; a table is missing; other processes cannot find a target.

    Examples:
        ```python
        from dynaorm.integrations.duckdb import verify_export


        def main() -> None:
            for finding in verify_export("export", "shop.models:app", memory_limit="4GB"):
                print(finding)
        ```
    """
    count = os.cpu_count() or 1 if workers is None else workers
    check_count("workers={}", count)
    sources = sources_of(path, targets, now, foreign_attributes)
    return _verified(sources, count, memory_limit, temp_directory)


def _verified(
    sources: Sources, workers: int, memory_limit: str, temp_directory: str | None
) -> Iterator[Finding]:
    with _Shuffle(workers, memory_limit, temp_directory) as job:
        declared = sources.declared
        job.collect(_mapped, ((file, table, declared) for table, file in sources.files))
        job.answer(declared)
        declared = sources.with_doubts(job.doubts())
        job.reduce("SELECT key, text FROM concerns ORDER BY key", declared)
        job.answer(declared)
        yield from job.findings()


class _Shuffle(ExitStack):
    """A database in a temporary folder, and the processes that judge what it groups."""

    def __init__(self, workers: int, memory_limit: str, temp_directory: str | None) -> None:
        super().__init__()
        self._workers = workers
        with ExitStack() as opened:
            self._folder = opened.enter_context(TemporaryDirectory(prefix="dynaorm-", dir=temp_directory))
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": memory_limit,
                "temp_directory": f"{self._folder}/spilled",
                "threads": str(workers),
                "preserve_insertion_order": "false",
            }
            self._base = opened.enter_context(duckdb.connect(f"{self._folder}/facts.duckdb", config=config))
            self._pool = opened.enter_context(_executor(workers))
            self.push(opened.pop_all())
        for kind in FactKind:
            self._base.execute(f"CREATE TABLE {kind} (key VARCHAR, text VARCHAR)")

    def collect(self, work: Callable[..., dict[str, str]], tasks: Iterable[tuple[Any, ...]]) -> None:
        """Let the processes do some tasks, and take over the facts that they write."""
        left, running = iter(tasks), set[Future[dict[str, str]]]()
        while True:
            for task in islice(left, 2 * self._workers - len(running)):
                running.add(self._pool.submit(work, *task, self._folder))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                self._load(one.result())

    def _load(self, files: Mapping[str, str]) -> None:
        for kind, path in files.items():
            self._base.execute(f"INSERT INTO {kind} {_FROM_FILE}", [path, _LONGEST_LINE])
            Path(path).unlink()

    def answer(self, declared: KeyedScope) -> None:
        """Answer what is asked, until nothing is asked any more."""
        while self._base.execute("SELECT 1 FROM asked LIMIT 1").fetchone():
            self._base.execute("DROP TABLE IF EXISTS asking")
            self._base.execute("ALTER TABLE asked RENAME TO asking")
            self._base.execute("CREATE TABLE asked (key VARCHAR, text VARCHAR)")
            query = (
                "SELECT asking.key, asking.text, stored.text FROM asking "
                "LEFT JOIN stored ON stored.key = asking.text ORDER BY asking.key"
            )
            self.reduce(query, declared)

    def reduce(self, query: str, declared: KeyedScope) -> None:
        """Give the processes the rows of a query, all rows of one key together."""
        rows = self._base.cursor().execute(query)
        self.collect(_reduced, ((some, declared) for some in _groups(iter(rows.fetchone, None))))

    def doubts(self) -> list[tuple[str, str]]:
        """One reason for each class whose sums are doubtful."""
        return self._base.execute("SELECT key, min(text) FROM doubt GROUP BY key ORDER BY key").fetchall()

    def findings(self) -> Iterator[Finding]:
        """Everything that was found, in the order of the keys."""
        rows = self._base.execute("SELECT text FROM finding ORDER BY key, text")
        while row := rows.fetchone():
            yield finding_in(row[0])


def _groups(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    """Rows that are ordered by their first column, some keys at a time."""
    some: list[_Row] = []
    for row in rows:
        if len(some) >= _ROWS and row[0] != some[-1][0]:
            yield some
            some = []
        some.append(row)
    if some:
        yield some


class _Here(Executor):
    """Does the work at once, in this process."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


def _executor(workers: int) -> Executor:
    # A copy of this process would share its threads' locks.
    return _Here() if workers == 1 else ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


# -- in the processes --------------------------------------------------------------------------------------------------


def _mapped(file: ExportFile, table: str, scope: KeyedScope, folder: str) -> dict[str, str]:
    """The files of the facts that the items of a data file give."""
    return _written(mapped(file, table, scope), folder)


def _reduced(rows: list[_Row], scope: KeyedScope, folder: str) -> dict[str, str]:
    """The files of the facts that follow from rows, all rows of a key together."""
    return _written(reduced(rows, scope), folder)


def _written(facts: Iterable[KeyedFact], folder: str) -> dict[str, str]:
    """Files of facts, one for each kind of fact."""
    paths: dict[str, str] = {}
    writers: dict[str, Any] = {}
    with ExitStack() as files:
        for fact in facts:
            kind = str(fact.kind)
            if kind not in writers:
                opened, paths[kind] = mkstemp(prefix=kind, dir=folder)
                file = files.enter_context(os.fdopen(opened, "w", encoding="utf-8", newline=""))
                writers[kind] = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
            writers[kind].writerow((fact.key, fact.text))
    return paths
