"""AWS's sample model "AnOnlineShop", mapped as published: every published item and access pattern."""

from collections.abc import Callable
from typing import Any

import pytest
from online_shop import (
    Customer,
    Invoice,
    Order,
    OrderItem,
    Product,
    Shipment,
    ShipmentItem,
    Warehouse,
    WarehouseItem,
    shop,
)

from dynaorm import Entity, Key, Session, detached, inspect
from tests.story.engine import Engine
from tests.story.online_shop import ENTITIES, PUBLISHED


def in_key_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: [str(item[key.name]) for key in shop.keys])


@pytest.fixture
def published(engine: Engine) -> Session:
    """A session on a table that AWS's client filled with the published items."""
    engine.create(shop)
    for item in PUBLISHED:
        engine.put(shop, **item)
    return engine.session()


# -- items -------------------------------------------------------------------------------------------------------------


def test_items_written_equal_the_published_ones(engine: Engine) -> None:
    engine.create(shop)
    with engine.session() as session:
        for entity in ENTITIES:
            session.save(detached(entity))
    assert engine.raw(shop) == in_key_order(PUBLISHED)


def test_the_published_items_read_as_the_entities_they_stand_for(published: Session) -> None:
    for entity, item in zip(ENTITIES, PUBLISHED, strict=True):
        found = published.get_one(Key(type(entity), **key_fields(entity)))
        assert found == entity
        key = inspect(found).key
        assert key is not None
        assert key.primary_key == {name: item[name] for name in ("PK", "SK")}


def key_fields(entity: Any) -> dict[str, Any]:
    names: dict[type[Entity], tuple[str, ...]] = {
        Customer: ("customer_id",),
        Product: ("product_id",),
        Warehouse: ("warehouse_id",),
        WarehouseItem: ("product_id", "warehouse_id"),
        Order: ("order_id", "customer_id"),
        OrderItem: ("order_id", "product_id"),
        Invoice: ("order_id", "invoice_id"),
        Shipment: ("order_id", "shipment_id"),
        ShipmentItem: ("order_id", "number"),
    }
    return {name: getattr(entity, name) for name in names[type(entity)]}


def test_an_item_without_index_keys_stays_out_of_the_index(engine: Engine, published: Session) -> None:
    stored = published.get_one(WarehouseItem, product_id="99887", warehouse_id="12376")
    stored.quantity = "3"
    published.save(stored)
    changed = {
        "PK": {"S": "p#99887"},
        "SK": {"S": "w#12376"},
        "EntityType": {"S": "warehouseItem"},
        "Quantity": {"S": "3"},
    }
    assert changed in engine.raw(shop)
    assert published.query(WarehouseItem.by_warehouse, listed_at="12376").all() == []
    stored.listed_at = "12376"
    published.save(stored)
    listed = {**changed, "GSI2-PK": {"S": "w#12376"}, "GSI2-SK": {"S": "p#99887"}}
    assert listed in engine.raw(shop)
    assert published.query(WarehouseItem.by_warehouse, listed_at="12376").all() == [stored]


# -- access patterns, in the order they are published: each is one request ---------------------------------------------

DAY = ("2020-06-21T00:00:00", "2020-06-21T23:59:59")

PATTERNS: dict[str, tuple[Callable[[Session], Any], tuple[str, ...], list[Any]]] = {
    "product inventory by product": (
        lambda session: session.query(WarehouseItem, product_id="99887"),
        ("warehouse_id", "quantity"),
        [("12345", "4"), ("12376", "4")],
    ),
    "products by order": (
        lambda session: session.query(OrderItem, order_id="12345"),
        ("product_id", "price", "quantity"),
        [("12345", "100", "2"), ("99887", "40", "5")],
    ),
    "invoice by order": (
        lambda session: session.query(Invoice, order_id="12345"),
        ("invoice_id", "amount", "customer_id"),
        [("55443", "400", "12345")],
    ),
    # The keys of the shipments' items begin with ``shp#``, those of shipments with ``sh#``.
    "shipments by order": (
        lambda session: session.query(Shipment, order_id="12345"),
        ("shipment_id",),
        [("88899",), ("98765",)],
    ),
    "orders by product and date": (
        lambda session: session.query(OrderItem.by_product, product_id="99887").between(date=DAY),
        ("order_id", "date"),
        [("12345", "2020-06-21T19:20:00")],
    ),
    "invoice by invoice": (
        lambda session: session.query(Invoice.by_invoice, invoice_id="55443"),
        ("order_id", "amount"),
        [("12345", "400")],
    ),
    "shipments by warehouse": (
        lambda session: session.query(Shipment.by_warehouse, warehouse_id="12345"),
        ("shipment_id",),
        [("98765",)],
    ),
    "product inventory by warehouse": (
        lambda session: session.query(WarehouseItem.by_warehouse, listed_at="12345"),
        ("product_id", "quantity"),
        [("12345", "50"), ("99887", "4")],
    ),
    # The index holds order items under the same customer, one of them with the time of the invoice.
    "invoices by customer and date": (
        lambda session: session.query(Invoice.by_customer, customer_id="12345").between(date=DAY),
        ("invoice_id",),
        [("55443",)],
    ),
    "products by customer and date": (
        lambda session: session.query(OrderItem.by_customer, customer_id="12345").between(date=DAY),
        ("product_id",),
        [("12345",), ("99887",)],
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_access_pattern_is_one_request(published: Session, pattern: str) -> None:
    query, names, expected = PATTERNS[pattern]
    found = query(published).all()
    assert [tuple(getattr(one, name) for name in names) for one in found] == expected
    assert found.requests == 1


def test_an_order_and_a_shipment_are_one_collection_each(published: Session) -> None:
    details = published.collection(Order, OrderItem, Invoice, Shipment, ShipmentItem, order_id="12345")
    assert [len(some) for some in details.split()] == [1, 2, 1, 2, 3]
    parts = published.collection(Shipment.by_shipment, ShipmentItem.by_shipment, shipment_id="98765")
    (shipment,), items = parts.split()
    assert (shipment.shipment_id, [one.product_id for one in items]) == ("98765", ["12345", "99887"])
    assert details.all().requests == parts.all().requests == 1
