"""AWS's sample model "AnOnlineShop": its table, its nine entities, and its published sample items."""

from typing import Annotated, Any

from pydantic import BaseModel

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Table

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


class Place(BaseModel):
    country: Annotated[str, Attribute("Country")]
    county: Annotated[str, Attribute("County")]
    city: Annotated[str, Attribute("City")]
    street: Annotated[str, Attribute("Street")]
    number: Annotated[str, Attribute("Number")]
    zip_code: Annotated[str, Attribute("ZipCode")]


class Description(BaseModel):
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
    detail: Annotated[Description, Attribute("Detail")]
    price: Annotated[str, Attribute("Price")]


class Warehouse(Entity, table=shop, name="warehouse", pk="w#{warehouse_id}", sk="w#{warehouse_id}"):
    warehouse_id: str
    address: Annotated[Place, Attribute("Address")]


class WarehouseItem(Entity, table=shop, name="warehouseItem", pk="p#{product_id}", sk="w#{warehouse_id}"):
    product_id: str
    warehouse_id: str
    # One of the published items is not in the index, so its place there is a field of its own: None is "not listed".
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
    address: Annotated[Place, Attribute("Address")]
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


def place(city: str, street: str, number: str, zip_code: str) -> dict[str, Any]:
    texts = {
        "Country": "Sweden",
        "County": "Vastra Gotaland",
        "City": city,
        "Street": street,
        "Number": number,
        "ZipCode": zip_code,
    }
    return {"M": {name: {"S": text} for name, text in texts.items()}}


def item(kind: str, keys: tuple[str, ...], **attributes: Any) -> dict[str, Any]:
    """A published item: PK, SK and as many index keys as given ("" for an absent one). Texts are stored as strings."""
    names = ("PK", "SK", "GSI1-PK", "GSI1-SK", "GSI2-PK", "GSI2-SK")
    given = {"EntityType": kind, **{name: key for name, key in zip(names, keys, strict=False) if key}}
    return {
        name: {"S": value} if isinstance(value, str) else value
        for name, value in {**given, **attributes}.items()
    }


def described(name: str, description: str) -> dict[str, Any]:
    return {"M": {"Name": {"S": name}, "Description": {"S": description}}}


def paid(kind: str, amount: str, data: str) -> dict[str, Any]:
    return {"M": {"Type": {"S": kind}, "Amount": {"N": amount}, "Data": {"S": data}}}


SLANBARSVAGEN = place("Goteborg", "Slanbarsvagen", "34", "41787")
PAID = {
    "M": {
        "Payments": {
            "L": [
                paid("GiftCard", "100", "GiftCard data here..."),
                paid("MasterCard", "300", "Payment data here..."),
            ]
        }
    }
}

CUSTOMERS = [
    item("customer", ("c#12345", "c#12345"), Email="samaneh@example.com", Name="Samaneh"),
    item("customer", ("c#23456", "c#23456"), Email="kathleen@example.com", Name="Kathleen"),
    item("customer", ("c#54321", "c#54321"), Email="henrik@example.com", Name="Henrik"),
]
PRODUCTS = [
    item(
        "product", ("p#12345", "p#12345"), Detail=described("Options Open", "The latest album"), Price="100"
    ),
    item("product", ("p#99887", "p#99887"), Detail=described("The Book", "The best book ever"), Price="40"),
]
WAREHOUSES = [
    item("warehouse", ("w#12345", "w#12345"), Address=place("Goteborg", "MainStreet", "20", "41111")),
    item("warehouse", ("w#12376", "w#12376"), Address=place("Boras", "RiverStreet", "20", "11111")),
]
WAREHOUSE_ITEMS = [
    item("warehouseItem", ("p#12345", "w#12345", "", "", "w#12345", "p#12345"), Quantity="50"),
    item("warehouseItem", ("p#99887", "w#12345", "", "", "w#12345", "p#99887"), Quantity="4"),
    # Published without the keys of GSI2.
    item("warehouseItem", ("p#99887", "w#12376"), Quantity="4"),
]
_FIRST, _SECOND = "2020-06-21T19:18:00", "2020-06-21T19:20:00"
ORDER_ITEMS = [
    item(
        "orderItem", ("o#12345", "p#12345", "p#12345", _FIRST, "c#12345", _FIRST), Price="100", Quantity="2"
    ),
    item(
        "orderItem", ("o#12345", "p#99887", "p#99887", _SECOND, "c#12345", _SECOND), Price="40", Quantity="5"
    ),
]
ORDERS = [item("order", ("o#12345", "c#12345"), Date="2020-06-21T19:10:00")]
INVOICES = [
    item(
        "invoice",
        ("o#12345", "i#55443", "i#55443", "i#55443", "c#12345", _FIRST),
        Detail=PAID,
        Amount="400",
        Date=_FIRST,
    )
]
SHIPMENTS = [
    item(
        "shipment",
        ("o#12345", "sh#88899", "sh#88899", "sh#88899", "w#12376", "sh#88899"),
        Address=SLANBARSVAGEN,
        Type="Express",
        Date="2020-06-22T08:20:00",
    ),
    item(
        "shipment",
        ("o#12345", "sh#98765", "sh#98765", "sh#98765", "w#12345", "sh#98765"),
        Address=SLANBARSVAGEN,
        Type="Express",
        Date="2020-06-22T10:20:00",
    ),
]
SHIPMENT_ITEMS = [
    item("shipmentItem", ("o#12345", "shp#55555", "sh#98765", "p#12345"), Quantity="2"),
    item("shipmentItem", ("o#12345", "shp#12345", "sh#98765", "p#99887"), Quantity="3"),
    item("shipmentItem", ("o#12345", "shp#54321", "sh#88899", "p#99887"), Quantity="2"),
]
PUBLISHED = [
    *CUSTOMERS,
    *PRODUCTS,
    *WAREHOUSES,
    *WAREHOUSE_ITEMS,
    *ORDER_ITEMS,
    *ORDERS,
    *INVOICES,
    *SHIPMENTS,
    *SHIPMENT_ITEMS,
]

