"""The SQLite database of an engine: in the memory of this process, or a file that processes share.

Rule 1. One request at a time uses it, in one transaction. A process that ends in the middle leaves the file as it was.
Rule 2. A table of DynamoDB, and each index of it, is a table: key bytes, size, and the item as DynamoDB JSON.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias
from zlib import crc32

from dynaorm.embedded import rules
from dynaorm.embedded.shape import Layout, Place, Shape, layout_of
from dynaorm.errors import UsageError
from dynaorm.flow.call import NoAnswer, Reply
from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS ":tables" (name TEXT PRIMARY KEY, description TEXT, ttl TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ":tokens" (token TEXT PRIMARY KEY, at REAL, body BLOB);
CREATE TABLE IF NOT EXISTS ":streams" (arn TEXT PRIMARY KEY, description TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ":records" (number INTEGER PRIMARY KEY, arn TEXT, at REAL, record BLOB);
CREATE INDEX IF NOT EXISTS ":records of" ON ":records" (arn, number);
"""
_PATIENCE: Final = 10.0
_STATEMENTS: Final = 1000


class Database:
    """Tables, items and what else is kept.

    Args:
        file: the path of the file; None for the memory of this process.
        now: seconds since the Unix epoch.
        home: what the ARNs of its tables begin with.
    """

    def __init__(self, file: str | None, now: Callable[[], float], home: str) -> None:
        self.now = now
        self.home = home
        self._file = file
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._layouts: dict[str, Layout] = {}
        self._version: object = None
        self._is_lost = False

    def close(self) -> None:
        """Close the file; what is in memory stays."""
        with self._lock:
            if self._file is not None and self._connection is not None:
                self._connection.close()
                self._connection = None

    def reset_after_fork(self) -> object:
        """Open the file anew in a forked process. A database in memory belongs to the process that made it."""
        connection, self._connection = self._connection, None
        self._lock = threading.RLock()
        self._layouts = {}
        self._is_lost = self._file is None and connection is not None
        return connection

    def answer(self, operation: Operation, request: Mapping[str, Any], seconds: float | None) -> Reply:
        """Answer a request alone: all of what it writes is stored, or nothing if it is refused.

        Raises:
            NoAnswer: the database was busy for too long. Nothing was written.
        """
        patience = _PATIENCE if seconds is None else min(seconds, _PATIENCE)
        if not self._lock.acquire(timeout=patience):
            raise NoAnswer(f"the database was busy for {patience:g} s", sent=False)
        try:
            connection = self._connection or self._open(patience)
            # Nothing changes what is in memory while the lock is held.
            if not operation.writes and self._file is None:
                return operation.answer(self, request)
            return self._answered(connection, operation, request, patience)
        finally:
            self._lock.release()

    def _answered(
        self,
        connection: sqlite3.Connection,
        operation: Operation,
        request: Mapping[str, Any],
        patience: float,
    ) -> Reply:
        try:
            if self._file is not None:
                connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
            connection.execute("BEGIN IMMEDIATE" if operation.writes else "BEGIN")
            if self._file is not None:
                self._forget_changed(connection)
            reply = operation.answer(self, request)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
                self._layouts.clear()
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                reason = f"another process used {self._file} for {patience:g} s"
                raise NoAnswer(reason, sent=False) from error
            raise
        return reply

    def _open(self, patience: float) -> sqlite3.Connection:
        if self._is_lost:
            raise UsageError(
                problem="a DynamoDB in memory belongs to the process that made it, and this one was forked from it",
                remedy="make a session in each process; to share tables, give endpoint='sqlite:FILE'",
            )
        try:
            connection = sqlite3.connect(
                self._file or ":memory:",
                patience,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=_STATEMENTS,
            )
            if self._file is not None:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise UsageError(
                problem=f"SQLite cannot open {self._file!r}: {error}",
                remedy="give the path of a file in an existing folder: endpoint='sqlite:dev.db'",
            ) from error
        connection.create_function("segment", 2, lambda key, count: crc32(key) % count, deterministic=True)
        self._connection = connection
        return connection

    def _forget_changed(self, connection: sqlite3.Connection) -> None:
        """Read the descriptions again if another process wrote."""
        version = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._layouts.clear()

    # -- what operations ask and change --------------------------------------------------------------------------------

    def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
        """Run a statement."""
        assert self._connection is not None
        return self._connection.execute(sql, parameters)

    def find_table(self, name: str) -> Layout | None:
        """The table with a name or ARN, or None."""
        layout = self._layouts.get(name)
        if layout is None:
            name = name.rpartition(":table/")[2]
            row = self.execute('SELECT description FROM ":tables" WHERE name = ?', name).fetchone()
            if row is None:
                return None
            layout = self._layouts[name] = layout_of(json.loads(row[0]))
        return layout

    def table(self, name: str) -> Layout:
        """The same. Raises Refusal if there is none."""
        layout = self.find_table(name)
        if layout is None:
            raise rules.not_found()
        return layout

    def row(self, shape: Shape, place: Place) -> tuple[bytes, int] | None:
        """The JSON and size of what lies at a place of a table."""
        assert self._connection is not None
        row: tuple[bytes, int] | None = self._connection.execute(shape.select, place).fetchone()
        return row

    def keep_description(self, description: Mapping[str, Any]) -> tuple[Layout | None, Layout]:
        """Create a table, or change it; its layout before and after. Its SQLite tables are made and dropped."""
        name = description["TableName"]
        before, after = self.find_table(name), layout_of(description)
        self.execute(
            'INSERT INTO ":tables" (name, description) VALUES (?, ?) '
            "ON CONFLICT (name) DO UPDATE SET description = excluded.description",
            name,
            json.dumps(description),
        )
        had, has = ({shape.sql: shape for shape in each.shapes} if each else {} for each in (before, after))
        for sql in had.keys() - has.keys():
            self.execute(f"DROP TABLE {sql}")
        for sql in has.keys() - had.keys():
            keys = ", ".join(has[sql].columns)
            self.execute(f"CREATE TABLE {sql} ({keys}, size, item, PRIMARY KEY ({keys})) WITHOUT ROWID")
        self._layouts[name] = after
        return before, after

    def drop(self, layout: Layout) -> None:
        """Delete a table."""
        self.execute('DELETE FROM ":tables" WHERE name = ?', layout.name)
        for shape in layout.shapes:
            self.execute(f"DROP TABLE {shape.sql}")
        del self._layouts[layout.name]


