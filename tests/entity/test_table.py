"""Declarations of tables and indexes: names, defaults, and errors for what DynamoDB would refuse."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, Final

import pytest

from dynaorm import BinaryKey, GlobalIndex, LocalIndex, NumberKey, NumberRevision, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import DeclarationError, UsageError
from dynaorm.failure import shown
from tests.cast.people import Guest, User
from tests.cast.tickets import Issue

S = "S"


def test_keys_have_the_names_of_the_published_designs() -> None:
    table = Table("app", indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1")])
    assert table.keys == (KeyAttribute("PK", "S"), KeyAttribute("SK", "S"))
    assert (table.type_attribute, table.revision_attribute) == ("_type", "_rev")
    assert (table.key_fields, table.guards) == ("stored", table)
    assert table.kinds == {"PK": S, "SK": S, "GSI1PK": S, "GSI1SK": S, "LSI1SK": S}


def test_keys_may_be_numbers_and_bytes_and_there_may_be_one_only() -> None:
    table = Table("app", pk=BinaryKey("digest"), sk=NumberKey("at"))
    assert table.keys == (KeyAttribute("digest", "B"), KeyAttribute("at", "N"))
    assert Table("app", sk=None).keys == (KeyAttribute("PK", "S"),)


def test_an_index_may_have_several_keys_and_no_sort_key() -> None:
    index = GlobalIndex("Regions", pk=("tenant", NumberKey("zone")), sk=None, projection=["name"])
    assert index.pk == (KeyAttribute("tenant", "S"), KeyAttribute("zone", "N"))
    assert index.sk == ()
    assert index.projection == ("name",)


@pytest.mark.parametrize(
    "name", ["app", "a.b-c_D9", "x" * 255, "arn:aws:dynamodb:eu-west-1:123456789012:table/app"]
)
def test_names_within_dynamodb_s_rules_are_taken(name: str) -> None:
    assert Table(name).name == name


@pytest.mark.parametrize(
    ("options", "problems"),
    [
        ({"name": "ab"}, ["the name 'ab' is not 3 to 255 of A-Z a-z 0-9 _ . -; choose another"]),
        ({"name": "my app"}, ["the name 'my app' is not 3 to 255 of A-Z a-z 0-9 _ . -; choose another"]),
        (
            {"indexes": [GlobalIndex("i"), GlobalIndex("GSI"), GlobalIndex("GSI")]},
            [
                "the name 'i' is not 3 to 255 of A-Z a-z 0-9 _ . -; choose another",
                "two indexes have one name; rename one",
            ],
        ),
        ({"pk": "K", "sk": "K"}, ["partition key and sort key are both called 'K'; name them differently"]),
        (
            {"sk": None, "indexes": [LocalIndex("LSI")]},
            ["LocalIndex('LSI'): a local index needs a table with a sort key; declare a GlobalIndex"],
        ),
        (
            {"indexes": [GlobalIndex("GSI", pk=("a", "b", "c", "d", "e"))]},
            ["GlobalIndex('GSI'): pk has 5 attributes; DynamoDB allows 4, drop some"],
        ),
        (
            {"indexes": [GlobalIndex("GSI", pk=NumberKey("PK"))]},
            ["GlobalIndex('GSI'): 'PK' is a key of two types; use one type everywhere"],
        ),
        (
            {"indexes": [GlobalIndex("GSI", projection="all")]},
            ["GlobalIndex('GSI'): projection='all'; write 'ALL', 'KEYS_ONLY', or a tuple of attribute names"],
        ),
        (
            {"type_attribute": "PK", "revision_attribute": "SK"},
            [
                "type_attribute 'PK' is a key attribute; choose another name or None",
                "revision_attribute 'SK' is a key attribute; choose another name or None",
            ],
        ),
        (
            {"type_attribute": "x", "revision_attribute": "x"},
            ["type_attribute and revision_attribute are both 'x'; name them differently"],
        ),
        (
            {"guard_table": Table("guards", sk=NumberKey("n"))},
            ["guard_table 'guards': its key 'n' is not a string key; use one"],
        ),
        ({"name": 5}, ["the name 5 is not 3 to 255 of A-Z a-z 0-9 _ . -; choose another"]),
        ({"pk": ""}, ["'' cannot name a key attribute; give a name of 1 to 255 bytes"]),
        ({"sk": 5}, ["5 cannot name a key attribute; give a name of 1 to 255 bytes"]),
        (
            {"indexes": [LocalIndex("LSI", sk="s" * 256)]},
            [f"{shown('s' * 256)} cannot name a key attribute; give a name of 1 to 255 bytes"],
        ),
        (
            {"indexes": "I"},
            [
                "indexes='I' is not an index; write GlobalIndex(name), LocalIndex(name) or VectorIndex(name, ...)"
            ],
        ),
        ({"key_fields": "in-key"}, ["key_fields='in-key'; write 'stored' or 'in_key'"]),
        ({"escape": "no"}, ["escape='no' is neither True nor False; give one of them"]),
        ({"guard_table": "guards"}, ["guard_table='guards' is no Table; write guard_table=Table(name)"]),
        ({"indexes": 5}, ["indexes=5 is not a list of indexes; write indexes=[...]"]),
        (
            {"indexes": GlobalIndex("GSI")},
            ["indexes=GlobalIndex('GSI') is not a list of indexes; write indexes=[...]"],
        ),
        (
            {"type_attribute": "", "revision_attribute": NumberRevision(5)},  # type: ignore[arg-type]
            [
                "type_attribute='' cannot name an attribute; give a name of 1 to 255 bytes, or None",
                "revision_attribute=5 cannot name an attribute; give a name of 1 to 255 bytes, or None",
            ],
        ),
        (
            {"indexes": [GlobalIndex("GSI", pk=["a", "b"])]},  # type: ignore[arg-type]
            ["['a', 'b'] cannot name a key attribute; give a name of 1 to 255 bytes"],
        ),
        (
            {"indexes": [GlobalIndex("GSI", pk=()), LocalIndex("LSI", sk=("a", "b"))]},  # type: ignore[arg-type]
            [
                "GlobalIndex('GSI'): pk has no attribute; name one",
                "LocalIndex('LSI'): sk has 2 attributes; DynamoDB allows 1, drop some",
            ],
        ),
        (
            {"indexes": [GlobalIndex("GSI", pk="a", sk="a"), LocalIndex("LSI", sk="PK")]},
            [
                "GlobalIndex('GSI'): 'a' is twice in its key; name another attribute",
                "LocalIndex('LSI'): 'PK' is twice in its key; name another attribute",
            ],
        ),
    ],
)
def test_a_table_that_contradicts_itself_or_dynamodb_is_refused(
    options: dict[str, Any], problems: list[str]
) -> None:
    name = options.pop("name", "app")
    with pytest.raises(DeclarationError) as caught:
        Table(name, **options)
    assert str(caught.value) == "\n  - ".join([f"Cannot declare Table({name!r}):", *problems])


@pytest.mark.parametrize("names", [(), ("a", 5), 5])
def test_a_projection_of_no_names_is_refused(names: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        Table("app", indexes=[GlobalIndex("GSI", projection=names)])
    given = f"GlobalIndex('GSI'): projection={names!r}"
    assert caught.value.problems == (f"{given}; write 'ALL', 'KEYS_ONLY', or a tuple of attribute names",)


COPIES: Final[dict[str, Callable[[Any], Any]]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
}


@pytest.mark.parametrize("how", COPIES)
def test_a_table_is_itself_in_copies_and_pickles(how: str) -> None:
    """No class is stored in another one, so that ``verify`` would find nothing wrong in it."""
    for table in (mapping_of(User).table, *mapping_of(Guest).table.homes):
        assert COPIES[how](table) is table


@pytest.mark.parametrize("how", COPIES)
def test_a_place_in_an_index_is_the_same_in_copies_and_pickles(how: str) -> None:
    assert COPIES[how](Issue.flagged) == Issue.flagged


def test_a_table_without_classes_is_not_pickled() -> None:
    with pytest.raises(UsageError) as refused:
        pickle.dumps(Table("empty"))
    assert str(refused.value) == (
        "Table('empty') cannot be pickled: no class is stored in it, by which another process would find it; import "
        "the table there from the module that declares it"
    )
