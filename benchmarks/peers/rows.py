"""The measurements of a client, and the figures that follow from them."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import truediv

from benchmarks.callers import Served
from benchmarks.peers.client import OPERATIONS
from benchmarks.peers.cold import Start


@dataclass(frozen=True, slots=True)
class Ratio:
    """How one client compares with another over the same rounds.

    Attributes:
        median: the median of the rounds' ratios: a machine is not equally fast in all rounds.
        minima: the ratio of the fastest rounds of both.
        lowest: the lowest ratio of any round.
        highest: the highest ratio of any round.
        spread: the interquartile distance of the rounds' ratios, divided by the median; None for fewer than 3 rounds.
    """

    median: float
    minima: float
    lowest: float
    highest: float
    spread: float | None

    @classmethod
    def of(cls, rounds: Sequence[float], unit: Sequence[float]) -> "Ratio":
        """``unit``: the same rounds of the other client."""
        ratios = list(map(truediv, rounds, unit))
        median = statistics.median(ratios)
        return cls(median, min(rounds) / min(unit), min(ratios), max(ratios), spread_of(ratios))


def spread_of(rounds: Sequence[float]) -> float | None:
    """The interquartile distance, divided by the median; None for fewer than 3 rounds."""
    if len(rounds) < 3:
        return None
    low, middle, high = statistics.quantiles(rounds, n=4)
    return (high - low) / middle


@dataclass(slots=True)
class Row:
    """The measurements of one client.

    Attributes:
        cpu: CPU seconds per call, by operation, one for each round.
        imports: starts of an interpreter that imports what a program imports.
        first_gets: the same with the first get.
        kept: bytes of memory for one entity that is kept of a query for 1,000; None if not measured.
        callers: who calls at once: ``16 threads`` or ``200 tasks``.
        served: how these callers were served, one for each round.
    """

    name: str
    gives: str
    cpu: dict[str, list[float]] = field(default_factory=dict)
    imports: list[Start] = field(default_factory=list)
    first_gets: list[Start] = field(default_factory=list)
    kept: float | None = None
    callers: str = ""
    served: list[Served] = field(default_factory=list)

    @property
    def is_own(self) -> bool:
        """Whether it is a client of dynaorm."""
        return self.name.startswith("dynaorm")

    def ratio(self, operation: str, unit: "Row") -> Ratio | None:
        """Compared with another client; None if one of them does not have the operation."""
        if not (operation in self.cpu and operation in unit.cpu):
            return None
        return Ratio.of(self.cpu[operation], unit.cpu[operation])


@dataclass(frozen=True, slots=True)
class Measure:
    """Something in which clients are compared: less is better.

    ``of`` returns the median and the minimum of a client, or None if it was not measured. ``text`` shows one of them.
    """

    name: str
    of: Callable[[Row], tuple[float, float] | None]
    text: Callable[[float], str]

    def shown(self, row: Row) -> str:
        """Median and minimum of a client."""
        found = self.of(row)
        assert found is not None
        median, least = map(self.text, found)
        return median if median == least else f"{median}, {least}"

    def is_less(self, one: Row, other: Row) -> bool:
        """Whether one client needs less than another, by its median or by its minimum."""
        left, right = self.of(one), self.of(other)
        return left is not None and right is not None and (left[0] < right[0] or left[1] < right[1])


def measures_of(rows: Sequence[Row]) -> Iterator[Measure]:
    """Everything that was measured; operations are compared as ratios to the first row."""

    def operation(name: str) -> Measure:
        def of(row: Row) -> tuple[float, float] | None:
            ratio = row.ratio(name, rows[0])
            return (ratio.median, ratio.minima) if ratio is not None else None

        return Measure(name, of, "{:.2f}x".format)

    def starts(name: str, found: Callable[[Row], list[Start]]) -> Measure:
        return Measure(name, lambda row: _both([one.cpu * 1e3 for one in found(row)]), "{:.0f} ms".format)

    def callers(kind: str) -> Measure:
        def of(row: Row) -> tuple[float, float] | None:
            return _both([1e6 / one.calls for one in row.served]) if row.callers == kind else None

        return Measure(f"get, {kind}", of, "{:,.0f} µs".format)

    yield from (operation(name) for name in OPERATIONS if any(name in row.cpu for row in rows))
    if any(row.first_gets for row in rows):
        yield starts("import", lambda row: row.imports)
        yield starts("first get", lambda row: row.first_gets)
    if any(row.kept is not None for row in rows):
        yield Measure(
            "kept entity",
            lambda row: None if row.kept is None else (row.kept / 1e3, row.kept / 1e3),
            "{:.1f} kB".format,
        )
    yield from map(callers, sorted({row.callers for row in rows if row.served}))


def _both(found: Sequence[float]) -> tuple[float, float] | None:
    return (statistics.median(found), min(found)) if found else None
