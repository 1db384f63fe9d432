"""Measure the CPU time of dynaorm's own work for one entity, which must not grow with the size of the work around it.

Run: make bench-scale                       prints Markdown
     make bench-scale SCALE_ARGS="--write"  ... and writes it into benchmarks/RESULTS.md

All rows of one kind are interleaved round by round in one process, over transports that answer from memory. ``growth``
compares each size with the smallest one, by the minima.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from benchmarks import memory
from benchmarks.events import Event, set_credentials
from benchmarks.page import machine, table, write
from benchmarks.stub import page_of_events
from dynaorm import Entity, Session, Table, any_of
from dynaorm.entity.classify import classify
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.flow.call import Call, Reply, Retry
from dynaorm.flow.commit import plan_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.intent import Save
from dynaorm.session.drive import drive
from dynaorm.session.settings import context_of

ROUNDS: Final = 9
PAGE: Final = 1_000
MERGED: Final = 6_400
MERGED_PAGE: Final = 100

app = Table("scale")
feeds = Table("feeds")
plain = Table("plain", type_attribute=None, revision_attribute=None)


class Order(Entity, table=app, pk="ORDER#{order_id}", sk="ORDER"):
    order_id: str
    customer: str
    quantity: int
    tags: list[str]


class PlainEvent(Entity, table=plain, pk="EVENT#{number:09d}", sk="EVENT"):
    number: int
    kind: str
    visitor: str
    tags: list[str]


class Post(Entity, table=feeds, pk="FEED#{feed}", sk="{number:09d}"):
    feed: int
    number: int
    author: str
    text: str


class Pages:
    """A ``Transport`` that answers with the pages of a table of events."""

    def __init__(self, size: int) -> None:
        self._pages = [
            page_of_events(first, min(first + PAGE, size) - 1, more=first + PAGE < size)
            for first in range(0, size, PAGE)
        ]

    def call(self, call: Call, /) -> Reply:
        after = call.request.get("ExclusiveStartKey")
        number = (int(after["PK"]["S"].partition("#")[2]) + 1) // PAGE if after else 0
        return Body(self._pages[number])


class Collections:
    """A ``Transport`` that answers each query with the page of a partition that begins after a sort key."""

    def __init__(self, entities: Sequence[Entity], size: int) -> None:
        partitions: dict[str, list[dict[str, Any]]] = {}
        for entity in entities:
            item = _item_of(entity)
            partitions.setdefault(item["PK"]["S"], []).append(item)
        self._pages: dict[tuple[str, str], bytes] = {}
        for partition, items in partitions.items():
            after = ""
            for first in range(0, len(items), size):
                page: dict[str, Any] = {"Items": items[first : first + size]}
                last = items[first + size - 1] if first + size < len(items) else None
                if last is not None:
                    page["LastEvaluatedKey"] = {name: last[name] for name in ("PK", "SK")}
                self._pages[partition, after] = encode_body(page)
                after = last["SK"]["S"] if last is not None else ""

    def call(self, call: Call, /) -> Reply:
        after = call.request.get("ExclusiveStartKey", {"SK": {"S": ""}})["SK"]["S"]
        values = call.request[
            "ExpressionAttributeValues"
        ].values()  # of the partition key, and perhaps the sort key
        return Body(next(page for one in values if (page := self._pages.get((one["S"], after)))))


def _item_of(entity: Entity) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    return {
        **mapping.primary_key.of(vars(entity)),
        **mapping.encoder.encode(vars(entity)),
        "_type": {"S": mapping.name},
        "_rev": {"S": "2Z4kYVzqV0nY0yRk3nYJ2n3c9nB"},
    }


def unit_of_work(size: int) -> Callable[[], object]:
    context = context_of(None, Retry(), consistent=False, clock=None)
    orders = [
        Order(order_id=str(number), customer="Bobby", quantity=3, tags=["new"]) for number in range(size)
    ]
    # Nothing is read for new orders.
    return lambda: drive(
        plan_of([Save(order) for order in orders], context), Pages(0), context.clock
    ).to_request()


def walk_of(event: type[Entity]) -> Callable[[int], Callable[[], object]]:
    def page_walk(size: int) -> Callable[[], object]:
        session = Session(transport=Pages(size))
        return lambda: _count(session.scan(event), size)

    return page_walk


def merged(partitions: int) -> Callable[[], object]:
    """Query so many partitions, whose items alternate in the order of their sort keys."""
    posts = [
        Post(feed=number % partitions, number=number, author="Bobby", text="Hello")
        for number in range(MERGED)
    ]
    session = Session(transport=Collections(posts, MERGED_PAGE))
    query = session.query(Post, feed=any_of(range(partitions)))
    return lambda: _count(query, MERGED)


def _count(found: Any, expected: int) -> None:
    number = sum(1 for _ in found)
    assert number == expected, (number, expected)


def dispatch(classes: int) -> Callable[[], object]:
    """Find the classes of a thousand items by the shape of their keys, in a table of so many classes."""
    table = Table(f"classes{classes}", type_attribute=None)
    _declare(table, classes, "KIND{number}#{{one}}")
    items: list[dict[str, Any]] = [
        {"PK": {"S": f"KIND{number % classes}#{number}"}, "SK": {"S": f"ITEM{number % classes}#{number}"}}
        for number in range(1000)
    ]
    return lambda: [classify(table, item) for item in items]


def collection(classes: int) -> Callable[[], object]:
    """Read an item collection of a thousand entities of so many classes."""
    kinds = _declare(Table(f"collection{classes}"), classes, "KIND#{{one}}")
    entities = [kinds[number % classes](one="1", two=f"{number:09d}") for number in range(PAGE)]
    session = Session(transport=Collections(entities, PAGE))
    query = session.collection(*kinds, one="1")
    return lambda: _count(query, PAGE)


def _declare(table: Table, classes: int, pk: str) -> list[Any]:
    return [
        type(
            f"Class{number}",
            (Entity,),
            {"__annotations__": {"one": str, "two": str}, "__module__": __name__},
            table=table,
            pk=pk.format(number=number),
            sk=f"ITEM{number}#{{two}}",
        )
        for number in range(classes)
    ]


FLAT: Final[dict[str, tuple[Callable[[int], Callable[[], object]], dict[int, int]]]] = {
    "compile and encode a unit of work": (unit_of_work, {1: 1, 10: 10, 100: 100}),
    "read pages, from bytes to entities": (walk_of(Event), {10: 10, 100: 100, 1000: 1000, 10_000: 10_000}),
    "the same of an existing table": (walk_of(PlainEvent), {10: 10, 100: 100, 1000: 1000, 10_000: 10_000}),
    "merge partitions": (merged, {1: MERGED, 8: MERGED, 64: MERGED}),
    "read a collection of classes": (collection, {1: PAGE, 10: PAGE, 100: PAGE}),
    "find the class of an item by its key": (dispatch, {1: 1000, 10: 1000, 100: 1000}),
}
"""For each row: a function that prepares the work of a size, and the number of entities for each size."""


def flat_rows() -> Iterator[tuple[str, int, float, float, float]]:
    """Name, size, median and minimal CPU µs per entity, and the minimum's ratio to that of the smallest size."""
    for name, (make, sizes) in FLAT.items():
        works = {size: make(size) for size in sizes}
        found: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(ROUNDS + 1):
            for size, work in works.items():
                found[size].append(_microseconds(work, max(1, 2000 // sizes[size])) / sizes[size])
        minima = {size: min(times[1:]) for size, times in found.items()}
        for size, times in found.items():
            yield name, size, statistics.median(times[1:]), minima[size], minima[size] / minima[min(sizes)]


def _microseconds(work: Callable[[], object], repetitions: int) -> float:
    gc.collect()
    start = time.process_time()
    for _ in range(repetitions):
        work()
    return (time.process_time() - start) / repetitions * 1e6


def report(items: int, entities: int) -> str:
    lines = [
        [name, f"{size:,}", f"{median:,.2f}", f"{least:,.2f}", f"{growth:.2f}x"]
        for name, size, median, least, growth in flat_rows()
    ]
    parts = ["\n".join(f"- {fact}" for fact in machine())]
    parts += [table(["what", "size", "CPU µs for each, median", "least", "growth"], lines, words=1)]
    if items and entities:
        parts += [memory.report(items, entities)]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-scale", description=__doc__)
    parser.add_argument(
        "--items", type=int, default=1_000_000, help="read by a scan; 0: no memory is measured"
    )
    parser.add_argument("--entities", type=int, default=100_000, help="read and saved by one session")
    parser.add_argument("--write", action="store_true", help="write the report into benchmarks/RESULTS.md")
    options = parser.parse_args()
    set_credentials()
    text = report(options.items, options.entities)
    print(text)
    if options.write:
        write("bench-scale", text)


if __name__ == "__main__":
    main()
