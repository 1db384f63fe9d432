"""Shared by the dynaorm clients."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from benchmarks.peers import order
from benchmarks.peers.client import Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, THREE, VALUES
from dynaorm import Entity, Key, Session, Table

orders = Table("orders-dynaorm", pk="pk", sk="sk")


class Address(BaseModel):
    street: str
    city: str
    zip: str
    floor: int


class Order(Entity, table=orders, pk="{pk}", sk="{sk}"):
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


class Dynaorm(Client):
    """A dynaorm client; a subclass creates the session."""

    gives = "validated"
    imports = "import dynaorm"
    distributions = ("dynaorm", "pydantic")
    session: Session

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    def get(self) -> Order | None:
        return self.session.get(Order, pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    def put(self) -> None:
        self.session.save(Order(**VALUES))

    def transact3(self) -> None:
        with self.session.transaction() as tx:
            for values in THREE:
                tx.save(Order(**values))

    def query(self, size: int) -> list[Order]:
        return self.session.query(Order, pk=order.partition(size)).all()

    def batch_get100(self) -> list[Order | None]:
        return self.session.get_many([Key(Order, pk=pk, sk=sk) for pk, sk in KEYS])

    def batch_write25(self) -> None:
        self.session.bulk_load([Order(**values) for values in MANY])
