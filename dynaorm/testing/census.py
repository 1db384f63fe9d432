"""The raw items of tables, counted and told apart: which are live entities, which guards each of these must have."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.mapping.constraint import TABLE
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.image import subject_of
from dynaorm.plan.reads import Ident, ident_of
from dynaorm.record import record


class Broken(StrEnum):
    """The rule that an item breaks."""

    UNKNOWN_ITEM = "no class understands it"
    UNREADABLE = "it cannot become an entity"
    INDEX_KEY = "an index key is not as its template renders it"
    NO_GUARD = "a live value has no guard"
    FOREIGN_GUARD = "the guard of a live value is somebody else's"
    GUARD_EXPIRY = "a guard does not expire with its entity"
    GUARD_SHAPE = "a guard holds what a guard does not"
    ORPHAN_GUARD = "a guard has no live owner with that value"
    VERSION_GAP = "the versions are not dense"
    VERSION_SHAPE = "a version holds what a version does not"
    STRAY_VERSION = "a version has no latest copy"
    NOT_NEWEST = "the latest copy is not the newest version"
    TOMBSTONE = "a tombstone holds what a tombstone does not"
    TOTAL = "a total is not what its sources add up to"


@record
class Inconsistency:
    """One rule broken by one item.

    Attributes:
        broken: the rule.
        table: the declared name of the item's table.
        key: the item's primary key, or that of the one which is missing.
        problem: what is wrong, in words.
    """

    broken: Broken
    table: str
    key: Item
    problem: str

    def __str__(self) -> str:
        return f"{self.table} {shown(self.key)}: {self.broken}: {self.problem}"


def shown(key: Item) -> str:
    """A primary key in words."""
    return " ".join(f"{name}={next(iter(value.values()))}" for name, value in key.items())


@dataclass(frozen=True)
class Stored:
    """An item, and what it is: of a class, or a stray."""

    table: Table
    item: Item
    kind: EntityMapping | NotAnEntity

    @cached_property
    def key(self) -> Item:
        return {name: self.item[name] for name in self.table.key_names}

    @cached_property
    def ident(self) -> Ident:
        return ident_of(self.table, self.key)

    def breaks(self, broken: Broken, problem: str) -> Inconsistency:
        return Inconsistency(broken, self.table.name, self.key, problem)


@record
class Live:
    """An entity that reads would give, and the guards it must have: by table and key, the name of the constraint."""

    stored: Stored
    mapping: EntityMapping
    guards: Mapping[tuple[str, str], str]

    @property
    def owner(self) -> AttributeValue:
        """What its guards must say of it."""
        table = self.mapping.table
        elsewhere = {} if table.guard_table is None else {TABLE: {"S": table.name}}
        return {"M": {**elsewhere, **self.stored.key}}


class Census:
    """All items of some tables, by what they are."""

    def __init__(self, items: Mapping[Table, Iterable[Item]], now: float) -> None:
        self.now = now
        self.stored = [
            Stored(table, item, classify(table, item)) for table, found in items.items() for item in found
        ]
        self.by_ident = {one.ident: one for one in self.stored}
        self.live: dict[Ident, Live] = {}
        self.unreadable: dict[Ident, Inconsistency] = {}
        for one in self.stored:
            if isinstance(one.kind, EntityMapping) and not one.kind.is_expired(one.item, now):
                self._meet(one, one.kind)

    def _meet(self, one: Stored, mapping: EntityMapping) -> None:
        try:
            mapping.hydrate(one.item)
            claims = mapping.claims(mapping.subject(one.item), lambda: subject_of(mapping, one.item))
        except DynaormError as problem:
            self.unreadable[one.ident] = one.breaks(Broken.UNREADABLE, str(problem))
            return
        home = mapping.table.guards.name
        self.live[one.ident] = Live(one, mapping, {(home, text): name for name, text, _ in claims})

    @property
    def unknown(self) -> Iterator[Stored]:
        """What is of no class, and no guard or version either."""
        return self.of(NotAnEntity.UNKNOWN)

    def of(self, kind: NotAnEntity) -> Iterator[Stored]:
        """The strays of one kind."""
        return (one for one in self.stored if one.kind is kind)
