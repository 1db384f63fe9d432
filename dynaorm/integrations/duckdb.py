"""Verify an export with DuckDB: a table of any size on one machine, without a request to DynamoDB.

Needs the extra ``dynaorm[duckdb]``. Python processes judge the items, and DuckDB joins the facts: what does not fit
into its memory lies in a temporary folder.

Rule 1. The items themselves lie in files, and DuckDB has only their places. It joins thousands of rows at a time,
        whatever its limit, and items of some kilobytes would not fit.
Rule 2. Rows are grouped by files, not sorted by DuckDB: its sort needs the more memory the more rows there are.
Rule 3. Nothing is inserted while the rows of a query are read, because both would share the limit.
"""

import csv
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, mkstemp
from typing import IO, Any, Final
from zlib import crc32

import duckdb

from dynaorm.argument import check_count, check_kind
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.finding import Finding
from dynaorm.integrity.exported import ExportFile
from dynaorm.integrity.keyed import FactKind, KeyedScope, ShuffleRecord
from dynaorm.integrity.keyed_export import Sources, mapped, reduced, sources_of
from dynaorm.integrity.processes import end_with_parent
from dynaorm.integrity.report import finding_in
from dynaorm.tools.line_file import path_of

__all__ = ["verify_export"]

_PARTS: Final = 64
"""Into how many files rows are divided by their keys, and each file again that is too large."""

_LARGEST_PART: Final = 8_000_000
"""The most bytes of rows that a process groups in its memory, if one key has no more."""

# Each level takes other bits of the same number, which has 32.
_LEVELS: Final = 5

_SORTED: Final = 20_000
"""How many findings are sorted in memory."""

# What several entities hold, with the longest keys there can be, whose every character is escaped, twice.
_LONGEST_LINE: Final = 8_000_000

# By default DuckDB would take a buffer for 16 of the longest lines.
_FROM_FILE: Final = (
    "SELECT * FROM read_csv(?, columns = {'key': 'VARCHAR', 'text': 'VARCHAR'}, auto_detect = false, "
    "header = false, delim = '\t', quote = '\"', escape = '\"', nullstr = '\x01', "
    "max_line_size = ?, buffer_size = ?)"
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
    """The findings in a full export, as ``dynaorm.tools.verify`` would have found them at its moment.

    Args:
        path: the folder of the export, or the folders by the names of their tables, if several belong together.
        *targets: tables and classes, as objects or as ``module:Name``.
        workers: how many processes judge items; None for one per processor. 1 starts none.
        memory_limit: the most memory that DuckDB uses, such as ``"4GB"``.
        temp_directory: the folder for what does not fit into memory; it needs about four times the size of the
            unpacked export. None for that of the system.
        now: what has expired by then is absent, in seconds since the Unix epoch; None for the time of the export.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Raises:
        UsageError: it is no full export; a table is missing; other processes cannot find a target; the memory is too
            little for DuckDB.

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
    check_kind("memory_limit={}", memory_limit, str, "a str", remedy='give a size, such as "4GB"')
    if temp_directory is not None:
        path_of("temp_directory={}", temp_directory)
    sources = sources_of(path, targets, now, foreign_attributes)
    return _within(memory_limit, _verified(sources, count, memory_limit, temp_directory))


def _within(memory_limit: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """Some findings. Raises UsageError if the limit is too low to find them."""
    try:
        yield from found
    except duckdb.OutOfMemoryException as problem:
        raise UsageError(
            problem=f"{memory_limit} of memory are too little for DuckDB ({str(problem).splitlines()[0]})",
            remedy="give it more (memory_limit=, --memory), or fewer workers",
        ) from problem


def _verified(
    sources: Sources, workers: int, memory_limit: str, temp_directory: str | None
) -> Iterator[Finding]:
    with _Shuffle(workers, memory_limit, temp_directory) as job:
        declared = sources.declared
        job.collect(_mapped, ((file, table, declared) for table, file in sources.files))
        job.answer(declared)
        declared = sources.with_doubts(job.doubts())
        job.reduce("SELECT key, text FROM concerns", declared)
        job.answer(declared)
        yield from job.findings(declared.tables.values())


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
            self._base.execute(f"INSERT INTO {kind} {_FROM_FILE}", [path, _LONGEST_LINE, 2 * _LONGEST_LINE])
            Path(path).unlink()

    def answer(self, declared: KeyedScope) -> None:
        """Answer what is asked, until nothing is asked any more."""
        while self._base.execute("SELECT 1 FROM asked LIMIT 1").fetchone():
            self._base.execute("DROP TABLE IF EXISTS asking")
            self._base.execute("ALTER TABLE asked RENAME TO asking")
            self._base.execute("CREATE TABLE asked (key VARCHAR, text VARCHAR)")
            query = (
                "SELECT asking.key, asking.text, stored.text FROM asking "
                "LEFT JOIN stored ON stored.key = asking.text"
            )
            self.reduce(query, declared)

    def reduce(self, query: str, declared: KeyedScope) -> None:
        """Give the processes the rows of a query, all rows of one key together."""
        with self._base.cursor() as cursor:
            parts = _divided(iter(cursor.execute(query).fetchone, None), self._folder)
        self.collect(_reduced, ((part, declared) for part in parts))

    def doubts(self) -> list[tuple[str, str]]:
        """One reason for each class whose sums are doubtful."""
        return self._base.execute("SELECT key, min(text) FROM doubt GROUP BY key ORDER BY key").fetchall()

    def findings(self, tables: Iterable[Table]) -> Iterator[Finding]:
        """Everything that was found, in the order of the keys."""
        rows = self._base.execute("SELECT key, text FROM finding")
        with ExitStack() as files:
            runs = []
            while some := rows.fetchmany(_SORTED):
                file = files.enter_context(TemporaryFile("w+", encoding="utf-8", dir=self._folder))
                file.writelines(map(_line, sorted(some)))
                file.seek(0)
                runs.append(map(json.loads, file))
            for _, text in merge(*runs):
                yield finding_in(text, tables)


def _divided(rows: Iterable[_Row], folder: str, level: int = 0) -> list[str]:
    """Files of rows, all rows of a key in one of them."""
    files: dict[int, IO[str]] = {}
    paths: list[str] = []
    with ExitStack() as opened:
        for row in rows:
            number = (crc32(row[0].encode()) // _PARTS**level) % _PARTS
            if number not in files:
                made, path = mkstemp(prefix="part", dir=folder)
                files[number] = opened.enter_context(os.fdopen(made, "w", encoding="utf-8"))
                paths.append(path)
            files[number].write(_line(row))
    return paths


def _line(row: _Row) -> str:
    return f"{json.dumps(row)}\n"


class _Here(Executor):
    """Does the work at once, in this process."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


def _executor(workers: int) -> Executor:
    if workers == 1:
        return _Here()
    # A copy of this process would share its threads' locks.
    new = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, new, initializer=end_with_parent)


