"""Turn measurements into a Markdown report."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import truediv

from benchmarks.peers.client import OPERATIONS
from benchmarks.peers.cold import Start

BEGIN = "<!-- bench-peers: begin -->"
END = "<!-- bench-peers: end -->"


@dataclass(slots=True)
class Row:
    """The measurements of one client: CPU seconds per call, by operation, one for each round."""

    name: str
    gives: str
    cpu: dict[str, list[float]] = field(default_factory=dict)
    imports: list[Start] = field(default_factory=list)
    first_gets: list[Start] = field(default_factory=list)

    def median(self, operation: str) -> float | None:
        """The median over the rounds; None if the library does not have the operation."""
        found = self.cpu.get(operation)
        return statistics.median(found) if found else None

    def ratio(self, operation: str, unit: "Row") -> float | None:
        """The median of each round's ratio to another client: a machine is not equally fast in all rounds."""
        if not (operation in self.cpu and operation in unit.cpu):
            return None
        return statistics.median(map(truediv, self.cpu[operation], unit.cpu[operation]))


def document(
    rows: Sequence[Row], imports: Mapping[str, list[Start]], notes: Sequence[str], facts: Sequence[str]
) -> str:
    """The whole report. The first row is the reference; ``imports`` are measured for comparison."""
    operations = [name for name in OPERATIONS if any(name in row.cpu for row in rows)]
    parts = ["\n".join(f"- {fact}" for fact in [*facts, *_spread(rows)])]
    if operations:
        parts += ["### Client CPU per operation", _cpu_table(rows, operations)]
    if operations and any(_is_own(row) and row.cpu for row in rows):
        parts += ["### Where a peer is faster than dynaorm", _faster(rows, operations)]
    if any(row.first_gets for row in rows):
        parts += ["### Cold start", _cold_table(rows, imports), _own_import(rows, imports)]
    if notes:
        parts += ["### Notes", "\n".join(f"- {note}" for note in notes)]
    return "\n\n".join(part for part in parts if part)


def replaced(page: str, text: str) -> str:
    """A page with the text between its markers replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page lacks its markers; write {BEGIN} and {END} where the report belongs.")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def _cpu_table(rows: Sequence[Row], operations: Sequence[str]) -> str:
    unit = rows[0]
    fastest = {
        name: min((ratio for row in rows if (ratio := row.ratio(name, unit)) is not None), default=None)
        for name in operations
    }

    def cell(row: Row, operation: str) -> str:
        median, ratio = row.median(operation), row.ratio(operation, unit)
        if median is None:
            return ""
        text = _microseconds(median) if ratio is None else f"{_microseconds(median)} ({ratio:.2f}x)"
        return text if ratio is None or ratio != fastest[operation] else f"**{text}**"

    lines = [[row.name, row.gives, *(cell(row, name) for name in operations)] for row in rows]
    explained = (
        f"Median microseconds, and the median of the rounds' ratios to {unit.name}. Bold: the fastest of all."
    )
    return f"{explained}\n\n{_table(['client', 'gives', *operations], lines, words=2)}"


def _faster(rows: Sequence[Row], operations: Sequence[str]) -> str:
    """The libraries that are faster, for each dynaorm client and operation. dynaorm's own clients are not compared."""
    unit = rows[0]
    peers = [row for row in rows if not _is_own(row)]
    lines = []
    for row in filter(_is_own, rows):
        for operation in operations:
            own = row.ratio(operation, unit)
            if own is None:
                continue
            ratios = [(one, peer.name) for peer in peers if (one := peer.ratio(operation, unit)) is not None]
            faster = [f"{name} ({ratio:.2f}x)" for ratio, name in sorted(ratios) if ratio < own]
            lines.append([row.name, operation, f"{own:.2f}x", ", ".join(faster) or "none"])
    return _table(["client", "operation", "ratio", "peers that are faster"], lines, words=4) if lines else ""


def _is_own(row: Row) -> bool:
    return row.name.startswith("dynaorm")


def _cold_table(rows: Sequence[Row], imports: Mapping[str, list[Start]]) -> str:
    def cells(starts: list[Start]) -> list[str]:
        return [_milliseconds(starts, lambda one: one.wall), _megabytes(starts)]

    def line(name: str, imported: list[Start], first: list[Start]) -> list[str]:
        return [name, *cells(imported), _milliseconds(first, lambda one: one.cpu), *cells(first)]

    lines = [line(name, starts, []) for name, starts in imports.items()]
    lines += [line(row.name, row.imports, row.first_gets) for row in rows]
    head = ["what", "import: ms", "MB after it", "first get: CPU ms", "wall ms", "MB after it"]
    explained = (
        "Fresh interpreters, bytecode cached, medians. First get: import, entity, client and one answered read. "
        "MB: resident memory."
    )
    return f"{explained}\n\n{_table(head, lines, words=1)}"


def _own_import(rows: Sequence[Row], imports: Mapping[str, list[Start]]) -> str:
    own = next((row.imports for row in rows if row.name == "dynaorm"), [])
    pydantic = imports.get("pydantic", [])
    if not (own and pydantic):
        return ""
    more = statistics.median(one.wall for one in own) - statistics.median(one.wall for one in pydantic)
    return f"`import dynaorm` takes {more * 1e3:.0f} ms more than `from pydantic import BaseModel`."


def _spread(rows: Sequence[Row]) -> list[str]:
    """The interquartile distance of the rounds, divided by the median."""
    found = []
    for row in rows:
        for rounds in row.cpu.values():
            if len(rounds) >= 3:
                low, middle, high = statistics.quantiles(rounds, n=4)
                found.append((high - low) / middle)
    if not found:
        return []
    return [
        f"Interquartile spread of the rounds: median {statistics.median(found):.1%}, worst {max(found):.0%}"
    ]


def _microseconds(seconds: float) -> str:
    micro = seconds * 1e6
    return f"{micro:,.0f}" if micro >= 100 else f"{micro:.1f}"


def _milliseconds(starts: Sequence[Start], part: Callable[[Start], float]) -> str:
    return f"{statistics.median(map(part, starts)) * 1e3:.0f}" if starts else ""


def _megabytes(starts: Sequence[Start]) -> str:
    known = [one.resident for one in starts if one.resident is not None]
    return f"{statistics.median(known) / 2**20:.0f}" if known else ""


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], *, words: int) -> str:
    """A Markdown table; the first columns hold words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
