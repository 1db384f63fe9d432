"""Turn measurements into a Markdown report."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from benchmarks.callers import CONNECTIONS, Served
from benchmarks.page import table
from benchmarks.peers import order
from benchmarks.peers.client import OPERATIONS
from benchmarks.peers.cold import Start
from benchmarks.peers.rows import Row, measures_of, spread_of

SESSIONS: Final = ("dynaorm", "dynaorm-async")
"""A plain ``Session`` and a plain ``AsyncSession``."""


def document(
    rows: Sequence[Row], imports: Mapping[str, list[Start]], notes: Sequence[str], facts: Sequence[str]
) -> str:
    """The whole report. The first row is the reference; ``imports`` are measured for comparison."""
    operations = [name for name in OPERATIONS if any(name in row.cpu for row in rows)]
    parts = ["\n".join(f"- {fact}" for fact in [*facts, *_noise(rows, operations)])]
    if operations:
        parts += ["### Client CPU per operation", _medians(rows, operations)]
    parts += _section("### Memory of one entity kept", _kept(rows))
    parts += _section("### Many callers at once", _callers(rows))
    if any(row.first_gets for row in rows):
        parts += ["### Cold start", _cold(rows, imports)]
    parts += _section("### Where a peer is faster or smaller than dynaorm", _faster(rows))
    if notes:
        parts += ["### Notes", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, text: str) -> list[str]:
    return [title, text] if text else []


# -- CPU time of operations --------------------------------------------------------------------------------------------


def _medians(rows: Sequence[Row], operations: Sequence[str]) -> str:
    unit = rows[0]
    ratios = {name: [one.median for row in rows if (one := row.ratio(name, unit))] for name in operations}

    def cell(row: Row, operation: str) -> str:
        if operation not in row.cpu:
            return ""
        text = _microseconds(statistics.median(row.cpu[operation]))
        if (ratio := row.ratio(operation, unit)) is None:
            return text
        text = f"{text} ({ratio.median:.2f}x)"
        return f"**{text}**" if ratio.median == min(ratios[operation]) else text

    lines = [[row.name, row.gives, *(cell(row, name) for name in operations)] for row in rows]
    spreads = [_spreads(rows, [name]) for name in operations]
    if any(spreads):
        lines.append(["noise", "", *(_percent(statistics.median(one)) if one else "" for one in spreads)])
    explained = (
        f"Median microseconds, and the median of the rounds' ratios to {unit.name}. Bold: the fastest of all. "
        "Noise: the interquartile spread of a client's ratios, median of all clients."
    )
    return f"{explained}\n\n{table(['client', 'gives', *operations], lines, words=2)}"


def _noise(rows: Sequence[Row], operations: Sequence[str]) -> list[str]:
    times = [one for row in rows for cpu in row.cpu.values() if (one := spread_of(cpu)) is not None]
    ratios = _spreads(rows, operations)
    return [
        f"Noise: interquartile spread of {what} over the rounds: median {statistics.median(found):.1%}, "
        f"worst {max(found):.0%}"
        for what, found in (("the microseconds", times), ("the ratios", ratios))
        if found
    ]


def _spreads(rows: Sequence[Row], operations: Sequence[str]) -> list[float]:
    """The spreads of the ratios of all clients but the reference."""
    ratios = [row.ratio(name, rows[0]) for row in rows[1:] for name in operations]
    return [one.spread for one in ratios if one is not None and one.spread is not None]


# -- memory and many callers -------------------------------------------------------------------------------------------


def _kept(rows: Sequence[Row]) -> str:
    lines = [[row.name, f"{row.kept / 1e3:.1f}"] for row in rows if row.kept is not None]
    if not lines:
        return ""
    page, item = (len(order.answer(name, "orders", 1000, False)) / 1e3 for name in ("Query", "GetItem"))
    explained = (
        "One entity is kept of each of several queries for 1,000. Memory that Python allocated for each (tracemalloc). "
        f"The reply to a query has {page:.0f} kB, an item {item:.1f} kB."
    )
    return f"{explained}\n\n{table(['client', 'kB'], lines, words=1)}"


def _callers(rows: Sequence[Row]) -> str:
    def middle(row: Row, part: Callable[[Served], float]) -> float:
        return statistics.median(map(part, row.served))

    lines = [
        [
            row.name,
            row.callers,
            f"{middle(row, lambda one: one.calls):,.0f}",
            f"{middle(row, lambda one: one.most_to_least):.2f}",
            f"{max(one.most_to_least for one in row.served):.2f}",
            f"{middle(row, lambda one: one.p50) * 1e3:.1f}",
            f"{middle(row, lambda one: one.p99) * 1e3:.1f}",
            f"{middle(row, lambda one: one.p99 / one.p50):.1f}",
        ]
        for row in rows
        if row.served
    ]
    if not lines:
        return ""
    head = ["client", "callers", "calls/s", "most/least", "worst round", "p50 ms", "p99 ms", "p99/p50"]
    explained = (
        f"All callers get one item after another from one client with {CONNECTIONS} connections. Medians of rounds. "
        "`most/least`: the calls of the caller that had most, divided by those of the one that had fewest."
    )
    return f"{explained}\n\n{table(head, lines, words=2)}"


# -- cold start --------------------------------------------------------------------------------------------------------


def _cold(rows: Sequence[Row], imports: Mapping[str, list[Start]]) -> str:
    unit = rows[0].first_gets

    def line(name: str, imported: list[Start], first: list[Start]) -> list[str]:
        # Starts differ by more than the machine drifts within a round, so the medians are compared.
        ratio = _median_cpu(first) / _median_cpu(unit) if first and unit else None
        return [
            name,
            *_milliseconds(imported),
            _megabytes(imported),
            *_milliseconds(first),
            "" if ratio is None else f"{ratio:.2f}x",
            _megabytes(first),
        ]

    lines = [line(name, starts, []) for name, starts in imports.items()]
    lines += [line(row.name, row.imports, row.first_gets) for row in rows]
    head = ["what", "import: CPU ms", "least", "MB", "first get: CPU ms", "least", "ratio", "MB"]
    explained = (
        "Fresh interpreters, bytecode cached, medians and minima. Import: what a program with the library imports. "
        f"First get: import, entity, client and one answered read; the ratio is that to {rows[0].name}. "
        "MB: resident memory afterwards."
    )
    return f"{explained}\n\n{table(head, lines, words=1)}"


# -- where a peer is faster --------------------------------------------------------------------------------------------


def _faster(rows: Sequence[Row]) -> str:
    """The libraries that are faster than a plain session. dynaorm's own clients are not compared."""
    peers = [row for row in rows if not row.is_own]
    lines = []
    for row in rows:
        for measure in measures_of(rows):
            if row.name not in SESSIONS or measure.of(row) is None:
                continue
            faster = sorted(
                (peer for peer in peers if measure.is_less(peer, row)),
                key=lambda peer: measure.of(peer) or (),
            )
            peer_texts = [f"{peer.name} ({measure.shown(peer)})" for peer in faster]
            lines.append([row.name, measure.name, measure.shown(row), "; ".join(peer_texts) or "none"])
    if not lines:
        return ""
    explained = "By the median or by the minimum; both are given, median first. The CPU time of operations is a ratio."
    return f"{explained}\n\n{table(['client', 'what', 'dynaorm', 'peers that need less'], lines, words=4)}"


# -- texts -------------------------------------------------------------------------------------------------------------


def _microseconds(seconds: float) -> str:
    micro = seconds * 1e6
    return f"{micro:,.0f}" if micro >= 100 else f"{micro:.1f}"


def _percent(part: float) -> str:
    return f"{part:.0%}"


def _median_cpu(starts: Sequence[Start]) -> float:
    return statistics.median(one.cpu for one in starts)


def _milliseconds(starts: Sequence[Start]) -> tuple[str, str]:
    """Median and minimum of the CPU time."""
    if not starts:
        return "", ""
    found = [one.cpu * 1e3 for one in starts]
    return f"{statistics.median(found):.0f}", f"{min(found):.0f}"


def _megabytes(starts: Sequence[Start]) -> str:
    known = [one.resident for one in starts if one.resident is not None]
    return f"{statistics.median(known) / 2**20:.0f}" if known else ""
