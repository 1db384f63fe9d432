"""pydynantic: pydantic entities over boto3's client."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import boto3
from botocore.config import Config
from pydantic import BaseModel
from pydynantic import Entity, Table, attr_not_exists, key, transaction

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, THREE, VALUES
from benchmarks.peers.clients.responses import json_of

# Without a client, the table would create one. setup() sets the right one.
table = Table("orders-pydynantic", pk="pk", sk="sk", client="none yet")


class Address(BaseModel):
    street: str
    city: str
    zip: str
    floor: int


class Order(Entity, table=table, name="order"):
    pk: str
    sk: str
    title: str
    email: str
    status: str
    quantity: int
    price: Decimal
    active: bool
    version: int
    tags: list[str]
    address: Address
    created_at: datetime

    class Meta:
        primary = key(pk="{pk}", sk="{sk}")


class Pydynantic(Client):
    name = "pydynantic"
    gives = "validated"
    imports = "from pydynantic import Entity, Table, key, transaction"
    distributions = ("pydynantic",)
    note = "stores one attribute more: the entity's name"

    def setup(self, endpoint: str) -> None:
        table.client = boto3.client(
            "dynamodb",
            region_name=order.REGION,
            endpoint_url=endpoint,
            config=Config(max_pool_connections=50),
        )

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    def get(self) -> Any:
        return Order.get(pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    def put(self) -> None:
        Order.put(Order(**VALUES))

    def transact3(self) -> None:
        with transaction(table) as unit:
            for values in THREE:
                unit.put(Order(**values), condition=attr_not_exists("pk"))

    def query(self, size: int) -> Any:
        return Order.query.primary(pk=order.partition(size)).all()

    def batch_get100(self) -> Any:
        return Order.batch_get([{"pk": pk, "sk": sk} for pk, sk in KEYS])

    def batch_write25(self) -> None:
        Order.batch_write(puts=[Order(**values) for values in MANY])

    def change(self, found: Any) -> None:
        found.status = CHANGED
        Order.put(found)

    def json(self, found: Any) -> bytes:
        return json_of(Order, found)


client = Pydynantic()
