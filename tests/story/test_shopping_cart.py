"""A shopping cart, as AWS's DynamoDB labs publish it: a cart per customer, and an index by product.

Table, index and rows are those of the model for NoSQL Workbench (scenario-solutions/retail-cart). The items have
neither type nor revision.
"""

from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, InKey, Key, Session, Table
from tests.story.engine import Engine

carts = Table(
    "CartTable",
    pk="CustomerID",
    sk="Date#Status",
    indexes=[GlobalIndex("GSI-SKU", pk="Item_SKU", sk="Date#Status")],
    type_attribute=None,
    revision_attribute=None,
)


class CartItem(Entity, table=carts, pk="{customer}", sk="{at}#{state}"):
    customer: Annotated[str, Attribute("CustomerID")]
    at: Annotated[str, InKey()]
    state: Annotated[str, InKey()]
    sku: Annotated[str, Attribute("Item_SKU")]
    price: Annotated[str, Attribute("Price")]
    count: Annotated[str, Attribute("Count")] = "1"
    status: Annotated[str, Attribute("Status")] = "Active"
    by_sku = Index("GSI-SKU", pk="{sku}")


PUBLISHED = [
    ("Chad", "2019-10-08T21:11:42#Active", "72f49", "12.49", "Active"),
    ("Liz", "2019-11-26T22:46:26#Shipped", "d9bl3", "34.99", "Saved"),
    ("Sue", "2019-10-03T12:33:16#Active", "ef9ca", "4.99", "Active"),
    ("Sue", "2019-10-05T10:07:17#Active", "b932s", "67.99", "Saved"),
    ("Sue", "2019-10-07T08:24:22#Saved", "72f49", "12.49", "Active"),
]


def row(customer: str, moment: str, sku: str, price: str, status: str) -> dict[str, Any]:
    texts = {"CustomerID": customer, "Date#Status": moment, "Item_SKU": sku, "Price": price, "Status": status}
    return {name: {"S": text} for name, text in {**texts, "Count": "1"}.items()}


ROWS = [row(*one) for one in PUBLISHED]


def cart_item(customer: str, moment: str) -> Key[CartItem]:
    at, _, state = moment.partition("#")
    return Key(CartItem, customer=customer, at=at, state=state)


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(carts)
    for one in ROWS:
        engine.put(carts, **one)
    return engine.session()


def test_upserts_store_exactly_the_published_rows(engine: Engine) -> None:
    engine.create(carts)
    with engine.session() as session:
        for customer, moment, sku, price, status in PUBLISHED:
            given = {"sku": sku, "price": price, "status": status}
            session.upsert(cart_item(customer, moment), given)
    assert engine.operations == ["UpdateItem"] * 5
    assert engine.raw(carts) == ROWS


def test_a_cart_is_read_newest_first(engine: Engine, session: Session) -> None:
    cart = session.query(CartItem, customer="Sue").descending()
    assert [(one.sku, one.state) for one in cart] == [
        ("72f49", "Saved"),
        ("b932s", "Active"),
        ("ef9ca", "Active"),
    ]
    since = cart.ge(at="2019-10-05")
    assert since.values("sku", "price").all() == [("72f49", "12.49"), ("b932s", "67.99")]
    assert engine.operations == ["Query", "Query"]


def test_a_product_is_found_in_all_carts(engine: Engine, session: Session) -> None:
    found = session.query(CartItem.by_sku, sku="72f49").values("customer", "at", "state").all()
    assert [(one.customer, one.at[8:10], one.state) for one in found] == [
        ("Sue", "07", "Saved"),
        ("Chad", "08", "Active"),
    ]
    assert engine.operations == ["Query"]
    assert session.query(CartItem.by_sku, sku="72f49").explain().splitlines()[1:] == [
        f"1. Query {engine.name('CartTable')} index GSI-SKU: Item_SKU = '72f49'"
    ]
