"""Measure the CPU time of dynaorm's own work, and compare it with one PutItem of botocore on the same machine.

Run: make bench

All rows are measured in one process, interleaved round by round. Quote the medians and the ratios. The reference is
botocore's client, which sends a ready-made item to a server that answers at once.
"""

import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

import botocore.session
from botocore.config import Config
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from rich.console import Console
from rich.table import Table as Grid

from benchmarks.stub import stub_server
from dynaorm import Entity, Key, Session, Table, Unique
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.flow.call import Call, Reply, Retry
from dynaorm.flow.commit import planned
from dynaorm.integrations.opentelemetry import instrument
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.intent import Save
from dynaorm.session.settings import context_of

ROUNDS = 15
app = Table("bench")


class Order(Entity, table=app, pk="ORDER#{order_id}", sk="ORDER"):
    order_id: str
    reference: Annotated[str, Unique()]
    email: Annotated[str, Unique(normalize=str.casefold)]
    customer: str
    note: str
    quantity: int
    priority: int
    price: Decimal
    paid: bool
    tags: list[str]
    address: dict[str, str]
    created_at: datetime


class PlainOrder(Entity, table=app, pk="PLAIN#{order_id}", sk="ORDER"):
    order_id: str
    reference: str
    email: str
    customer: str
    note: str
    quantity: int
    priority: int
    price: Decimal
    paid: bool
    tags: list[str]
    address: dict[str, str]
    created_at: datetime


class ExistingOrder(
    PlainOrder, table=Table("existing", type_attribute=None), pk="PLAIN#{order_id}", sk="ORDER"
):
    """An order in a table without a type attribute, as other libraries leave it."""


VALUES = {
    "order_id": "2Z4kYVzqV0nY0yRk3nYJ2n3c9nB",
    "reference": "R-2024-000123",
    "email": "Bobby.Tables@example.com",
    "customer": "Bobby Tables",
    "note": "leave it with the neighbours",
    "quantity": 3,
    "priority": 7,
    "price": Decimal("129.95"),
    "paid": True,
    "tags": ["new", "gift", "express"],
    "address": {"street": "Main Street 1", "city": "Houston", "state": "TX", "country": "US"},
    "created_at": datetime(2024, 5, 1, 12, 30, tzinfo=UTC),
}


class Answering:
    """A transport in this process: queries find one page, gets find nothing, and writes succeed."""

    def __init__(self, page: bytes) -> None:
        self._page = page

    def call(self, call: Call, /) -> Reply:
        return Body(self._page if call.operation == "Query" else b"{}")


def page_of_orders(number: int, kind: type[PlainOrder] = PlainOrder) -> bytes:
    """A page of entities."""
    mapping = mapping_of(kind)
    orders = [kind(**{**VALUES, "order_id": f"{place:08d}"}) for place in range(number)]
    items = [{**mapping.primary_key.of(vars(one)), **mapping.encoder.encode(vars(one))} for one in orders]
    kept = {"_rev": {"S": "r"}}
    if mapping.table.type_attribute is not None:
        kept[mapping.table.type_attribute] = {"S": mapping.name}
    return encode_body({"Items": [{**item, **kept} for item in items]})


def read(session: Session, kind: type[PlainOrder] = PlainOrder) -> list[PlainOrder]:
    return session.query(kind, order_id="00000001").all()


def read_and_change_one(session: Session) -> None:
    order = read(session)[7]
    order.note = "ring twice"
    session.save(order)


def microseconds(work: Callable[[], object], repetitions: int) -> float:
    start = time.process_time()
    for _ in range(repetitions):
        work()
    return (time.process_time() - start) / repetitions * 1e6


def benchmarks(endpoint: str) -> dict[str, tuple[Callable[[], object], int]]:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "bench")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "bench")
    client = botocore.session.get_session().create_client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url=endpoint,
        config=Config(retries={"total_max_attempts": 1}),
    )
    context = context_of(None, Retry(), consistent=False, clock=None)
    session = Session(region="eu-west-1", endpoint=endpoint)
    mapping = mapping_of(Order)
    order, plain = Order(**VALUES), PlainOrder(**VALUES)
    ready = planned(Save(order), context).actions[0].action
    item = dict(ready.item)  # type: ignore[union-attr]
    loaded = mapping.loader.hydrate(item)
    changed = loaded.model_copy(update={"email": "bobby@tables.com"})
    in_process = Session(transport=Answering(page_of_orders(1000)))
    existing = Session(transport=Answering(page_of_orders(1000, ExistingOrder)))
    listened = Session(transport=Answering(b""), on_attempt=bool)
    traced = instrument(
        Session(transport=Answering(b"")), tracer_provider=TracerProvider(), meter_provider=MeterProvider()
    )
    return {
        "raw botocore PutItem (reference)": (lambda: client.put_item(TableName="bench", Item=item), 60),
        "compile and encode: insert, 12 fields, 2 guards": (
            lambda: planned(Save(order), context).to_request(), 1000
        ),
        "compile and encode: change of a unique value": (
            lambda: planned(Save(changed), context).to_request(), 1000
        ),
        "compile: nothing changed": (lambda: planned(Save(loaded), context), 1000),
        "encode the fields alone": (lambda: mapping.encoder.encode(vars(order)), 2000),
        "render the primary key": (lambda: mapping.primary_key.of(vars(order)), 2000),
        "decode and validate an item": (lambda: mapping.loader.hydrate(item), 1000),
        "make a Key": (lambda: Key(Order, order_id="1"), 2000),
        "read a page of 1,000": (lambda: read(in_process), 5),
        "read a page of 1,000, no type attribute": (lambda: read(existing, ExistingOrder), 5),
        "read a page of 1,000, change and save one": (lambda: read_and_change_one(in_process), 5),
        "get, found nothing, no transport": (lambda: in_process.get(PlainOrder, order_id="1"), 1000),
        "the same with on_attempt": (lambda: listened.get(PlainOrder, order_id="1"), 1000),
        "the same with OpenTelemetry's SDK, nothing exported": (
            lambda: traced.get(PlainOrder, order_id="1"), 200
        ),
        "session.save of a new plain entity, all of it": (lambda: session.save(plain.model_copy()), 60),
    }  # fmt: skip


def main() -> None:
    with stub_server() as endpoint:
        rows = benchmarks(endpoint)
        times: dict[str, list[float]] = {name: [] for name in rows}
        for work, repetitions in rows.values():
            microseconds(work, repetitions // 10 + 1)
        for _ in range(ROUNDS):
            for name, (work, repetitions) in rows.items():
                times[name].append(microseconds(work, repetitions))
    medians = {name: statistics.median(found) for name, found in times.items()}
    reference = next(iter(medians.values()))
    grid = Grid(
        "what", "CPU µs, median", "of a raw put", title=f"{ROUNDS} interleaved rounds", title_justify="left"
    )
    for name, median in medians.items():
        grid.add_row(name, f"{median:,.1f}", f"{median / reference:.1%}")
    Console(width=110).print(grid)


if __name__ == "__main__":
    main()
