"""Verify an export of any size on one machine, without a request to DynamoDB.

Processes judge the items. What they say of them is divided by keys into temporary SQLite databases, which sort it.

Rule 1. A process writes a database that no other process writes, and reads those that nobody writes any more.
Rule 2. Rows are read in the order of their keys, one at a time, and SQLite sorts on disk what its cache cannot hold.
        So the memory depends neither on the number of items nor on how many rows a key has.
"""

import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zlib import crc32

from dynaorm.argument import check_count
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
"""Into how many parts rows are divided by their keys: a process works on one at a time."""

_CACHE: Final = 8_000
"""The most kilobytes that SQLite sorts in memory."""

_ANSWER: Final = "answer"
_END: Final[tuple[str, Iterator[Any]]] = ("\U0010ffff", iter(()))  # it is behind every address

_Row = tuple[Any, ...]


def verify_export(
    path: str | Mapping[str, str],
    /,
    *targets: Table | type[Any] | str,
    workers: int | None = None,
    temp_directory: str | None = None,
    now: float | None = None,
    foreign_attributes: Iterable[str] = (),
) -> Iterator[Finding]:
    """The findings in a full export, as ``dynaorm.tools.verify`` would have found them at its moment.

    Args:
        path: the folder of the export, or the folders by the names of their tables, if several belong together.
        *targets: tables and classes, as objects or as ``module:Name``.
        workers: how many processes judge items; None for one per processor. 1 starts none.
        temp_directory: the folder for temporary files, about three times the size of the unpacked export; None for
            that of the system.
        now: what has expired by then is absent, in seconds since the Unix epoch; None for the time of the export.
        foreign_attributes: attributes that other programs write, as for ``RunOptions``.

    Raises:
        UsageError: it is no full export; a table is missing; other processes cannot find a target; the temporary
            files have no room.

    Examples:
        ```python
        from dynaorm.integrity.verify_export import verify_export


        def main() -> None:
            for finding in verify_export("export", "shop.models:app"):
                print(finding)
        ```
    """
    count = os.cpu_count() or 1 if workers is None else workers
    check_count("workers={}", count)
    if temp_directory is not None:
        path_of("temp_directory={}", temp_directory)
    return _verified(sources_of(path, targets, now, foreign_attributes), count, temp_directory)


def _verified(sources: Sources, workers: int, temp_directory: str | None) -> Iterator[Finding]:
    try:
        with (
            TemporaryDirectory(prefix="dynaorm-", dir=temp_directory) as folder,
            _Job(folder, workers) as job,
        ):
            job.run(partial(_map, scope=sources.declared), sources.files, 0)
            stage = job.answer(0, sources.declared) + 1
            doubts = (next(rows) for _, rows in groupby(_rows(folder, FactKind.DOUBT), key=itemgetter(0)))
            scope = sources.with_doubts(doubts)
            job.run(partial(_reduce, scope=scope, name=FactKind.CONCERNS), range(_PARTS), stage)
            job.answer(stage, scope)
            for _, text in _rows(folder, FactKind.FINDING):
                yield finding_in(text, sources.declared.tables.values())
    except sqlite3.Error as problem:
        raise UsageError(
            problem=f"the temporary files of the verification cannot be used ({problem})",
            remedy="give a folder with more room (temp_directory=, --temp)",
        ) from problem


class _Job(ExitStack):
    """The processes, and the folder of their databases: of each stage, one a process and kind of row."""

    def __init__(self, folder: str, workers: int) -> None:
        super().__init__()
        self._folder = folder
        # A copy of this process would share its threads' locks.
        new = multiprocessing.get_context("spawn")
        self._map: Callable[..., Iterator[None]] = (
            map
            if workers == 1
            else self.enter_context(ProcessPoolExecutor(workers, new, _begin, (folder,))).map
        )

    def run(self, work: Callable[..., Iterator[_Row]], tasks: Iterable[Any], stage: int) -> None:
        """Do some tasks, and write what comes of them as the databases of a stage."""
        for _ in self._map(partial(_run, work, self._folder, stage), tasks):
            pass

    def answer(self, stage: int, scope: KeyedScope) -> int:
        """Answer what a stage asks, until nothing is asked any more. Returns the last stage."""
        while any(Path(self._folder).glob(f"{FactKind.ASKED}.{stage}.*")):
            self.run(partial(_join, stage=stage), range(_PARTS), stage)
            work = partial(_reduce, scope=scope, name=_ANSWER, stage=stage)
            stage += 1
            self.run(work, range(_PARTS), stage)
        return stage


def _rows(folder: str, name: str, part: int = 0, stage: int | str = "*") -> Iterator[_Row]:
    """The rows of a part in the order of their keys and texts."""
    columns = "key, text, item" if name == _ANSWER else "key, text"
    with ExitStack() as opened:
        sorted_rows = []
        for path in Path(folder).glob(f"{name}.{stage}.*"):
            database = opened.enter_context(closing(sqlite3.connect(path)))
            database.execute(f"PRAGMA cache_size = -{_CACHE}")
            query = f"SELECT {columns} FROM part{part} ORDER BY key, text"  # noqa: S608 - all of it is ours
            sorted_rows.append(database.execute(query))
        yield from merge(*sorted_rows)


# -- in the processes --------------------------------------------------------------------------------------------------


def _begin(folder: str) -> None:
    end_with_parent()
    os.environ["SQLITE_TMPDIR"] = folder


def _run(work: Callable[..., Iterator[_Row]], folder: str, stage: int, task: Any) -> None:
    databases: dict[str, sqlite3.Connection] = {}
    with ExitStack() as opened:
        for name, *row in work(folder, task):
            if name not in databases:
                path = Path(folder, f"{name}.{stage}.{os.getpid()}")
                databases[name] = opened.enter_context(closing(_opened(path)))
            # What is read as a whole is one part.
            part = 0 if name in (FactKind.DOUBT, FactKind.FINDING) else crc32(row[0].encode()) % _PARTS
            statement = f"INSERT INTO part{part} VALUES (?, ?, ?)"  # noqa: S608 - the part is a number
            databases[name].execute(statement, row)
        for database in databases.values():
            database.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    for part in range(_PARTS):
        database.execute(f"CREATE TABLE IF NOT EXISTS part{part} (key TEXT, text TEXT, item TEXT)")
    return database


def _map(_: str, task: tuple[str, ExportFile], *, scope: KeyedScope) -> Iterator[_Row]:
    table, file = task
    return map(_row, mapped(file, table, scope))


def _reduce(
    folder: str, part: int, *, scope: KeyedScope, name: str, stage: int | str = "*"
) -> Iterator[_Row]:
    return map(_row, reduced(_rows(folder, name, part, stage), scope))


def _row(fact: ShuffleRecord) -> _Row:
    if fact.kind == FactKind.ASKED:  # by the address, to meet the item there
        return FactKind.ASKED, fact.text, fact.key, None
    return fact.kind, fact.key, fact.text, None


def _join(folder: str, part: int, *, stage: int) -> Iterator[_Row]:
    """Each question of a part with what is stored under the address that it asks for."""
    stored = groupby(_rows(folder, FactKind.STORED, part), key=itemgetter(0))
    address, items = next(stored, _END)
    for sought, asked in groupby(_rows(folder, FactKind.ASKED, part, stage), key=itemgetter(0)):
        while address < sought:
            address, items = next(stored, _END)
        answers = [item for _, item in items] if address == sought else [None]
        for (_, question), _ in groupby(asked):
            for item in answers:
                yield _ANSWER, question, sought, item
