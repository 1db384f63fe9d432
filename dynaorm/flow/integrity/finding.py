"""What a verification finds: a finding for the reader, and with it what would mend it.

A ``Finding`` is plain data. A ``Diagnosis`` is a finding with the actions of one transaction that repairs it. They are
conditional on exactly what was read. Where they are refused, the diagnosis says how to check again.
"""

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from typing import Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.item.value import Item
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import Ident
from dynaorm.record import record


class Kind(Enum):
    """What is wrong."""

    MISSING_GUARD = "missing guard"
    """An entity holds a unique value, and no guard item says so."""

    ORPHAN_GUARD = "orphan guard"
    """A guard item whose owner is gone, or holds the value no longer."""

    WRONG_OWNER = "wrong owner"
    """A guard item that names somebody else than the one entity that holds the value."""

    DUPLICATE = "duplicate value"
    """Several live entities hold one unique value."""

    GUARD_EXPIRY = "guard expiry"
    """A guard item that does not expire when its owner does."""

    VERSION_MISSING = "missing version"
    """The latest copy says a number, and no version item has it."""

    VERSION_DIFFERS = "version differs"
    """The latest copy is not what its newest version says."""

    VERSION_GAP = "version gap"
    """A version below the newest is missing, and an older one is there."""

    NO_LATEST = "no latest copy"
    """Versions without a latest copy, not even a tombstone."""

    INDEX_KEYS = "index keys"
    """Index keys that are missing, left over, or of other values than the entity's."""

    TOTAL = "total"
    """A total that is not what the entities it counts add up to."""

    INCOMPLETE = "incomplete"
    """An entity that lacks what a declaration added later asks for: guards, index keys, versions."""

    UNKNOWN_ITEM = "unknown item"
    """An item that no class of its table understands."""

    UNREADABLE = "unreadable item"
    """An item that does not fit its class."""


@record
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: what.
        table: the declared name of the table.
        key: the primary key of the item that is wrong, or that is missing.
        entity: the name of the class concerned; None where no class is.
        detail: what exactly, in a sentence.
        mendable: whether ``repair`` can mend it without a choice.
        owners: for guard items, the primary keys of the entities that hold the value.
    """

    kind: Kind
    table: str
    key: Item
    entity: str | None
    detail: str
    mendable: bool
    owners: tuple[Item, ...] = ()

    def __str__(self) -> str:
        key = " ".join(f"{name}={next(iter(value.values()))}" for name, value in self.key.items())
        of = f" of {self.entity}" if self.entity is not None else ""
        return f"{self.kind.value}{of} in {self.table}, {key}: {self.detail}"


@record
class Diagnosis:
    """A finding, the one transaction that mends it, and how to look again.

    Attributes:
        finding: what is wrong.
        again: asks anew, and gives every fault of the same item.
        actions: what mends it; none where that needs a choice.
    """

    finding: Finding
    again: Callable[[], StoredCheck[Any]] | None = None
    actions: tuple[Planned, ...] = ()

    @property
    def identity(self) -> tuple[Kind, Ident]:
        return self.finding.kind, (self.finding.table, *map(repr, self.finding.key.values()))


@record
class SuspectGuard:
    """A guard item that is not as it should be, to be judged once everybody who holds its value is known.

    Attributes:
        guard: the guard item, stored or not.
        claimant: an entity that holds the value; None where the owner it names does not.
        unsigned: the guard is there, and names no owner: that alone is no fault.
    """

    guard: ItemAddress
    claimant: ItemAddress | None = None
    unsigned: bool = False


@record(frozen=False)
class Judgement:
    """What is known of one item by now.

    Attributes:
        faults: what is wrong with it alone.
        troubles: guard items to be judged later.
        contributions: what it adds to totals: the target, and a number for each of its fields.
        target: the item has totals of its own.
        unsound: its class keeps totals, and what it adds cannot be read.
    """

    diagnoses: list[Diagnosis] = field(default_factory=list)
    suspects: list[SuspectGuard] = field(default_factory=list)
    contributions: list[Any] = field(default_factory=list)
    target: ItemAddress | None = None
    unsound: EntityMapping | None = None
