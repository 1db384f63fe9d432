"""dyntastic: pydantic models over boto3's resource."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from dyntastic import A, Dyntastic, transaction
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


class Order(Dyntastic):
    __table_name__ = TABLE
    __table_region__ = order.REGION
    __table_host__: str | None = None
    __hash_key__ = "pk"
    __range_key__ = "sk"

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


class DyntasticModel(Client):
    name = "dyntastic"
    gives = "validated"
    imports = "from dyntastic import A, Dyntastic, transaction"
    distributions = ("dyntastic",)

    def setup(self, endpoint: str) -> None:
        Order.__table_host__ = endpoint

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    def get(self) -> Order:
        return Order.get(order.partition(order.PAGE), order.sort(order.ORDER))

    def put(self) -> None:
        Order(**VALUES).save()

    def transact3(self) -> None:
        with transaction():
            for values in THREE:
                Order(**values).save(condition=A.pk.not_exists())

    def query(self, size: int) -> list[Order]:
        return list(Order.query(order.partition(size)))

    def batch_get100(self) -> list[Order]:
        return list(Order.batch_get(KEYS))

    def batch_write25(self) -> None:
        with Order.batch_writer():
            for values in MANY:
                Order(**values).save()

    def change(self, found: Any) -> None:
        found.status = CHANGED
        found.save()

    def json(self, found: Any) -> bytes:
        return json_of(Order, found)


client = DyntasticModel()
