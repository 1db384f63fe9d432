"""A table as partitions and rows: their order, what they say, and what is left out."""

from datetime import datetime
from typing import Annotated

import pytest
from hypothesis import given

from dynaorm import CreatedAt, Entity, ExpiresAt, GlobalIndex, Index, NumberKey, Session, Table, Unique
from dynaorm.description import Entry, classify, describe, samples
from dynaorm.errors import UsageError
from dynaorm.layout.text import render_svg, render_text
from dynaorm.layout.view import ItemRow, TableView, view_of
from dynaorm.transport import Call, Transport
from tests.dynamodb_json import Item
from tests.laws.classes import Schema, declare, schemas

app = Table("views", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection=["title"])])


class Zoo(Entity, table=app, pk="ZOO#{zoo}", sk="ZOO"):
    zoo: str
    name: Annotated[str, Unique()]


class Animal(Entity, table=app, pk="ZOO#{zoo}", sk="ANIMAL#{number:03d}", versioned="v{version}_{sk}"):
    zoo: str
    number: int
    title: str
    keeper: str | None = None
    until: str = ""
    seen: Annotated[datetime | None, CreatedAt()] = None
    by_keeper = Index("GSI1", pk="KEEPER#{keeper}", sk="{number:shard4}#{title}")
    by_title = Index("GSI2", pk="TITLES", sk="{title}")


def views(index: str | None = None, **given_: object) -> TableView:
    return view_of(describe(app), samples(app), index, **given_)  # type: ignore[arg-type]  # classes


def row(view: TableView, sort: str) -> ItemRow:
    return next(one for one in view.rows if one.sort_text == sort)


def test_partitions_follow_the_declarations_and_guards_come_last() -> None:
    found = view_of(describe(app), [*reversed(samples(app))])
    assert [one.text for one in found.blocks] == ["ZOO#zoo-1", "ZOO#zoo-2"]
    assert [one.text for one in found.apart] == ["name#name-1", "name#name-2"]
    assert [one.sort_text for one in found.blocks[0].rows] == [
        "ZOO",
        "v0_ANIMAL#001",
        "v0_ANIMAL#002",
        "v1_ANIMAL#001",
        "v1_ANIMAL#002",
    ]
    assert render_text(found) == render_text(views())


def test_a_row_says_what_an_item_is_and_whom_it_belongs_to() -> None:
    found = views()
    assert row(found, "v0_ANIMAL#001").name == "Animal(zoo='zoo-1', number=1)"
    version = row(found, "v1_ANIMAL#001")
    assert (version.kind, version.number, version.said) == (
        "version",
        1,
        "version 1 of Animal(zoo='zoo-1', number=1)",
    )
    guard = row(found, "name#name-1")
    assert guard.said == "reserves name for Zoo(zoo='zoo-1')"
    assert guard.owner == row(found, "ZOO").entry


def test_a_key_is_shown_in_pieces() -> None:
    pieces = row(views(), "v0_ANIMAL#001").sort[0]
    assert [(one.kind, one.text) for one in pieces] == [
        ("literal", "v0_"),
        ("literal", "ANIMAL#"),
        ("value", "001"),
    ]
    key = views("GSI1").blocks[0].rows[0].sort[0]
    assert [(one.kind, one.field) for one in key] == [
        ("shard", "number"),
        ("literal", ""),
        ("value", "title"),
    ]


def test_what_the_key_says_and_what_dynaorm_keeps_is_left_out_of_a_row() -> None:
    found = row(views(), "v0_ANIMAL#001")
    assert [(one.name, one.text) for one in found.shown] == [
        ("title", "title-1"),
        ("keeper", "keeper-1"),
        ("until", "''"),
        ("seen", "2024-01-01 00:03:00"),
    ]
    left_out = {one.name: one.role for one in found.attributes if one.is_extra}
    assert left_out == {
        "zoo": "field",
        "number": "field",
        "GSI1PK": "key",
        "GSI1SK": "key",
        "GSI2PK": "key",
        "GSI2SK": "key",
        "_rev": "own",
        "_type": "own",
        "version": "own",
        "version_at": "own",
    }


