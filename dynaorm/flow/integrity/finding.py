"""What a verification finds, what would repair it, and what became of it.

A ``Finding`` is plain data for the reader. A ``RepairableFinding`` has the actions of the one transaction that repairs
it, too; they are conditional on exactly what was read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias

from dynaorm.entity.classify import shown_key
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.key import Key, found_key, item_named, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Ident
from dynaorm.failure import hidden_in, texts_of
from dynaorm.flow.integrity.reads import ItemAddress, StoredCheck
from dynaorm.item.text import key_text, printable
from dynaorm.item.value import EXACT, Item
from dynaorm.plan.plan import Plan, Planned
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
        item_key: the primary key of the stored item that is wrong or missing.
        entity: the name of the class, or None if no class is concerned.
        detail: the details, in a sentence.
        repairable: whether ``repair`` can correct it without a choice.
        key: the entity concerned. A ``Key`` of no class names an item that belongs to no one entity.
        owners: for a guard item, the entities that hold its value: first the one that it names.
        uncertain_because: why it may be no fault, and is not repaired: it depends on something that the loaded
            declarations do not explain. Empty otherwise.

    Examples:
        >>> guard = {"PK": {"S": "email#a@x.com"}, "SK": {"S": "email#a@x.com"}}
        >>> [finding.kind.value for finding in inconsistencies({app: [guard]}, now=0.0)]
        ['orphan guard']
    """

    kind: FindingKind
    table: str
    item_key: Item
    entity: str | None
    detail: str
    repairable: bool
    key: Key[Any]
    owners: tuple[Key[Any], ...] = ()
    uncertain_because: str = ""

    def __str__(self) -> str:
        key = named_key(self.item_key)
        # Who has to choose between them must know them, and who sees no key must find the item by them.
        is_told = not self.repairable or hidden_in(self.item_key)
        held = f" ({_some(self.owners)})" if is_told and self.owners else ""
        of = f" of {self.entity}" if self.entity is not None else ""
        reason = f" (uncertain: {self.uncertain_because})" if self.uncertain_because else ""
        return printable(f"{self.kind.value}{of} in {self.table}, {key}: {self.detail}{held}{reason}")

    @property
    def identity(self) -> tuple[FindingKind, str, tuple[str, ...]]:
        """Equal for two findings of the same problem with the same item."""
        return self.kind, self.table, tuple(map(repr, self.item_key.values()))

    @property
    def stored_keys(self) -> tuple[Item, ...]:
        """Every primary key in it: that of the item, of the entity, of the owners."""
        return (self.item_key, self.key.primary_key, *(one.primary_key for one in self.owners))

    @property
    def hides_keys(self) -> bool:
        """Whether a key attribute has a secret field in it, which its text masks."""
        return any(map(hidden_in, self.stored_keys))

    @property
    def revealed(self) -> "Finding":
        """The same finding, whose text masks no key."""
        item_key, key, *owners = map(dict, self.stored_keys)
        return replace(self, item_key=item_key, key=item_named(key), owners=tuple(map(item_named, owners)))


def finding_at(
    kind: FindingKind,
    address: ItemAddress,
    detail: str,
    *,
    entity: str | None = None,
    repairable: bool = False,
    owners: Sequence[Key[Any]] = (),
) -> Finding:
    """A finding at an item that belongs to its one owner, or else to no entity."""
    key = owners[0] if len(owners) == 1 else item_named(address.key)
    return Finding(kind, address.table.name, address.key, entity, detail, repairable, key, tuple(owners))


def finding_of(
    kind: FindingKind, mapping: EntityMapping, key: Item, detail: str, *, repairable: bool
) -> Finding:
    """A finding at an entity's own item."""
    return Finding(kind, mapping.table.name, key, mapping.name, detail, repairable, stored_key(mapping, key))


def _some(keys: Sequence[Key[Any]]) -> str:
    """The first of some keys, and how many there are beside them."""
    *named, last = [named_key(one.primary_key) for one in keys][:NAMED]
    if len(keys) > NAMED:
        named, last = [*named, last], f"{len(keys) - NAMED} more"
    return f"{', '.join(named)} and {last}" if named else last


def named_key(key: Item) -> str:
    """A primary key in words, with secrets masked."""
    texts = texts_of(key, key_text)
    return " ".join(f"{name}={text}" for name, text in texts.items())


class Outcome(Enum):
    """What became of a finding."""

    REPAIRED = "repaired"
    """This run repaired it."""

    RESOLVED = "already right"
    """It no longer exists: another writer or another repair corrected it, or an unanswered attempt had succeeded."""

    PLANNED = "planned"
    """A dry run: the plan shows what would be written."""

    LIMIT_REACHED = "limit reached"
    """The run ended here: this repair would have been one more than it may make."""

    NEEDS_DECISION = "needs a decision"
    """It still exists, and can be corrected in more than one way."""

    SKIPPED = "skipped"
    """It still exists: it is uncertain, DynamoDB refused the repair, or the items change all the time."""


@record
class RepairResult:
    """A finding, and what became of it.

    Attributes:
        finding: what is wrong.
        outcome: what became of it.
        reason: why it was skipped.
        plan: in a dry run, the transaction that would repair it.

    Examples:
        >>> results = list(repair(session, app))
        >>> [result for result in results if result.is_left]
        []
    """

    finding: Finding
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None

    @property
    def is_left(self) -> bool:
        """Whether the fault still exists when the run is over."""
        return self.outcome in (Outcome.NEEDS_DECISION, Outcome.SKIPPED)

    def __str__(self) -> str:
        reason = f" ({printable(self.reason)})" if self.reason else ""
        plan = "" if self.plan is None else str(self.plan).replace("\n", "\n    ")
        return f"{self.outcome.value}: {self.finding}{reason}" + (f"\n    {plan}" if plan else "")


