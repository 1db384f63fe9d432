"""pynamodb's Model."""

import json
from typing import Any

from pynamodb.attributes import (
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, TABLE, THREE, VALUES


class Address(MapAttribute):
    street = UnicodeAttribute()
    city = UnicodeAttribute()
    zip = UnicodeAttribute()
    floor = NumberAttribute()


class Order(Model):
    class Meta:
        table_name = TABLE
        region = order.REGION
        host = ""
        max_pool_connections = 50

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    title = UnicodeAttribute()
    email = UnicodeAttribute()
    status = UnicodeAttribute()
    quantity = NumberAttribute()
    price = NumberAttribute()
    active = BooleanAttribute()
    version = NumberAttribute()
    tags = ListAttribute(of=UnicodeAttribute)
    address = Address()
    created_at = UTCDateTimeAttribute()


def _new(values: dict[str, Any]) -> Order:
    changed = {"price": float(values["price"]), "address": Address(**values["address"])}
    return Order(**{**values, **changed})


class PynamodbModel(Client):
    name = "pynamodb Model"
    gives = "objects"
    imports = "from pynamodb.attributes import UnicodeAttribute; from pynamodb.models import Model"
    distributions = ("pynamodb",)
    note = "has no decimal numbers: the price is a float"

    def setup(self, endpoint: str) -> None:
        Order.Meta.host = endpoint
        self.connection = Connection(region=order.REGION, host=endpoint)

    def fields(self, found: Any) -> Any:
        return {**found.attribute_values, "address": found.address.attribute_values}

    def get(self) -> Order:
        return Order.get(order.partition(order.PAGE), order.sort(order.ORDER))

    def put(self) -> None:
        _new(VALUES).save()

    def transact3(self) -> None:
        with TransactWrite(connection=self.connection) as transaction:
            for values in THREE:
                transaction.save(_new(values), condition=Order.pk.does_not_exist())

    def query(self, size: int) -> list[Order]:
        return list(Order.query(order.partition(size)))

    def batch_get100(self) -> list[Order]:
        return list(Order.batch_get(KEYS))

    def batch_write25(self) -> None:
        with Order.batch_write() as batch:
            for values in MANY:
                batch.save(_new(values))

    def change(self, found: Order) -> None:
        found.status = CHANGED
        found.save()

    def json(self, found: list[Order]) -> str:
        return json.dumps([one.to_simple_dict() for one in found])


client = PynamodbModel()
