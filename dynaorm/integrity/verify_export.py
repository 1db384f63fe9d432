"""Verify an export of any size on one machine, without a request to DynamoDB.

Processes judge the items. What they say of them is divided by keys into temporary SQLite databases, which sort it.

Rule 1. A process writes a database that no other process writes, and reads those that nobody writes any more.
Rule 2. Rows are read in the order of their keys, one at a time, and SQLite sorts on disk what its cache cannot hold.
        So the memory depends neither on the number of items nor on how many rows a key has.
"""

import gzip
import json
import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime
from functools import cache, partial
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final
from zlib import crc32

from dynaorm.argument import check_count, check_kind, names_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.integrity.finding import Finding
from dynaorm.integrity.keyed import (
    Answer,
    FactKind,
    KeyedScope,
    ShuffleRecord,
    facts_of,
    findings_of,
    folded,
    modules_of,
    name_of,
)
from dynaorm.integrity.serialize import finding_in
from dynaorm.integrity.tasks import end_with_parent
from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item
from dynaorm.record import record, replace
from dynaorm.tools.line_file import path_of

# Read what DynamoDB exports to S3: a full export of a table as of one moment, in DynamoDB JSON.
#
# Rule 1. An export is read whole or not at all: a file with another number of items than its manifest says is refused.

_SUMMARY: Final = "manifest-summary.json"
_FILES: Final = "manifest-files.json"


@record
class ExportFile:
    """One data file of an export.

    Attributes:
        path: its path.
        items: how many items it has.
    """

    path: str
    items: int


@record
class Export:
    """A full export of a table.

    Attributes:
        path: the folder of the export.
        table_arn: the ARN of the table.
        time: the moment that it shows, in seconds since the Unix epoch.
        files: its data files.
    """

    path: str
    table_arn: str
    time: float
    files: tuple[ExportFile, ...]

    @property
    def items(self) -> int:
        """How many items it has."""
        return sum(file.items for file in self.files)


def open_export(path: str) -> Export:
    """The export in a folder: the one with ``manifest-summary.json``.

    Args:
        path: a local folder, or a URL that fsspec opens, such as ``s3://bucket/prefix/AWSDynamoDB/0123-abc``.

    Raises:
        UsageError: it is no full export in DynamoDB JSON, or it has not ended.
    """
    folder = path.rstrip("/")
    try:
        with _opened_manifest(f"{folder}/{_SUMMARY}") as file:
            summary: dict[str, Any] = json.load(file)
        with _opened_manifest(f"{folder}/{_FILES}") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    except NotADirectoryError as problem:
        raise UsageError(
            problem=f"{folder} is a file, and an export is a folder",
            remedy="export the table to S3 and name the folder. A dump is not of one moment: verify its table instead",
        ) from problem
    except FileNotFoundError as problem:
        raise UsageError(
            problem=f"{folder} is no export: it lacks {_SUMMARY} or {_FILES}",
            remedy="name the folder that has both: AWSDynamoDB/ and the name of the export",
        ) from problem
    except (OSError, ValueError) as problem:
        raise UsageError(
            problem=f"{folder} is no export ({type(problem).__name__}: {problem})",
            remedy=f"name the folder with {_SUMMARY} and {_FILES}: AWSDynamoDB/ and the name of the export",
        ) from problem
    try:
        _check(folder, summary)
        time = datetime.fromisoformat(summary["exportTime"]).timestamp()
        files = tuple(
            ExportFile(f"{folder}/data/{one['dataFileS3Key'].rpartition('/')[2]}", one["itemCount"])
            for one in lines
        )
        return Export(folder, summary["tableArn"], time, files)
    except (KeyError, TypeError, ValueError) as problem:
        raise UsageError(
            problem=f"the manifests of {folder} lack {problem}",
            remedy="copy the export again, with its manifests",
        ) from problem


def _check(folder: str, summary: dict[str, Any]) -> None:
    if "exportFromTime" in summary or summary.get("exportType", "FULL_EXPORT") != "FULL_EXPORT":
        raise UsageError(
            problem=f"{folder} is an incremental export, which has only the items that changed in some time",
            remedy="export the table with ExportType FULL_EXPORT",
        )
    if (form := summary.get("outputFormat")) != "DYNAMODB_JSON":
        raise UsageError(
            problem=f"{folder} is in the format {form}",
            remedy="export the table with ExportFormat DYNAMODB_JSON",
        )


