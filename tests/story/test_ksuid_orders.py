"""KSUIDs as sort keys, with the document's orders: order of creation, ranges of time, texts and bytes."""

from datetime import timedelta
from typing import Annotated, Any

import pytest
from orders_ksuid import IDS, Order, PackedOrder, orders, packed
from pydantic import Field

from dynaorm import Attribute, Entity, Ksuid, Table, ksuid_range, new_ksuid
from tests.story.engine import Engine


class TextOrder(Entity, table=orders, pk="TEXT#{order}", sk="ORDERID#{order_id}"):
    order: str
    order_id: str = Field(default_factory=new_ksuid)
    product: Annotated[str, Attribute("Product")]


PRODUCTS = list(IDS)


def ksuid(product: str) -> Ksuid:
    return Ksuid.from_base62(IDS[product])


def ordered(engine: Engine, kind: Any, table: Table) -> None:
    """Order 220 with its five products, saved in random order."""
    engine.create(table)
    with engine.session() as session:
        for product in ("Product3", "Product5", "Product1", "Product4", "Product2"):
            session.save(kind(order="220", order_id=ksuid(product), product=product))
    engine.forget()


def test_the_orders_are_stored_as_the_document_stores_them(engine: Engine) -> None:
    ordered(engine, Order, orders)
    assert engine.raw(orders) == [
        {"PK": {"S": "ORDER#220"}, "Product": {"S": product}, "SK": {"S": f"ORDERID#{order_id}"}}
        for product, order_id in IDS.items()
    ]


def test_a_binary_sort_key_holds_the_twenty_bytes_of_a_ksuid_and_sorts_as_its_text(engine: Engine) -> None:
    ordered(engine, PackedOrder, packed)
    items = {item["Product"]["S"]: item for item in engine.raw(packed)}
    assert items["Product1"] == {
        "PK": {"S": "ORDER#220"},
        "SK": {"B": bytes(ksuid("Product1"))},
        "Product": {"S": "Product1"},
    }
    assert {len(item["SK"]["B"]) for item in items.values()} == {20}
    found = engine.session().query(PackedOrder, order="220").all()
    assert [one.product for one in found] == PRODUCTS
    assert [one.order_id for one in found] == [ksuid(product) for product in PRODUCTS]


@pytest.mark.parametrize(("kind", "table"), [(Order, orders), (PackedOrder, packed)])
def test_a_range_of_time_is_a_range_of_ksuids(engine: Engine, kind: Any, table: Table) -> None:
    ordered(engine, kind, table)
    start = ksuid("Product3").datetime
    within = tuple(map(Ksuid.from_base62, ksuid_range(start, start + timedelta(seconds=1))))
    found = engine.session().query(kind, order="220").between(order_id=within).all()
    assert [one.product for one in found] == ["Product2", "Product3"]
    later = tuple(map(Ksuid.from_base62, ksuid_range(start, start + timedelta(days=1))))
    found = engine.session().query(kind, order="220").between(order_id=later).all()
    assert [one.product for one in found] == ["Product2", "Product3", "Product4", "Product5"]
    assert found.requests == 1


def test_a_range_of_time_is_given_as_it_comes_where_the_field_is_a_text(engine: Engine) -> None:
    engine.create(orders)
    with engine.session() as session:
        for product, order_id in IDS.items():
            session.save(TextOrder(order="220", order_id=order_id, product=product))
        start = ksuid("Product2").datetime
        times = ksuid_range(start, ksuid("Product4").datetime)
        found = session.query(TextOrder, order="220").between(order_id=times).all()
    assert [one.product for one in found] == ["Product2", "Product3"]
