"""Which index keys follow from an edit by key alone, and which depend on what is stored."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, NumberKey, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.known import Unread
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.without_reading import index_changes
from tests.plan.test_edit import (
    Twofold,
)
from tests.plan.test_image import Both
from tests.plan.test_without_reading import BLIND, READS, app, key_of, needs_reading


class Either(Entity, table=app, pk="EITHER#{name}", sk="E"):
    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="ONE#{one}", sk="{name}")
    by_other = Index("GSI1", pk="OTHER#{other}", sk="{name}")


def keys_after(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> tuple[Change, ...] | None:
    """The changes of index keys; None if they depend on what is stored."""
    try:
        return index_changes(mapping, key, changes)
    except Unread:
        return None


def test_the_keys_of_all_indexes_that_an_edit_fixes_come_along() -> None:
    changes = (F.one.set("a"), F.other.set(None))
    assert index_changes(mapping_of(Twofold), key_of(Twofold), changes) == (
        SetTo(("GSI1PK",), {"S": "ONE#a"}), SetTo(("GSI1SK",), {"S": "a"}),
        Remove(("GSI2PK",)), Remove(("GSI2SK",)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((F.other.set(None),), None),
        (
            (F.other.set(None), F.one.set("a")),
            (SetTo(("X",), {"S": "BOTH"}), SetTo(("Y",), {"S": "a"}), Remove(("Z",))),
        ),
        ((F.other.set(None), F.one.set(None)), (Remove(("X",)), Remove(("Y",)), Remove(("Z",)))),
    ],
)
def test_a_key_attribute_of_two_indexes_goes_only_if_neither_needs_it(
    changes: tuple[Change, ...], expected: tuple[Change, ...] | None
) -> None:
    assert keys_after(mapping_of(Both), key_of(Both), changes) == expected


def test_of_two_places_in_an_index_the_one_that_the_edit_fills_is_decided() -> None:
    mapping, key = mapping_of(Either), Key(Either, name="a").primary_key
    for one, other, filled in (("x", None, "ONE#x"), (None, "x", "OTHER#x")):
        keys = index_changes(mapping, key, (F.one.set(one), F.other.set(other)))
        assert keys == (SetTo(("GSI1PK",), {"S": filled}), SetTo(("GSI1SK",), {"S": "a"}))


# -- indexes whose keys are the fields' own attributes -----------------------------------------------------------------


states = Table(
    "blind-states",
    indexes=[
        GlobalIndex("ByState", pk="state", sk="at"),
        GlobalIndex("Rank", pk="state", sk=NumberKey("rank")),
    ],
)


class Task(Entity, table=states, pk="TASK#{name}", sk="T"):
    name: str
    state: str | None
    at: str
    rank: int = 0
    by_state = Index("ByState", pk="{state}", sk="{at}")
    ranked = Index("Rank", pk="{state}", sk="{rank}")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (F.state.set("done"), BLIND),
        (F.state.set(None), BLIND),
        (F.at.set("2025"), BLIND),
        (F.rank.add(5), BLIND),
        (F.rank.set(5), BLIND),
        (F.state.set_if_missing("new"), READS),
    ],
)
def test_one_of_two_fields_that_are_the_key_of_an_index_is_changed_without_reading(
    change: Change, expected: bool
) -> None:
    mapping, key = mapping_of(Task), Key(Task, name="a").primary_key
    assert needs_reading(mapping, key, (change,)) is expected
    assert keys_after(mapping, key, (change,)) == (None if expected else ())


@pytest.mark.parametrize("change", [F.state.set(""), F.at.set(""), F.at.set("x" * 1025)])
def test_a_value_that_cannot_be_the_key_of_an_index_is_refused_without_reading(change: Change) -> None:
    with pytest.raises(InvalidValue, match="key"):
        index_changes(mapping_of(Task), Key(Task, name="a").primary_key, (change,))


class Job(Entity, table=app, pk="JOB#{name}", sk="J"):
    name: str
    state: str = "new"
    size: int = 0
    note: str = ""
    pending = Index("GSI1", pk="PENDING#{state}", sk="{name}", when=F.state == "new")
    large = Index("GSI1", pk="LARGE", sk="{size:04d}", when=(F.state != "new") & (F.size > 9))
    noted = Index("GSI1", pk="NOTED", sk="{note}", when=F.note == "also")


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        (
            (F.state.set("new"), F.note.set("x")),
            (SetTo(("GSI1PK",), {"S": "PENDING#new"}), SetTo(("GSI1SK",), {"S": "a"})),
        ),
        (
            (F.state.set("done"), F.size.set(10), F.note.set("x")),
            (SetTo(("GSI1PK",), {"S": "LARGE"}), SetTo(("GSI1SK",), {"S": "0010"})),
        ),
        ((F.state.set("done"), F.size.set(3), F.note.set("x")), (Remove(("GSI1PK",)), Remove(("GSI1SK",)))),
        ((F.state.set("done"),), None),
        ((F.size.set(3),), None),
        ((F.state.remove(),), None),
    ],
    ids=[
        "one place",
        "other place",
        "no place",
        "size unknown",
        "state unknown",
        "removed",
    ],
)
def test_an_index_with_conditions_is_decided_by_an_edit_that_decides_all_of_them(
    changes: tuple[Change, ...], keys: tuple[Change, ...] | None
) -> None:
    mapping, key = mapping_of(Job), Key(Job, name="a").primary_key
    assert keys_after(mapping, key, changes) == keys
    assert needs_reading(mapping, key, changes) is (keys is None)


def test_two_places_that_an_edit_fills_are_refused() -> None:
    changes = (F.state.set("new"), F.size.set(10), F.note.set("also"))
    with pytest.raises(InvalidValue, match=r"puts the entity into pending .* and noted"):
        index_changes(mapping_of(Job), Key(Job, name="a").primary_key, changes)
