"""Types that a field of the class says."""

import types
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table, item_of, tools
from dynaorm.description import describe
from dynaorm.errors import AlreadyExists, DeclarationError, EntityNotFound, InvalidValue
from dynaorm.streams import Changed, changes
from dynaorm.testing import FaultyTransport, factory
from dynaorm.transport import Transport
from tests.cast.seen import items, operations

log = Table("types-of-fields", type_attribute="type", indexes=[GlobalIndex("by_type", pk="type", sk="id")])


class Entry(Entity, table=log, name=None, pk="ENTRY#{id}", sk="E"):
    """Its program invents types as it goes."""

    id: str
    type: str
    n: int = 0
    of_type = Index("by_type")


class Created(Entry):
    type: Literal["created", "imported"] = "created"  # type: ignore[mutable-override]  # pydantic validates it
    who: str


class Note(Entity, table=log, pk="NOTE#{id}", sk="N"):
    id: str


ENTRY, CREATED = Key(Entry, id="1"), Key(Created, id="2")


@pytest.fixture
def entries(session: Session) -> tuple[Entry, Created]:
    return session.save(Entry(id="1", type="shipped")), session.save(Created(id="2", who="ada"))


# -- a field says the type ---------------------------------------------------------------------------------------------


def test_the_field_is_the_type_attribute_and_there_is_no_other(
    entries: tuple[Entry, Created], moto: Transport
) -> None:
    stored = items(moto, log)
    assert stored["ENTRY#1 E"] == {
        "PK": {"S": "ENTRY#1"}, "SK": {"S": "E"}, "id": {"S": "1"}, "type": {"S": "shipped"}, "n": {"N": "0"},
        "_rev": stored["ENTRY#1 E"]["_rev"],
    }  # fmt: skip
    assert stored["ENTRY#2 E"]["type"] == {"S": "created"}
    assert item_of(entries[0]) == stored["ENTRY#1 E"]


def test_each_item_comes_back_as_the_class_that_declares_its_type(
    session: Session, entries: tuple[Entry, Created]
) -> None:
    entry, created = entries
    assert [session.get(Entry, id=one) for one in "12"] == [entry, created]
    assert session.get(Created, id="1") is None
    assert session.scan(Entry).all() == [entry, created]
    assert session.scan(Created).all() == [created]
    assert session.query(Entry.of_type, type="shipped").all() == [entry]
    assert session.query(Created.of_type, type="created").all() == [created]
    assert session.scan(Entry).filter(F.type == "created").all() == [created]
    assert session.get_many([ENTRY, CREATED]) == [entry, created]
    assert list(tools.verify(session, log)) == []


def test_writes_by_key_find_only_items_of_the_class(
    session: Session, entries: tuple[Entry, Created], wire: FaultyTransport
) -> None:
    wire.calls.clear()
    assert session.update(ENTRY, F.n.add(1)).n == 1
    assert operations(wire) == ["UpdateItem"]
    assert isinstance(session.update(Key(Entry, id="2"), F.n.add(1)), Created)
    for write in (
        lambda: session.update(Key(Created, id="1"), F.n.add(1)),
        lambda: session.delete(Key(Created, id="1")),
    ):
        with pytest.raises(EntityNotFound, match="an item of Entry is stored"):
            write()
    with pytest.raises(AlreadyExists, match="an item of Entry is stored"):
        session.save(Created(id="1", who="b"))


def test_the_type_may_change_to_one_that_the_class_has(
    session: Session, entries: tuple[Entry, Created]
) -> None:
    assert session.update(ENTRY, F.type.set("lost")).type == "lost"
    assert session.update(CREATED, F.type.set("imported")).type == "imported"
    with pytest.raises(InvalidValue):
        session.update(CREATED, {"type": "lost"})


