"""Items in memory are judged as a verification judges stored ones.

Here is what neither ``tests/integrity`` damages nor a property of guards and versions in every state holds.
"""

from decimal import Decimal

import pytest

from dynaorm.flow.integrity.finding import FindingKind, RepairableFinding
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.flow.integrity.kinds.totals import JUDGED_TOTALS
from dynaorm.flow.integrity.reads import ItemAddress, answer_from
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.value import Item
from dynaorm.plan.intent import UnitOfWork
from tests.flow.integrity.damaged import (
    NOW,
    NUMBERS,
    Damage,
    Found,
    Items,
    app,
    damage,
    found,
    item,
    keys,
    remove,
)

GROUP: Item = {"PK": {"S": "GROUP#wide"}, "SK": {"S": "G"}}


def test_what_sessions_leave_is_consistent(left: Items) -> None:
    assert sum(map(len, left.values())) == 25
    assert judge_items(left, NOW) == []


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
            "a guard in another table that names no table",
            lambda items: items[keys][0]["owner"]["M"].pop("table"),
            (FindingKind.WRONG_OWNER, "phone#123"),
        ),
        damage(
            "a guard whose owner is a text",
            lambda items: item(items, "email#a@x", "email#a@x").update(owner={"S": "USER#1"}),
            (FindingKind.WRONG_OWNER, "email#a@x email#a@x"),
        ),
        damage(
            "what was counted is gone",
            lambda items: remove(items, "GROUP#g", "M#u"),
            (FindingKind.TOTAL, "GROUP#g G"),
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
                f"{what} whose number is {number:.12}",
                lambda items, key=key, name=name, number=number: item(items, *key).update(  # type: ignore[misc]  # defaults bind the loop's values
                    {name: {"N": number}}
                ),
                (kind, " ".join(key)),
            )
            for what, key, name, kind in (
                ("a guard", ("alias#later", "alias#later"), "until", FindingKind.GUARD_EXPIRY),
                ("a tombstone", ("DOC#gone", "v0_D"), "version", FindingKind.UNREADABLE),
                ("a latest copy", ("AUDIT#1", "v0_A"), "version", FindingKind.UNREADABLE),
            )
            for number in NUMBERS
        ),
    ],
)
def test_each_damage_is_found_and_nothing_else(items: Items, do: Damage, expected: list[Found]) -> None:
    do(items)
    assert found(items) == expected


def _membership(user: str, hours: str) -> Item:
    key: Item = {**GROUP, "SK": {"S": f"M#{user}"}}
    fields: Item = {"group": {"S": "wide"}, "user": {"S": user}, "hours": {"N": hours}}
    return {**key, **fields, "_type": {"S": "Membership"}}


def test_a_sum_beyond_38_digits_is_reported_without_a_repair() -> None:
    """Another program wrote what is counted: a session would have refused the second of the two."""
    group: Item = {**GROUP, "_type": {"S": "Group"}, "group": {"S": "wide"}, "members": {"N": "2"}}
    (one,) = judge_items({app: [group, _membership("a", "1E+30"), _membership("b", "1E-30")]}, NOW)
    assert (one.kind, one.item_key, one.repairable) == (FindingKind.TOTAL, GROUP, False)
    assert one.uncertain_because.endswith("has 61 significant digits, and DynamoDB stores at most 38")


def test_a_missing_target_that_allows_no_total_is_only_reported() -> None:
    scope = Scope((app,), (), lambda: UnitOfWork(NOW, "w", str), with_new_targets=True)
    totals = {"members": Decimal(2), "hours": Decimal("1E+30")}

    def judged() -> list[RepairableFinding]:
        return answer_from(JUDGED_TOTALS.judge_facts(ItemAddress(app, GROUP), totals, scope), {})

    (repairable,) = judged()
    assert repairable.finding.repairable

    totals["hours"] = Decimal("1000000000000000000000000000000.000000000000000000000000000001")
    (refused,) = judged()
    assert (refused.finding.repairable, refused.actions) == (False, ())
    assert "Group.hours" in refused.finding.uncertain_because
    assert "has 61 significant digits" in refused.finding.uncertain_because