# -- the same as entities ----------------------------------------------------------------------------------------------


def address(city: str, street: str, number: str, zip_code: str) -> Place:
    return Place(
        country="Sweden",
        county="Vastra Gotaland",
        city=city,
        street=street,
        number=number,
        zip_code=zip_code,
    )


ENTITIES: list[Entity] = [
    Customer(customer_id="12345", email="samaneh@example.com", name="Samaneh"),
    Customer(customer_id="23456", email="kathleen@example.com", name="Kathleen"),
    Customer(customer_id="54321", email="henrik@example.com", name="Henrik"),
    Product(
        product_id="12345",
        detail=Description(name="Options Open", description="The latest album"),
        price="100",
    ),
    Product(
        product_id="99887", detail=Description(name="The Book", description="The best book ever"), price="40"
    ),
    Warehouse(warehouse_id="12345", address=address("Goteborg", "MainStreet", "20", "41111")),
    Warehouse(warehouse_id="12376", address=address("Boras", "RiverStreet", "20", "11111")),
    WarehouseItem(product_id="12345", warehouse_id="12345", listed_at="12345", quantity="50"),
    WarehouseItem(product_id="99887", warehouse_id="12345", listed_at="12345", quantity="4"),
    WarehouseItem(product_id="99887", warehouse_id="12376", quantity="4"),
    OrderItem(
        order_id="12345", product_id="12345", customer_id="12345", date=_FIRST, price="100", quantity="2"
    ),
    OrderItem(
        order_id="12345", product_id="99887", customer_id="12345", date=_SECOND, price="40", quantity="5"
    ),
    Order(order_id="12345", customer_id="12345", date="2020-06-21T19:10:00"),
    Invoice(
        order_id="12345",
        invoice_id="55443",
        customer_id="12345",
        detail=Payments(
            payments=[
                Payment(type="GiftCard", amount=100, data="GiftCard data here..."),
                Payment(type="MasterCard", amount=300, data="Payment data here..."),
            ]
        ),
        amount="400",
        date=_FIRST,
    ),
    Shipment(
        order_id="12345",
        shipment_id="88899",
        warehouse_id="12376",
        address=address("Goteborg", "Slanbarsvagen", "34", "41787"),
        type="Express",
        date="2020-06-22T08:20:00",
    ),
    Shipment(
        order_id="12345",
        shipment_id="98765",
        warehouse_id="12345",
        address=address("Goteborg", "Slanbarsvagen", "34", "41787"),
        type="Express",
        date="2020-06-22T10:20:00",
    ),
    ShipmentItem(order_id="12345", number="55555", shipment_id="98765", product_id="12345", quantity="2"),
    ShipmentItem(order_id="12345", number="12345", shipment_id="98765", product_id="99887", quantity="3"),
    ShipmentItem(order_id="12345", number="54321", shipment_id="88899", product_id="99887", quantity="2"),
]
"""One entity for each published item, in the same order."""
