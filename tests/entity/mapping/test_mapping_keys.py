"""Keys of stored items: fields stored in them, keys that differ from the fields, and items of other classes."""

import pytest
from pydantic import Field, computed_field

from dynaorm import Entity, GlobalIndex, Key, Session, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError, InvalidValue
from dynaorm.item.value import Item
from tests.entity.stored import put

APP = Table("app", indexes=[GlobalIndex("GSI1")])


class Person(Entity, table=APP, pk="PERSON#{person_id}", sk="A"):
    person_id: str
    level: int = Field(default=5, ge=0)
    tags: set[str] = Field(default_factory=set)


class Seat(Entity, table=APP, pk="ROW#{row}", sk="SEAT#{number:04d}"):
    row: str
    number: int


class Draft(Entity, table=APP, pk="DRAFT#{slug}", sk="D", versioned=True):
    slug: str


PERSON_KEY: Item = {"PK": {"S": "PERSON#p1"}, "SK": {"S": "A"}}


def test_a_stored_key_that_its_template_renders_differently_is_refused_with_the_remedy(
    session: Session,
) -> None:
    put(session, APP, {"PK": {"S": "PERSON#a%23b"}, "SK": {"S": "A"}, "person_id": {"S": "a%23b"}})
    with pytest.raises(DecodeError) as caught:
        session.get(Person, person_id="a#b")
    assert str(caught.value) == (
        "Cannot load Person from the item PK='PERSON#a%23b', SK='A':\n"
        "  - PK is 'PERSON#a%23b', but 'PERSON#{person_id}' renders 'PERSON#a%2523b'; "
        "if the stored key is right, write {person_id:raw} in the template\n"
        "Correct the item or the class; on_decode_error of a session decides what reads do with such items"
    )


@pytest.mark.parametrize(
    ("kind", "stored", "remedy"),
    [
        (Draft, {"PK": "DRAFT#p1", "SK": "D"}, "before its class had versions, backfill moves it"),
        (Draft, {"PK": "DRAFT#p1", "SK": "E"}, "write another literal in the template"),
        (Person, {"PK": "PERSON#p1", "SK": "v0_A"}, "right, declare the class with versioned=True"),
        (Person, {"PK": "PERSON#p1", "SK": "v1_A"}, "write another literal in the template"),
    ],
)
def test_the_remedy_of_a_key_of_before_or_after_versions_names_them(
    kind: type[Entity], stored: dict[str, str], remedy: str
) -> None:
    item = {
        **{name: {"S": text} for name, text in stored.items()},
        "slug": {"S": "p1"},
        "person_id": {"S": "p1"},
    }
    with pytest.raises(DecodeError) as caught:
        mapping_of(kind).loader.hydrate(item)
    assert caught.value.problems[0].endswith(remedy)


def test_an_item_whose_fields_render_no_key_at_all_is_refused_as_unreadable() -> None:
    item: Item = {"PK": {"S": "PERSON#p1"}, "SK": {"S": "A"}, "person_id": {"S": "x" * 3000}}
    with pytest.raises(DecodeError, match=r"person_id: .* a key of 3007 bytes, more than the 2048 allowed"):
        mapping_of(Person).loader.hydrate(item)


def test_a_stored_value_that_no_key_can_hold_makes_its_item_unreadable() -> None:
    item = {"PK": {"S": "ROW#r"}, "SK": {"S": "SEAT#0007"}, "row": {"S": "r"}, "number": {"N": "-7"}}
    with pytest.raises(DecodeError, match="number: is -7, which is negative"):
        mapping_of(Seat).loader.hydrate(item)


def test_an_item_that_does_not_fit_is_refused_with_every_problem(session: Session) -> None:
    put(session, APP, {**PERSON_KEY, "person_id": {"S": "p1"}, "level": {"S": "high"}, "tags": {"N": "1"}})
    with pytest.raises(DecodeError) as caught:
        session.get(Person, person_id="p1")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["level", "tags"]
    put(session, APP, {**PERSON_KEY, "person_id": {"S": "p1"}, "level": {"N": "-5"}})
    with pytest.raises(DecodeError, match="\n  - level: Input should be greater than or equal to 0\n"):
        session.get(Person, person_id="p1")
    put(session, APP, {**PERSON_KEY, "level": {"N": "5"}})
    with pytest.raises(
        DecodeError, match=r"\n  - person_id: Field required; if PK alone has it, declare it with InKey\(\)\n"
    ):
        session.get(Person, person_id="p1")


def test_a_part_of_the_primary_key_is_never_none() -> None:
    class Visit(Entity, table=APP, pk="VISIT#{slug}", sk="{room}"):
        slug: str
        room: str | None = None

    class Stay(Entity, table=APP, pk="STAY#{slug}", sk="{place}"):
        slug: str
        room: str | None = None

        @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
        @property
        def place(self) -> str | None:
            return self.room

    with pytest.raises(InvalidValue, match=r"Stay.place = None: .*; set the fields that it is made of"):
        mapping_of(Stay).primary_key.of({"slug": "x", "room": None})
    with pytest.raises(InvalidValue) as caught:
        mapping_of(Visit).primary_key.of({"slug": "x", "room": None})
    assert str(caught.value) == ("Visit.room = None: is part of the primary key '{room}'; give it a value")
    with pytest.raises(InvalidValue, match="renders an empty key"):
        Key(Visit, slug="x", room="")


def test_a_default_that_cannot_be_stored_makes_an_item_without_it_unreadable(session: Session) -> None:
    class Price(Entity, table=APP, pk="PRICE#{slug}", sk="A"):
        slug: str
        amount: int = Field(default_factory=lambda: "free")  # type: ignore[assignment]

    put(session, APP, {"PK": {"S": "PRICE#x"}, "SK": {"S": "A"}, "slug": {"S": "x"}})
    with pytest.raises(DecodeError, match="amount: is absent, and its default 'free' "):
        session.get(Price, slug="x")
