"""Law: an error about a key under which an item of another class is stored says so, and what it advises works."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final

import pytest

from dynaorm import Entity, F, Key, Session, Table, Unique
from dynaorm.errors import AlreadyExists, EntityNotFound
from dynaorm.transport import Call, Transport

app = Table("held-keys", pk="id", sk=None, type_attribute="kind")


class User(Entity, table=app):
    id: str
    name: str = ""
    email: Annotated[str | None, Unique()] = None


class Admin(User):
    rights: str = ""


class Order(Entity, table=app, name="order", formerly=("bill",)):
    id: str
    paid: bool = False


@pytest.fixture(scope="module")
def tables(transport: Transport) -> Iterator[Transport]:
    with Session(transport=transport) as session:
        session.create_table(app)
    yield transport
    transport.call(Call("DeleteTable", {"TableName": app.name}))


@pytest.fixture
def session(tables: Transport) -> Iterator[Session]:
    with Session(transport=tables) as session:
        yield session
        for item in items(tables):
            tables.call(Call("DeleteItem", {"TableName": app.name, "Key": {"id": item["id"]}}))


def items(tables: Transport) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tables.call(Call("Scan", {"TableName": app.name}))["Items"]
    return found


def put(tables: Transport, kind: str) -> None:
    """Store an item of a type, as another program does."""
    item = {"id": {"S": "1"}, "kind": {"S": kind}, "_rev": {"S": "r"}}
    tables.call(Call("PutItem", {"TableName": app.name, "Item": item}))


def _in_block(session: Session, write: Callable[[Any], object]) -> None:
    with session.transaction() as tx:
        write(tx)
        tx.save(Order(id="beside"))


INSERTS: Final[Mapping[str, Callable[[Session, type[User]], object]]] = {
    "save": lambda session, entity: session.save(entity(id="1")),
    "save in a block": lambda session, entity: _in_block(session, lambda tx: tx.save(entity(id="1"))),
    "upsert": lambda session, entity: session.upsert(Key(entity, id="1")),
    "upsert that reads": lambda session, entity: session.upsert(Key(entity, id="1"), F.email.set("a@x")),
    "upsert in a block": lambda session, entity: _in_block(
        session, lambda tx: tx.upsert(Key(entity, id="1"), F.name.set("x"))
    ),
}
OTHERS: Final[Mapping[str, Callable[[Session, type[User]], object]]] = {
    "get_one": lambda session, entity: session.get_one(entity, id="1"),
    "get_one, consistent": lambda session, entity: session.get_one(Key(entity, id="1"), consistent=True),
    "update": lambda session, entity: session.update(Key(entity, id="1"), F.name.set("x")),
    "update that reads": lambda session, entity: session.update(Key(entity, id="1"), F.email.set("a@x")),
    "delete": lambda session, entity: session.delete(Key(entity, id="1")),
    "check": lambda session, entity: _in_block(
        session, lambda tx: tx.check(Key(entity, id="1"), F.name == "")
    ),
}


def _overwrite(session: Session, entity: type[User]) -> object:
    return session.save(entity(id="1"), overwrite=True)


HOLDERS: Final[Mapping[str, tuple[type[User], str, str]]] = {
    "another class": (User, "order", "an item of Order is stored under Key(User, id='1')"),
    "its former name": (User, "bill", "an item of Order is stored under Key(User, id='1')"),
    "no class": (
        User,
        "Ghost",
        "an item of the type 'Ghost', which no declared class is called, is stored under Key(User, id='1')",
    ),
    "its base class": (Admin, "User", "an item of User is stored under Key(Admin, id='1')"),
}


@pytest.mark.parametrize(("entity", "kind", "said"), HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("way", [*OTHERS, *INSERTS])
def test_a_write_over_another_class_says_what_is_there(
    session: Session, tables: Transport, way: str, entity: type[User], kind: str, said: str
) -> None:
    put(tables, kind)
    before = items(tables)
    with pytest.raises((AlreadyExists, EntityNotFound)) as caught:
        {**OTHERS, **INSERTS}[way](session, entity)
    creates = way in INSERTS
    assert type(caught.value) is (AlreadyExists if creates else EntityNotFound)
    assert str(caught.value).startswith(f"{said}; " if creates else f"{said}, and no {entity.__name__}; ")
    assert items(tables) == before


@pytest.mark.parametrize("way", [*INSERTS.values(), _overwrite], ids=[*INSERTS, "overwrite"])
def test_after_the_item_was_deleted_as_advised_the_key_is_free(
    session: Session, tables: Transport, way: Callable[[Session, type[User]], object]
) -> None:
    put(tables, "order")
    with pytest.raises(AlreadyExists) as caught:
        way(session, User)
    *_, advised = str(caught.value).partition("delete that item first: ")
    assert advised == "session.delete(Key(Order, id='1'))"
    session.delete(Key(Order, id="1"))
    way(session, User)
    assert session.get_one(User, id="1").id == "1"


def test_an_entity_of_the_base_class_is_found_as_advised(session: Session, tables: Transport) -> None:
    put(tables, "User")
    with pytest.raises(AlreadyExists) as caught:
        session.save(Admin(id="1"))
    assert str(caught.value).endswith(
        "; get it by Key(User, id='1'), or replace it with session.save(entity, overwrite=True)"
    )
    assert type(session.get_one(Key(User, id="1"))) is User
    session.save(Admin(id="1"), overwrite=True)
    assert type(session.get_one(Key(User, id="1"))) is Admin


def test_a_place_that_another_class_took_is_named(session: Session, tables: Transport) -> None:
    user = session.save(User(id="1"))
    put(tables, "order")
    with pytest.raises(EntityNotFound, match=r"^an item of Order is stored under"):
        session.refresh(user)
