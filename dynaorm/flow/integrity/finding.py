"""What a verification finds, what would repair it, and what became of it.

A ``Finding`` is plain data for the reader. A ``Diagnosis`` is a finding with the actions of the one transaction that
repairs it; they are conditional on exactly what was read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dynaorm.entity.ident import Ident
from dynaorm.entity.table import Table
from dynaorm.failure import hidden_in, texts_of
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.item.printable import printable
from dynaorm.item.value import Item
from dynaorm.item.value_text import key_text
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Planned
from dynaorm.record import record, replace

NAMED: Final = 3
"""How many keys a sentence names."""


class FindingKind(Enum):
    """What is wrong.

    Examples:
        >>> [kind.value for kind in Broken][:2]
        ['missing guard', 'orphan guard']
    """

    MISSING_GUARD = "missing guard"
    """An entity holds a unique value, and no guard item protects it."""

    ORPHAN_GUARD = "orphan guard"
    """A guard item whose owner does not exist, or no longer holds the value."""

    WRONG_OWNER = "wrong owner"
    """A guard item that names another owner than the one entity that holds the value."""

    DUPLICATE = "duplicate value"
    """Several live entities hold one unique value."""

    GUARD_EXPIRY = "guard expiry"
    """A guard item that does not expire when its owner does."""

    VERSION_MISSING = "missing version"
    """The version item that the latest copy repeats does not exist."""

    VERSION_DIFFERS = "version differs"
    """The latest copy differs from the newest version item."""

    VERSION_GAP = "version gap"
    """A version below the newest is missing, and an older one exists."""

    NO_LATEST = "no latest copy"
    """Version items without a latest copy or a tombstone."""

    STORED_VALUES = "stored values"
    """Stored values that the class's validators change whenever they are loaded, as when the validators are newer."""

    INDEX_KEYS = "index keys"
    """Index keys that are missing, left over, or differ from those that the entity's fields give."""

    EXTRA_ATTRIBUTES = "extra attributes"
    """A guard item, version item or tombstone with attributes that such an item does not have."""

    TOTAL = "total"
    """A total that differs from the sum over the entities it counts."""

    INCOMPLETE = "incomplete"
    """An entity that lacks what was declared after it was stored: guards, index keys, versions."""

    UNKNOWN_ITEM = "unknown item"
    """An item that belongs to no class of its table."""

    UNREADABLE = "unreadable item"
    """An item that does not fit its class."""

    NOT_JUDGED = "not judged"
    """An item or a total of which it is not known whether it is right: it changes all the time, or what it depends on
    cannot be read."""


