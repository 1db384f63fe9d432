"""Entities, blocks and other writers for the tests of tokens that are remembered."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from dynaorm import Entity, ExpiresAt, F, GlobalIndex, Index, Key, Session, Table, Unique
from tests.faults.store import Store

app = Table("Remembering", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK")])
loose = Table("RememberingLoose", type_attribute=None, revision_attribute=None)

DAY = timedelta(days=1)
TEN_MINUTES = 600.0


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique()]
    visits: int = 0
    city: str = ""


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="STOCK"):
    sku: str
    left: int = 0


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class Login(Entity, table=app, pk="LOGIN#{name}", sk="LOGIN"):
    name: str
    until: Annotated[datetime | None, ExpiresAt()] = None


class Song(Entity, table=app, pk="SONG#{name}", sk="S"):
    name: str
    inverted = Index("Inverted")


class Loose(Entity, table=loose, pk="LOOSE#{name}", sk="L"):
    name: str
    size: int = 0


def items(store: Store) -> dict[str, Any]:
    return {repr(item["PK"]): item for table in (app, loose) for item in store.items(table)}


def entities(store: Store) -> dict[str, Any]:
    return {key: item for key, item in items(store).items() if "#token#" not in key}


def remove_token_items(store: Store) -> None:
    """What TTL does, some time after they expired."""
    for table in (app, loose):
        for item in store.items(table):
            if "#token#" in item["PK"]["S"]:
                store.remove(table, item["PK"]["S"], item["SK"]["S"])


def insert(tx: Any) -> Any:
    return tx.save(User(user_id="2", email="2@x"))


def overwrite(tx: Any) -> Any:
    return tx.save(Page(name="home", text="mine"), overwrite=True)


def edit(tx: Any) -> None:
    tx.update(Key(Page, name="home"), F.text.set("mine"))


def count(tx: Any) -> None:
    tx.update(Key(Stock, sku="x"), F.left.add(-1), condition=F.left >= 1)


def count_loosely(tx: Any) -> None:
    tx.update(Key(Loose, name="a"), F.size.add(1))


def upsert(tx: Any) -> None:
    tx.upsert(Key(Loose, name="a"), F.size.add(1))


def upsert_new(tx: Any) -> None:
    tx.upsert(Key(Stock, sku="new"), F.left.add(1))


def delete(tx: Any) -> None:
    tx.delete(Key(User, user_id="1"))


def insert_and_delete(tx: Any) -> Any:
    tx.delete(Key(User, user_id="1"))
    return tx.save(Stock(sku="new"))


def check(tx: Any) -> None:
    tx.check(Key(User, user_id="1"), F.visits == 0)


BLOCKS = [insert, overwrite, edit, count, count_loosely, upsert, upsert_new, delete, insert_and_delete, check]


def nothing(session: Session) -> None:
    """Nobody else does anything."""


def change(session: Session) -> None:
    for key in (Key(User, user_id="1"), Key(User, user_id="2"), Key(Page, name="home"), Key(Loose, name="a")):
        if session.get(key, consistent=True) is not None:
            field = next(one for one in ("city", "text", "size") if one in key.entity.model_fields)  # type: ignore[union-attr]  # mapped
            session.update(key, {field: 7 if field == "size" else "theirs"})
    session.update(Key(Stock, sku="x"), F.left.set(0))


def remove(session: Session) -> None:
    for key in (Key(User, user_id="1"), Key(User, user_id="2"), Key(Page, name="home"), Key(Loose, name="a")):
        if session.get(key, consistent=True) is not None:
            session.delete(key)
    session.delete(Key(Stock, sku="x"))


def take(session: Session) -> None:
    remove(session)
    session.save(User(user_id="2", email="1@x"))
    session.save(User(user_id="1", email="2@x"))
    session.save(Stock(sku="x", left=5))