def test_the_type_of_another_class_is_refused_and_nothing_is_sent(
    session: Session, entries: tuple[Entry, Created], wire: FaultyTransport
) -> None:
    entry, _ = entries
    wire.calls.clear()
    entry.type = "created"
    writes: list[Callable[[], object]] = [
        lambda: session.save(entry),
        lambda: session.save(Entry(id="9", type="imported")),
        lambda: session.update(ENTRY, F.type.set("Note")),
        lambda: session.upsert(ENTRY, F.type.set("created")),
    ]
    for write in writes:
        with pytest.raises(InvalidValue, match=r"is the type of (Created|Note), .* make a (Created|Note)"):
            write()
    assert operations(wire) == []


def test_a_stream_and_a_factory_know_the_classes(session: Session, moto: Transport) -> None:
    made = session.save(factory(Created)(who="x"))
    key = {name: item_of(made)[name] for name in ("PK", "SK")}
    record = {
        "eventID": "1", "eventName": "MODIFY",
        "dynamodb": {"Keys": key, "OldImage": item_of(made), "NewImage": item_of(made), "SequenceNumber": "1"},
    }  # fmt: skip
    (change,) = changes({"Records": [record]}, log)
    assert isinstance(change, Changed)
    assert change.new == made
    assert [one.name for one in describe(log).classes] == ["Entry", "Created", "Note"]


# -- declarations ------------------------------------------------------------------------------------------------------


class Letter(Enum):
    A = "a"
    B = "b"


refused = Table("types-refused", type_attribute="type")


def declare(annotation: Any, *, table: Table = refused, attribute: str = "type", **keywords: Any) -> None:
    """Declare a class with a field ``kind``."""
    body = {
        "__annotations__": {"id": str, "kind": Annotated[annotation, Attribute(attribute)]},
        "__module__": __name__,
    }
    given = {"table": table, "pk": "R#{id}", "sk": "R", "name": None, **keywords}
    types.new_class("Refused", (Entity,), given, lambda own: own.update(body))


@pytest.mark.parametrize(
    ("annotation", "keywords", "problem"),
    [
        (str, {"attribute": "other"}, "no field is stored as 'type', the type attribute"),
        (int, {}, "declare it as a str, a Literal or an Enum of texts"),
        (str | None, {}, "declare it as a str, a Literal or an Enum of texts"),
        (str, {"versioned": True}, "says the type, and versions have none"),
        (str, {"formerly": "Old"}, "formerly= renames what dynaorm writes"),
        (str, {"table": Table("types-none", type_attribute=None)}, "has no type attribute"),
        (str, {"name": "Refused"}, "'type' holds the entity's name"),
        (str, {"name": "R", "attribute": "a", "formerly": 3}, "formerly=3 names no former class; write formerly="),
        (str, {"name": "R", "attribute": "a", "formerly": "Old", "table": Table("types-not", type_attribute=None)},
         "formerly= renames what the type attribute says"),
    ],
)  # fmt: skip
def test_a_class_whose_type_nothing_says_is_refused(annotation: Any, keywords: Any, problem: str) -> None:
    with pytest.raises(DeclarationError, match=problem):
        declare(annotation, **keywords)


@pytest.mark.parametrize("annotation", [Letter, Literal["a", "b"]], ids=["Enum", "Literal"])
def test_two_classes_do_not_declare_one_type(annotation: Any) -> None:
    table = Table("types-twice", type_attribute="type")
    declare(annotation, table=table)
    with pytest.raises(DeclarationError, match=r"the name 'b' is already that of .*Refused"):

        class B(Entity, table=table, name="b", pk="B#{id}", sk="B"):
            id: str


def test_two_classes_whose_keys_could_meet_do_not_both_take_all_other_types() -> None:
    table = Table("types-rivals", type_attribute="type")

    class One(Entity, table=table, name=None, pk="{id}", sk="X"):
        id: str
        type: str

    with pytest.raises(DeclarationError, match="it takes every type that nobody declared, and so does One"):

        class Two(Entity, table=table, name=None, pk="{id}", sk="X"):
            id: str
            type: str
