"""The other published form of AWS's "AnOnlineShop": nine facets, with payments as separate items."""

from functools import partial
from typing import Annotated, Any

import pytest
from online_shop import Address, Detail, customers_and_stock

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Session, Table, detached
from tests.story.engine import Engine
from tests.story.online_shop import (
    CUSTOMERS,
    PRODUCTS,
    SHIPMENT_ITEMS,
    WAREHOUSE_ITEMS,
    WAREHOUSES,
    item,
    place,
)

shop = Table(
    "OnlineShop",
    indexes=[
        GlobalIndex("GSI1", pk="GSI1-PK", sk="GSI1-SK"),
        GlobalIndex("GSI2", pk="GSI2-PK", sk="GSI2-SK"),
    ],
    type_attribute="EntityType",
    revision_attribute=None,
    key_fields="in_key",
)


class Customer(Entity, table=shop, name="customer", pk="c#{customer_id}", sk="c#{customer_id}"):
    customer_id: str
    email: Annotated[str, Attribute("Email")]
    name: Annotated[str, Attribute("Name")]


class Product(Entity, table=shop, name="product", pk="p#{product_id}", sk="p#{product_id}"):
    product_id: str
    detail: Annotated[Detail, Attribute("Detail")]
    price: Annotated[str, Attribute("Price")]


class Warehouse(Entity, table=shop, name="warehouse", pk="w#{warehouse_id}", sk="w#{warehouse_id}"):
    warehouse_id: str
    address: Annotated[Address, Attribute("Address")]


class WarehouseItem(Entity, table=shop, name="warehouseItem", pk="p#{product_id}", sk="w#{warehouse_id}"):
    product_id: str
    warehouse_id: str
    quantity: Annotated[str, Attribute("Quantity")]
    by_warehouse = Index("GSI2", pk="w#{warehouse_id}", sk="p#{product_id}")


class OrderItem(Entity, table=shop, name="orderItem", pk="o#{order_id}", sk="p#{product_id}"):
    order_id: str
    product_id: str
    customer_id: Annotated[str, InKey()]
    date: Annotated[str, InKey()]
    quantity: Annotated[str, Attribute("Quantity")]
    price: Annotated[str, Attribute("Price")]
    by_product = Index("GSI1", pk="p#{product_id}", sk="{date}")
    by_customer = Index("GSI2", pk="c#{customer_id}", sk="p#{date}")


class Invoice(Entity, table=shop, name="invoice", pk="o#{order_id}", sk="i#{invoice_id}"):
    order_id: str
    invoice_id: str
    customer_id: Annotated[str, InKey()]
    date: Annotated[str, InKey()]
    amount: Annotated[str, Attribute("Amount")]
    by_invoice = Index("GSI1", pk="i#{invoice_id}", sk="i#{invoice_id}")
    by_customer = Index("GSI2", pk="c#{customer_id}", sk="i#{date}")


class Payment(Entity, table=shop, name="payment", pk="o#{order_id}", sk="pmn#{payment_id}"):
    order_id: str
    payment_id: str
    invoice_id: Annotated[str, InKey()]
    type: Annotated[str, Attribute("Type")]
    amount: Annotated[str, Attribute("Amount")]
    date: Annotated[str, Attribute("Date")]
    by_invoice = Index("GSI1", pk="i#{invoice_id}", sk="pmn#{payment_id}")


class Shipment(Entity, table=shop, name="shipment", pk="o#{order_id}", sk="sh#{shipment_id}"):
    order_id: str
    shipment_id: str
    warehouse_id: Annotated[str, InKey()]
    address: Annotated[Address, Attribute("Address")]
    type: Annotated[str, Attribute("Type")]
    date: Annotated[str, Attribute("Date")]
    by_shipment = Index("GSI1", pk="sh#{shipment_id}", sk="sh#{shipment_id}")
    by_warehouse = Index("GSI2", pk="w#{warehouse_id}", sk="sh#{shipment_id}")


class ShipmentItem(Entity, table=shop, name="shipmentItem", pk="o#{order_id}", sk="shp#{number}"):
    order_id: str
    number: str
    shipment_id: Annotated[str, InKey()]
    product_id: Annotated[str, InKey()]
    quantity: Annotated[str, Attribute("Quantity")]
    by_shipment = Index("GSI1", pk="sh#{shipment_id}", sk="p#{product_id}")


# -- as published ------------------------------------------------------------------------------------------------------

_FIRST, _SECOND, _PAID = "2020-06-21T19:18:00", "2020-06-21T19:20:00", "2020-06-21T20:30:00"
_SLANBARSVAGEN = place("Goteborg", "Slanbarsvagen", "111", "98765")

