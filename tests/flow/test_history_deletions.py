"""Versions that an earlier release wrote, without the time of a deletion and with a class."""

from datetime import UTC, datetime
from typing import Annotated

from dynaorm import Entity, Key, Session, Table, Unique
from dynaorm.flow.call import Call, Transport
from dynaorm.item.value import Item
from dynaorm.testing import FakeClock

app = Table("deletions-app")
families = Table("deletions-families")


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


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


def test_a_version_of_a_subclass_that_an_earlier_release_wrote_is_of_the_class_stored_now(
    session: Session, moto: Transport
) -> None:
    session.save(Report(name="a", text="one", author="liz", number="7"))
    item = {name: value for name, value in items(moto, families)["v1_TEXT"].items() if name != "version_type"}
    moto.call(Call("PutItem", {"TableName": families.name, "Item": item}))
    (version,) = session.history(DOCUMENT)
    assert version.entity == Report(name="a", text="one", author="liz", number="7")
