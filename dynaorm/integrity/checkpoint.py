"""A checkpoint file: the position of a run, and everything that it must remember until its end.

The file is an SQLite database. One SQLite transaction saves the position of the scan together with what was learned up
to there, so a run that was killed at any moment resumes from a consistent state.

Two decisions are made elsewhere:

- which run may resume from a file: ``run`` says what identifies a run (``_identity``), and here it is compared;
- when a position is saved: ``Verification.steps`` calls ``save`` when every finding of some pages was dealt with.
"""

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from dynaorm.entity.table import Ident, Table
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.finding import MOST_HOLDERS, Amount, Claim, Fact, Sums, Uncertainty, add_up
from dynaorm.flow.integrity.reads import ItemAddress, ScanSegment
from dynaorm.flow.integrity.verify import Verification
from dynaorm.integrity.serialize import (
    address_text,
    key_text,
    numbers_text,
    parse_address,
    parse_key,
    parse_numbers,
    private,
)
from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.value import Item

T = TypeVar("T")

# "dyna": the file is dynaorm's own. Without the mark, a database would be another program's.
_MARK: Final = 0x64796E61
# The version of the schema below.
_FORMAT: Final = 4

_SCHEMA: Final = (
    f"PRAGMA application_id = {_MARK}",
    f"PRAGMA user_version = {_FORMAT}",
    "CREATE TABLE work (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE segments (name TEXT PRIMARY KEY, after TEXT, is_over INTEGER NOT NULL)",
    "CREATE TABLE held (address TEXT PRIMARY KEY, is_wrong INTEGER NOT NULL)",
    "CREATE TABLE holders (held TEXT, address TEXT, PRIMARY KEY (held, address))",
    "CREATE TABLE sums (address TEXT PRIMARY KEY, numbers TEXT NOT NULL)",
    "CREATE TABLE planned (address TEXT PRIMARY KEY, item TEXT NOT NULL)",
    "CREATE TABLE doubts (source TEXT PRIMARY KEY, reason TEXT NOT NULL)",
    "CREATE TABLE reported (number INTEGER PRIMARY KEY, line TEXT NOT NULL)",
)
_TABLES: Final = "SELECT 1 FROM sqlite_master LIMIT 1"
_WINDOW: Final = 100
# What SQLite says when the file itself may be right.
_OF_THE_SYSTEM: Final = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)


