"""Shared by the dynaorm clients."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, Client
from benchmarks.peers.clients.by_hand import KEYS, MANY, THREE, VALUES
from benchmarks.peers.clients.responses import json_of
from dynaorm import Entity, Key, Session, Table


class Address(BaseModel):
    street: str
    city: str
    zip: str
    floor: int


def declared(table: Table) -> Any:
    """The class of the orders in a table."""

    class Order(Entity, table=table, pk="{pk}", sk="{sk}"):
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

    return Order


def own_table() -> Table:
    """A table that was made for dynaorm."""
    return Table("orders-dynaorm", pk="pk", sk="sk")


def existing_table() -> Table:
    """A table that another library filled: its items have neither a type nor a revision."""
    return Table("orders-existing", pk="pk", sk="sk", type_attribute=None, revision_attribute=None)


class Dynaorm(Client):
    """A dynaorm client; a subclass opens the session."""

    gives = "validated"
    imports = "from dynaorm import Entity, Key, Session, Table"
    distributions = ("dynaorm", "pydantic")

    def open(self, endpoint: str) -> Session:
        raise NotImplementedError

    def table(self) -> Table:
        return own_table()

    def setup(self, endpoint: str) -> None:
        self.order = declared(self.table())
        self.session = self.open(endpoint)

    def fields(self, found: Any) -> Any:
        return found.model_dump()

    def get(self) -> Any:
        return self.session.get(self.order, pk=order.partition(order.PAGE), sk=order.sort(order.ORDER))

    def put(self) -> None:
        self.session.save(self.order(**VALUES))

    def transact3(self) -> None:
        with self.session.transaction() as tx:
            for values in THREE:
                tx.save(self.order(**values))

    def query(self, size: int) -> list[Any]:
        return self.session.query(self.order, pk=order.partition(size)).all()

    def batch_get100(self) -> list[Any]:
        return self.session.get_many([Key(self.order, pk=pk, sk=sk) for pk, sk in KEYS])

    def batch_write25(self) -> None:
        self.session.bulk_load([self.order(**values) for values in MANY])

    def change(self, found: Any) -> None:
        found.status = CHANGED
        self.session.save(found)

    def json(self, found: Any) -> bytes:
        return json_of(self.order, found)
