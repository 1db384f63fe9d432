"""What dynaorm wants to reach, and whether it does: ratios of minima, because a busy machine only adds."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.page import table
from benchmarks.peers.rows import Row

_SYNC: Final = {
    "get": 0.09,
    "put": 0.12,
    "transact3": 0.15,
    "query1": 0.14,
    "query100": 0.16,
    "query1000": 0.17,
    "batch_get100": 0.19,
    "batch_write25": 0.18,
}
_ASYNC: Final = {
    "get": 0.11,
    "put": 0.15,
    "transact3": 0.19,
    "query1": 0.17,
    "query100": 0.17,
    "query1000": 0.17,
    "batch_get100": 0.21,
    "batch_write25": 0.21,
}
# Not slower than botocore's client alone.
_OVER_PYNAMODB: Final = {
    "get": 1.0,
    "put": 1.0,
    "transact3": 1.0,
    "query1": 1.0,
    "query100": 0.35,
    "query1000": 0.25,
    "batch_get100": 0.45,
    "batch_write25": 0.8,
}
GOALS: Final[Mapping[str, Mapping[str, float]]] = {
    "dynaorm": _SYNC,
    "dynaorm-direct": _SYNC,
    "dynaorm-async": _ASYNC,
    "dynaorm-async-direct": _ASYNC,
    "dynaorm, over pynamodb": _OVER_PYNAMODB,
}
"""By client and operation: the ratio to the reference."""

FIRST_GET: Final = ("dynaorm", "pynamodb Model", 0.75)
"""The first get of a process: of which client, compared with which, and the ratio."""


def reached(rows: Sequence[Row]) -> str:
    """A table of the goals of the clients that were measured, and a line about the first get; "" for none."""
    by_name = {row.name: row for row in rows}
    unit = rows[0]
    lines = [
        [name, *(_cell(by_name[name], unit, operation, goal) for operation, goal in goals.items())]
        for name, goals in GOALS.items()
        if name in by_name and any(operation in by_name[name].cpu for operation in goals)
    ]
    parts = []
    if lines:
        explained = f"The ratio of the minima to {unit.name}, and the goal. Bold: missed."
        parts.append(f"{explained}\n\n{table(['client', *_SYNC], lines, words=1)}")
    if first := _first_get(by_name):
        parts.append(first)
    return "\n\n".join(parts)


def _cell(row: Row, unit: Row, operation: str, goal: float) -> str:
    ratio = row.ratio(operation, unit)
    return "" if ratio is None else _judged(ratio.minima, goal)


def _judged(ratio: float, goal: float) -> str:
    text = f"{ratio:.2f}x of {goal:.2f}x"
    return text if round(ratio, 2) <= goal else f"**{text}**"


def _first_get(by_name: Mapping[str, Row]) -> str:
    own, other, goal = FIRST_GET
    starts = [by_name[name].first_gets for name in (own, other) if name in by_name]
    if len(starts) < 2 or not all(starts):
        return ""
    left, right = (min(one.cpu for one in found) for found in starts)
    return f"First get of {own}, compared with {other}: {_judged(left / right, goal)}."