class Checkpoint:
    """A ledger in a file that also holds the position of a verification.

    Args:
        path: the file; None for a temporary file, which saves memory and is deleted at the end.
        work: what identifies the run; only the same run can resume from the file.

    Attributes:
        is_finished: whether the file is deleted when the block ends without an error.

    Raises:
        UsageError: the file belongs to another run, is in use, or is no checkpoint. Then it is left as it is.
    """

    def __init__(self, path: Path | None, work: Mapping[str, Any]) -> None:
        self.is_finished = True
        self._path = path
        self._work = json.dumps(work, sort_keys=True)
        self._tables: dict[str, Table] = {}
        try:
            if path is not None:
                _create(path)
            # SQLite makes a temporary file for an empty name.
            # Python's own transactions are off: here, one lasts from one saved position to the next.
            self._file = sqlite3.connect("" if path is None else path, isolation_level=None, timeout=1)
        except (OSError, sqlite3.Error) as problem:
            raise self._unusable(problem) from problem
        try:
            self._open()
        except BaseException:
            self._file.close()
            raise

    def _open(self) -> None:
        if not self._run(_TABLES):
            # Another run may begin with the same new file: the first one makes the tables.
            self._run("BEGIN IMMEDIATE")
            for statement in _SCHEMA if not self._run(_TABLES) else ():
                self._run(statement)
            self._run("COMMIT")
        ((mark,),), ((version,),) = self._run("PRAGMA application_id"), self._run("PRAGMA user_version")
        if mark != _MARK:
            raise self._unusable("it is a database of another program")
        if version != _FORMAT:
            raise self._unusable("another version of dynaorm wrote it")
        if (state := self._run("PRAGMA quick_check(1)")) != [("ok",)]:
            raise self._unusable(f"it is damaged: {state[0][0]}")
        # Only one run at a time can have begun.
        self._run("BEGIN IMMEDIATE")
        found = self._run("SELECT value FROM work WHERE name = 'work'")
        if not found:
            self._run("INSERT INTO work VALUES ('work', ?)", (self._work,))
            self._run("COMMIT")
            self._run("BEGIN IMMEDIATE")
        elif found[0][0] != self._work:
            raise UsageError(
                problem=f"{self._path} is the checkpoint of another run: {found[0][0]}, not {self._work}",
                remedy="give the command, tables and segments of that run, or name another file",
            )

    def _run(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a statement."""
        return self._guarded(lambda: self._file.execute(statement, values).fetchall())

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (sqlite3.Error, OverflowError) as problem:
            raise self._unusable(problem) from problem

    def _unusable(self, problem: object) -> UsageError:
        name = self._path or "the temporary file"
        code = getattr(problem, "sqlite_errorcode", None)
        # The last byte of an extended code is the primary one.
        if code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return UsageError(
                problem=f"{name} is in use by another run ({problem})",
                remedy="wait until that run has ended, or name another file",
            )
        if code is not None and code & 0xFF in _OF_THE_SYSTEM:
            return UsageError(
                problem=f"{name} cannot be used ({problem})",
                remedy="make room and give the permission to write, or name another file; what it holds is still there",
            )
        # Only what was read and is no checkpoint may be deleted.
        more = "" if isinstance(problem, OSError) else ", or delete it if nothing needs it"
        return UsageError(
            problem=f"{name} is no checkpoint file of this run ({problem})",
            remedy=f"name another file{more}",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Discard what was not saved. Delete the file if the run is finished."""
        self._file.close()
        if kind is None and self.is_finished and self._path is not None:
            self._path.unlink(missing_ok=True)

    # -- the position ----------------------------------------------------------------------------------------------

    def resume(self, work: Verification) -> None:
        """Set a verification to the position that was last saved."""
        self._tables = {table.name: table for table in work.scope.known_tables}
        rows = self._run("SELECT name, after, is_over FROM segments")
        positions = {name: (after, is_over) for name, after, is_over in rows}
        for segment in work.scan_segments:
            after, is_over = positions.get(_segment_name(segment), (None, 0))
            segment.after = parse_key(after) if after is not None else None
            segment.is_over = bool(is_over)
        found = self._run("SELECT value FROM work WHERE name = 'examined'")
        work.examined = int(found[0][0]) if found else 0

    def save(self, work: Verification) -> None:
        """Save the position of a verification, with everything that it has learned."""
        rows = [
            (_segment_name(one), key_text(one.after) if one.after is not None else None, int(one.is_over))
            for one in work.scan_segments
            if one.after is not None or one.is_over
        ]
        statement = "INSERT OR REPLACE INTO segments VALUES (?, ?, ?)"
        self._guarded(lambda: self._file.executemany(statement, rows))
        self._run("INSERT OR REPLACE INTO work VALUES ('examined', ?)", (str(work.examined),))
        self._run("COMMIT")
        self._run("BEGIN IMMEDIATE")

    def report(self, line: str) -> None:
        """Remember a finding that still exists, so that a resumed run can report it again."""
        # No run resumes from a temporary file.
        if self._path is not None:
            self._run("INSERT INTO reported (line) VALUES (?)", (line,))

    def reported(self) -> Iterator[str]:
        """The lines that were reported up to the saved position, in order."""
        last = 0
        query = "SELECT number, line FROM reported WHERE number > ? ORDER BY number LIMIT ?"
        while rows := self._run(query, (last, _WINDOW)):
            for last, line in rows:  # noqa: B007 - the next query begins after the last number
                yield line

    # -- the ledger ------------------------------------------------------------------------------------------------

    def add(self, fact: Fact, /) -> None:
        address = address_text(fact.address)
        match fact:
            case Claim(_, holder, is_harmless):
                self._run(
                    "INSERT INTO held VALUES (?, ?) ON CONFLICT (address) DO UPDATE SET is_wrong = is_wrong OR ?",
                    (address, int(not is_harmless), int(not is_harmless)),
                )
                if holder is not None:
                    self._run("INSERT OR IGNORE INTO holders VALUES (?, ?)", (address, address_text(holder)))
            case Amount(_, numbers):
                rows = self._run("SELECT numbers FROM sums WHERE address = ?", (address,))
                sums = parse_numbers(rows[0][0]) if rows else {}
                add_up(sums, numbers)
                self._run("INSERT OR REPLACE INTO sums VALUES (?, ?)", (address, numbers_text(sums)))

    def holdings(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        for (held,) in self._rows(
            "SELECT address FROM held WHERE address > ? AND "
            "(is_wrong OR (SELECT count(*) FROM holders WHERE holders.held = held.address) <> 1)"
        ):
            rows = self._run(
                "SELECT address FROM holders WHERE held = ? ORDER BY address LIMIT ?",
                (held, MOST_HOLDERS),
            )
            yield self._read(held), tuple(self._read(address) for (address,) in rows)

    def sums(self) -> Iterator[tuple[ItemAddress, Sums]]:
        for address, numbers in self._rows("SELECT address, numbers FROM sums WHERE address > ?"):
            yield self._read(address), parse_numbers(numbers)

    def plan(self, address: ItemAddress, item: Item | None, /) -> None:
        # An absent item, because no item is empty.
        text = encode_body(item or {}).decode()
        self._run("INSERT OR REPLACE INTO planned VALUES (?, ?)", (address_text(address), text))

    def planned(self, addresses: Iterable[ItemAddress], /) -> dict[Ident, Item | None]:
        found: dict[Ident, Item | None] = {}
        for address in addresses:
            for (text,) in self._run("SELECT item FROM planned WHERE address = ?", (address_text(address),)):
                found[address.ident] = decode_body(text.encode()) or None
        return found

    def doubt(self, doubt: Uncertainty, /) -> None:
        row = (doubt.source or "", doubt.reason)
        self._run("INSERT OR IGNORE INTO doubts VALUES (?, ?)", row)

    def doubts(self) -> Sequence[Uncertainty]:
        rows = self._run("SELECT source, reason FROM doubts ORDER BY source")
        return [Uncertainty(source or None, reason) for source, reason in rows]

    def facts(self) -> Iterator[Fact]:
        """What is remembered, as few facts as say the same. Doubts are beside them."""
        for held, is_wrong in self._rows("SELECT address, is_wrong FROM held WHERE address > ?"):
            query = "SELECT address FROM holders WHERE held = ? ORDER BY address LIMIT ?"
            for (holder,) in self._run(query, (held, MOST_HOLDERS)) or [(None,)]:
                found = None if holder is None else self._read(holder)
                yield Claim(self._read(held), found, is_harmless=not is_wrong)
        for address, numbers in self.sums():
            yield Amount(address, numbers)

    def _rows(self, query: str) -> Iterator[Any]:
        """The rows of a query in the order of their addresses, some at a time, because the file changes meanwhile."""
        after = ""
        while rows := self._run(f"{query} ORDER BY address LIMIT {_WINDOW}", (after,)):
            yield from rows
            after = rows[-1][0]

    def _read(self, text: str) -> ItemAddress:
        return parse_address(text, self._tables)


def _create(path: Path) -> None:
    """Create the file if it does not exist. Raises OSError if that is not possible, or if it is no ordinary file."""
    # It holds keys and values of users, so only the owner may read it. SQLite's journal files have the same mode.
    # Without O_NONBLOCK, opening a named pipe would wait for its other end.
    os.close(private(str(path), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK))
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no ordinary file")


def _segment_name(segment: ScanSegment) -> str:
    return json.dumps([segment.table.name, segment.segment, segment.segments])
