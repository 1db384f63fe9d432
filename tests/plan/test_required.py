"""What a write requires of the stored item, row by row of the table in ``required.py``."""

from typing import Any, Final

import pytest

from dynaorm import Entity, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.own_item import required_of
from dynaorm.plan.stored import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    StoredItem,
)
from tests.plan.compiling import NOW, stored

marked = Table("marked-leaves", indexes=[GlobalIndex("GSI1")])
unmarked = Table("unmarked-leaves", indexes=[GlobalIndex("GSI1")], revision_attribute=None)


class Marked(Entity, table=marked, pk="LEAF#{leaf}", sk="L"):
    leaf: str
    colour: str = "green"
    shade: str = "dark"
    note: str | None = None
    by_shade = Index("GSI1", pk="SHADE#{shade}", sk="{leaf}")


class Leaf(Entity, table=unmarked, pk="LEAF#{leaf}", sk="L"):
    leaf: str
    colour: str = "green"
    shade: str = "dark"
    note: str | None = None
    by_shade = Index("GSI1", pk="SHADE#{shade}", sk="{leaf}")


KINDS: Final[tuple[Any, ...]] = (Marked, Leaf)
UNIT: Final = UnitOfWork(NOW, "w2", str)
BASIC: Final = frozenset({"_type", "leaf", "shade", "GSI1PK", "GSI1SK"})
"""What keys are made of, and what every write relies on."""
ALL: Final = BASIC | {"colour", "note", "of others"}


def parts(kind: Any, **flags: Any) -> tuple[Any, Item, StoredItem]:
    item = stored(kind(leaf="1"), **{"of others": 1})
    return (
        mapping_of(kind),
        {name: item[name] for name in ("PK", "SK")},
        StoredItem(mapping_of(kind), item, **flags),
    )


def insert(kind: Any, **flags: bool) -> ItemChange:
    mapping, key, before = parts(kind, **flags)
    return ItemInsert(mapping, key, {**before.item}, None, {}, before=before)


def update(kind: Any, **flags: bool) -> ItemChange:
    mapping, key, before = parts(kind, **flags)
    return ItemUpdate(mapping, key, before, {**before.item, "colour": {"S": "red"}}, frozenset({"colour"}))


def delete(kind: Any, **flags: bool) -> ItemChange:
    return ItemDelete(*parts(kind, **flags))


def check(kind: Any, **flags: bool) -> ItemChange:
    return ItemCheck(*parts(kind, **flags))


@pytest.mark.parametrize(
    ("change", "flags", "is_told", "relied_on"),
    [
        (insert, (), True, ALL),
        (insert, ("from_read",), True, ALL - {"note"}),
        (insert, ("as_loaded",), True, ALL),
        (insert, ("from_read", "as_loaded"), True, ALL),
        (update, (), True, BASIC | {"colour"}),
        (update, ("from_read",), True, BASIC | {"colour"}),
        (update, (), False, BASIC | {"colour", "note"}),
        (update, ("as_loaded",), True, ALL),
        *[
            (one, flags, True, ALL)
            for one in (delete, check)
            for flags in ((), ("from_read",), ("as_loaded",))
        ],
    ],
)
def test_a_known_item_has_to_have_its_revision_or_what_the_write_relies_on(
    change: Any, flags: tuple[str, ...], is_told: bool, relied_on: frozenset[str]
) -> None:
    given = dict.fromkeys(flags, True)
    _, basis = required_of(change(Leaf, **given), UNIT, is_told=is_told)
    assert {str(path[0]) for path in basis.expected_values or ()} == relied_on
    _, marked_basis = required_of(change(Marked, **given), UNIT, is_told=is_told)
    assert (marked_basis.expected, marked_basis.expected_values) == ("w1", None)
    for one in (basis, marked_basis):
        assert (one.blind, one.from_read) == (False, "from_read" in flags)


@pytest.mark.parametrize("kind", KINDS)
def test_of_an_unknown_item_only_its_key_and_class_are_required(kind: Any) -> None:
    mapping, key, known = parts(kind)
    new = {**known.item}
    rows: dict[str, ItemChange] = {
        "insert": ItemInsert(mapping, key, new, None, {}),
        "found nothing": ItemInsert(mapping, key, new, None, {}, found_nothing=True),
        "replaces": ItemInsert(mapping, key, new, None, {}, replaces=True),
        "delete": ItemDelete(mapping, key),
        "check": ItemCheck(mapping, key),
        "edit": ItemEdit(mapping, key, ()),
        "upsert": ItemEdit(mapping, key, (), creates=True),
    }
    found = {name: required_of(one, UNIT, is_told=True)[1] for name, one in rows.items()}
    assert all((one.expected, one.expected_values) == (None, None) for one in found.values())
    assert {name for name, one in found.items() if one.blind} == rows.keys() - {"insert", "found nothing"}
    assert {name for name, one in found.items() if one.from_read} == {"found nothing"}
