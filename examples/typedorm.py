"""A table that TypeDORM writes, mapped as it is: users with unique addresses, and their orders in one index.

Run: python examples/typedorm.py
"""

from datetime import datetime
from typing import Annotated
from uuid import uuid4

import boto3
from pydantic import Field
from raw import found, show, step, strict_moto

from dynaorm import (
    Attribute,
    CreatedAt,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    Session,
    Table,
    Unique,
    UpdatedAt,
)
from dynaorm.codecs import EPOCH_SECONDS

# TypeDORM writes the name of the entity under __en, no revision, and values in keys as they are.
table = Table(
    "my-table",
    indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1")],
    type_attribute="__en",
    revision_attribute=None,
    escape=False,
)


class User(Entity, table=table, name="user", pk="USER#{id}", sk="USER#{id}"):
    id: str = Field(default_factory=lambda: str(uuid4()))
    name: str
    email: Annotated[str, Unique(pk="DRM_GEN_USER.EMAIL#{email}", sk="DRM_GEN_USER.EMAIL#{email}")]
    status: str
    updated: Annotated[datetime | None, UpdatedAt(), Attribute("updatedAt", codec=EPOCH_SECONDS)] = None
    beside_orders = Index("GSI1", pk="USER#{id}", sk="USER#{id}#STATUS#{status}")


class Order(Entity, table=table, name="order", pk="ORDER#{id}", sk="ORDER#{id}"):
    id: str = Field(default_factory=lambda: str(uuid4()))
    user_id: Annotated[str, Attribute("userId")]
    items: list[str] = Field(default_factory=list)
    status: str = "pending"
    created: Annotated[datetime | None, CreatedAt(), Attribute("createdAt", codec=EPOCH_SECONDS)] = None
    by_status = Index("GSI1", pk="USER#{user_id}", sk="ORDER#{status}#CREATED_AT#{created!s}")


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(table)
        session.save(User(id="user-1", name="Loki", email="loki@asgard.com", status="active"))
        for number in (1, 2, 3):
            session.save(Order(id=f"order-{number}", user_id="user-1", items=["book"]))
        session.update(Key(Order, id="order-2"), F.status.set("cancelled"))
        step("The items are those that TypeDORM writes; the item of the unique address also names its owner")
        show(client, table)

        step("All cancelled orders of a user; the five latest pending ones")
        orders = session.query(Order.by_status, user_id="user-1", status="cancelled")
        found(orders.all())
        found(session.query(Order.by_status, user_id="user-1", status="pending").descending().limit(5).all())

        step("A user and all orders: one request")
        found(session.collection(User.beside_orders, Order.by_status, user_id="user-1").all())

        step("By the unique address")
        found([session.get_by(User, email="loki@asgard.com")])


if __name__ == "__main__":
    main()
