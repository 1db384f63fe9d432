"""What a verification has to remember until the end: guard items that are suspect, and one number for each total."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Final, Protocol

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.integrity.finding import SuspectGuard
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.plan.aggregates import EXACT, TotalDelta
from dynaorm.plan.reads import Ident
from dynaorm.record import record

MOST_CLAIMANTS: Final = 40
"""How many entities that hold one value are told apart: they are read by one transaction, of 100 items at most."""

Totals = Mapping[str, Decimal]


class Ledger(Protocol):
    """Remembers; in memory, or in a file."""

    def suspect(self, suspect: SuspectGuard, /) -> None:
        """A guard item, to be judged at the end."""
        ...

    def suspects(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        """The guard items to be judged, each with the entities that hold its value."""
        ...

    def add(self, dues: Iterable[TotalDelta], /) -> None:
        """What entities add to totals."""
        ...

    def target(self, address: ItemAddress, /) -> None:
        """An entity that has totals."""
        ...

    def targets(self) -> Iterator[tuple[ItemAddress, Totals]]:
        """Every entity that has totals, or that is named by those that are counted, with what they add up to."""
        ...

    def doubt(self, source: EntityMapping, /) -> None:
        """A class that is counted has an item that cannot be read."""
        ...

    def is_doubtful(self, source: EntityMapping, /) -> bool:
        """Whether one has."""
        ...


@record(frozen=False)
class _Guard:
    address: ItemAddress
    claimants: dict[Ident, ItemAddress] = field(default_factory=dict)
    is_wrong: bool = False


class MemoryLedger:
    """Remembers in memory."""

    def __init__(self) -> None:
        self._guards: dict[Ident, _Guard] = {}
        self._targets: dict[Ident, tuple[ItemAddress, dict[str, Decimal]]] = {}
        self._doubtful: set[str] = set()

    def suspect(self, suspect: SuspectGuard, /) -> None:
        guard = self._guards.setdefault(suspect.guard.ident, _Guard(suspect.guard))
        guard.is_wrong |= not suspect.unsigned
        if suspect.claimant is not None and len(guard.claimants) < MOST_CLAIMANTS:
            guard.claimants[suspect.claimant.ident] = suspect.claimant

    def suspects(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        for guard in self._guards.values():
            if guard.is_wrong or len(guard.claimants) > 1:
                yield guard.address, tuple(guard.claimants.values())

    def add(self, dues: Iterable[TotalDelta], /) -> None:
        for due in dues:
            address = ItemAddress(due.mapping.table, due.key)
            _, totals = self._targets.setdefault(address.ident, (address, {}))
            add_up(totals, due.totals)

    def target(self, address: ItemAddress, /) -> None:
        self._targets.setdefault(address.ident, (address, {}))

    def targets(self) -> Iterator[tuple[ItemAddress, Totals]]:
        yield from self._targets.values()

    def doubt(self, source: EntityMapping, /) -> None:
        self._doubtful.add(source.name)

    def is_doubtful(self, source: EntityMapping, /) -> bool:
        return source.name in self._doubtful


def add_up(totals: dict[str, Decimal], more: Totals) -> None:
    """Add numbers to totals, exactly."""
    for name, number in more.items():
        totals[name] = EXACT.add(totals.get(name, Decimal(0)), number)
