"""What a verification has to remember until the end: guard items in trouble, and one number for each total."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from decimal import Decimal
from typing import Final, Protocol

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.integrity.finding import Trouble
from dynaorm.flow.integrity.inquiry import Place
from dynaorm.plan.aggregates import EXACT, Due
from dynaorm.plan.known import Ident
from dynaorm.record import record

MOST_CLAIMANTS: Final = 40
"""How many entities that hold one value are told apart: they are read by one transaction, of 100 items at most."""

Totals = Mapping[str, Decimal]


class Ledger(Protocol):
    """Remembers; in memory, or in a file."""

    def trouble(self, trouble: Trouble, /) -> None:
        """A guard item, to be judged at the end."""
        ...

    def troubled(self) -> Iterator[tuple[Place, tuple[Place, ...]]]:
        """The guard items to be judged, each with the entities that hold its value."""
        ...

    def add(self, dues: Iterable[Due], /) -> None:
        """What entities add to totals."""
        ...

    def target(self, place: Place, /) -> None:
        """An entity that has totals."""
        ...

    def targets(self) -> Iterator[tuple[Place, Totals]]:
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
    place: Place
    claimants: dict[Ident, Place] = field(default_factory=dict)
    is_wrong: bool = False


class MemoryLedger:
    """Remembers in memory."""

    def __init__(self) -> None:
        self._guards: dict[Ident, _Guard] = {}
        self._targets: dict[Ident, tuple[Place, dict[str, Decimal]]] = {}
        self._doubtful: set[str] = set()

    def trouble(self, trouble: Trouble, /) -> None:
        guard = self._guards.setdefault(trouble.guard.ident, _Guard(trouble.guard))
        guard.is_wrong |= not trouble.unsigned
        if trouble.claimant is not None and len(guard.claimants) < MOST_CLAIMANTS:
            guard.claimants[trouble.claimant.ident] = trouble.claimant

    def troubled(self) -> Iterator[tuple[Place, tuple[Place, ...]]]:
        for guard in self._guards.values():
            if guard.is_wrong or len(guard.claimants) > 1:
                yield guard.place, tuple(guard.claimants.values())

    def add(self, dues: Iterable[Due], /) -> None:
        for due in dues:
            place = Place(due.mapping.table, due.key)
            _, totals = self._targets.setdefault(place.ident, (place, {}))
            add_up(totals, due.totals)

    def target(self, place: Place, /) -> None:
        self._targets.setdefault(place.ident, (place, {}))

    def targets(self) -> Iterator[tuple[Place, Totals]]:
        yield from self._targets.values()

    def doubt(self, source: EntityMapping, /) -> None:
        self._doubtful.add(source.name)

    def is_doubtful(self, source: EntityMapping, /) -> bool:
        return source.name in self._doubtful


def add_up(totals: dict[str, Decimal], more: Totals) -> None:
    """Add numbers to totals, exactly."""
    for name, number in more.items():
        totals[name] = EXACT.add(totals.get(name, Decimal(0)), number)