PUBLISHED: list[dict[str, Any]] = [
    *CUSTOMERS,
    *PRODUCTS,
    *WAREHOUSES,
    *WAREHOUSE_ITEMS[:2],
    item("warehouseItem", ("p#99887", "w#12376", "", "", "w#12376", "p#99887"), Quantity="4"),
    item(
        "orderItem",
        ("o#12345", "p#12345", "p#12345", _FIRST, "c#12345", f"p#{_FIRST}"),
        Quantity="2",
        Price="100",
    ),
    item(
        "orderItem",
        ("o#12345", "p#99887", "p#99887", _SECOND, "c#12345", f"p#{_SECOND}"),
        Quantity="5",
        Price="40",
    ),
    item(
        "shipment",
        ("o#12345", "sh#88899", "sh#88899", "sh#88899", "w#12376", "sh#88899"),
        Address=_SLANBARSVAGEN,
        Type="Express",
        Date="2020-06-22T08:20:00",
    ),
    item(
        "shipment",
        ("o#12345", "sh#98765", "sh#98765", "sh#98765", "w#12345", "sh#98765"),
        Address=_SLANBARSVAGEN,
        Type="Express",
        Date="2020-06-22T10:20:00",
    ),
    *SHIPMENT_ITEMS,
    item("invoice", ("o#12345", "i#55443", "i#55443", "i#55443", "c#12345", f"i#{_FIRST}"), Amount="400"),
    *(
        item("payment", ("o#12345", key, "i#55443", key), Type=kind, Amount=amount, Date=_PAID)
        for key, kind, amount in [("pmn#33442", "GiftCard", "100"), ("pmn#33224", "MasterCard", "300")]
    ),
]

_ORDER = {"order_id": "12345"}
_SHIPPED = partial(
    Shipment,
    order_id="12345",
    address=Address(city="Goteborg", street="Slanbarsvagen", number="111", zip_code="98765"),
    type="Express",
)
_SAME = {"Customer": Customer, "Product": Product, "Warehouse": Warehouse}

ENTITIES: list[Entity] = [
    *(_SAME[type(one).__name__](**dict(one)) for one in customers_and_stock()[:7]),
    WarehouseItem(product_id="12345", warehouse_id="12345", quantity="50"),
    WarehouseItem(product_id="99887", warehouse_id="12345", quantity="4"),
    WarehouseItem(product_id="99887", warehouse_id="12376", quantity="4"),
    OrderItem(**_ORDER, product_id="12345", customer_id="12345", date=_FIRST, quantity="2", price="100"),
    OrderItem(**_ORDER, product_id="99887", customer_id="12345", date=_SECOND, quantity="5", price="40"),
    _SHIPPED(shipment_id="88899", warehouse_id="12376", date="2020-06-22T08:20:00"),
    _SHIPPED(shipment_id="98765", warehouse_id="12345", date="2020-06-22T10:20:00"),
    ShipmentItem(**_ORDER, number="55555", shipment_id="98765", product_id="12345", quantity="2"),
    ShipmentItem(**_ORDER, number="12345", shipment_id="98765", product_id="99887", quantity="3"),
    ShipmentItem(**_ORDER, number="54321", shipment_id="88899", product_id="99887", quantity="2"),
    Invoice(**_ORDER, invoice_id="55443", customer_id="12345", date=_FIRST, amount="400"),
    Payment(**_ORDER, payment_id="33442", invoice_id="55443", type="GiftCard", amount="100", date=_PAID),
    Payment(**_ORDER, payment_id="33224", invoice_id="55443", type="MasterCard", amount="300", date=_PAID),
]


def in_key_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda one: (str(one["PK"]), str(one["SK"])))


@pytest.fixture
def published(engine: Engine) -> Session:
    """A session on a table that AWS's client filled with the published items."""
    engine.create(shop)
    for one in PUBLISHED:
        engine.put(shop, **one)
    return engine.session()


def test_the_items_written_equal_the_published_facets_attribute_for_attribute(engine: Engine) -> None:
    engine.create(shop)
    with engine.session() as session:
        for entity in ENTITIES:
            session.save(detached(entity))
    assert engine.raw(shop) == in_key_order(PUBLISHED)


def test_the_published_facets_read_as_the_entities_they_stand_for(published: Session) -> None:
    kinds: list[type[Entity]] = list(dict.fromkeys(map(type, ENTITIES)))
    assert len(kinds) == 9
    found = [one for kind in kinds for one in published.scan(kind)]
    assert len(found) == len(ENTITIES)
    assert all(entity in found for entity in ENTITIES)


def test_get_invoice_by_invoice_id_with_its_payments(published: Session) -> None:
    both = published.collection(Invoice.by_invoice, Payment.by_invoice, invoice_id="55443")
    invoices, payments = both.split()
    assert [one.amount for one in invoices] == ["400"]
    assert [one.payment_id for one in payments] == ["33224", "33442"]
    assert published.query(Invoice.by_invoice, invoice_id="55443").one() == invoices[0]


def test_get_products_by_customer_id_for_date_range(published: Session) -> None:
    """``i#`` and ``p#`` separate invoices and products in the index, so a range without end returns only products."""
    bought = published.query(OrderItem.by_customer, customer_id="12345")
    assert [one.product_id for one in bought.ge(date=_FIRST).all()] == ["12345", "99887"]
    assert [one.product_id for one in bought.gt(date=_FIRST).lt(date="2020-07").all()] == ["99887"]
    assert [one.product_id for one in bought.le(date=_FIRST).all()] == ["12345"]
