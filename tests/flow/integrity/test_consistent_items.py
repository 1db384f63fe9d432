"""Items in memory are judged as a verification judges stored ones; what sessions leave passes."""

from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.integrity.judge_items import judge_items
from tests.flow.integrity.damaged import NOW, Items, app, found, guard, remove


def test_what_sessions_leave_is_consistent(left: Items) -> None:
    assert sum(map(len, left.values())) == 25
    assert judge_items(left, NOW) == []


def test_nothing_at_all_is_consistent() -> None:
    assert judge_items({app: []}, NOW) == []


def test_what_has_expired_needs_no_guard_and_its_guard_no_owner(items: Items) -> None:
    remove(items, "alias#soon", "alias#soon")
    assert found(items) == [(FindingKind.MISSING_GUARD, "alias#soon alias#soon")]
    assert found(items, NOW + 1) == []
    remove(items, "LOGIN#later", "L")
    assert found(items, NOW + 1) == [(FindingKind.ORPHAN_GUARD, "alias#later alias#later")]
    assert found(items, NOW + 1000) == []


def test_a_guard_written_by_hand_without_an_owner_protects_a_live_value(items: Items) -> None:
    del guard(items, "email#a@x")["owner"]
    assert found(items) == []


def test_the_oldest_versions_may_be_pruned(items: Items) -> None:
    remove(items, "AUDIT#1", "v1_A")
    remove(items, "AUDIT#1", "v2_A")
    assert found(items) == []
