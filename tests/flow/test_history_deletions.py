"""History never changes: deletions stay in it after a re-creation, and versions keep their class."""

from datetime import UTC, datetime
from typing import Annotated

import pytest

from dynaorm import Entity, Key, Session, Table, Unique, Versioned
from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.item.value import Item
from dynaorm.testing import FakeClock

app = Table("deletions-app")
partial = Table("deletions-partial")
families = Table("deletions-families")


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class Task(Entity, table=partial, pk="TASK#{name}", sk="TASK", versioned=True):
    name: str
    state: Annotated[str, Versioned()] = "open"
    views: int = 0


class Document(Entity, table=families, pk="DOC#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class Report(Document):
    author: str
    number: Annotated[str, Unique()]


PAGE, DOCUMENT = Key(Page, name="a"), Key(Document, name="a")


def now(clock: FakeClock) -> datetime:
    return datetime.fromtimestamp(clock.now(), UTC)


def items(moto: Transport, table: Table) -> dict[str, Item]:
    """The items of a table by their sort keys."""
    found = moto.call(Call("Scan", {"TableName": table.name}))["Items"]
    return {item["SK"]["S"]: item for item in found}


# -- deletions ---------------------------------------------------------------------------------------------------------


def test_an_entity_that_keeps_versions_of_some_fields_was_absent_while_it_was_deleted(
    session: Session, clock: FakeClock
) -> None:
    key = Key(Task, name="a")
    session.save(Task(name="a"))
    clock.advance(60)
    session.delete(key)
    deleted = now(clock)
    clock.advance(60)
    session.save(Task(name="a", state="again"))
    assert session.get(key, as_of=deleted) is None


def test_a_version_without_the_time_of_a_deletion_is_read_as_before(
    session: Session, moto: Transport, clock: FakeClock
) -> None:
    """Items that an earlier release wrote."""
    session.delete(session.save(Page(name="a")))
    clock.advance(3600)
    session.save(Page(name="a", text="again"))
    item = {name: value for name, value in items(moto, app)["v2_TEXT"].items() if name != "previous_deletion"}
    moto.call(Call("PutItem", {"TableName": app.name, "Item": item}))
    assert [version.number for version in session.history(PAGE)] == [2, 1]
    assert session.get_one(PAGE, as_of=now(clock)).text == "again"


# -- classes -----------------------------------------------------------------------------------------------------------


def test_versions_and_tombstones_of_a_family_keep_the_class_and_no_type(
    session: Session, moto: Transport
) -> None:
    session.delete(session.save(Report(name="a", author="liz", number="7")))
    found = items(moto, families)
    assert {key: item["version_type"] for key, item in found.items()} == {
        "v0_TEXT": {"S": "Report"},
        "v1_TEXT": {"S": "Report"},
    }
    assert not any("_type" in item for item in found.values())
    assert session.scan(Document).all() == []


def test_a_version_of_another_class_is_not_restored_into_a_live_entity(session: Session) -> None:
    session.delete(session.save(Report(name="a", text="one", author="liz", number="7")))
    session.save(Document(name="a", text="two"))
    with pytest.raises(UsageError) as caught:
        session.restore(DOCUMENT, version=1)
    assert str(caught.value) == (
        "version 1 of Key(Document, name='a') is a Report, and a Document is stored now; delete it first, then restore "
        "the version"
    )
    assert session.get_one(DOCUMENT) == Document(name="a", text="two")


def test_a_version_of_a_subclass_that_an_earlier_release_wrote_is_of_the_class_stored_now(
    session: Session, moto: Transport
) -> None:
    session.save(Report(name="a", text="one", author="liz", number="7"))
    item = {name: value for name, value in items(moto, families)["v1_TEXT"].items() if name != "version_type"}
    moto.call(Call("PutItem", {"TableName": families.name, "Item": item}))
    (version,) = session.history(DOCUMENT)
    assert version.entity == Report(name="a", text="one", author="liz", number="7")
