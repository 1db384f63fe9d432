"""AWS's sample model "AnOnlineShop", mapped as published: every published item and access pattern."""

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


def test_the_items_written_equal_the_published_ones_attribute_for_attribute(engine: Engine) -> None:
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


def test_saving_what_was_read_sends_nothing_and_changes_nothing(engine: Engine, published: Session) -> None:
    found = [published.get_one(Key(type(entity), **key_fields(entity))) for entity in ENTITIES]
    engine.forget()
    for entity in found:
        published.save(entity)
    assert engine.calls == []
    assert engine.raw(shop) == in_key_order(PUBLISHED)


def test_a_change_of_one_attribute_changes_that_attribute_of_the_published_item_alone(
    engine: Engine, published: Session
) -> None:
    shipment = published.get_one(Shipment, order_id="12345", shipment_id="98765")
    shipment.type = "Standard"
    published.save(shipment)
    (changed,) = [item for item in engine.raw(shop) if item not in PUBLISHED]
    (before,) = [item for item in PUBLISHED if item["SK"] == {"S": "sh#98765"}]
    assert changed == {**before, "Type": {"S": "Standard"}}


def test_the_item_published_without_its_index_keys_stays_out_of_the_index_until_it_is_listed(
    engine: Engine, published: Session
) -> None:
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


# -- access patterns, in the order they are published ------------------------------------------------------------------


def test_get_customer_by_customer_id(published: Session) -> None:
    assert published.get(Customer, customer_id="12345") == ENTITIES[0]
    assert published.get(Customer, customer_id="99999") is None


def test_get_product_by_product_id(published: Session) -> None:
    product = published.get_one(Product, product_id="99887")
    assert (product.detail.name, product.detail.description, product.price) == (
        "The Book",
        "The best book ever",
        "40",
    )


def test_get_warehouse_by_warehouse_id(published: Session) -> None:
    warehouse = published.get_one(Warehouse, warehouse_id="12376")
    assert (warehouse.address.city, warehouse.address.street) == ("Boras", "RiverStreet")


def test_get_product_inventory_by_product_id(published: Session) -> None:
    found = published.query(WarehouseItem, product_id="99887").all()
    assert [(one.warehouse_id, one.quantity) for one in found] == [("12345", "4"), ("12376", "4")]
    assert found.requests == 1


def test_get_order_details_by_order_id(published: Session) -> None:
    details = published.collection(Order, OrderItem, Invoice, Shipment, ShipmentItem, order_id="12345")
    orders, items, invoices, shipments, parts = details.split()
    assert orders == [Order(order_id="12345", customer_id="12345", date="2020-06-21T19:10:00")]
    assert [one.product_id for one in items] == ["12345", "99887"]
    assert [one.invoice_id for one in invoices] == ["55443"]
    assert [one.shipment_id for one in shipments] == ["88899", "98765"]
    assert [one.number for one in parts] == ["12345", "54321", "55555"]
    assert details.all().requests == 1


def test_get_product_by_order_id(published: Session) -> None:
    found = published.query(OrderItem, order_id="12345").all()
    assert [(one.product_id, one.price, one.quantity) for one in found] == [
        ("12345", "100", "2"),
        ("99887", "40", "5"),
    ]
    assert found.requests == 1


def test_get_invoice_by_order_id(published: Session) -> None:
    invoice = published.query(Invoice, order_id="12345").one()
    assert (invoice.invoice_id, invoice.amount, invoice.customer_id) == ("55443", "400", "12345")


def test_get_shipment_by_order_id(published: Session) -> None:
    """The keys of the shipments' items begin with ``shp#``, those of shipments with ``sh#``."""
    found = published.query(Shipment, order_id="12345").all()
    assert [one.shipment_id for one in found] == ["88899", "98765"]
    assert found.requests == 1


def test_get_order_by_product_id_for_date_range(published: Session) -> None:
    sold = published.query(OrderItem.by_product, product_id="99887")
    found = sold.between(date=("2020-06-21T00:00:00", "2020-06-21T23:59:59")).all()
    assert [(one.order_id, one.date) for one in found] == [("12345", "2020-06-21T19:20:00")]
    assert sold.begins_with(date="2020-06-21").all() == found
    assert sold.between(date=("2020-06-22T00:00:00", "2020-06-30T00:00:00")).all() == []
    # Both ends belong to the range.
    assert sold.between(date=("2020-06-21T19:20:00", "2020-06-21T19:20:00")).all() == found


def test_get_invoice_by_invoice_id(published: Session) -> None:
    found = published.query(Invoice.by_invoice, invoice_id="55443").all()
    assert [(one.order_id, one.amount) for one in found] == [("12345", "400")]
    assert found.requests == 1


def test_get_payment_by_invoice_id(published: Session) -> None:
    """The published invoice holds its payments itself."""
    invoice = published.query(Invoice.by_invoice, invoice_id="55443").one()
    assert [(one.type, one.amount) for one in invoice.detail.payments] == [
        ("GiftCard", 100),
        ("MasterCard", 300),
    ]


def test_get_shipment_details_by_shipment_id(published: Session) -> None:
    details = published.collection(Shipment.by_shipment, ShipmentItem.by_shipment, shipment_id="98765")
    shipments, parts = details.split()
    assert [one.shipment_id for one in shipments] == ["98765"]
    assert [(one.product_id, one.quantity) for one in parts] == [("12345", "2"), ("99887", "3")]
    assert details.all().requests == 1


def test_get_shipment_by_warehouse_id(published: Session) -> None:
    found = published.query(Shipment.by_warehouse, warehouse_id="12345").all()
    assert [one.shipment_id for one in found] == ["98765"]
    assert found.requests == 1


def test_get_product_inventory_by_warehouse_id(published: Session) -> None:
    found = published.query(WarehouseItem.by_warehouse, listed_at="12345").all()
    assert [(one.product_id, one.quantity) for one in found] == [("12345", "50"), ("99887", "4")]
    assert found.requests == 1


def test_get_invoice_by_customer_id_for_date_range(published: Session) -> None:
    """The index holds order items under the same customer, one of them with the time of the invoice."""
    bought = published.query(Invoice.by_customer, customer_id="12345")
    found = bought.between(date=("2020-06-21T00:00:00", "2020-06-21T23:59:59")).all()
    assert [(type(one), one.invoice_id) for one in found] == [(Invoice, "55443")]
    assert bought.ge(date="2020-06-21T19:18:01").all() == []


def test_get_products_by_customer_id_for_date_range(published: Session) -> None:
    bought = published.query(OrderItem.by_customer, customer_id="12345")
    found = bought.between(date=("2020-06-21T00:00:00", "2020-06-21T23:59:59")).all()
    assert [one.product_id for one in found] == ["12345", "99887"]
    assert [one.product_id for one in bought.gt(date="2020-06-21T19:18:00").all()] == ["99887"]
    assert [one.product_id for one in bought.descending().limit(1).all()] == ["99887"]


def test_a_customers_purchases_and_invoices_are_one_query_told_apart_by_class(published: Session) -> None:
    both = published.collection(OrderItem.by_customer, Invoice.by_customer, customer_id="12345")
    items, invoices = both.begins_with(date="2020-06-21").split()
    assert [one.product_id for one in items] == ["12345", "99887"]
    assert [one.invoice_id for one in invoices] == ["55443"]
