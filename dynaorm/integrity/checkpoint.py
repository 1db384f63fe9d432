"""A checkpoint file: how far a piece of work came, and what it has to remember until its end.

The file is an SQLite database. Where the reading stands and what was learned from the pages behind it change in one
transaction of its own, so that a process that is killed anywhere goes on with exactly what belongs together.
"""

import json
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.flow.integrity.finding import SuspectGuard
from dynaorm.flow.integrity.ledger import MOST_CLAIMANTS, Totals, add_up
from dynaorm.flow.integrity.scan import ScanSegment
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.flow.integrity.verify import Verification
from dynaorm.item.value import Item
from dynaorm.plan.aggregates import TotalDelta

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS work (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS strips (place TEXT PRIMARY KEY, after TEXT, is_over INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS guards (place TEXT PRIMARY KEY, is_wrong INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS claimants (guard TEXT, place TEXT, PRIMARY KEY (guard, place));
CREATE TABLE IF NOT EXISTS targets (place TEXT PRIMARY KEY, totals TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS doubtful (source TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS told (number INTEGER PRIMARY KEY, line TEXT NOT NULL);
"""
_WINDOW: Final = 100


class Checkpoint:
    """A ledger in a file, which also knows how far a verification came.

    Args:
        path: the file; None for a temporary one, which spares memory and is gone afterwards.
        work: what is being done, and to what: another piece of work may not go on with this file.

    Raises:
        UsageError: the file belongs to other work, or is no checkpoint.
    """

    def __init__(self, path: Path | None, work: Mapping[str, Any]) -> None:
        self._path = path
        self._work = json.dumps(work, sort_keys=True)
        self._tables: dict[str, Table] = {}
        try:
            # An empty name is SQLite's for a temporary file.
            self._file = sqlite3.connect("" if path is None else path, isolation_level=None)
            self._file.executescript(_SCHEMA)
            self._check()
            self._file.execute("BEGIN")
        except sqlite3.DatabaseError as problem:
            raise UsageError(
                problem=f"{path} is no checkpoint file ({problem})", remedy="name another file, or delete it"
            ) from problem

    def _check(self) -> None:
        found = self._file.execute("SELECT value FROM work WHERE name = 'work'").fetchone()
        if found is None:
            self._file.execute("INSERT INTO work VALUES ('work', ?)", (self._work,))
        elif found[0] != self._work:
            raise UsageError(
                problem=f"{self._path} is the checkpoint of other work: {found[0]}, not {self._work}",
                remedy="go on with the same tables and segments, or name another file",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was not kept is forgotten; a file whose work is done goes."""
        self._file.close()
        if kind is None and self._path is not None:
            self._path.unlink(missing_ok=True)

    # -- how far ---------------------------------------------------------------------------------------------------

    def resume(self, work: Verification) -> None:
        """Let a verification go on where it was when it was last kept."""
        self._tables = {table.name: table for table in work.scope.known_tables}
        rows = self._file.execute("SELECT place, after, is_over FROM strips").fetchall()
        stood = {address: (after, is_over) for address, after, is_over in rows}
        for strip in work.strips:
            after, is_over = stood.get(_strip(strip), (None, 0))
            strip.after = _item(after) if after is not None else None
            strip.is_over = bool(is_over)
        found = self._file.execute("SELECT value FROM work WHERE name = 'examined'").fetchone()
        work.examined = int(found[0]) if found is not None else 0

    def keep(self, work: Verification) -> None:
        """Write down how far a verification is, with all it has learned."""
        self._file.executemany(
            "INSERT OR REPLACE INTO strips VALUES (?, ?, ?)",
            [
                (_strip(one), _text(one.after) if one.after is not None else None, int(one.is_over))
                for one in work.strips
                if one.after is not None or one.is_over
            ],
        )
        self._file.execute("INSERT OR REPLACE INTO work VALUES ('examined', ?)", (str(work.examined),))
        self._file.execute("COMMIT")
        self._file.execute("BEGIN")

    def tell(self, line: str) -> None:
        """Remember what was told and is wrong still, so that whoever goes on can tell it again."""
        # A temporary file is not gone on with.
        if self._path is not None:
            self._file.execute("INSERT INTO told (line) VALUES (?)", (line,))

    def told(self) -> Iterator[str]:
        """What was told of all that is behind us, in order."""
        last = 0
        query = "SELECT number, line FROM told WHERE number > ? ORDER BY number LIMIT ?"
        while rows := self._file.execute(query, (last, _WINDOW)).fetchall():
            for last, line in rows:  # noqa: B007 - the last number is where the next portion begins
                yield line

    # -- the ledger ------------------------------------------------------------------------------------------------

    def suspect(self, suspect: SuspectGuard, /) -> None:
        guard = _place(suspect.guard)
        self._file.execute(
            "INSERT INTO guards VALUES (?, ?) ON CONFLICT (place) DO UPDATE SET is_wrong = is_wrong OR ?",
            (guard, int(not suspect.unsigned), int(not suspect.unsigned)),
        )
        if suspect.claimant is not None:
            self._file.execute(
                "INSERT OR IGNORE INTO claimants VALUES (?, ?)", (guard, _place(suspect.claimant))
            )

    def suspects(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        for (guard,) in self._rows(
            "SELECT place FROM guards WHERE place > ? AND "
            "(is_wrong OR (SELECT count(*) FROM claimants WHERE guard = guards.place) > 1)"
        ):
            rows = self._file.execute(
                "SELECT place FROM claimants WHERE guard = ? ORDER BY place LIMIT ?", (guard, MOST_CLAIMANTS)
            )
            yield self._read(guard), tuple(self._read(address) for (address,) in rows)

    def add(self, dues: Iterable[TotalDelta], /) -> None:
        for due in dues:
            address = _place(ItemAddress(due.mapping.table, due.key))
            row = self._file.execute("SELECT totals FROM targets WHERE place = ?", (address,)).fetchone()
            totals = _totals(row[0]) if row is not None else {}
            add_up(totals, due.totals)
            text = json.dumps({name: str(number) for name, number in totals.items()})
            self._file.execute("INSERT OR REPLACE INTO targets VALUES (?, ?)", (address, text))

    def target(self, address: ItemAddress, /) -> None:
        self._file.execute("INSERT OR IGNORE INTO targets VALUES (?, '{}')", (_place(address),))

    def targets(self) -> Iterator[tuple[ItemAddress, Totals]]:
        for address, totals in self._rows("SELECT place, totals FROM targets WHERE place > ?"):
            yield self._read(address), _totals(totals)

    def doubt(self, source: EntityMapping, /) -> None:
        self._file.execute("INSERT OR IGNORE INTO doubtful VALUES (?)", (source.name,))

    def is_doubtful(self, source: EntityMapping, /) -> bool:
        query = "SELECT 1 FROM doubtful WHERE source = ?"
        return self._file.execute(query, (source.name,)).fetchone() is not None

    def _rows(self, query: str) -> Iterator[Any]:
        """The rows of a query in the order of their places, some at a time: the file changes meanwhile."""
        after = ""
        while rows := self._file.execute(f"{query} ORDER BY place LIMIT {_WINDOW}", (after,)).fetchall():
            yield from rows
            after = rows[-1][0]

    def _read(self, text: str) -> ItemAddress:
        name, key = json.loads(text)
        return ItemAddress(self._tables[name], _item(json.dumps(key)))


def _strip(strip: ScanSegment) -> str:
    return json.dumps([strip.table.name, strip.segment, strip.segments])


def _place(address: ItemAddress) -> str:
    return json.dumps([address.table.name, json.loads(_text(address.key))], sort_keys=True)


def _text(key: Item) -> str:
    return json.dumps(
        {
            name: {kind: b64encode(content).decode() if kind == "B" else content}
            for name, value in key.items()
            for kind, content in value.items()
        },
        sort_keys=True,
    )


def _item(text: str) -> dict[str, Any]:
    return {
        name: {kind: b64decode(content) if kind == "B" else content}
        for name, value in json.loads(text).items()
        for kind, content in value.items()
    }


def _totals(text: str) -> dict[str, Decimal]:
    return {name: Decimal(number) for name, number in json.loads(text).items()}
