"""AWS's sample model "AnOnlineShop": nine entities in one table, with two overloaded indexes.

Run: python examples/online_shop.py
"""

from functools import partial
from typing import Annotated

import boto3
from pydantic import BaseModel
from raw import found, show, step, strict_moto

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Session, Table

# The published table: its names, its type attribute, and ids that are stored in the keys only.
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


class Address(BaseModel):
    country: Annotated[str, Attribute("Country")] = "Sweden"
    county: Annotated[str, Attribute("County")] = "Vastra Gotaland"
    city: Annotated[str, Attribute("City")]
    street: Annotated[str, Attribute("Street")]
    number: Annotated[str, Attribute("Number")]
    zip_code: Annotated[str, Attribute("ZipCode")]


class Detail(BaseModel):
    name: Annotated[str, Attribute("Name")]
    description: Annotated[str, Attribute("Description")]


class Payment(BaseModel):
    type: Annotated[str, Attribute("Type")]
    amount: Annotated[int, Attribute("Amount")]
    data: Annotated[str, Attribute("Data")]


class Payments(BaseModel):
    payments: Annotated[list[Payment], Attribute("Payments")]


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
    # One of the published items is not in the index. So the index key is a separate field: None means "not listed".
    listed_at: Annotated[str | None, InKey()] = None
    quantity: Annotated[str, Attribute("Quantity")]
    by_warehouse = Index("GSI2", pk="w#{listed_at}", sk="p#{product_id}")


class Order(Entity, table=shop, name="order", pk="o#{order_id}", sk="c#{customer_id}"):
    order_id: str
    customer_id: str
    date: Annotated[str, Attribute("Date")]


class OrderItem(Entity, table=shop, name="orderItem", pk="o#{order_id}", sk="p#{product_id}"):
    order_id: str
    product_id: str
    customer_id: Annotated[str, InKey()]
    date: Annotated[str, InKey()]
    price: Annotated[str, Attribute("Price")]
    quantity: Annotated[str, Attribute("Quantity")]
    by_product = Index("GSI1", pk="p#{product_id}", sk="{date}")
    by_customer = Index("GSI2", pk="c#{customer_id}", sk="{date}")


class Invoice(Entity, table=shop, name="invoice", pk="o#{order_id}", sk="i#{invoice_id}"):
    order_id: str
    invoice_id: str
    customer_id: Annotated[str, InKey()]
    detail: Annotated[Payments, Attribute("Detail")]
    amount: Annotated[str, Attribute("Amount")]
    date: Annotated[str, Attribute("Date")]
    by_invoice = Index("GSI1", pk="i#{invoice_id}", sk="i#{invoice_id}")
    by_customer = Index("GSI2", pk="c#{customer_id}", sk="{date}")


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


def customers_and_stock() -> list[Entity]:
    first = Address(city="Goteborg", street="MainStreet", number="20", zip_code="41111")
    second = Address(city="Boras", street="RiverStreet", number="20", zip_code="11111")
    album = Detail(name="Options Open", description="The latest album")
    book = Detail(name="The Book", description="The best book ever")
    return [
        Customer(customer_id="12345", email="samaneh@example.com", name="Samaneh"),
        Customer(customer_id="23456", email="kathleen@example.com", name="Kathleen"),
        Customer(customer_id="54321", email="henrik@example.com", name="Henrik"),
        Product(product_id="12345", detail=album, price="100"),
        Product(product_id="99887", detail=book, price="40"),
        Warehouse(warehouse_id="12345", address=first),
        Warehouse(warehouse_id="12376", address=second),
        WarehouseItem(product_id="12345", warehouse_id="12345", listed_at="12345", quantity="50"),
        WarehouseItem(product_id="99887", warehouse_id="12345", listed_at="12345", quantity="4"),
        WarehouseItem(product_id="99887", warehouse_id="12376", quantity="4"),
    ]


def the_order() -> list[Entity]:
    """Order 12345 of Samaneh: its items, invoice and shipments."""
    paid = Payments(
        payments=[
            Payment(type="GiftCard", amount=100, data="GiftCard data here..."),
            Payment(type="MasterCard", amount=300, data="Payment data here..."),
        ]
    )
    ids = {"order_id": "12345"}
    samaneh = {**ids, "customer_id": "12345"}
    home = Address(city="Goteborg", street="Slanbarsvagen", number="34", zip_code="41787")
    shipment = partial(Shipment, order_id="12345", address=home, type="Express")
    first, second = "2020-06-21T19:18:00", "2020-06-21T19:20:00"
    return [
        Order(**samaneh, date="2020-06-21T19:10:00"),
        OrderItem(**samaneh, product_id="12345", date=first, price="100", quantity="2"),
        OrderItem(**samaneh, product_id="99887", date=second, price="40", quantity="5"),
        Invoice(**samaneh, invoice_id="55443", detail=paid, amount="400", date=first),
        shipment(shipment_id="88899", warehouse_id="12376", date="2020-06-22T08:20:00"),
        shipment(shipment_id="98765", warehouse_id="12345", date="2020-06-22T10:20:00"),
        ShipmentItem(**ids, number="55555", shipment_id="98765", product_id="12345", quantity="2"),
        ShipmentItem(**ids, number="12345", shipment_id="98765", product_id="99887", quantity="3"),
        ShipmentItem(**ids, number="54321", shipment_id="88899", product_id="99887", quantity="2"),
    ]


def by_key(session: Session) -> None:
    step("By id: customer, product, warehouse")
    found([session.get(Customer, customer_id="12345"), session.get(Product, product_id="99887")])
    found([session.get(Warehouse, warehouse_id="12376")])

    step("Where a product is in stock")
    found(session.query(WarehouseItem, product_id="99887").all())

    step("An order with all that belongs to it, in one request; or only its products, invoice, shipments")
    found(session.collection(Order, OrderItem, Invoice, Shipment, ShipmentItem, order_id="12345").all())
    found(session.query(OrderItem, order_id="12345").all())
    found(session.query(Invoice, order_id="12345").all())
    found(session.query(Shipment, order_id="12345").all())


def by_index(session: Session) -> None:
    june_21st = ("2020-06-21T00:00:00", "2020-06-21T23:59:59")
    step("Orders of a product in a range of dates")
    found(session.query(OrderItem.by_product, product_id="99887").between(date=june_21st).all())

    step("An invoice by its own id, and how it was paid")
    invoice = session.query(Invoice.by_invoice, invoice_id="55443").one()
    found(invoice.detail.payments)

    step("A shipment and its items: two classes, one request")
    found(session.collection(Shipment.by_shipment, ShipmentItem.by_shipment, shipment_id="98765").all())

    step("The stock of a warehouse, and its shipments: two classes under one key of the index")
    found(session.query(WarehouseItem.by_warehouse, listed_at="12345").all())
    found(session.query(Shipment.by_warehouse, warehouse_id="12345").all())

    step("A customer's invoices and products in a range of dates, by class")
    found(session.query(Invoice.by_customer, customer_id="12345").between(date=june_21st).all())
    found(session.query(OrderItem.by_customer, customer_id="12345").between(date=june_21st).all())


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(shop)
        for entity in [*customers_and_stock(), *the_order()]:
            session.save(entity)
        step("As published, attribute for attribute")
        show(client, shop)
        by_key(session)
        by_index(session)


if __name__ == "__main__":
    main()