def test_an_index_has_what_is_in_it_and_says_what_is_not() -> None:
    found = views("GSI1")
    assert [one.text for one in found.blocks] == ["KEEPER#keeper-1"]
    assert (found.absent, found.entities) == (3, 4)
    assert found.absence == "3 of 4 entities are not in GSI1"
    assert found.apart == ()
    # The primary key says which item it is, in place of the fields that are in it.
    assert [one.name for one in found.rows[0].shown] == ["PK", "SK", "until", "seen"]


def test_an_index_shows_projected_attributes_alone() -> None:
    found = views("GSI2")
    assert {one.name for row in found.rows for one in row.attributes} == {"PK", "SK", "title"}


def test_some_classes_alone_are_shown() -> None:
    found = views(classes=["Zoo"])
    assert {one.cls for one in found.rows} == {"Zoo"}
    assert (found.entities, len(found.apart)) == (2, 2)


def test_an_index_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="views has no index 'GSI9'; did you mean 'GSI2'"):
        views("GSI9")


def test_numbers_are_ordered_by_value() -> None:
    table = Table("numbers", sk=NumberKey("SK"))

    class Reading(Entity, table=table, pk="R#{of}", sk="{at}"):
        of: str
        at: int

    items: list[Item] = [{"PK": {"S": "R#1"}, "SK": {"N": at}} for at in ("10", "9", "-1")]
    found = view_of(describe(table), [classify(one, table) for one in items])
    assert [one.sort_text for one in found.rows] == ["-1", "9", "10"]


def test_a_deleted_entity_says_so(session: Session, moto: Transport) -> None:
    animal = session.save(Animal(zoo="z", number=1, title="t"))
    session.delete(animal)
    items = moto.call(Call("Scan", {"TableName": app.name}))["Items"]
    found = view_of(describe(app), [classify(one, app) for one in items])
    assert row(found, "v0_ANIMAL#001").said == "Animal(zoo='z', number=1) is deleted"
    assert row(found, "v0_ANIMAL#001").kind == "tombstone"


def test_token_items_stand_beside_guards() -> None:
    token: Item = {name: {"S": "#token#t1"} for name in ("PK", "SK")}
    found = view_of(describe(app), [*samples(app), classify(token, app)])
    assert found.apart_title == "guard and token items"
    assert found.apart[-1].rows[0].said == "remembers a block of writes that ran under this token"
    assert views().apart_title == "guard items"


def test_an_item_of_no_class_has_no_colour_of_a_class() -> None:
    strange: Item = {"PK": {"S": "?"}, "SK": {"S": "?"}}
    found = view_of(describe(app), [classify(strange, app)])
    assert found.rows[0].position is None
    assert 'class="d">unknown</tspan>' in render_svg(found)


def test_guards_of_another_table_come_with_its_keys() -> None:
    locks = Table("view-locks", pk="lock", sk=None)
    table = Table("view-guarded", guard_table=locks)

    class User(Entity, table=table, pk="USER#{user_id}", sk="U"):
        user_id: str
        email: Annotated[str, Unique()]
        until: Annotated[datetime | None, ExpiresAt()] = None

    found = view_of(describe(table), samples(table))
    assert [one.text for one in found.apart] == ["email#email-1@example.com", "email#email-2@example.com"]
    assert [one.said for block in found.apart for one in block.rows] == [
        "reserves email for User(user_id='user_id-1')",
        "reserves email for User(user_id='user_id-2')",
    ]


@given(schemas())
def test_every_item_has_one_row_and_every_index_has_the_entities_that_are_in_it(schema: Schema) -> None:
    table = declare(schema).table
    entries: list[Entry] = samples(table)
    description = describe(table)
    assert sorted(one.entry for one in view_of(description, entries).rows) == list(range(len(entries)))
    for index in table.indexes:
        found = view_of(description, entries, index)
        placed = [at for at, one in enumerate(entries) if index in one.places]
        assert {one.entry for one in found.rows if one.kind == "entity"} >= {*placed}
        assert found.absent == sum(one.kind == "entity" for one in entries) - len(
            {one.entry for one in found.rows if one.kind == "entity"}
        )
