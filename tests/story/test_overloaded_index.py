"""An overloaded sort key, which holds different data in each class, and indexes over it, with the document's items."""

from typing import Any

import pytest
from tickets_overloaded import ROWS, Admission, Member, Task, Transfer, project

from dynaorm import detached
from tests.story.engine import Engine

KINDS: tuple[Any, ...] = (Task, Member, Admission, Transfer)
STORED = [
    {"pk": {"S": "202"}, "sk": {"S": sk}, "status": {"S": status}, "creationDate": {"S": created}}
    for sk, status, created in [
        ("23123", "open", "2020-03-23"),
        ("96452", "working", "2020-03-14"),
        ("usuario1@email.com", "working", "2020-02-06"),
        ("usuario2@email.com", "open", "2020-05-04"),
        ("AD-93416", "close", "2020-01-08"),
        ("YT-81274", "open", "2020-05-09"),
    ]
]


@pytest.fixture
def stocked(engine: Engine) -> Engine:
    """The document's six items, put by hand: only their keys tell their class."""
    engine.create(project)
    for item in STORED:
        engine.put(project, **item)
    return engine


def test_the_items_written_are_the_documents(engine: Engine) -> None:
    engine.create(project)
    with engine.session() as session:
        for row in ROWS:
            session.save(detached(row))
    assert engine.raw(project) == sorted(STORED, key=lambda item: item["sk"]["S"])


def test_each_class_is_told_by_the_shape_of_its_keys_and_finds_only_its_own(stocked: Engine) -> None:
    with stocked.session() as session:
        for kind in KINDS:
            found = session.query(kind, project="202").all()
            assert found == [one for one in ROWS if type(one) is kind]
            assert found.requests == 1
            assert session.scan(kind).all() == found or {*map(repr, session.scan(kind))} == {
                *map(repr, found)
            }


def test_a_project_is_one_collection_of_four_classes(stocked: Engine) -> None:
    found = stocked.session().collection(*KINDS, project="202")
    assert found.all().requests == 1
    assert [type(one) for one in found] == [Task, Task, Admission, Transfer, Member, Member]
    tasks, members, admissions, transfers = found.split()
    assert [one.number for one in tasks] == [23123, 96452]
    assert [one.mailbox for one in members] == ["usuario1", "usuario2"]
    assert [one.number for one in (*admissions, *transfers)] == [93416, 81274]


def test_an_index_keyed_by_the_sort_key_finds_a_number_an_address_or_a_code(stocked: Engine) -> None:
    with stocked.session() as session:
        stored = {item["sk"]["S"]: entity for item, entity in zip(STORED, ROWS, strict=True)}
        assert session.query(Task.by_sort_key, number=96452).one() == stored["96452"]
        member = session.query(Member.by_sort_key, mailbox="usuario1", domain="email.com")
        assert member.one() == stored["usuario1@email.com"]
        assert session.query(Admission.by_sort_key, number=93416).one() == stored["AD-93416"]
        assert session.query(Transfer.by_sort_key, number=93416).all() == []
        assert member.ge(creation_date="2020-02-06").lt(creation_date="2020-02-07").count() == 1
        assert member.gt(creation_date="2020-02-06").count() == 0


def test_a_local_index_gives_the_items_of_a_project_another_order(stocked: Engine) -> None:
    table = stocked.client.describe_table(TableName=stocked.name("Project"))["Table"]
    (local,) = table["LocalSecondaryIndexes"]
    assert (local["IndexName"], [key["AttributeName"] for key in local["KeySchema"]]) == (
        "ByStatus",
        ["pk", "status"],
    )
    with stocked.session() as session:
        found = session.query(Task.by_status, project="202", status="open").all()
        assert [one.number for one in found] == [23123]
        assert [one.status for one in session.query(Task.by_status, project="202").descending()] == [
            "working",
            "open",
        ]
        everything = session.collection(*(kind.by_status for kind in KINDS), project="202")
        assert [one.status for one in everything] == ["close", "open", "open", "open", "working", "working"]
        assert everything.all().requests == 1
