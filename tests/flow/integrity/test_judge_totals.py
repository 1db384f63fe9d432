"""Totals are compared with the sum over the entities that are counted.

What ``tests/integrity`` damages is not repeated here.
"""

import pytest

from dynaorm.flow.integrity.finding import FindingKind
from tests.flow.integrity.damaged import Damage, Found, Items, damage, found, remove


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        damage(
            "what was counted is gone",
            lambda items: remove(items, "GROUP#g", "M#u"),
            (FindingKind.TOTAL, "GROUP#g G"),
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected
