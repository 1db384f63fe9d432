"""A revision that another library keeps, such as a number, is never replaced by dynaorm's text."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, F, Key, Session, Table, Unique
from dynaorm.errors import DecodeError
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.value import Item

app = Table("foreign-revision", revision_attribute="version")


class Team(Entity, table=app, pk="TEAM#{name}", sk="T"):
    name: str
    members: int = 0


class User(Entity, table=app, pk="USER#{name}", sk="U"):
    name: str
    city: str = "a"
    nick: Annotated[str | None, Unique()] = None
    team: str | None = None
    in_team = Aggregate(Team, count="members", key={"name": "team"})


class Note(Entity, table=app, pk="NOTE#{name}", sk="N"):
    name: str
    text: str = ""


def stored(kind: str, name: str, sk: str) -> Item:
    key = {"PK": {"S": f"{kind.upper()}#{name}"}, "SK": {"S": sk}}
    return {**key, "_type": {"S": kind}, "version": {"N": "7"}, "name": {"S": name}}


ITEMS = {"User": stored("User", "n", "U"), "Note": stored("Note", "n", "N"), "Team": stored("Team", "n", "T")}


def changed(session: Session, **values: Any) -> User:
    user = session.get_one(User, name="n")
    for name, value in values.items():
        setattr(user, name, value)
    return user


def moved(session: Session) -> None:
    session.move(changed(session, name="m"))


def in_block(session: Session) -> None:
    with session.transaction() as tx:
        tx.save(changed(session, city="b"))
        tx.save(Note(name="new"))


WRITES: dict[str, Callable[[Session], Any]] = {
    "save": lambda session: session.save(changed(session, city="b")),
    "save in a block": in_block,
    "overwrite": lambda session: session.save(User(name="n"), overwrite=True),
    "update of an entity": lambda session: session.update(changed(session), {"city": "b"}),
    "update by key": lambda session: session.update(Key(User, name="n"), F.city.set("b")),
    "update by key without reading": lambda session: session.update(Key(Note, name="n"), F.text.set("b")),
    "delete of an entity": lambda session: session.delete(changed(session)),
    "delete by key": lambda session: session.delete(Key(User, name="n")),
    "delete by key without reading": lambda session: session.delete(Key(Note, name="n")),
    "move": moved,
    "a total": lambda session: session.save(User(name="other", team="n")),
}


@pytest.fixture
def session(engine: Transport) -> Iterator[Session]:
    with Session(transport=engine) as session:
        session.create_table(app)
        for item in ITEMS.values():
            put(engine, item)
        yield session
    engine.call(Call("DeleteTable", {"TableName": app.name}))


def put(engine: Transport, item: Item) -> None:
    engine.call(Call("PutItem", {"TableName": app.name, "Item": item}))


def items(engine: Transport) -> list[Item]:
    found: list[Item] = engine.call(Call("Scan", {"TableName": app.name}))["Items"]
    return sorted(found, key=lambda item: str(item["PK"]))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_number_where_the_revision_should_be_is_refused_by_every_write(
    engine: Transport, session: Session, write: Callable[[Session], Any]
) -> None:
    before = items(engine)
    with pytest.raises(DecodeError, match=r"version.*is stored as N.*\n.*revision_attribute="):
        write(session)
    assert items(engine) == before


def test_an_item_with_another_revision_can_be_read(session: Session) -> None:
    assert session.get_one(User, name="n").city == "a"


def test_an_item_without_revision_gets_one(engine: Transport, session: Session) -> None:
    item = {name: value for name, value in ITEMS["Note"].items() if name != "version"}
    put(engine, item)
    session.update(Key(Note, name="n"), F.text.set("b"))
    (note,) = (item for item in items(engine) if item["PK"]["S"].startswith("NOTE"))
    assert note["version"].keys() == {"S"}