def left(finding: Finding, reason: str = "") -> RepairResult:
    """The result for a fault that still exists. ``reason``: why it could not be repaired."""
    is_open = finding.repairable or finding.uncertain_because or reason
    needs_decision = not is_open and finding.kind is not FindingKind.NOT_JUDGED
    return RepairResult(finding, Outcome.NEEDS_DECISION if needs_decision else Outcome.SKIPPED, reason)


@record
class RepairableFinding:
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


def not_judged(address: ItemAddress, detail: str) -> RepairableFinding:
    """The diagnosis of what could not be judged."""
    table, key = address.table, shown_key(address.table, address.key)
    named = found_key(catalog_of(table).mappings, key)
    return RepairableFinding(Finding(FindingKind.NOT_JUDGED, table.name, key, None, detail, False, named))


@record
class Claim:
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


Fact: TypeAlias = Claim | Amount
"""What one item says under the key of another. All facts under one key decide what is wrong with the item there."""


@record
class Uncertainty:
    """A reason why sums cannot be judged from the loaded declarations.

    Attributes:
        source: the name of the counted class that is concerned; None if it can be any class.
        reason: the reason, in words.
    """

    source: str | None
    reason: str


@record(frozen=False)
class CheckResult:
    """What is known about one item after it was judged together with the items that belong to it.

    Attributes:
        diagnoses: what is wrong with it.
        facts: what it says about items that are judged when every fact about them is known.
        doubt: why the item makes sums doubtful.
    """

    diagnoses: list[RepairableFinding] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    doubt: Uncertainty | None = None


# What a verification remembers until every item was read: the facts under each key, as far as they are not settled.
#
# Rule 1. Of the facts under one key, in any order, holders are collected, and amounts are added up.

MOST_HOLDERS: Final = 40
"""The most entities with one item that are remembered: one TransactGetItems of at most 100 items reads them."""

Sums: TypeAlias = Mapping[str, Decimal]


class FactStore(Protocol):
    """The memory of a verification, kept in memory or in a file."""

    def add(self, fact: Fact, /) -> None:
        """Remember a fact."""
        ...

    def holdings(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        """The items to be judged that several entities may hold, each with the entities that do.

        An item of which all facts are harmless is left out if exactly one entity holds it.
        """
        ...

    def sums(self) -> Iterator[tuple[ItemAddress, Sums]]:
        """The items that are sums, each with the sum of its amounts."""
        ...

    def plan(self, address: ItemAddress, item: Item | None, /) -> None:
        """Remember what a dry run would store as an item that several may want; None if it would delete it."""
        ...

    def planned(self, addresses: Iterable[ItemAddress], /) -> dict[Ident, Item | None]:
        """What a dry run would store at some addresses, as far as it would write there."""
        ...

    def doubt(self, doubt: Uncertainty, /) -> None:
        """Remember why sums are doubtful; one reason for each class is enough."""
        ...

    def doubts(self) -> Sequence[Uncertainty]:
        """Why sums are doubtful."""
        ...


def remember(judgement: CheckResult, ledger: FactStore) -> None:
    """Enter in a ledger what a judgement leaves for the end."""
    for fact in judgement.facts:
        ledger.add(fact)
    if judgement.doubt is not None:
        ledger.doubt(judgement.doubt)


@record(frozen=False)
class _Held:
    address: ItemAddress
    holders: dict[Ident, ItemAddress] = field(default_factory=dict)
    is_wrong: bool = False


class MemoryFactStore:
    """A ledger kept in memory."""

    def __init__(self) -> None:
        self._held: dict[Ident, _Held] = {}
        self._sums: dict[Ident, tuple[ItemAddress, dict[str, Decimal]]] = {}
        self._doubts: dict[str | None, Uncertainty] = {}
        self._planned: dict[Ident, Item | None] = {}

    def add(self, fact: Fact, /) -> None:
        match fact:
            case Claim(address, holder, is_harmless):
                found = self._held.setdefault(address.ident, _Held(address))
                found.is_wrong |= not is_harmless
                if holder is not None and len(found.holders) < MOST_HOLDERS:
                    found.holders[holder.ident] = holder
            case Amount(address, numbers):
                _, sums = self._sums.setdefault(address.ident, (address, {}))
                add_up(sums, numbers)

    def holdings(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        for one in self._held.values():
            if one.is_wrong or len(one.holders) != 1:
                yield one.address, tuple(one.holders.values())

    def sums(self) -> Iterator[tuple[ItemAddress, Sums]]:
        yield from self._sums.values()

    def plan(self, address: ItemAddress, item: Item | None, /) -> None:
        self._planned[address.ident] = item

    def planned(self, addresses: Iterable[ItemAddress], /) -> dict[Ident, Item | None]:
        idents = {address.ident for address in addresses}
        return {ident: self._planned[ident] for ident in idents if ident in self._planned}

    def doubt(self, doubt: Uncertainty, /) -> None:
        self._doubts.setdefault(doubt.source, doubt)

    def doubts(self) -> Sequence[Uncertainty]:
        return list(self._doubts.values())


def add_up(sums: dict[str, Decimal], more: Sums) -> None:
    """Add numbers to sums, exactly."""
    for name, number in more.items():
        sums[name] = EXACT.add(sums.get(name, Decimal(0)), number)
