"""What a verification remembers until every item was read: suspect items, and sums for the totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Final, Protocol

from dynaorm.entity.ident import Ident
from dynaorm.flow.integrity.finding import Doubt, Judgement, Suspect
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.value import EXACT, Item
from dynaorm.plan.kinds.totals import TotalDelta
from dynaorm.record import record

MOST_CLAIMANTS: Final = 40
"""The most entities with one value that are remembered: one TransactGetItems of at most 100 items reads them."""

Totals = Mapping[str, Decimal]


class Ledger(Protocol):
    """The memory of a verification, kept in memory or in a file."""

    def suspect(self, suspect: Suspect, /) -> None:
        """Remember an item to be judged at the end."""
        ...

    def suspects(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        """The items to be judged, each with the entities that hold it.

        An item without an owner is left out if exactly one entity holds it.
        """
        ...

    def add(self, deltas: Iterable[TotalDelta], /) -> None:
        """Add what an entity contributes to totals."""
        ...

    def target(self, address: ItemAddress, /) -> None:
        """Remember an entity that has totals."""
        ...

    def targets(self) -> Iterator[tuple[ItemAddress, Totals]]:
        """Every entity that has totals or is named by a counted entity, with the sums."""
        ...

    def plan(self, address: ItemAddress, item: Item | None, /) -> None:
        """Remember what a dry run would store as a suspect item; None if it would delete it."""
        ...

    def planned(self, addresses: Iterable[ItemAddress], /) -> dict[Ident, Item | None]:
        """What a dry run would store at some addresses, as far as it would write there."""
        ...

    def doubt(self, doubt: Doubt, /) -> None:
        """Remember why totals are doubtful; one reason for each class is enough."""
        ...

    def doubts(self) -> Sequence[Doubt]:
        """Why totals are doubtful."""
        ...


def remember(judgement: Judgement, ledger: Ledger) -> None:
    """Enter in a ledger what a judgement leaves for the end."""
    for suspect in judgement.suspects:
        ledger.suspect(suspect)
    if judgement.contributions:
        ledger.add(judgement.contributions)
    if judgement.target is not None:
        ledger.target(judgement.target)
    if judgement.doubt is not None:
        ledger.doubt(judgement.doubt)


@record(frozen=False)
class _Suspected:
    address: ItemAddress
    claimants: dict[Ident, ItemAddress] = field(default_factory=dict)
    is_wrong: bool = False


class MemoryLedger:
    """A ledger kept in memory."""

    def __init__(self) -> None:
        self._suspects: dict[Ident, _Suspected] = {}
        self._targets: dict[Ident, tuple[ItemAddress, dict[str, Decimal]]] = {}
        self._doubts: dict[str | None, Doubt] = {}
        self._planned: dict[Ident, Item | None] = {}

    def suspect(self, suspect: Suspect, /) -> None:
        found = self._suspects.setdefault(suspect.address.ident, _Suspected(suspect.address))
        found.is_wrong |= not suspect.unsigned
        if suspect.claimant is not None and len(found.claimants) < MOST_CLAIMANTS:
            found.claimants[suspect.claimant.ident] = suspect.claimant

    def suspects(self) -> Iterator[tuple[ItemAddress, tuple[ItemAddress, ...]]]:
        for one in self._suspects.values():
            if one.is_wrong or len(one.claimants) != 1:
                yield one.address, tuple(one.claimants.values())

    def add(self, deltas: Iterable[TotalDelta], /) -> None:
        for delta in deltas:
            address = ItemAddress(delta.mapping.table, delta.key)
            _, totals = self._targets.setdefault(address.ident, (address, {}))
            add_up(totals, delta.totals)

    def target(self, address: ItemAddress, /) -> None:
        self._targets.setdefault(address.ident, (address, {}))

    def targets(self) -> Iterator[tuple[ItemAddress, Totals]]:
        yield from self._targets.values()

    def plan(self, address: ItemAddress, item: Item | None, /) -> None:
        self._planned[address.ident] = item

    def planned(self, addresses: Iterable[ItemAddress], /) -> dict[Ident, Item | None]:
        idents = {address.ident for address in addresses}
        return {ident: self._planned[ident] for ident in idents if ident in self._planned}

    def doubt(self, doubt: Doubt, /) -> None:
        self._doubts.setdefault(doubt.source, doubt)

    def doubts(self) -> Sequence[Doubt]:
        return list(self._doubts.values())


def add_up(totals: dict[str, Decimal], more: Totals) -> None:
    """Add numbers to totals, exactly."""
    for name, number in more.items():
        totals[name] = EXACT.add(totals.get(name, Decimal(0)), number)
