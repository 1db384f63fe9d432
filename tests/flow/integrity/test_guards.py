"""A guard item is judged with its owner and with every entity that holds its value.

What ``tests/integrity`` damages is not repeated here.
"""

import pytest

from dynaorm.flow.integrity.finding import FindingKind
from tests.flow.integrity.damaged import (
    NUMBERS,
    Damage,
    Found,
    Items,
    damage,
    found,
    guard,
    item,
    keys,
)


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        damage(
            "two live entities of one value",
            lambda items: item(items, "USER#2", "U").update(email={"S": "a@X"}),
            (FindingKind.DUPLICATE, "email#a@x email#a@x"),
            (FindingKind.ORPHAN_GUARD, "email#b@x email#b@x"),
        ),
        damage(
            "a guard in another table that names no table",
            lambda items: items[keys][0]["owner"]["M"].pop("table"),
            (FindingKind.WRONG_OWNER, "phone#123"),
        ),
        *(
            damage(
                f"a guard whose expiry is {number:.12}",
                lambda items, number=number: guard(items, "alias#later").update(until={"N": number}),  # type: ignore[misc]  # a default binds the loop's value
                (FindingKind.GUARD_EXPIRY, "alias#later alias#later"),
            )
            for number in NUMBERS
        ),
        damage(
            "a guard whose owner is a text",
            lambda items: guard(items, "email#a@x").update(owner={"S": "USER#1"}),
            (FindingKind.WRONG_OWNER, "email#a@x email#a@x"),
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected
