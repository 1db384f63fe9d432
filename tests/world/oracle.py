"""What the tables of an application hold after any writes, in plain Python: an oracle that never asks dynaorm.

``judge`` says with which errors a block of changes is to be refused, ``apply`` makes it, ``items`` gives every
item that is stored then. What is derived (guard items, totals, versions, index keys) follows from the
facts of the classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    DynaormError,
    EntityNotFound,
    StaleEntity,
    StillCounted,
    UniqueViolation,
)
from tests.world.cast import FACTS, Item, Kind, Name, Values

TARGETS = {facts.family: facts for facts in FACTS.values() if facts.totals}
Wrong: TypeAlias = type[DynaormError]
NEW, OVER, ANY, UPSERT = "new", "over", "any", "upsert"


@dataclass
class Row:
    """What is stored under one key: a class and its values, or a tombstone (no values).

    Attributes:
        stamp: counts writes.
        number: of the newest version.
        versions: those that are kept.
        log: the version that was the newest from a time on; None from a deletion on.
    """

    kind: Kind
    values: Values | None
    stamp: int = 0
    number: int = 0
    versions: dict[int, Values] = field(default_factory=dict)
    log: list[tuple[float, int | None]] = field(default_factory=list)


@dataclass(frozen=True)
class Base:
    """What an object was loaded as."""

    stamp: int
    kind: Kind
    values: Values
    number: int = 0


@dataclass
class Change:
    """What is to become of one key.

    Attributes:
        base: NEW for an insert, OVER for a replacement, ANY and UPSERT by key, or what the object was loaded as.
        values: of the entity afterwards; None deletes it.
        allowed: whether the caller's own condition holds.
        blind: it is sent even if nothing changes.
        moved_to: the key of a move, whose values are those under the new key.
    """

    kind: Kind
    name: Name
    values: Values | None
    base: str | Base
    allowed: bool = True
    blind: bool = False
    moved_to: Name | None = None

    @property
    def target(self) -> Name:
        return self.moved_to or self.name

    @property
    def is_nothing(self) -> bool:
        """Whether an object is written as it was loaded: nothing is sent, and nobody asks whether it is stale."""
        is_same = isinstance(self.base, Base) and self.values == self.base.values
        return is_same and not self.blind and self.moved_to is None


def name_of(kind: Kind, values: Values) -> Name:
    return FACTS[kind].family, values["name"]


def expiry(values: Values) -> int | None:
    until = values.get("until")
    return None if until is None else int(until.timestamp())


class World:
    """All rows by key, the holder and expiry of each claimed value, and the tokens that are remembered."""

    def __init__(self) -> None:
        self.rows: dict[Name, Row] = {}
        self.guards: dict[str, tuple[Name, int | None]] = {}
        self.tokens: set[tuple[str, str]] = set()
        self.stamps = 0

    # -- what is there -------------------------------------------------------------------------------------------------

    def stored(self, name: Name, now: float) -> Row | None:
        """The row of a live entity."""
        row = self.rows.get(name)
        if row is None or row.values is None:
            return None
        end = expiry(row.values)
        return None if end is not None and end <= now else row

    def values(self, name: Name, now: float, kind: Kind) -> Values | None:
        """The values of a live entity of a class or of a subclass."""
        row = self.stored(name, now)
        return row.values if row is not None and issubclass(row.kind, kind) else None

    def live(self, kind: Kind, now: float) -> list[Values]:
        """All live entities of a class and of its subclasses."""
        return [values for name in self.rows if (values := self.values(name, now, kind)) is not None]

    def held_guards(self, name: Name, now: float) -> set[str]:
        """The guard items of a live entity that are its own."""
        row = self.stored(name, now)
        if row is None or row.values is None:
            return set()
        return {
            text for text in FACTS[row.kind].guards(row.values) if self.guards.get(text, (None,))[0] == name
        }

    def due_totals(self) -> dict[tuple[Name, str], Decimal]:
        """What the stored sources add up to."""
        due: dict[tuple[Name, str], Decimal] = {}
        for row in self.rows.values():
            for total, number in FACTS[row.kind].counts(row.values).items() if row.values is not None else ():
                due[total] = due.get(total, Decimal(0)) + number
        return due

    def wrong_totals(self) -> set[Name]:
        """Targets whose totals are not those of their sources: they were deleted while sources named them."""
        due = self.due_totals()
        return {
            name
            for name, row in self.rows.items()
            for total in FACTS[row.kind].totals
            if row.values is not None and row.values[total] != due.get((name, total), 0)
        }

    # -- judging a block -----------------------------------------------------------------------------------------------

    def judge(self, block: list[Change], now: float) -> set[Wrong]:
        """The errors of which one is raised; empty if the block is made."""
        block = [change for change in block if not change.is_nothing]
        wrong = {error for change in block for error in self._judge(change, now)}
        claims: dict[str, Name] = {}
        for change in block:
            for text in FACTS[change.kind].guards(change.values) if change.values is not None else ():
                if text in claims:
                    return wrong | {UniqueViolation}
                claims[text] = change.target
        given_up = {text for change in block for text in self.held_guards(change.name, now)}
        for text, claimer in claims.items():
            holder, until = self.guards.get(text, (claimer, None))
            is_expired = until is not None and until < int(now) - 60
            if not (holder == claimer or text in given_up or is_expired):
                wrong.add(UniqueViolation)
        return wrong | self._judge_totals(block, now)

    def _judge(self, change: Change, now: float) -> Iterator[Wrong]:
        row = self.stored(change.name, now)
        if not change.allowed:
            yield ConditionFailed
        if change.base == NEW and row is not None:
            yield AlreadyExists
        if change.base == ANY and (row is None or not issubclass(row.kind, change.kind)):
            yield EntityNotFound
        if change.base == UPSERT and row is not None and not issubclass(row.kind, change.kind):
            yield AlreadyExists
        if isinstance(change.base, Base) and self.is_stale(change, change.base):
            yield StaleEntity
        if change.moved_to is not None and self.stored(change.moved_to, now) is not None:
            yield AlreadyExists

    def is_stale(self, change: Change, base: Base) -> bool:
        """Whether the object that is written is out of date."""
        row, relied_on, new = self.rows.get(change.name), FACTS[change.kind].relied_on, change.values
        if row is None or row.values is None:
            return True
        if relied_on is None:
            return row.stamp != base.stamp
        if row.number != base.number:
            return True
        if new is None or change.moved_to:
            return row.values != base.values
        changed = {name for name, value in new.items() if value != base.values[name]}
        return any(row.values[name] != base.values[name] for name in changed | relied_on)

    def _judge_totals(self, block: list[Change], now: float) -> set[Wrong]:
        deltas, joined = self.deltas(block, now)
        written = {change.target: change for change in block}
        wrong: set[Wrong] = set()
        for target in joined:
            change = written.get(target)
            is_there = self.stored(target, now) is not None if change is None else change.values is not None
            if not is_there and (change is not None or TARGETS[target[0]].made is None):
                wrong.add(EntityNotFound)
        for change in block:
            row = self.stored(change.name, now)
            if row is None or row.values is None or not FACTS[row.kind].restricted:
                continue
            left = [
                row.values[total] + deltas.get((change.name, total), 0) for total in FACTS[row.kind].totals
            ]
            if any(left) and (change.values is None or change.moved_to):
                wrong.add(StillCounted)
        return wrong

    def deltas(self, block: list[Change], now: float) -> tuple[dict[tuple[Name, str], Decimal], set[Name]]:
        """What is added to each total, and the targets in which an entity counts that did not before."""
        deltas: dict[tuple[Name, str], Decimal] = {}
        joined: set[Name] = set()
        for change in block:
            row = self.stored(change.name, now)
            before = {} if row is None or row.values is None else FACTS[row.kind].counts(row.values)
            after = {} if change.values is None else FACTS[change.kind].counts(change.values)
            for sign, counts in ((-1, before), (1, after)):
                for total, number in counts.items():
                    deltas[total] = deltas.get(total, Decimal(0)) + sign * number
            if change.moved_to is None:
                joined |= {target for target, _ in after} - {target for target, _ in before}
        return {total: number for total, number in deltas.items() if number}, joined

    # -- making it -----------------------------------------------------------------------------------------------------

    def apply(self, block: list[Change], now: float) -> int:
        """Make a block; how many of its rows were written."""
        block = [change for change in block if not change.is_nothing]
        deltas, joined = self.deltas(block, now)
        for change in block:
            for text in self.held_guards(change.name, now):
                del self.guards[text]
        written = 0
        for change in block:
            for text in FACTS[change.kind].guards(change.values) if change.values is not None else ():
                self.guards[text] = (change.target, expiry(change.values or {}))
            written += self._apply(change, now)
        self._count(deltas, [target for target in joined if self.stored(target, now) is None], now)
        return written

    def _count(self, deltas: dict[tuple[Name, str], Decimal], missing: list[Name], now: float) -> None:
        """Make the missing targets, and add to the totals of all that are there."""
        for target in missing:
            kind = next(kind for kind, facts in FACTS.items() if facts.family == target[0])
            self.rows[target] = Row(kind, {"name": target[1], **(FACTS[kind].made or {})})
        for (target, total), number in deltas.items():
            row = self.stored(target, now)
            if row is not None and row.values is not None:
                row.values = {**row.values, total: row.values[total] + number}
                row.stamp = self._stamp()

    def _stamp(self) -> int:
        self.stamps += 1
        return self.stamps

    def _apply(self, change: Change, now: float) -> bool:
        old, alive = self.rows.get(change.name), self.stored(change.name, now)
        values, facts = change.values, FACTS[change.kind]
        if change.base in (ANY, UPSERT) and not change.blind and alive and values == alive.values:
            return False
        if values is not None and change.base in (NEW, OVER):
            kept = alive.values if alive is not None and alive.values is not None else {}
            values = {**values, **{total: kept.get(total, 0) for total in facts.totals}}
        if change.moved_to is not None:
            del self.rows[change.name]
            self.rows[change.moved_to] = Row(change.kind, values, self._stamp())
            return True
        row = Row(change.kind, values, self._stamp())
        if facts.versioned is not None:
            if old is not None:
                row.number, row.versions, row.log = old.number, old.versions, old.log
            self._count_version(row, None if old is None else old.values, change.base in (NEW, OVER), now)
        elif values is None:
            self.rows.pop(change.name, None)
            return True
        self.rows[change.name] = row
        return True

    def _count_version(self, row: Row, before: Values | None, anew: bool, now: float) -> None:
        if row.values is None:
            row.log.append((now, None))
            return
        versioned = FACTS[row.kind].versioned or ()
        kept = {name: row.values[name] for name in versioned}
        if anew or before is None or {name: before[name] for name in versioned} != kept:
            row.number += 1
            row.versions[row.number] = kept
            row.log.append((now, row.number))

    # -- what is stored then -------------------------------------------------------------------------------------------

    def items(self) -> dict[str, Item]:
        """Every item by its table and key, without revisions and times."""
        stored: dict[str, Item] = {}
        for name, row in self.rows.items():
            for table, item in self._items_of(name, row):
                stored[place(table, item)] = item
        for text, (holder, until) in self.guards.items():
            row = self.rows[holder]
            owner = FACTS[row.kind].key(row.values or {**FACTS[row.kind].beside, "name": holder[1]})
            ttl = {} if until is None else {"until": {"N": str(until)}}
            guard = {"PK": {"S": text}, "SK": {"S": text}, "owner": {"M": owner}, **ttl}
            stored[place(FACTS[row.kind].table.name, guard)] = guard
        for table, token in self.tokens:
            item = {"PK": {"S": f"#token#{token}"}, "SK": {"S": f"#token#{token}"}}
            stored[place(table, item)] = item
        return stored

    def _items_of(self, name: Name, row: Row) -> Iterator[tuple[str, Item]]:
        facts = FACTS[row.kind]
        key, table = facts.key(row.values or {**facts.beside, "name": name[1]}), facts.table.name
        number = {} if facts.versioned is None else {"version": {"N": str(row.number)}}
        if row.values is None:
            yield table, {**key, **number, "deleted": {"BOOL": True}}
        else:
            kind = {} if facts.relied_on is not None else {"_type": {"S": row.kind.__name__}}
            index = {name: {"S": text} for name, text in facts.index(row.values).items()}
            own = {name: value for name, value in row.values.items() if name not in facts.in_key}
            yield table, {**number, **kind, **index, **attributes(own), **key}
        for version, values in row.versions.items():
            sort = {"S": f"v{version}_{key['SK']['S'].removeprefix('v0_')}"}
            yield table, {**key, "SK": sort, "version": {"N": str(version)}, **attributes(values)}


def place(table: str, item: Item) -> str:
    """The table and the key of an item, as a text."""
    return f"{table} {[item[name] for name in ('PK', 'SK', 'device', 'name') if name in item][:2]}"


def attributes(values: Values) -> Item:
    """The attributes of an item, as DynamoDB's JSON. Numbers are compared as numbers: see ``comparable``."""
    stored: Item = {}
    for name, value in values.items():
        match value:
            case None:
                continue
            case bool():
                stored[name] = {"BOOL": value}
            case datetime():
                stored[name] = {"N": str(int(value.timestamp()))}
            case int() | Decimal():
                stored[name] = {"N": str(value)}
            case _:
                stored[name] = {"S": value}
    return stored


def comparable(item: Item) -> dict[str, Any]:
    """An item whose numbers are numbers."""
    return {name: Decimal(value["N"]) if "N" in value else value for name, value in item.items()}