# -- in the processes --------------------------------------------------------------------------------------------------


def _mapped(file: ExportFile, table: str, scope: KeyedScope, folder: str) -> dict[str, str]:
    """The files of the facts that the items of a data file give."""
    return _written(mapped(file, table, scope), folder)


def _reduced(part: str, scope: KeyedScope, folder: str) -> dict[str, str]:
    """The files of the facts that follow from the rows in a file, which has all rows of their keys."""
    return _written(reduced((_with_item(row, folder) for row in _grouped(part, folder)), scope), folder)


def _grouped(path: str, folder: str, level: int = 1) -> Iterator[_Row]:
    """The rows in a file, all rows of a key after each other. The file is deleted."""
    part, smaller = Path(path), []
    with part.open(encoding="utf-8") as file:
        rows = map(json.loads, file)
        if part.stat().st_size > _LARGEST_PART and level < _LEVELS:
            smaller = _divided(rows, folder, level)
        else:
            yield from sorted(rows, key=itemgetter(0))
    part.unlink()
    for one in smaller:
        yield from _grouped(one, folder, level + 1)


def _written(facts: Iterable[ShuffleRecord], folder: str) -> dict[str, str]:
    """Files of facts, one for each kind of fact."""
    paths: dict[str, str] = {}
    writers: dict[str, Any] = {}
    with ExitStack() as files:
        items = _Items(folder, files)
        for fact in facts:
            kind = str(fact.kind)
            if kind not in writers:
                opened, paths[kind] = mkstemp(prefix=kind, dir=folder)
                file = files.enter_context(os.fdopen(opened, "w", encoding="utf-8", newline=""))
                writers[kind] = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL)
            text = items.place_of(fact.text) if kind == FactKind.STORED else fact.text
            writers[kind].writerow((fact.key, text))
    return paths


class _Items:
    """A new file of items, which stays until the end of the job."""

    def __init__(self, folder: str, files: ExitStack) -> None:
        self._folder = folder
        self._files = files
        self._file: IO[bytes] | None = None
        self._name = ""
        self._length = 0

    def place_of(self, item: str) -> str:
        """Keep an item. Returns its place: the name of the file, where the item begins, and its length."""
        if self._file is None:
            opened, path = mkstemp(prefix="items", dir=self._folder)
            self._file, self._name = self._files.enter_context(os.fdopen(opened, "wb")), Path(path).name
        content, begin = item.encode(), self._length
        self._file.write(content)
        self._length += len(content)
        return f"{self._name}:{begin}:{len(content)}"


def _with_item(row: _Row, folder: str) -> _Row:
    """A row with the item itself, if it has the place of one."""
    if len(row) != 3 or row[2] is None:
        return row
    name, begin, length = row[2].split(":")
    with Path(folder, name).open("rb", buffering=0) as file:
        file.seek(int(begin))
        return (*row[:2], file.read(int(length)).decode())
