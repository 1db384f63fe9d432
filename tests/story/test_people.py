"""Lexicographic order, with the names of the document: upper case before lower case, symbols and digits before both."""

from typing import Annotated

import pytest
from people import NAMES, Person, Written, normalised, people

from dynaorm import Entity, InKey, Table
from dynaorm.errors import AlreadyExists, DeclarationError
from tests.story.engine import Engine


def test_as_written_debrie_comes_before_dean(engine: Engine) -> None:
    engine.create(people)
    with engine.session() as session:
        for last_name, name in NAMES.items():
            session.save(Written(initial="D", last_name=last_name, name=name))
        assert engine.raw(people) == [
            {"SK": {"S": "DeBrie"}, "PK": {"S": "D"}, "Name": {"S": "Alex DeBrie"}},
            {"SK": {"S": "Dean"}, "PK": {"S": "D"}, "Name": {"S": "James Dean"}},
            {"SK": {"S": "Dern"}, "PK": {"S": "D"}, "Name": {"S": "Laura Dern"}},
        ]
        found = session.query(Written, initial="D").all()
    assert [one.last_name for one in found] == ["DeBrie", "Dean", "Dern"]


def test_names_already_in_upper_case_are_stored_as_the_document_stores_them(engine: Engine) -> None:
    engine.create(people)
    with engine.session() as session:
        for last_name, name in NAMES.items():
            session.save(Written(initial="Dnew", last_name=last_name.upper(), name=name))
        assert engine.raw(people) == [
            {"SK": {"S": "DEAN"}, "PK": {"S": "Dnew"}, "Name": {"S": "James Dean"}},
            {"SK": {"S": "DEBRIE"}, "PK": {"S": "Dnew"}, "Name": {"S": "Alex DeBrie"}},
            {"SK": {"S": "DERN"}, "PK": {"S": "Dnew"}, "Name": {"S": "Laura Dern"}},
        ]
        found = session.query(Written, initial="Dnew").all()
    assert [one.name for one in found] == ["James Dean", "Alex DeBrie", "Laura Dern"]


@pytest.fixture
def persons(engine: Engine) -> Engine:
    engine.create(normalised)
    with engine.session() as session:
        for last_name, name in NAMES.items():
            session.save(Person(initial="D", last_name=last_name, name=name))
    return engine


def test_a_normalised_key_sorts_as_people_expect_and_the_name_stays_as_it_is_written(
    persons: Engine,
) -> None:
    assert persons.raw(normalised) == [
        {
            "PK": {"S": "D"},
            "SK": {"S": "DEAN"},
            "LastName": {"S": "Dean"},
            "Name": {"S": "James Dean"},
        },
        {
            "PK": {"S": "D"},
            "SK": {"S": "DEBRIE"},
            "LastName": {"S": "DeBrie"},
            "Name": {"S": "Alex DeBrie"},
        },
        {
            "PK": {"S": "D"},
            "SK": {"S": "DERN"},
            "LastName": {"S": "Dern"},
            "Name": {"S": "Laura Dern"},
        },
    ]
    found = persons.session().query(Person, initial="D").all()
    assert [one.last_name for one in found] == ["Dean", "DeBrie", "Dern"]


def test_what_is_looked_for_is_normalised_too(persons: Engine) -> None:
    with persons.session() as session:
        debrie = session.get_one(Person, initial="D", last_name="debrie")
        assert (debrie.last_name, debrie.name) == ("DeBrie", "Alex DeBrie")
        by_letter = session.query(Person, initial="D")
        assert [one.last_name for one in by_letter.begins_with(last_name="de")] == ["Dean", "DeBrie", "Dern"]
        assert [one.last_name for one in by_letter.begins_with(last_name="Der")] == ["Dern"]
        assert [one.last_name for one in by_letter.gt(last_name="dean")] == ["DeBrie", "Dern"]
        assert [one.last_name for one in by_letter.le(last_name="debrie")] == ["Dean", "DeBrie"]


def test_two_spellings_of_one_normalised_key_are_one_person(persons: Engine) -> None:
    with persons.session() as session, pytest.raises(AlreadyExists):
        session.save(Person(initial="D", last_name="DEBRIE", name="Another"))


def test_correcting_the_case_of_a_name_changes_the_attribute_and_not_the_key(persons: Engine) -> None:
    with persons.session() as session:
        debrie = session.get_one(Person, initial="D", last_name="DeBrie")
        debrie.last_name = "Debrie"
        session.save(debrie)
    assert persons.raw(normalised)[1] == {
        "PK": {"S": "D"},
        "SK": {"S": "DEBRIE"},
        "LastName": {"S": "Debrie"},
        "Name": {"S": "Alex DeBrie"},
    }


def test_symbols_and_digits_count_and_come_before_letters(engine: Engine) -> None:
    engine.create(normalised)
    with engine.session() as session:
        for last_name in ("Zoe", "D1", "#Dash", "D'Arc", "3Dee", "$", "Ångström", "D-Day", "d"):
            session.save(Person(initial="*", last_name=last_name, name=""))
        found = [one.last_name for one in session.query(Person, initial="*")]
    assert found == ["#Dash", "$", "3Dee", "d", "D'Arc", "D-Day", "D1", "Zoe", "Ångström"]


def test_a_field_whose_key_has_lost_its_case_cannot_live_in_the_key_alone() -> None:
    with pytest.raises(
        DeclarationError, match=r"last_name: InKey\(\), but the field cannot be read back exactly"
    ):

        class Lost(Entity, table=Table("Lost"), pk="{initial}", sk="{last_name:upper}"):
            initial: str
            last_name: Annotated[str, InKey()]
