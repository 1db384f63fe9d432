"""``when=``: judged on stored items, with absence meaning the default."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Table
from dynaorm.entity.mapping.declared_parts import When
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.condition import PartialItem, UnknownAttribute
from dynaorm.item.value import Item

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Thing(
    Entity, table=Table("whens", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")]), pk="T#{name}", sk="T"
):
    name: str
    state: str = "new"
    at: datetime = NOON
    late = Index("GSI1", pk="LATE", sk="{name}", when=(F.at >= NOON) & (F.state == "new"))
    short = Index("GSI2", pk="SHORT", sk="{name}", when=lambda one: len(one.name) < 3)


def when(name: str) -> When:
    found = mapping_of(Thing).indexes[name].when
    assert found is not None
    return found


def stored(**more: Any) -> Item:
    return {"PK": {"S": "T#x"}, "SK": {"S": "T"}, "name": {"S": "x"}, **more}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, True),
        ({"state": {"S": "old"}}, False),
        ({"at": {"S": "2024-01-01T11:59:59.999999Z"}}, False),
        ({"at": {"S": "some day"}}, True),
    ],
)
def test_a_condition_is_judged_on_the_values_of_a_stored_item(more: Item, expected: bool) -> None:
    assert when("late").holds(mapping_of(Thing).subject(stored(**more))) is expected


def test_known_attributes_may_decide_a_condition_and_all_of_them_a_function() -> None:
    mapping = mapping_of(Thing)
    assert when("late").holds(mapping.subject(PartialItem({"state": {"S": "old"}}))) is False
    with pytest.raises(UnknownAttribute):
        when("late").holds(mapping.subject(PartialItem({"state": {"S": "new"}})))
    with pytest.raises(UnknownAttribute):
        when("short").holds(mapping.subject(PartialItem(stored())))
    assert when("short").holds(mapping.subject(PartialItem(stored(), {"state", "at"})))
