"""Totals are compared with the sum over the entities that are counted.

What ``tests/integrity`` damages is not repeated here.
"""

from decimal import Decimal

import pytest

from dynaorm.flow.integrity.finding import Diagnosis, FindingKind
from dynaorm.flow.integrity.judge_items import judge_items
from dynaorm.flow.integrity.kinds.totals import JUDGED_TOTALS
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, answer_from
from dynaorm.item.value import Item
from dynaorm.plan.unit_of_work import UnitOfWork
from tests.flow.integrity.damaged import NOW, Damage, Found, Items, app, damage, found, remove

GROUP: Item = {"PK": {"S": "GROUP#wide"}, "SK": {"S": "G"}}


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


def _membership(user: str, hours: str) -> Item:
    key: Item = {**GROUP, "SK": {"S": f"M#{user}"}}
    fields: Item = {"group": {"S": "wide"}, "user": {"S": user}, "hours": {"N": hours}}
    return {**key, **fields, "_type": {"S": "Membership"}}


def test_a_sum_that_dynamodb_cannot_store_is_reported_without_a_repair() -> None:
    """Another program wrote what is counted: a session would have refused the second of the two."""
    group: Item = {**GROUP, "_type": {"S": "Group"}, "group": {"S": "wide"}, "members": {"N": "2"}}
    (one,) = judge_items({app: [group, _membership("a", "1E+30"), _membership("b", "1E-30")]}, NOW)
    assert (one.kind, one.key, one.mendable) == (FindingKind.TOTAL, GROUP, False)
    assert one.doubt.endswith("has 61 significant digits, and DynamoDB stores at most 38")


def test_a_missing_target_that_could_not_have_its_total_is_reported_without_a_repair() -> None:
    scope = Scope((app,), (), lambda: UnitOfWork(NOW, "w", str), with_new_targets=True)
    totals = {"members": Decimal(2), "hours": Decimal("1E+30")}

    def judged() -> list[Diagnosis]:
        return answer_from(JUDGED_TOTALS.judge_facts(ItemAddress(app, GROUP), totals, scope), {})

    (mendable,) = judged()
    assert mendable.finding.mendable

    totals["hours"] = Decimal("1000000000000000000000000000000.000000000000000000000000000001")
    (refused,) = judged()
    assert (refused.finding.mendable, refused.actions) == (False, ())
    assert "Group.hours" in refused.finding.doubt
    assert "has 61 significant digits" in refused.finding.doubt
