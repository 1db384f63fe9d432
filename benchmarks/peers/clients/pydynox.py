"""pydynox, synchronous API: a Rust core on top of AWS's Rust SDK."""

import json
from dataclasses import dataclass
from typing import Any

from pydynox import DynamoDBClient, Model, ModelConfig, SyncBatchWriter, SyncTransaction
from pydynox.attributes import (
    BooleanAttribute,
    DatetimeAttribute,
    DecimalAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    StringAttribute,
)

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES


@dataclass
class Address:
    street: str
    city: str
    zip: str
    floor: int


class Order(Model):
    model_config = ModelConfig(table=TABLE)
    pk = StringAttribute(partition_key=True)
    sk = StringAttribute(sort_key=True)
    title = StringAttribute()
    email = StringAttribute()
    status = StringAttribute()
    quantity = NumberAttribute()
    price = DecimalAttribute()
    active = BooleanAttribute()
    version = NumberAttribute()
    tags = ListAttribute()
    address = MapAttribute(Address)
    created_at = DatetimeAttribute()


def _new(values: dict[str, Any]) -> Order:
    return Order(**{**values, "address": Address(**values["address"])})


class Pydynox(Client):
    name = "pydynox"
    gives = "objects"
    imports = "from pydynox import DynamoDBClient, Model; from pydynox.attributes import StringAttribute"
    distributions = ("pydynox",)
    note = "does not validate what it reads"

    def setup(self, endpoint: str) -> None:
        self.dynamodb = DynamoDBClient(
            region=order.REGION,
            access_key=order.ACCESS_KEY,
            secret_key=order.SECRET_KEY,
            endpoint_url=endpoint,
        )
        Order.model_config = ModelConfig(table=TABLE, client=self.dynamodb)

    def fields(self, found: Any) -> Any:
        return {**{name: getattr(found, name) for name in VALUES}, "address": vars(found.address)}

    def get(self) -> Any:
        return Order.sync_get(pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    def put(self) -> None:
        _new(VALUES).sync_save()

    def transact3(self) -> None:
        with SyncTransaction(self.dynamodb) as transaction:
            for values in THREE:
                transaction.save_model(_new(values), condition=Order.pk.not_exists())

    def query(self, size: int) -> list[Any]:
        return list(Order.sync_query(partition_key=order.partition(size)))

    def batch_get100(self) -> Any:
        return Order.sync_batch_get([{"pk": pk, "sk": sk} for pk, sk in KEYS])

    def batch_write25(self) -> None:
        with SyncBatchWriter(self.dynamodb, TABLE) as batch:
            for values in MANY:
                batch.put(_new(values).to_dict())

    def change(self, found: Any) -> None:
        found.status = CHANGED
        found.sync_save()

    def json(self, found: Any) -> str:
        return json.dumps([one.to_dict() for one in found], default=str)


client = Pydynox()
