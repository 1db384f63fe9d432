"""KSUIDs as sort keys: unique, and sorted by the time of their creation; as text, and as twenty bytes.

Run: python examples/orders_ksuid.py
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import boto3
from pydantic import Field
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, BinaryKey, Entity, Ksuid, KsuidMs, Session, Table, ksuid_range

orders = Table("newSampleTable", type_attribute=None, revision_attribute=None, key_fields="in_key")
packed = Table(
    "PackedOrders",
    sk=BinaryKey("SK"),
    type_attribute=None,
    revision_attribute=None,
    key_fields="in_key",
)


class Order(Entity, table=orders, pk="ORDER#{order}", sk="ORDERID#{order_id}"):
    order: str
    order_id: Ksuid = Field(default_factory=Ksuid)
    product: Annotated[str, Attribute("Product")]


class PackedOrder(Entity, table=packed, pk="ORDER#{order}", sk="{order_id}"):
    order: str
    order_id: Ksuid = Field(default_factory=Ksuid)
    product: Annotated[str, Attribute("Product")]


class Reading(Entity, table=orders, pk="READING#{device}", sk="AT#{reading_id}"):
    """Several per second: KsuidMs keeps the time in steps of four milliseconds."""

    device: str
    reading_id: KsuidMs
    value: int


IDS = {
    "Product1": "2S7pOaGwsooZHwQF9Cjb73DksHd",
    "Product2": "2S7pOiNN24LzMKTLwGdXJuWehZ2",
    "Product3": "2S7pOluIatWmAJkSExVUTtApxnA",
    "Product4": "2S7pOuwiXwYHEMoUOS0FPyZH6CZ",
    "Product5": "2S7pOvLtZakgY7sAT9AmCUyzBRv",
}


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(orders)
        session.create_table(packed)

        step("A KSUID contains the time of its creation")
        console.print(Ksuid.from_base62("1YnlHOfSSk3DhX4BR6lMAceAo1V").datetime)

        step("Saved in any order, five orders are read in the order of their creation")
        for product, order_id in reversed(IDS.items()):
            ksuid = Ksuid.from_base62(order_id)
            session.save(Order(order="220", order_id=ksuid, product=product))
            session.save(PackedOrder(order="220", order_id=ksuid, product=product))
        found(session.query(Order, order="220").all())
        show(client, orders)

        step("The same as a binary sort key: twenty bytes instead of thirty-five")
        found(session.query(PackedOrder, order="220").all())

        step("A range of time is a range of keys: the orders of the same second as the third one")
        start = Ksuid.from_base62(IDS["Product3"]).datetime
        low, high = ksuid_range(start, start + timedelta(seconds=1))
        console.print(f"{low}\n{high}")
        within = (Ksuid.from_base62(low), Ksuid.from_base62(high))
        found(session.query(Order, order="220").between(order_id=within).all())
        found(session.query(PackedOrder, order="220").between(order_id=within).all())

        step("The last order")
        console.print(session.query(Order, order="220").descending().first())

        step("Readings four milliseconds apart keep their order, too")
        noon = datetime(2023, 7, 4, 12, tzinfo=UTC)
        for number in (3, 1, 2):
            reading_id = KsuidMs(noon + timedelta(milliseconds=4 * number))
            session.save(Reading(device="123", reading_id=reading_id, value=number))
        console.print([reading.value for reading in session.query(Reading, device="123")])


if __name__ == "__main__":
    main()
