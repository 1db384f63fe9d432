"""The SQLite database of an engine: in the memory of this process, or a file that processes share.

Rule 1. One request at a time uses it, in one transaction. A process that ends in the middle leaves the file as it was.
Rule 2. A table of DynamoDB, and each index of it, is a table: key bytes, size, and the item as DynamoDB JSON.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar
from zlib import crc32

from dynaorm.embedded.shape import Layout, Shape, layout_of
from dynaorm.errors import UsageError
from dynaorm.flow.call import NoAnswer

T = TypeVar("T")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS ":tables" (name TEXT PRIMARY KEY, description TEXT, ttl TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ":tokens" (token TEXT PRIMARY KEY, at REAL, body BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ":streams" (arn TEXT PRIMARY KEY, description TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ":records" (number INTEGER PRIMARY KEY, arn TEXT, at REAL, record BLOB);
CREATE INDEX IF NOT EXISTS ":tokens at" ON ":tokens" (at);
CREATE INDEX IF NOT EXISTS ":records of" ON ":records" (arn, number);
"""
_PATIENCE: Final = 10.0


class Database:
    """Tables, items and what else is kept.

    Args:
        file: the path of the file; None for the memory of this process.
    """

    def __init__(self, file: str | None = None) -> None:
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

    def alone(
        self, work: Callable[[sqlite3.Connection], T], *, writing: bool, seconds: float | None = None
    ) -> T:
        """Call a function that uses the database alone: all of what it writes is stored, or nothing if it raises.

        Raises:
            NoAnswer: another process uses the file for too long. Nothing was written.
        """
        patience = _PATIENCE if seconds is None else min(seconds, _PATIENCE)
        if not self._lock.acquire(timeout=patience):
            raise NoAnswer(f"the database was busy for {patience:g} s", sent=False)
        try:
            connection = self._connection or self._open(patience)
            if self._file is not None:
                connection.execute(f"PRAGMA busy_timeout = {int(patience * 1000)}")
            try:
                self._begin(connection, writing=writing)
                result = work(connection)
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                    self._layouts.clear()
                if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                    reason = f"another process used {self._file} for {patience:g} s"
                    raise NoAnswer(reason, sent=False) from error
                raise
            if connection.in_transaction:
                connection.execute("COMMIT")
            return result
        finally:
            self._lock.release()

    def _begin(self, connection: sqlite3.Connection, *, writing: bool) -> None:
        # Nothing changes what is in memory while the lock is held.
        if writing or self._file is not None:
            connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        if self._file is not None:
            self._forget_changed(connection)

    def _open(self, patience: float) -> sqlite3.Connection:
        if self._is_lost:
            raise UsageError(
                problem="a DynamoDB in memory belongs to the process that made it, and this one was forked from it",
                remedy="make a session in each process; to share tables, give endpoint='sqlite:FILE'",
            )
        try:
            connection = sqlite3.connect(
                self._file or ":memory:", patience, isolation_level=None, check_same_thread=False
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
        connection.create_function("segment", 2, _segment, deterministic=True)
        self._connection = connection
        return connection

    def _forget_changed(self, connection: sqlite3.Connection) -> None:
        """Read the descriptions again if another process wrote."""
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._layouts.clear()

    # -- tables ------------------------------------------------------------------------------------------------------

    def layout(self, connection: sqlite3.Connection, name: str) -> Layout | None:
        """The table of this name, or None."""
        layout = self._layouts.get(name)
        if layout is None:
            row = connection.execute('SELECT description FROM ":tables" WHERE name = ?', (name,)).fetchone()
            if row is None:
                return None
            layout = self._layouts[name] = layout_of(json.loads(row[0]))
        return layout

    def keep_description(
        self, connection: sqlite3.Connection, description: Mapping[str, Any]
    ) -> tuple[Layout | None, Layout]:
        """Create a table, or change it; its layout before and after. Its SQLite tables are made and dropped."""
        name = description["TableName"]
        before, after = self.layout(connection, name), layout_of(description)
        text = json.dumps(description)
        connection.execute(
            'INSERT INTO ":tables" (name, description) VALUES (?, ?) '
            "ON CONFLICT (name) DO UPDATE SET description = excluded.description",
            (name, text),
        )
        had = {shape.sql: shape for shape in _shapes(before)}
        has = {shape.sql: shape for shape in _shapes(after)}
        for sql in had.keys() - has.keys():
            connection.execute(f"DROP TABLE {sql}")
        for sql in has.keys() - had.keys():
            keys = "h, r, bh, br" if has[sql].index is not None else "h, r"
            connection.execute(f"CREATE TABLE {sql} ({keys}, size, item, PRIMARY KEY ({keys})) WITHOUT ROWID")
        self._layouts[name] = after
        return before, after

    def drop(self, connection: sqlite3.Connection, layout: Layout) -> None:
        """Delete a table."""
        connection.execute('DELETE FROM ":tables" WHERE name = ?', (layout.name,))
        for shape in _shapes(layout):
            connection.execute(f"DROP TABLE {shape.sql}")
        del self._layouts[layout.name]


def _shapes(layout: Layout | None) -> Iterable[Shape]:
    return () if layout is None else (layout.base, *layout.indexes)


def _segment(partition: bytes, count: int) -> int:
    return crc32(partition) % count
