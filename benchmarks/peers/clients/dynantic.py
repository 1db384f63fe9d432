"""dynantic: pydantic models over boto3's client."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import boto3
from botocore.config import Config
from dynantic import Attr, DynamoModel, Key, SortKey, TransactPut
from pydantic import BaseModel

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES
from benchmarks.peers.clients.responses import json_of


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
    imports = "from dynantic import Attr, DynamoModel, Key, SortKey"
    distributions = ("dynantic",)

    def setup(self, endpoint: str) -> None:
        DynamoModel.set_client(
            boto3.client(
                "dynamodb",
                region_name=order.REGION,
                endpoint_url=endpoint,
                config=Config(max_pool_connections=50),
            )
        )

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

    def change(self, found: Any) -> None:
        found.status = CHANGED
        found.save()

    def json(self, found: Any) -> bytes:
        return json_of(Order, found)


client = Dynantic()
