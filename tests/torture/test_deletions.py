"""Each invariant of pruned and purged documents finds its violation, and no other invariant is violated."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

ENTITY, FAMILY = "every entity is linearizable", "families are serializable"
S = "S"


def test_a_pruned_and_a_purged_document_break_nothing(ground: "Ground") -> None:
    assert ground.broken() == set()
    stored = {item["SK"]["S"] for item in ground.items if item["PK"] == {S: "DOC#0-3"}}
    assert stored == {"v0_TEXT", "v2_TEXT", "v3_TEXT"}


def test_a_version_that_was_kept_and_is_missing_is_found(ground: "Ground") -> None:
    ground.remove("DOC#0-3", "v2_TEXT")
    assert ground.broken() == {"versions are the history", "only pruned versions are missing"}


def test_a_version_that_nobody_pruned_and_nobody_returned_is_found(ground: "Ground") -> None:
    ground.remove("DOC#0-1", "v1_TEXT")
    ground.change(ground.record("insert", "Document 0-1"), results=())
    assert ground.broken() == {"only pruned versions are missing"}


def test_a_prune_that_was_refused_accounts_for_nothing(ground: "Ground") -> None:
    ground.change(ground.record("prune", "Document 0-3"), outcome="refused", error="EntityNotFound")
    assert ground.broken() == {"versions are the history", "only pruned versions are missing"}


def test_a_prune_that_was_stopped_on_its_way_may_have_deleted_versions(ground: "Ground") -> None:
    ground.change(ground.record("prune", "Document 0-3"), outcome="refused", error="Throttled")
    assert ground.broken() == set()


def test_a_prune_before_a_version_was_returned_accounts_for_nothing(ground: "Ground") -> None:
    prune, insert = ground.record("prune", "Document 0-3"), ground.record("insert", "Document 0-3")
    ground.change(prune, begin=insert.begin - 2, end=insert.begin - 1)
    assert ground.broken() == {"versions are the history"}


def test_a_version_that_was_pruned_and_is_stored_is_found(ground: "Ground") -> None:
    first = {**ground.item("DOC#0-3", "v2_TEXT"), "SK": {S: "v1_TEXT"}, "version": {"N": "1"}}
    insert = ground.record("insert", "Document 0-3")
    first |= {"text": {S: "one"}, "_rev": {S: insert.results[0].revision}}
    ground.items.append(first)
    assert ground.broken() == {"what was pruned is gone"}
    ground.change(ground.record("prune", "Document 0-3"), outcome="unknown", end=None)
    assert ground.broken() == set()


def test_a_purged_document_of_which_something_is_left_is_found(ground: "Ground") -> None:
    again = ground.record("create again", "Document 0-4")
    ground.records.remove(again)
    purge = ground.record("purge", "Document 0-4")
    ground.records.append(
        replace(
            again,
            begin=purge.begin - 10,
            end=purge.begin - 9,
            outcome="unknown",
            results=(),
        )
    )
    ground.remove("DOC#0-4", "v0_TEXT")
    assert "what was purged is gone" in ground.broken()


def test_a_tombstone_that_came_back_after_the_purge_is_found(ground: "Ground") -> None:
    """The document that was created again continues the old numbers, as if nothing had been purged."""
    latest, version = ground.item("DOC#0-4", "v0_TEXT"), ground.item("DOC#0-4", "v1_TEXT")
    latest["version"] = version["version"] = {"N": "4"}
    version["SK"] = {S: "v4_TEXT"}
    again = ground.record("create again", "Document 0-4")
    ground.change(again, results=(replace(again.results[0], version=4),))
    assert ground.without_order() == {(ENTITY, "Document 0-4"), (FAMILY, "Document 0")}


def test_a_purge_of_a_live_document_has_no_order(ground: "Ground") -> None:
    ground.records.remove(ground.record("delete", "Document 0-4"))
    assert ground.without_order() == {(ENTITY, "Document 0-4"), (FAMILY, "Document 0")}


def test_a_prune_that_keeps_more_than_there_is_accounts_for_nothing_and_breaks_nothing(
    ground: "Ground",
) -> None:
    prune = ground.record("prune", "Document 0-3")
    effects = tuple(replace(one, on="Document 0-1", number=9) for one in prune.effects)
    ground.records.append(replace(prune, id="2.1-1", effects=effects))
    assert ground.broken() == set()
