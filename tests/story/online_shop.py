"""The published sample items of AWS's "AnOnlineShop", which the entities of the example must equal."""

from typing import Any

from online_shop import customers_and_stock, the_order


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
    *ORDERS,
    *ORDER_ITEMS,
    *INVOICES,
    *SHIPMENTS,
    *SHIPMENT_ITEMS,
]

ENTITIES = [*customers_and_stock(), *the_order()]
"""One entity for each published item, in the same order."""