# -- operations --------------------------------------------------------------------------------------------------------

Answer: TypeAlias = Callable[[Database, Mapping[str, Any]], Reply]


class Operation(NamedTuple):
    """An operation: what answers it, and the parameters that it needs and takes."""

    answer: Answer
    writes: bool
    required: frozenset[str]
    parameters: frozenset[str]

    def check(self, name: str, request: Mapping[str, Any]) -> None:
        """Raise Refusal for a parameter that is missing or not known."""
        if self.required <= request.keys() <= self.parameters:
            return
        if missing := self.required - request.keys():
            raise rules.invalid(
                f"The parameter '{min(missing)}' is required but was not present in the request"
            )
        raise rules.not_in_engine(f"the parameter {min(request.keys() - self.parameters)} of {name}")


OPERATIONS: Final[dict[str, Operation]] = {}


def operation(required: str, others: str = "", *, writes: bool = False) -> Callable[[Answer], Answer]:
    """Let a function answer the operation that it is named after."""

    def register(answer: Answer) -> Answer:
        needed = frozenset(required.split())
        name = "".join(map(str.capitalize, answer.__name__.split("_")))
        OPERATIONS[name] = Operation(answer, writes, needed, needed.union(others.split()))
        return answer

    return register


def item_of(text: bytes) -> Item:
    """An item from its JSON."""
    item: Item = decode_body(text)
    return item
