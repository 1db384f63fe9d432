"""Versions, latest copies and tombstones are judged together.

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
    item,
)


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        damage(
            "a latest copy that is not the newest version",
            lambda items: item(items, "AUDIT#1", "v0_A").update(result={"S": "other"}),
            (FindingKind.VERSION_DIFFERS, "AUDIT#1 v0_A"),
        ),
        damage(
            "a newest version of another time",
            lambda items: item(items, "AUDIT#1", "v4_A").update(
                version_at={"S": "2020-01-01T00:00:00.000000Z"}
            ),
            (FindingKind.VERSION_DIFFERS, "AUDIT#1 v0_A"),
        ),
        damage(
            "a version whose number is spelled in another way",
            lambda items: item(items, "DOC#1", "v2_D").update(SK={"S": "v02_D"}),
            (FindingKind.UNKNOWN_ITEM, "DOC#1 v02_D"),
        ),
        damage(
            "a version that is in an index",
            lambda items: item(items, "DOC#1", "v2_D").update(GSI1PK={"S": "TEXT#a"}),
            (FindingKind.EXTRA_ATTRIBUTES, "DOC#1 v2_D"),
        ),
        damage(
            "a version without a time",
            lambda items: item(items, "DOC#1", "v2_D").pop("version_at"),
            (FindingKind.UNREADABLE, "DOC#1 v2_D"),
        ),
        damage(
            "a tombstone without its number",
            lambda items: item(items, "DOC#gone", "v0_D").pop("version"),
            (FindingKind.UNREADABLE, "DOC#gone v0_D"),
        ),
        damage(
            "a tombstone under a key that its class does not render",
            lambda items: item(items, "DOC#gone", "v0_D").update(SK={"S": "D"}, _type={"S": "Document"}),
            (FindingKind.UNREADABLE, "DOC#gone D"),
            (FindingKind.NO_LATEST, "DOC#gone v1_D"),
        ),
        *(
            damage(
                f"a {what} whose number is {number:.12}",
                lambda items, key=key, number=number: item(items, *key).update(version={"N": number}),  # type: ignore[misc]  # defaults bind the loop's values
                (FindingKind.UNREADABLE, " ".join(key)),
            )
            for what, key in (("tombstone", ("DOC#gone", "v0_D")), ("latest copy", ("AUDIT#1", "v0_A")))
            for number in NUMBERS
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected
