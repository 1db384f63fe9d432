"""A class that was renamed reads the items of its old name, and renames them as they change."""

from typing import Annotated, Any

import pytest

from dynaorm import Aggregate, Entity, F, GlobalIndex, Index, Key, Session, Table, Unique
from dynaorm.errors import DeclarationError, EntityNotFound
from tests.story.engine import Engine

app = Table("renamed", indexes=[GlobalIndex("GSI1")])


class Team(Entity, table=app, pk="TEAM#{name}", sk="TEAM", formerly="Group"):
    name: str
    members: int = 0


class Person(Entity, table=app, pk="USER#{name}", sk="USER", formerly=("User", "Account")):
    name: str
    city: str = ""
    visits: int = 0
    email: Annotated[str | None, Unique()] = None
    team: str | None = None
    everyone = Index("GSI1", pk="PEOPLE", sk="{name}")
    in_team = Aggregate(Team, count="members", key={"name": "team"})


class Boss(Person, formerly="Chief"):
    rank: int = 1


class Page(Entity, table=app, pk="PAGE#{name}", sk="PAGE", versioned=True, formerly="Document"):
    name: str
    text: str = ""


class Poem(Page, formerly="Verse"):
    pass


def person(kind: str, name: str) -> dict[str, Any]:
    return {
        "PK": {"S": f"USER#{name}"},
        "SK": {"S": "USER"},
        "GSI1PK": {"S": "PEOPLE"},
        "GSI1SK": {"S": name},
        "_type": {"S": kind},
        "_rev": {"S": name},
        "name": {"S": name},
    }


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(app)
    for kind, name in (("User", "a"), ("Account", "b"), ("Person", "c"), ("Chief", "d"), ("Boss", "e")):
        engine.put(app, **person(kind, name))
    return engine.session()


def kinds(engine: Engine) -> dict[str, str]:
    return {item["name"]["S"]: item["_type"]["S"] for item in engine.items(app) if item["SK"]["S"] == "USER"}


def test_every_read_finds_the_items_of_all_names(session: Session) -> None:
    everyone = [Person(name="a"), Person(name="b"), Person(name="c"), Boss(name="d"), Boss(name="e")]
    assert session.query(Person.everyone).all() == everyone
    assert session.query(Person.everyone).count() == 5
    assert sorted(session.scan(Person), key=lambda one: one.name) == everyone
    assert [session.get(Person, name=name) for name in "abcde"] == everyone
    assert sorted(session.scan(Boss), key=lambda one: one.name) == everyone[3:]
    assert session.get(Boss, name="a") is None


def test_a_change_renames_and_anything_else_does_not(engine: Engine, session: Session) -> None:
    one = session.get_one(Person, name="a")
    session.save(one)
    assert engine.operations == ["GetItem"]
    one.city = "Chur"
    session.save(one)
    assert engine.operations == ["GetItem", "UpdateItem"]
    session.update(Key(Person, name="b"), F.visits.add(1))
    assert engine.operations == ["GetItem", "UpdateItem", "UpdateItem"]
    assert kinds(engine) == {"a": "Person", "b": "Person", "c": "Person", "d": "Chief", "e": "Boss"}


def test_writes_by_key_reach_the_items_of_all_names(engine: Engine, session: Session) -> None:
    for name in "abc":
        session.update(Key(Person, name=name), F.visits.add(1), condition=F.visits == 0)
        with session.transaction() as tx:
            tx.check(Key(Person, name=name), F.visits == 1)
        session.delete(Key(Person, name=name))
    session.update(Key(Person, name="d"), F.visits.add(1))
    assert kinds(engine) == {"d": "Boss", "e": "Boss"}
    with pytest.raises(EntityNotFound):
        session.delete(Key(Team, name="a"))


def test_versions_of_the_old_name_are_versions(engine: Engine, session: Session) -> None:
    poem = session.save(Poem(name="p", text="1"))
    for item in engine.items(app):
        if item["PK"]["S"] == "PAGE#p":
            old: dict[str, Any] = {name: {"S": "Verse"} for name in ("_type", "version_type") if name in item}
            engine.put(app, **{**item, **old})
    poem = session.get_one(Poem, name="p")
    poem.text = "2"
    session.save(poem)
    assert [type(version.entity) for version in session.history(Key(Page, name="p"))] == [Poem, Poem]
    assert list(session.verify(app)) == []


def test_a_former_name_needs_a_type_attribute() -> None:
    with pytest.raises(DeclarationError, match="formerly= renames what the type attribute says"):

        class Sheet(
            Entity, table=Table("typeless", type_attribute=None), pk="{name}", sk="S", formerly="Page"
        ):
            name: str


def test_a_former_name_is_text() -> None:
    with pytest.raises(DeclarationError, match=r"formerly=3 names no former class; write formerly="):

        class Sheet(Entity, table=Table("numbered-names"), pk="{name}", sk="S", formerly=3):
            name: str
