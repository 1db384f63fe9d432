"""dynantic: pydantic models over boto3's client."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import boto3
from dynantic import Attr, DynamoModel, Key, SortKey, TransactPut
from pydantic import BaseModel

from benchmarks.peers import order
from benchmarks.peers.client import Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES


class Address(BaseModel):
    street: str
    city: str
    zip: str
    floor: int


class Order(DynamoModel):
    class Meta:
        table_name = TABLE

    pk: str = Key()
    sk: str = SortKey()
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


class Dynantic(Client):
    name = "dynantic"
    gives = "validated"
    imports = "import dynantic"
    distributions = ("dynantic",)

    def setup(self, endpoint: str) -> None:
        DynamoModel.set_client(boto3.client("dynamodb", region_name=order.REGION, endpoint_url=endpoint))

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    def get(self) -> Any:
        return Order.get(order.partition(order.PAGE), order.sort(order.ORDER))

    def put(self) -> None:
        Order(**VALUES).save()

    def transact3(self) -> None:
        condition = Attr("pk").not_exists()
        Order.transact_write([TransactPut(Order(**values), condition=condition) for values in THREE])

    def query(self, size: int) -> list[Any]:
        return list(Order.query(order.partition(size)))

    def batch_get100(self) -> Any:
        return Order.batch_get([{"pk": pk, "sk": sk} for pk, sk in KEYS])

    def batch_write25(self) -> None:
        Order.batch_save([Order(**values) for values in MANY])


client = Dynantic()
