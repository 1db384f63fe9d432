"""From an entity to its item, attribute by attribute, and back."""

import json
from typing import Annotated

import pytest
from pydantic import (
    BaseModel,
    Field,
    SecretStr,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from dynaorm import (
    LOADING,
    Attribute,
    Entity,
    Session,
    Table,
    Unique,
    inspect,
)
from dynaorm.errors import InvalidValue
from dynaorm.item.value import Item
from tests.entity.stored import items, put

APP = Table("app")


class Inner(BaseModel):
    zip_code: str = Field(alias="zipCode")


class Person(Entity, table=APP, pk="PERSON#{person_id}", sk="A"):
    person_id: str = Field(alias="personId")
    level: int = Field(default=5, ge=0, alias="LEVEL", serialization_alias="Level")
    nick: Annotated[str | None, Attribute("Nick", formerly=("nickname", "handle"))] = None
    home: Inner | None = None
    tags: set[str] = Field(default={"new"})
    mood: str | None = "fine"
    password: SecretStr = SecretStr("")
    hidden: int = Field(default=0, exclude=True)

    @field_serializer("person_id")
    def mask(self, value: str) -> str:
        return "*" * len(value)


PERSON_KEY: Item = {"PK": {"S": "PERSON#p1"}, "SK": {"S": "A"}}


def test_what_an_application_shows_is_not_what_is_stored(session: Session) -> None:
    """Aliases, masks, exclusions and serializers belong to the application's JSON."""
    home = Inner(zipCode="8000")
    person = Person(
        personId="p1", LEVEL=1, home=home, password=SecretStr("pa55"), hidden=7, mood=None, tags=set()
    )
    shown = json.loads(
        person.model_dump_json(by_alias=True, include={"person_id", "level", "password", "hidden"})
    )
    assert shown == {"personId": "**", "Level": 1, "password": "**********"}
    session.save(person)
    assert items(session, APP) == [
        {
            **PERSON_KEY,
            "_type": {"S": "Person"},
            "person_id": {"S": "p1"},
            "level": {"N": "1"},
            "home": {"M": {"zip_code": {"S": "8000"}}},
            "mood": {"NULL": True},
            "password": {"S": "pa55"},
            "hidden": {"N": "7"},
        }
    ]
    loaded = session.get_one(Person, person_id="p1")
    assert loaded == person
    assert (loaded.password.get_secret_value(), loaded.tags, loaded.mood) == ("pa55", set(), None)


def test_an_item_without_a_field_reads_as_its_default_and_that_is_no_change(session: Session) -> None:
    put(session, APP, {**PERSON_KEY, "person_id": {"S": "p1"}, "_rev": {"S": "r1"}})
    person = session.get_one(Person, person_id="p1")
    assert (person.level, person.mood, person.nick, person.tags) == (5, "fine", None, set())
    assert inspect(person).changes == {}
    session.save(person)
    assert items(session, APP) == [{**PERSON_KEY, "person_id": {"S": "p1"}}]
    person.level = 6
    session.save(person)
    assert items(session, APP) == [{**PERSON_KEY, "person_id": {"S": "p1"}, "level": {"N": "6"}}]


def test_validators_can_tell_a_load(session: Session) -> None:
    seen: list[object] = []

    class Account(Entity, table=APP, pk="ACCOUNT#{slug}", sk="A"):
        slug: str
        secret: str

        @field_validator("secret")
        @classmethod
        def hash(cls, value: str, info: ValidationInfo) -> str:
            seen.append(info.context)
            return value if value.startswith("hash of ") else f"hash of {value}"

    session.save(Account(slug="x", secret="pa55"))
    seen.clear()
    assert session.get_one(Account, slug="x").secret == "hash of pa55"
    assert seen == [LOADING]
    assert repr(LOADING) == "LOADING"


def digits_of(text: str) -> str:
    if not text.isdecimal():
        raise ValueError("has something else than digits")
    return text


class Line(Entity, table=APP, pk="LINE#{name}", sk="A"):
    name: str
    phone: Annotated[str | None, Unique(normalize=digits_of)] = None


def test_a_value_that_its_constraint_cannot_normalise_is_refused_by_name(session: Session) -> None:
    assert session.save(Line(name="a", phone="12")).phone == "12"
    with pytest.raises(InvalidValue, match="has something else than digits") as refusal:
        session.save(Line(name="b", phone="1-2"))
    assert (refusal.value.entity, refusal.value.field, refusal.value.value) == ("Line", "phone", "1-2")
