"""Items without their values: nothing of a value stays, and what lay together lies together."""

import re
from collections.abc import Sequence

from dynaorm import Table
from dynaorm.description import Entry, classify, describe, samples
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.layout import render_html
from dynaorm.layout.view import view_of
from dynaorm.layout.without_values import anonymize
from tests.cast.documents import Page
from tests.cast.orders import Bag
from tests.cast.others import Stall
from tests.cast.people import User
from tests.cast.tables import app, blobs, fleeting, log
from tests.cast.tickets import Issue
from tests.cli.desk import Agent, desk
from tests.dynamodb_json import AttributeValue

CLASSES = (Page, Bag, Stall, User, Issue, Agent)
"""Their modules declare the classes of these tables."""

TABLES: Sequence[Table] = (app, desk, blobs, fleeting, log)


def shape(table: Table, entries: Sequence[Entry], index: str | None) -> list[str]:
    """The partitions of a view, each with the kinds, classes and places of its rows."""
    view = view_of(describe(table), entries, index)
    rows = (
        sorted(((row.kind, row.cls, *sorted(row.places.items()), row.number) for row in block.rows), key=repr)
        for block in (*view.blocks, *view.apart)
    )
    return sorted(map(repr, rows))


def test_items_lie_as_they_did_in_the_table_and_in_every_index() -> None:
    for table in TABLES:
        entries = samples(table, 3)
        plain = anonymize(table, entries)
        for index in (None, *(one.name for one in describe(table).indexes)):
            assert shape(table, plain, index) == shape(table, entries, index)


def keys_of(table: Table) -> set[str]:
    indexes = describe(table).indexes
    return {*table.key_names, *(key.name for one in indexes for key in (*one.partition, *one.sort))}


def test_no_value_of_a_field_stays() -> None:
    for table in TABLES:
        entries = samples(table, 3)
        for before, after in zip(entries, anonymize(table, entries), strict=True):
            in_keys = key_fields(before)
            for name in before.item.keys() - keys_of(table) - {table.type_attribute}:
                value = after.item[name]
                assert value in TYPES or "M" in value or is_name_of(in_keys.get(name, ""), value)


def key_fields(entry: Entry) -> dict[str, str]:
    """The attributes of the fields that are in the primary key of an item, with the names of these fields."""
    if entry.cls is None:
        return {}
    mapping = mapping_of(entry.cls)
    return {mapping.fields[name].attribute: name for name in mapping.key_fields if name in mapping.fields}


def is_name_of(field: str, value: AttributeValue) -> bool:
    """Whether a value is the name of a field with a number, or nothing but that number."""
    ((kind, text),) = value.items()
    return re.fullmatch(rf"\d+|{field}-\d+" if field else "-", text) is not None and kind in ("S", "N")


TYPES = [
    {"S": one}
    for one in (
        *("text", "number", "binary", "true or false", "null", "list", "map"),
        *("set of texts", "set of numbers", "set of binaries"),
    )
]


def test_owners_are_still_those_of_their_guards_and_versions() -> None:
    for table in TABLES:
        entries = anonymize(table, samples(table, 3))
        keys = [{name: one.item[name] for name in table.key_names} for one in entries if one.kind == "entity"]
        owned = [one.owner for one in entries if one.kind in ("guard", "version") and one.owner is not None]
        assert [owner for owner in owned if owner not in keys] == []


def test_the_values_of_each_field_are_numbered_from_1() -> None:
    for table in TABLES:
        numbers: dict[str, set[int]] = {}
        for entry in anonymize(table, samples(table, 3)):
            for name in keys_of(table) & entry.item.keys():
                for field, number in re.findall(r"([A-Za-z_.]+)-(\d+)", str(entry.item[name].get("S"))):
                    numbers.setdefault(field, set()).add(int(number))
        assert {field: sorted(some) for field, some in numbers.items()} == {
            field: [*range(1, len(some) + 1)] for field, some in numbers.items()
        }


def test_an_owner_has_the_name_that_its_key_says() -> None:
    for table in TABLES:
        entries = anonymize(table, samples(table, 3))
        guards = [one for one in entries if one.kind == "guard"]
        assert reservations(table, entries) == reservations(table, guards)


def reservations(table: Table, entries: Sequence[Entry]) -> list[str]:
    """What guards say of their owners, but for the class. Of an owner that is no entry, only the key is known."""
    rows = view_of(describe(table), entries).rows
    return [re.sub(r"for \w+", "for", row.said) for row in rows if row.kind == "guard"]


def test_they_can_be_drawn_as_a_page() -> None:
    for table in TABLES:
        assert "<!doctype html>" in render_html(describe(table), anonymize(table, samples(table)))


def test_an_item_of_no_class_keeps_nothing() -> None:
    entry = classify({"PK": {"S": "secret"}, "SK": {"S": "more"}, "x": {"M": {"y": {"S": "z"}}}}, app)
    (found,) = anonymize(app, [entry])
    assert found.item == {"PK": {"S": "PK-1"}, "SK": {"S": "SK-1"}, "x": {"S": "map"}}
