"""Measure what must not grow with size: CPU per entity of a unit of work, of a scan and of a table, and memory.

Run: make bench-scale

The first three rows are dynaorm's own CPU time per entity, interleaved round by round in one process, over a transport
that answers from memory. ``growth`` compares each size with the smallest one. The last table reads a million items from
a stub server over the default transport, and records the memory of the process meanwhile.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table as Grid
from stub import page_of_events, stub_server

from dynaorm import Entity, Session, Table
from dynaorm.entity.dispatch import classify
from dynaorm.flow.commit import planned
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.flow.protocol.retry import Retry
from dynaorm.item.json_body import Body
from dynaorm.plan.intent import Save
from dynaorm.session.settings import context_of

ROUNDS: Final = 9
STREAM: Final = 1_000_000
PAGE: Final = 1_000

app = Table("scale")
log = Table("log")


class Order(Entity, table=app, pk="ORDER#{order_id}", sk="ORDER"):
    order_id: str
    customer: str
    quantity: int
    tags: list[str]


class Event(Entity, table=log, pk="EVENT#{number:09d}", sk="EVENT"):
    number: int
    kind: str
    visitor: str
    tags: list[str]


class Pages:
    """A ``Transport`` that answers with the pages of a table of events, a thousand items each."""

    def __init__(self, size: int) -> None:
        self._pages = [
            page_of_events(first, min(first + PAGE, size) - 1, more=first + PAGE < size)
            for first in range(0, size, PAGE)
        ]

    def call(self, call: Call, /) -> Reply:
        after = call.request.get("ExclusiveStartKey")
        number = (int(after["PK"]["S"].partition("#")[2]) + 1) // PAGE if after else 0
        return Body(self._pages[number])


def unit_of_work(size: int) -> Callable[[], object]:
    context = context_of(None, Retry(), consistent=False, clock=None)
    orders = [
        Order(order_id=str(number), customer="Bobby", quantity=3, tags=["new"]) for number in range(size)
    ]
    return lambda: planned([Save(order) for order in orders], context).to_request()


def page_walk(size: int) -> Callable[[], object]:
    session = Session(transport=Pages(size))
    return lambda: sum(1 for _ in session.scan(Event))


def dispatch(classes: int) -> Callable[[], object]:
    """Find the classes of a thousand items by the shape of their keys, in a table of so many classes."""
    table = Table(f"classes{classes}", type_attribute=None)
    for number in range(classes):
        type(
            f"Class{number}",
            (Entity,),
            {"__annotations__": {"one": str, "two": str}, "__module__": __name__},
            table=table,
            pk=f"KIND{number}#{{one}}",
            sk="ITEM#{two}",
        )
    items: list[dict[str, Any]] = [
        {"PK": {"S": f"KIND{number % classes}#{number}"}, "SK": {"S": f"ITEM#{number}"}}
        for number in range(1000)
    ]
    return lambda: [classify(table, item) for item in items]


FLAT: Final[dict[str, tuple[Callable[[int], Callable[[], object]], dict[int, int]]]] = {
    "compile and encode a unit of work, per entity": (unit_of_work, {1: 1, 10: 10, 100: 100}),
    "read pages, per item": (page_walk, {10: 10, 100: 100, 1000: 1000, 10_000: 10_000}),
    "find the class of an item by its key": (dispatch, {1: 1000, 10: 1000, 100: 1000}),
}
"""For each row: a function that prepares the work of a size, and the number of entities for each size."""


def flat_rows() -> Iterator[tuple[str, int, float, float]]:
    """Name, size, median CPU µs per entity, and the ratio to the smallest size."""
    for name, (make, sizes) in FLAT.items():
        works = {size: make(size) for size in sizes}
        found: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(ROUNDS + 1):
            for size, work in works.items():
                found[size].append(_microseconds(work, max(1, 2000 // sizes[size])) / sizes[size])
        medians = {size: statistics.median(times[1:]) for size, times in found.items()}
        for size, median in medians.items():
            yield name, size, median, median / medians[min(sizes)]


def _microseconds(work: Callable[[], object], repetitions: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(repetitions):
        work()
    return (time.process_time() - start) / repetitions * 1e6


def stream_rows() -> Iterator[tuple[int, float]]:
    """The number of items read so far, and the resident memory of the process in MB."""
    with stub_server(STREAM) as endpoint, Session(region="eu-west-1", endpoint=endpoint) as session:
        for number, event in enumerate(session.scan(Event), start=1):
            if number in {1_000, 10_000, 100_000} or number % 250_000 == 0:
                yield event.number + 1, _resident_megabytes()


def _resident_megabytes() -> float:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    console = Console(width=110)
    grid = Grid("what", "size", "CPU µs, median", "growth", title=f"{ROUNDS} rounds", title_justify="left")
    for name, size, median, growth in flat_rows():
        grid.add_row(name, f"{size:,}", f"{median:,.2f}", f"{growth:.2f}x")
    console.print(grid)
    stream = Grid(
        "items streamed", "resident MB", title="scan over the default transport", title_justify="left"
    )
    for count, megabytes in stream_rows():
        stream.add_row(f"{count:,}", f"{megabytes:,.1f}")
    console.print(stream)


if __name__ == "__main__":
    main()
