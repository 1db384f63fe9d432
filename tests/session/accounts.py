"""The classes that the tests of transactions use."""

from typing import Annotated

from pydantic import BaseModel

from dynaorm import Entity, Key, Table, Unique

app = Table("transaction-app")


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    balance: int = 0


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    sku: str
    left: int = 0


class Plain(BaseModel):
    name: str


def user_key(user_id: str) -> Key[User]:
    return Key(User, user_id=user_id)


def stock_key(sku: str) -> Key[Stock]:
    return Key(Stock, sku=sku)