def items_in(file: ExportFile) -> Iterator[Item]:
    """The items of a data file, one at a time. Raises UsageError if it is not as its manifest says."""
    count = 0
    try:
        with _opened_manifest(file.path) as packed, gzip.open(packed) as lines:
            for line in lines:
                yield decode_body(line)["Item"]
                count += 1
    except (OSError, EOFError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(
            problem=f"{file.path} is no data file of an export ({type(problem).__name__}: {problem})",
            remedy="copy it again",
        ) from problem
    if count != file.items:
        raise UsageError(
            problem=f"{file.path} has {counted(count, 'item')}, and its manifest says {file.items}",
            remedy="copy it again",
        )


def _opened_manifest(path: str) -> IO[Any]:
    if "://" not in path:
        return Path(path).open("rb")
    try:
        import fsspec  # noqa: PLC0415 - only for URLs
    except ImportError as missing:
        raise UsageError(
            problem=f"{path} is a URL, and fsspec is not installed", remedy="install fsspec, and s3fs for S3"
        ) from missing
    found: IO[Any] = fsspec.open(path, "rb").open()
    return found


# The exports that a verification needs, and what it judges in them: the same for every engine.

_FOLDED: Final = 20_000
"""How many facts a process folds before it passes them on."""


@record
class Sources:
    """The data files of some exports, and what is judged in them.

    Attributes:
        declared: what is verified.
        files: the data files, each after the name of its table.
    """

    declared: KeyedScope
    files: tuple[tuple[str, ExportFile], ...]

    @property
    def items(self) -> int:
        """How many items there are."""
        return sum(file.items for _, file in self.files)

    def with_doubts(self, doubts: Iterable[tuple[str, str]]) -> KeyedScope:
        """What is verified, with all doubts about sums."""
        return replace(self.declared, doubts=tuple((key, text) for key, text in doubts))


def sources_of(
    path: str | Mapping[str, str],
    targets: Sequence[Table | type[Any] | str],
    now: float | None,
    foreign_attributes: Iterable[str],
) -> Sources:
    """The sources of a verification.

    Args:
        path: the folder of the export, or the folders by the names of their tables.
        targets: tables and classes, as objects or as ``module:Name``.
        now: the time at which it judges; None for that of the export.
        foreign_attributes: attributes that other programs write.

    Raises:
        UsageError: it is no full export; a table is missing; other processes cannot find a target.
    """
    foreign = names_of("foreign_attributes={}", foreign_attributes)
    check_kind(
        "path={}", path, str | Mapping, "a path or a mapping", remedy="give the folders by their tables"
    )
    if now is not None:
        check_kind("now={}", now, int | float, "a number", remedy="give seconds since the Unix epoch")
    names = tuple(map(name_of, targets))
    known = KeyedScope(names, 0.0, foreign).tables
    tables = sorted(known)
    paths = {tables[0]: path} if isinstance(path, str) else dict(path)
    wrong = [f"there is none of {name!r}" for name in tables if name not in paths]
    wrong += [f"nothing depends on {name!r}" for name in paths if name not in tables]
    if wrong:
        raise UsageError(
            problem=f"{', '.join(names)} needs an export of {' and '.join(map(repr, tables))}: {', '.join(wrong)}",
            remedy="give the folders of all these exports, by the names of their tables",
        )
    exports = {name: open_export(one) for name, one in paths.items()}
    moment = max(one.time for one in exports.values()) if now is None else now
    return Sources(
        KeyedScope(names, moment, foreign, modules_of(known.values())),
        tuple((name, file) for name, export in exports.items() for file in export.files),
    )


# -- in the processes of an engine -------------------------------------------------------------------------------------


def mapped(file: ExportFile, table: str, scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """The facts that the items of a data file give. Raises UsageError if it is not as its manifest says."""
    scope = _known(scope)
    return _fewer((fact for item in items_in(file) for fact in facts_of(item, table, scope)), scope)


def reduced(rows: Iterable[Sequence[Any]], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """What follows from rows, all rows of a key after each other.

    Args:
        rows: a key and the text of a fact, or a key, an address, and the item that is stored there.
        scope: what is verified.
    """
    scope = _known(scope)
    return _fewer(
        (
            fact
            for key, some in groupby(rows, key=itemgetter(0))
            for fact in findings_of(
                key, (Answer(*row[1:]) if len(row) == 3 else row[1] for row in some), scope
            )
        ),
        scope,
    )


@cache
def _known(scope: KeyedScope) -> KeyedScope:
    """The same object for equal scopes, which looks up its classes once in a process."""
    return scope


def _fewer(facts: Iterable[ShuffleRecord], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """As few facts as say the same, as far as a process can tell: millions of entities may add to one total."""
    waiting: dict[str, list[str]] = {}
    count = 0
    for fact in facts:
        if fact.kind != FactKind.CONCERNS:
            yield fact
            continue
        waiting.setdefault(fact.key, []).append(fact.text)
        count += 1
        if count >= _FOLDED:
            yield from _folded(waiting, scope)
            waiting, count = {}, 0
    yield from _folded(waiting, scope)


def _folded(waiting: Mapping[str, list[str]], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    for key, texts in waiting.items():
        for text in folded(texts, scope):
            yield ShuffleRecord(FactKind.CONCERNS, key, text)


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
