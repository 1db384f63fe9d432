"""Write the figures of two pages from benchmarks/RESULTS.md: docs/performance.md and docs/comparison.md.

The first has a picture and a list of what is faster than dynaorm, the second a table of some clients.

Run: python -m benchmarks.summary

``make bench-peers PEERS_ARGS="--write"`` ends with it. The picture has two files: a narrow one for telephones.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from benchmarks.page import RESULTS, ROOT, replaced, table

PAGE: Final = ROOT / "docs" / "performance.md"
COMPARISON: Final = ROOT / "docs" / "comparison.md"
REFERENCE: Final = "botocore (by hand)"
SESSION: Final = "dynaorm"
ASYNC: Final = "dynaorm-async"
# What needs botocore's client or one of its forks maps nothing, so it is no peer.
_BY_HAND: Final = frozenset({REFERENCE, "aiobotocore (by hand)"})
NAMES: Final[Mapping[str, str]] = {
    "get": "get",
    "put": "put",
    "transact3": "transaction of 3",
    "query1": "query for 1",
    "query3": "query for 3",
    "query10": "query for 10",
    "query100": "query for 100",
    "query1000": "query for 1,000",
    "batch_get100": "get 100",
    "batch_write25": "write 25",
    "get_change_save": "get, change, save",
    "query1000_change_save": "query 1,000, save 1",
    "query100_json": "query 100 to JSON",
}

# The clients of docs/comparison.md, which has the libraries that people ask about.
COMPARED: Final = (
    "boto3 Table",
    "pynamodb Model",
    "pydynox",
    "dyntastic",
    "pydynantic",
    "dynantic",
    "aiodynamo (aiohttp)",
    SESSION,
    ASYNC,
)

_STYLE: Final = """
text { font: 14px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.minor { font-size: 13px; fill: #59636e }
.back { fill: #ffffff }
.line { stroke: #d1d9e0 }
.unit { stroke: #59636e; stroke-dasharray: 4 3 }
.letter { font-size: 12px }
.peer { fill: #ffffff; stroke: #59636e; stroke-width: 1 }
.sync { fill: #0969da }
.async { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .minor { fill: #9198a1 }
  .back { fill: #0d1117 }
  .line { stroke: #3d444d }
  .unit { stroke: #9198a1 }
  .peer { fill: #0d1117; stroke: #9198a1 }
  .sync { fill: #58a6ff }
  .async { fill: #f0883e }
}
"""


class Layout(NamedTuple):
    """Where things are in a picture, in pixels: the axis goes from ``left`` to ``right``.

    ``row``: the height of a row; ``is_stacked``: its name is above its axis, not before it.
    """

    width: int
    left: int
    right: int
    row: int
    is_stacked: bool


PICTURES: Final[Mapping[str, Layout]] = {
    "performance.svg": Layout(860, 170, 730, 42, is_stacked=False),
    "performance-narrow.svg": Layout(390, 18, 368, 60, is_stacked=True),
}


def ratios(results: str) -> dict[str, dict[str, float]]:
    """By operation: each client's median ratio to botocore, from the report of ``make bench-peers``."""
    _, _, report = results.partition("### Client CPU per operation")
    head, *lines = [_cells(line) for line in report.splitlines() if line.startswith("| ")][:40]
    found: dict[str, dict[str, float]] = {name: {} for name in head[2:]}
    for client, _, *cells in lines:
        if client == "noise":
            break
        for name, cell in zip(head[2:], cells, strict=True):
            if ratio := re.search(r"\(([\d.]+)x\)", cell):
                found[name][client] = float(ratio[1])
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


LETTERS: Final[Mapping[str, str]] = {
    "boto3 Table": "b",
    "pynamodb Model": "n",
    "dyntastic": "t",
    "pydynantic": "p",
    "dynantic": "d",
    "pydynox": "x",
    "aiodynamo (httpx)": "h",
    "aiodynamo (aiohttp)": "a",
}
"""The letter of each peer in the picture."""


def picture(results: str, layout: Layout) -> str:
    """The picture: for each operation a row with a mark for each library, as an SVG."""
    rows = ratios(results)
    most = math.ceil(max(max(row.values()) for row in rows.values()) * 2) / 2
    top = 128 if layout.is_stacked else 92
    height = top + layout.row * len(rows) + 40
    scale = partial(_place, layout, most)
    parts = [*_legend(layout), *_grid(layout, most, top, height - 40)]
    for number, (name, row) in enumerate(rows.items()):
        parts.append(f'<g transform="translate(0 {top + layout.row * number})">')
        parts += [*_row(layout, scale, NAMES.get(name, name), row), "</g>"]
    said = (
        "CPU time of each operation, compared with botocore by hand. The tables are in benchmarks/RESULTS.md."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {height}" width="{layout.width}" '
        f'height="{height}" role="img" aria-label="{said}">\n<style>{_STYLE}</style>\n'
        f'<rect class="back" width="{layout.width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _place(layout: Layout, most: float, ratio: float) -> float:
    return round(layout.left + (layout.right - layout.left) * ratio / most, 1)


def _text(x: float, y: float, text: str, *, minor: bool = False, anchor: str = "start") -> str:
    kind = ' class="minor"' if minor else ""
    return f'<text x="{x}" y="{y}"{kind} text-anchor="{anchor}">{text}</text>'


def _legend(layout: Layout) -> Iterator[str]:
    """What the marks mean. Their shapes differ, not their colours alone."""
    marks = [
        ("sync", "dynaorm, Session()"),
        ("async", "dynaorm, AsyncSession()"),
        *LETTERS.items(),
    ]
    x, y = 16.0, 22.0
    for kind, said in marks:
        is_peer = kind in LETTERS
        name = kind if is_peer else said
        width = 30 + 8 * len(name)
        if x + width > layout.width or kind == "boto3 Table":
            x, y = 16.0, y + 22
        yield from _peer(said, x + 6, y - 5) if is_peer else [_mark(kind, x + 6, y - 5)]
        yield _text(x + 18, y, name)
        x += width


def _grid(layout: Layout, most: float, top: float, bottom: float) -> Iterator[str]:
    for half in range(int(most * 2) + 1):
        x, kind = _place(layout, most, half / 2), "unit" if half == 2 else "line"
        yield f'<line class="{kind}" x1="{x}" y1="{top - 14}" x2="{x}" y2="{bottom}"/>'
        yield _text(x, bottom + 18, f"{half / 2:g}x" if half else "0", minor=True, anchor="middle")
    yield _text(layout.right, bottom + 34, "CPU time; 1x is botocore by hand", minor=True, anchor="end")


def _row(
    layout: Layout, scale: Callable[[float], float], name: str, row: Mapping[str, float]
) -> Iterator[str]:
    middle = 36 if layout.is_stacked else 10
    own = [(kind, row[client]) for kind, client in (("sync", SESSION), ("async", ASYNC)) if client in row]
    said = "  ".join(f'<tspan class="{kind}">{ratio:.2f}x</tspan>' for kind, ratio in own)
    if layout.is_stacked:
        yield _text(layout.left, 12, name)
        yield _text(layout.right, 12, said, anchor="end")
    else:
        yield _text(layout.left - 12, middle + 5, name, anchor="end")
        yield _text(layout.width - 16, middle + 5, said, anchor="end")
    yield f'<line class="line" x1="{layout.left}" y1="{middle}" x2="{layout.right}" y2="{middle}"/>'
    for kind, ratio in reversed(own):
        yield _mark(kind, scale(ratio), middle)
    # Where marks would cover each other, they stand above and below the line.
    taken = [(scale(ratio), 0) for _, ratio in own]
    for client in sorted(LETTERS.keys() & row.keys(), key=lambda peer: (row[peer], peer)):
        x = scale(row[client])
        free = (lane for lane in (0, -12, 12) if all(other != lane or x - at > 13 for at, other in taken))
        lane = next(free, 0)
        taken.append((x, lane))
        yield from _peer(LETTERS[client], x, middle + lane)


def _peer(letter: str, x: float, y: float) -> Iterator[str]:
    yield f'<circle class="peer" cx="{x}" cy="{y}" r="6.5"/>'
    yield f'<text x="{x}" y="{y + 4}" class="letter" text-anchor="middle">{letter}</text>'


def _mark(kind: str, x: float, y: float) -> str:
    match kind:
        case "async":
            return f'<path class="async" d="M{x} {y - 7} l7 7 l-7 7 l-7 -7 z"/>'
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="6.5"/>'


def faster(results: str) -> str:
    """The measures in which a peer needs less than one of the two sessions."""
    _, _, report = results.partition("### Where a peer is faster or smaller than dynaorm")
    report, _, _ = report.partition("\n### ")
    found: dict[str, dict[str, Sequence[str]]] = {}
    for client, measure, own, peers in (
        _cells(line) for line in report.splitlines() if line.startswith("| ")
    ):
        if client in (SESSION, ASYNC):
            what = "get, many callers" if measure.startswith("get, ") else NAMES.get(measure, measure)
            found.setdefault(what, {})[client] = [own, "" if peers == "none" else peers]
    lines = [
        [what, *(cell for one in (SESSION, ASYNC) for cell in sessions.get(one, ["", ""]))]
        for what, sessions in found.items()
        if any(peers for _, peers in sessions.values())
    ]
    return table(["operation", "`Session()`", "need less", "`AsyncSession()`", "need less"], lines, words=5)


def summarised(page: str, results: str) -> str:
    """The page with the list of what is faster."""
    return replaced(page, "faster", faster(results))


def compared(page: str, results: str) -> str:
    """The page with two tables of some clients: CPU time of operations; cold start and memory.

    Three columns, so that a telephone shows them without scrolling.
    """
    get, put, query = (ratios(results)[name] for name in ("get", "put", "query100"))
    fast = [
        [_short(client), f"{get[client]:.2f}x, {put[client]:.2f}x", f"{query[client]:.2f}x"]
        for client in COMPARED
    ]
    starts, kept = (_table(results, title) for title in ("Cold start", "Memory of one entity kept"))
    small = [[_short(client), f"{starts[client][3]} ms", f"{kept[client][0]} kB"] for client in COMPARED]
    page = replaced(page, "fast", table(["library", "get, put", NAMES["query100"]], fast, words=1))
    return replaced(page, "small", table(["library", "first get", "kept entity"], small, words=1))


def _short(client: str) -> str:
    """The name of the library alone."""
    return client.partition(" ")[0]


def _table(results: str, title: str) -> dict[str, Sequence[str]]:
    """The rows of the first table of a section, by their first cell."""
    _, _, section = results.partition(f"### {title}\n")
    section, _, _ = section.partition("\n### ")
    rows = [_cells(line) for line in section.splitlines() if line.startswith("| ")]
    return {name: cells for name, *cells in rows}


def main() -> None:
    results = RESULTS.read_text(encoding="utf-8")
    for path, written in ((PAGE, summarised), (COMPARISON, compared)):
        path.write_text(written(path.read_text(encoding="utf-8"), results), encoding="utf-8")
    for name, layout in PICTURES.items():
        (PAGE.parent / name).write_text(picture(results, layout), encoding="utf-8")


if __name__ == "__main__":
    main()
