"""An item is judged by itself: its class, its fields and its index keys.

What ``tests/integrity`` damages is not repeated here.
"""

import pytest

from dynaorm.flow.integrity.finding import FindingKind
from tests.flow.integrity.damaged import Damage, Found, Items, damage, found, item


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        damage(
            "a key that its fields do not render",
            lambda items: item(items, "USER#1", "U").update(id={"S": "3"}),
            (FindingKind.UNREADABLE, "USER#1 U"),
            (FindingKind.NOT_JUDGED, "email#a@x email#a@x"),
        ),
        damage(
            "an index key of an entity that is not indexed",
            lambda items: item(items, "USER#2", "U").update(GSI1PK={"S": "TEAM#x"}),
            (FindingKind.INDEX_KEYS, "USER#2 U"),
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected
