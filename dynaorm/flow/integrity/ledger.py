"""What a verification remembers until every item was read: the facts under each key, as far as they are not settled.

Rule 1. Of the facts under one key, in any order, holders are collected, and amounts are added up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Final, Protocol, TypeAlias

from dynaorm.entity.table import Ident
from dynaorm.flow.integrity.finding import Amount, CheckResult, Claim, Fact, Uncertainty
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.value import EXACT, Item
from dynaorm.record import record

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
