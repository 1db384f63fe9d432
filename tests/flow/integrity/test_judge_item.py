"""An item is judged by itself: its class, its fields and its index keys."""

import pytest

from dynaorm.flow.integrity.finding import FindingKind
from tests.flow.integrity.damaged import Damage, Found, Items, app, damage, found, item


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        damage(
            "an item of no class",
            lambda items: items[app].append({"PK": {"S": "X#1"}, "SK": {"S": "U"}}),
            (FindingKind.UNKNOWN_ITEM, "X#1 U"),
        ),
        damage(
            "an item of a class nobody declared",
            lambda items: item(items, "USER#2", "U").update(_type={"S": "Usr"}),
            (FindingKind.UNKNOWN_ITEM, "USER#2 U"),
        ),
        damage(
            "a field of another type",
            lambda items: item(items, "USER#1", "U").update(team={"N": "1"}),
            (FindingKind.UNREADABLE, "USER#1 U"),
        ),
        damage(
            "a key that its fields do not render",
            lambda items: item(items, "USER#1", "U").update(id={"S": "3"}),
            (FindingKind.UNREADABLE, "USER#1 U"),
        ),
        damage(
            "an index key of other fields",
            lambda items: item(items, "USER#1", "U").update(GSI1PK={"S": "TEAM#blue"}),
            (FindingKind.INDEX_KEYS, "USER#1 U"),
        ),
        damage(
            "an index key that is missing",
            lambda items: item(items, "USER#1", "U").pop("GSI1SK"),
            (FindingKind.INDEX_KEYS, "USER#1 U"),
        ),
        damage(
            "an index key of an entity that is not indexed",
            lambda items: item(items, "USER#2", "U").update(GSI1PK={"S": "TEAM#x"}),
            (FindingKind.INDEX_KEYS, "USER#2 U"),
        ),
        damage(
            "a key of an index in which the class has no place",
            lambda items: item(items, "USER#2", "U").update(GSI2PK={"S": "?"}),
            (FindingKind.INDEX_KEYS, "USER#2 U"),
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected
