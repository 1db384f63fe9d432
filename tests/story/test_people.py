"""Lexicographic order, with the names of the document: upper case before lower case, symbols and digits before both."""

import pytest
from people import NAMES, Person, Written, normalised, people

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
