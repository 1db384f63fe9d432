"""The class of an item, by its type attribute or, without one, by its key."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import Field

from dynaorm import Entity, ExpiresAt, Table, Unique
from dynaorm.entity.classify import NotAnEntity, classify, key_beginnings, unknown_item
from dynaorm.entity.mapping.mapping import mapping_of
from tests.dynamodb_json import Item

tagged = Table("tagged")
bare = Table("bare", type_attribute=None, revision_attribute=None)


class User(Entity, table=tagged, pk="USER#{name}", sk="PROFILE"):
    name: str
    email: Annotated[str, Unique()]


class Admin(User):
    """A user with more rights."""


class Audit(Entity, table=tagged, pk="EQUIPMENT#{name}", sk="Audit#{part}", versioned=True):
    name: str
    part: str


class Plain(Entity, table=bare, pk="PLAIN#{name}", sk="P"):
    name: str
    email: Annotated[str, Unique()]


class Other(Entity, table=bare, pk="PLAIN#{name}", sk="O#{part}"):
    name: str
    part: str


def stored(entity: Entity, *, tag: str | None = None) -> dict[str, Any]:
    mapping = mapping_of(type(entity))
    item = {**mapping.primary_key.of(vars(entity)), **mapping.encoder.encode(vars(entity))}
    return {**item, "_type": {"S": tag}} if tag is not None else item


@pytest.mark.parametrize("pk", ["C{number}#{{key}}", "T#{{key}}"])
def test_only_classes_whose_keys_begin_so_are_tried(pk: str) -> None:
    table = Table("hundred", type_attribute=None)
    namespace: dict[str, Any] = {"Entity": Entity, "table": table}
    for number in range(100):
        versioned = number % 2 == 1
        keys = f'pk="{pk.format(number=number)}", sk="S{number}#{{key}}", versioned={versioned}'
        # The versions of all classes begin alike, so those of one partition are told apart by matching.
        keys = keys.replace("versioned=True", f'versioned="S{number}_v{{version}}_{{sk}}"')
        exec(f"class C{number}(Entity, table=table, {keys}):\n    key: str\n", namespace)
    for number in (0, 5, 50, 99):
        entity = namespace[f"C{number}"]
        item: Item = mapping_of(entity).primary_key.of({"key": "x"})
        assert classify(table, item) is mapping_of(entity)
        assert len(key_beginnings(table).candidates(item)) == 1


# -- keys without literal text: what is like a guard -------------------------------------------------------------------

_guard: Item = {"PK": {"S": "email#x"}, "owner": {"M": {"PK": {"S": "1"}}}}


def test_an_entity_that_opted_out_is_no_guard() -> None:
    table = Table("raw-key", sk=None, type_attribute=None)

    class Raw(Entity, table=table, pk="{name:raw}"):
        name: str
        email: Annotated[str, Unique()]
        until: Annotated[datetime | None, ExpiresAt()] = None

    assert classify(table, stored(Raw(name="email#x", email="y"))) is mapping_of(Raw)
    assert classify(table, _guard) is NotAnEntity.GUARD
    assert classify(table, {**_guard, "until": {"N": "1700000000"}}) is NotAnEntity.GUARD
    assert classify(table, {"PK": _guard["PK"]}) is NotAnEntity.GUARD


@pytest.mark.parametrize("item", [{}, {"SK": {"S": "v2_a"}}, {"PK": {"N": "1"}, "SK": {"S": "v2_a"}}])
def test_an_item_without_its_partition_key_is_unknown(item: Item) -> None:
    table = Table("versioned-bare")

    class Loose(Entity, table=table, pk="{name}", sk="{part}", versioned=True):
        name: str
        part: str

    assert classify(table, {"PK": {"S": "1"}, "SK": {"S": "v2_a"}}) is NotAnEntity.VERSION
    assert classify(table, item) is NotAnEntity.UNKNOWN


def test_an_item_of_no_class_is_named_with_key_and_reason() -> None:
    told = str(unknown_item(bare, {"PK": {"S": "PLAIN#a"}, "SK": {"S": "x\n"}, "name": {"S": "never shown"}}))
    assert told.startswith("Cannot load Table('bare') from the item PK='PLAIN#a', SK='x\\n':")
    assert "is that of no declared class (Plain PK='PLAIN#{name}', SK='P', Other PK=" in told
    assert "never shown" not in told
    told = str(unknown_item(tagged, {"PK": {"S": "a"}, "SK": {"S": "b"}, "_type": {"S": "Gone"}}))
    assert "_type is 'Gone', which no declared class is called; declare one" in told


def test_a_class_declared_later_is_found_too() -> None:
    table = Table("later", type_attribute=None)

    def declared(name: str) -> type[Entity]:
        class One(Entity, table=table, pk=f"{name}#{{key}}", sk="S", name=name):
            key: str

        One.__qualname__ = name
        return One

    make: Callable[[str], Item] = lambda name: {"PK": {"S": f"{name}#1"}, "SK": {"S": "S"}}  # noqa: E731 - as short as it gets
    first = declared("A")
    assert classify(table, make("A")) is mapping_of(first)
    assert classify(table, make("B")) is NotAnEntity.UNKNOWN


@pytest.mark.parametrize(
    "item",
    [
        {"PK": {"S": "INVOICE#1"}, "SK": {"S": "I"}},
        {"PK": {"S": "USER#1"}, "SK": {"S": "SETTINGS"}},
        {"PK": {"S": "USER#1"}, "SK": {"S": "PROFILE"}, "_type": {"S": "Customer"}},
        {"PK": {"S": "phone#1"}, "SK": {"S": "phone#1"}},
        {"PK": {"S": "email#1"}, "SK": {"S": "email#2"}},
        {"PK": {"S": "EQUIPMENT#1"}, "SK": {"S": "v2_Report"}},
        {"PK": {"S": "USER#1"}, "SK": {"S": "PROFILE"}, "_type": {"NULL": True}},
        {"PK": {"N": "1"}, "SK": {"S": "PROFILE"}},
        {},
    ],
)
def test_what_no_class_understands_is_unknown(item: Item) -> None:
    assert classify(tagged, item) is NotAnEntity.UNKNOWN


def test_a_key_that_may_have_a_secret_in_it_is_masked() -> None:
    table = Table("secret", type_attribute=None)

    class Token(Entity, table=table, pk="TOKEN#{token}", sk="T"):
        token: str = Field(repr=False)

    told = str(unknown_item(table, {"PK": {"S": "TOKEN#hunter2"}, "SK": {"S": "X"}}))
    assert "hunter2" not in told
    assert "SK='X'" in told
    assert "Token PK='TOKEN#{token}', SK='T'" in told
