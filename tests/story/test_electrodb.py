"""The office of ElectroDB's task manager example, stored exactly as ElectroDB stores it."""

from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table
from tests.story.engine import Engine

electro = Table(
    "electro",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex("gsi1pk-gsi1sk-index", pk="gsi1pk", sk="gsi1sk")],
    type_attribute="__edb_e__",
    revision_attribute=None,
    escape=False,
)


class Office(
    Entity,
    table=electro,
    name="office",
    pk="$taskmanager#country_{country:lower}#state_{state:lower}",
    sk="$office_1#city_{city:lower}#zip_{zip:lower}#office_{office:lower}",
):
    office: str
    country: str
    state: str
    city: str
    zip: str
    address: str
    edb_version: Annotated[str, Attribute("__edb_v__")] = "1"
    by_name = Index("gsi1pk-gsi1sk-index", pk="$taskmanager#office_{office:lower}", sk="$workplaces#office_1")


HQ: dict[str, Any] = {
    name: {"S": text}
    for name, text in {
        "pk": "$taskmanager#country_usa#state_wa",
        "sk": "$office_1#city_seattle#zip_98101#office_hq",
        "gsi1pk": "$taskmanager#office_hq",
        "gsi1sk": "$workplaces#office_1",
        "office": "HQ",
        "country": "USA",
        "state": "WA",
        "city": "Seattle",
        "zip": "98101",
        "address": "123 Main St.",
        "__edb_e__": "office",
        "__edb_v__": "1",
    }.items()
}


def office(**values: str) -> Office:
    given = {"office": "HQ", "country": "USA", "state": "WA", "city": "Seattle", "zip": "98101"}
    return Office(**{**given, "address": "123 Main St.", **values})


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(electro)
    return engine.session()


def test_an_office_is_stored_as_electrodb_stores_it(engine: Engine, session: Session) -> None:
    session.save(office())
    assert engine.items(electro) == [HQ]


def test_what_electrodb_stored_is_changed_without_touching_the_rest(engine: Engine, session: Session) -> None:
    engine.put(electro, **HQ, later={"M": {"a": {"NULL": True}}})
    found = session.query(Office.by_name, office="HQ").first()
    assert found == office()
    found.address = "1 High St."
    session.save(found)
    assert engine.items(electro) == [
        {**HQ, "address": {"S": "1 High St."}, "later": {"M": {"a": {"NULL": True}}}}
    ]
    assert list(session.verify(electro)) == []


def test_each_access_pattern_is_one_query(engine: Engine, session: Session) -> None:
    offices = [
        office(),
        office(office="Dock", city="Tacoma", zip="98401"),
        office(office="Seaside", city="Seaview", zip="98631"),
    ]
    for one in offices:
        session.save(one)
    by_city = sorted(offices, key=lambda one: one.city)
    engine.forget()
    here = session.query(Office, country="usa", state="wa")
    assert here.all() == by_city
    assert here.begins_with(city="sea").all() == by_city[:2]
    assert session.query(Office, country="USA", state="WA", city="Seattle").all() == offices[:1]
    assert here.filter(F.address == "123 Main St.").count() == 3
    assert session.query(Office.by_name, office="dock").all() == offices[1:2]
    assert engine.operations == ["Query"] * 5
    engine.forget()
    key = Key(Office, country="usa", state="wa", city="SEATTLE", zip="98101", office="hq")
    assert session.get(key) == offices[0]
    assert engine.operations == ["GetItem"]