@record
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: what is wrong.
        table: the declared name of the table.
        key: the primary key of the item that is wrong or missing.
        entity: the name of the class, or None if no class is concerned.
        detail: the details, in a sentence.
        mendable: whether ``repair`` can correct it without a choice.
        owners: for a guard item, the primary keys of the entities that hold its value.
        doubt: why it may be no fault, and is not repaired: it depends on something that the loaded declarations do not
            explain. Empty if nothing is doubtful.

    Examples:
        >>> guard = {"PK": {"S": "email#a@x.com"}, "SK": {"S": "email#a@x.com"}}
        >>> [finding.kind.value for finding in inconsistencies({app: [guard]}, now=0.0)]
        ['orphan guard']
    """

    kind: FindingKind
    table: str
    key: Item
    entity: str | None
    detail: str
    mendable: bool
    owners: tuple[Item, ...] = ()
    doubt: str = ""

    def __str__(self) -> str:
        key = named_key(self.key)
        # Who has to choose between them must know them, and who sees no key must find the item by them.
        is_told = not self.mendable or hidden_in(self.key)
        held = f" ({_some(self.owners)})" if is_told and self.owners else ""
        of = f" of {self.entity}" if self.entity is not None else ""
        doubt = f" (doubtful: {self.doubt})" if self.doubt else ""
        return printable(f"{self.kind.value}{of} in {self.table}, {key}: {self.detail}{held}{doubt}")

    @property
    def hides_keys(self) -> bool:
        """Whether a key attribute has a secret field in it, which its text masks."""
        return any(map(hidden_in, (self.key, *self.owners)))

    @property
    def revealed(self) -> "Finding":
        """The same finding, whose text masks no key."""
        return replace(self, key=dict(self.key), owners=tuple(map(dict, self.owners)))


def _some(keys: Sequence[Item]) -> str:
    """The first of some keys, and how many there are beside them."""
    *named, last = sorted(map(named_key, keys))[:NAMED]
    if len(keys) > NAMED:
        named, last = [*named, last], f"{len(keys) - NAMED} more"
    return f"{', '.join(named)} and {last}" if named else last


def named_key(key: Item) -> str:
    """A primary key in words, with secrets masked."""
    texts = texts_of(key, key_text)
    return " ".join(f"{name}={text}" for name, text in texts.items())


class Outcome(Enum):
    """What became of a finding."""

    MENDED = "mended"
    """This run repaired it."""

    GONE = "gone"
    """It no longer exists: another writer or another repair corrected it, or an unanswered attempt had succeeded."""

    PLANNED = "planned"
    """A dry run: the plan shows what would be written."""

    STOPPED = "stopped"
    """The run ended here: this repair would have been one more than it may make."""

    LEFT = "left"
    """It still exists: the repair needs a choice, it is doubtful, or the items change all the time."""


@record
class Mended:
    """A finding, and what became of it.

    Attributes:
        finding: what was found.
        outcome: what became of it.
        reason: why it was left.
        plan: in a dry run, the transaction that would repair it.
    """

    finding: Finding
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None

    def __str__(self) -> str:
        reason = f" ({printable(self.reason)})" if self.reason else ""
        plan = "" if self.plan is None else str(self.plan).replace("\n", "\n    ")
        return f"{self.outcome.value}: {self.finding}{reason}" + (f"\n    {plan}" if plan else "")


@record
class Diagnosis:
    """A finding, the transaction that repairs it, and how to judge the item again.

    Attributes:
        finding: what is wrong.
        again: judges the same item again; it returns every diagnosis of the item.
        actions: the actions of the repair; none if the repair needs a choice.
        counted: the item whose numbers were counted to find this. It is judged again by counting again.
    """

    finding: Finding
    again: Callable[[], StoredCheck[Any]] | None = None
    actions: tuple[Planned, ...] = ()
    counted: ItemAddress | None = None

    @property
    def identity(self) -> tuple[FindingKind, Ident]:
        """Equal for two diagnoses of the same problem at the same key."""
        return self.finding.kind, (self.finding.table, *map(repr, self.finding.key.values()))


def not_judged(table: Table, key: Item, detail: str) -> Diagnosis:
    """The diagnosis of what could not be judged. ``key``: the primary key, as it may be shown."""
    return Diagnosis(Finding(FindingKind.NOT_JUDGED, table.name, key, None, detail, mendable=False))


@record
class Holding:
    """A fact about an item that several entities may hold: one of them does, or the item itself was met.

    Attributes:
        address: the address of the item; it need not exist.
        holder: the address of an entity that holds it; None if the item itself was met.
        is_harmless: alone it is no fault.
    """

    address: ItemAddress
    holder: ItemAddress | None = None
    is_harmless: bool = False


@record
class Amount:
    """A fact about an item that is a sum: an entity adds to its numbers, or the item itself was met.

    Attributes:
        address: the address of the item; it need not exist.
        numbers: a number for each of its fields that is added to; none if the item itself was met.
    """

    address: ItemAddress
    numbers: Mapping[str, Decimal] = MappingProxyType({})


Fact: TypeAlias = Holding | Amount
"""What one item says under the key of another. All facts under one key decide what is wrong with the item there."""


@record
class Doubt:
    """A reason why sums cannot be judged from the loaded declarations.

    Attributes:
        source: the name of the counted class that is concerned; None if it can be any class.
        reason: the reason, in words.
    """

    source: str | None
    reason: str


@record(frozen=False)
class Judgement:
    """What is known about one item after it was judged together with the items that belong to it.

    Attributes:
        diagnoses: what is wrong with it.
        facts: what it says about items that are judged when every fact about them is known.
        doubt: why the item makes sums doubtful.
    """

    diagnoses: list[Diagnosis] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    doubt: Doubt | None = None
