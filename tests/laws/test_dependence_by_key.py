"""Law 1 for writes by key: subclasses, factories that take other fields, and what no class knows, on every way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Final, Literal

import pytest
from pydantic import BaseModel, Field, Secret, ValidationInfo, field_validator

from dynaorm import Entity, F, Index, Key, Session, Table, Unique
from dynaorm.errors import InvalidValue
from dynaorm.integrity.run import verify
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport
from tests.laws.dependent_classes import INDEXES, Home
from tests.laws.ways import block, update, update_loaded, update_once, upsert, upsert_block

GEO: Final = {"S": "of another program"}


class Base(Entity, table=Table("families", indexes=INDEXES), pk="B#{id}", sk="B"):
    id: str
    start: int = 0
    end: int = 9


class Strict(Base):
    """A subclass with a rule that its base class has not."""

    @field_validator("end")
    @classmethod
    def ordered(cls, value: int, info: ValidationInfo) -> int:
        if value < info.data["start"]:
            raise ValueError("it ends before it starts")
        return value


@pytest.mark.parametrize("way", [update, upsert, block, upsert_block, update_once])
def test_a_write_by_a_base_class_key_keeps_subclass_rules(way: Any, engine: Transport) -> None:
    with Session(transport=engine) as session:
        session.create_table(Table("families", indexes=INDEXES))
        session.save(Strict(id="1", start=1, end=5))
        with pytest.raises(InvalidValue, match="it ends before it starts"):
            way(SimpleNamespace(session=session), Key(Base, id="1"), F.start.set(7))
        assert session.get(Strict, id="1") == Strict(id="1", start=1, end=5)
        session.delete(Key(Base, id="1"))


class Made(Entity, table=Table("made", indexes=INDEXES), pk="MADE#{id}", sk="M"):
    id: str
    title: str = ""
    slug: Annotated[str, Unique()] = Field(default_factory=lambda data: str(data["title"]).lower())
    shown: str = Field(default_factory=lambda data: str(data["slug"]).upper())
    by_slug = Index("GSI1", pk="SLUG#{slug}", sk="{id}")


def adopted(engine: Transport, session: Session, name: str) -> Key[Made]:
    """A row of another program, which has not what a factory makes."""
    session.create_table(Table("made", indexes=INDEXES))
    for item in engine.call(Call("Scan", {"TableName": "made"}))["Items"]:
        engine.call(
            Call("DeleteItem", {"TableName": "made", "Key": {part: item[part] for part in ("PK", "SK")}})
        )
    text = {"PK": f"MADE#{name}", "SK": "M", "_type": "Made", "_rev": "r", "id": name, "title": "A"}
    engine.call(
        Call("PutItem", {"TableName": "made", "Item": {part: {"S": value} for part, value in text.items()}})
    )
    return Key(Made, id=name)


@pytest.mark.parametrize("way", [update, upsert, block, upsert_block, update_once, update_loaded, "save"])
def test_a_factory_value_of_a_changed_field_is_stored(way: Any, engine: Transport) -> None:
    with Session(transport=engine) as session:
        key = adopted(engine, session, "1")
        held = session.get_one(key)
        assert (held.slug, held.shown) == ("a", "A")
        if way == "save":
            held.title = "B"
            session.save(held)
        else:
            returned = way(SimpleNamespace(session=session), key, F.title.set("B"))
            assert returned is None or returned == session.get_one(key)
        found = session.get_one(key)
        slug = "a" if way == "save" else "b"  # an object has its slug, as it was loaded
        assert (found.title, found.slug) == ("B", slug)
        assert session.get_by(Made, slug=slug) == found
        assert session.query(Made.by_slug, slug=slug).all() == [found]
        if way == "save":
            assert held == found
        assert [str(one) for one in verify(session, Made)] == []


@pytest.mark.parametrize("way", [update, upsert, block, upsert_block, update_once, update_loaded])
def test_a_removed_field_is_what_its_factory_makes(way: Any, engine: Transport) -> None:
    with Session(transport=engine) as session:
        key = adopted(engine, session, "1")
        session.delete(key)
        session.save(Made(id="1", title="A", slug="x"))
        way(SimpleNamespace(session=session), key, F.slug.remove())
        found = session.get_one(key)
        assert found.slug == "a"
        assert session.get_by(Made, slug="a") == found
        assert session.get_by(Made, slug="x") is None
        assert session.query(Made.by_slug, slug="a").all() == [found]
        assert [str(one) for one in verify(session, Made)] == []


class Tiger(BaseModel):
    kind: Literal["tiger"] = "tiger"
    home: Home = Home()
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    home: Home | None = None
    barks: bool


@dataclass
class Point:
    x: int = 1


class Holder(Entity, table=Table("holders"), pk="H#{id}", sk="H"):
    id: str
    n: int = 0
    home: Home = Home()
    many: list[Home] = Field(default_factory=list)
    pairs: tuple[Home, ...] = ()
    point: Point = Point()
    pet: Annotated[Tiger | Dog, Field(discriminator="kind")] = Field(default_factory=lambda: Tiger(lives=9))
    secret: Secret[Home] = Secret(Home())


NESTED: Final[Mapping[str, Callable[[], Any]]] = {
    "model": lambda: F.home.set(Home(city="b")),
    "list": lambda: F.many.set([Home(city="b")]),
    "element": lambda: F.many[0].set(Home(city="b")),
    "tuple": lambda: F.pairs.set((Home(city="b"),)),
    "dataclass": lambda: F.point.set(Point(2)),
    "union": lambda: F.pet.set(Tiger(home=Home(city="b"), lives=8)),
    "in a union": lambda: F.pet.home.set(Home(city="b")),
    "secret": lambda: F.secret.set(Secret(Home(city="b"))),
    "appended": lambda: F.many.append(Home(city="b")),
    "prepended": lambda: F.many.prepend(Home(city="b")),
}


@pytest.mark.parametrize("change", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("way", [update, upsert, block, upsert_block, update_once, update_loaded])
def test_members_that_no_class_knows_survive(way: Any, change: Callable[[], Any], engine: Transport) -> None:
    home = {"M": {"city": {"S": "a"}, "geo": GEO}}
    item = {
        "PK": {"S": "H#1"}, "SK": {"S": "H"}, "_type": {"S": "Holder"}, "_rev": {"S": "r"}, "id": {"S": "1"},
        "home": home, "many": {"L": [home]}, "pairs": {"L": [home]}, "point": {"M": {"x": {"N": "1"}, "geo": GEO}},
        "pet": {"M": {"kind": {"S": "tiger"}, "home": home, "lives": {"N": "9"}, "geo": GEO}}, "secret": home,
    }  # fmt: skip
    with Session(transport=engine) as session:
        session.create_table(Table("holders"))
        engine.call(Call("PutItem", {"TableName": "holders", "Item": item}))
        way(SimpleNamespace(session=session), Key(Holder, id="1"), change())
        key = {name: item[name] for name in ("PK", "SK")}
        after = engine.call(Call("GetItem", {"TableName": "holders", "Key": key, "ConsistentRead": True}))[
            "Item"
        ]
        assert repr(after).count("'geo'") == 7
        assert repr(after) != repr(item)


@pytest.mark.parametrize(
    "change", [F.n.set(1), F.n.add(1), F.n.set_if_missing(1), F.point.x.set(2), F.home.remove()]
)
def test_an_update_on_which_nothing_depends_is_one_request(change: Any, engine: Transport) -> None:
    wire = FaultyTransport(engine)
    with Session(transport=wire) as session:
        session.create_table(Table("holders"))
        session.save(Holder(id="1"), overwrite=True)
        wire.calls.clear()
        session.update(Key(Holder, id="1"), change)
        assert [call.operation for call in wire.calls] == ["UpdateItem"]
