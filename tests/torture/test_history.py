"""Each invariant of table and journals finds its violation, and no other invariant is violated."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.torture.journal import Effect, Result

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

S = "S"


def revert_name(ground: "Ground") -> None:
    """Undo in the table that user 0-1 was given a name."""
    item = ground.item("USER#0-1", "PROFILE")
    item["name"] = {S: ""}
    item["_rev"] = {S: ground.record("save", "User 0-1").effects[0].base}


def test_an_acknowledged_write_that_is_lost_is_found(ground: "Ground") -> None:
    revert_name(ground)
    assert ground.broken() == {"what was acknowledged is there"}


def test_an_acknowledged_insert_that_is_gone_is_found(ground: "Ground") -> None:
    ground.remove("USER#0-2", "PROFILE")
    ground.remove("email#bob@0")
    ground.remove("nick#red#b")
    assert ground.broken() == {"what was acknowledged is there"}


def test_a_deleted_entity_that_came_back_is_found(ground: "Ground") -> None:
    old = ground.record("move", "Parcel 0-a/1").effects[0]
    back = {**ground.item("SHELF#0-b", "PLACE#1"), "PK": {S: "SHELF#0-a"}, "shelf": {S: "0-a"}}
    del back["label"]
    ground.items.append({**back, "_rev": {S: old.base}})
    assert ground.broken() == {"what was acknowledged is there"}


def test_a_lost_write_that_another_may_have_overwritten_is_no_violation(ground: "Ground") -> None:
    revert_name(ground)
    first, save = ground.record("insert", "User 0-1"), ground.record("save", "User 0-1")
    ground.change(first, end=save.begin + 1)
    ground.change(save, effects=(replace(save.effects[0], base=None, do="replace"),))
    assert ground.broken() == set()


def test_half_of_a_write_of_unknown_outcome_is_found(ground: "Ground") -> None:
    revert_name(ground)
    save, other = ground.record("save", "User 0-1"), ground.record("insert", "User 0-2")
    both = (*save.effects, *other.effects)
    ground.records.remove(other)
    ground.item("USER#0-2", "PROFILE")["_rev"] = {S: save.results[0].revision}
    ground.change(save, effects=both, outcome="unknown", end=None, results=())
    ground.records.remove(ground.record("read", "User 0-2"))
    assert ground.broken() == {"writes are whole"}


def test_the_trace_of_a_refused_write_is_found(ground: "Ground") -> None:
    insert = ground.record("insert", "User 0-2")
    ground.change(insert, outcome="refused", error="AlreadyExists", results=())
    assert ground.broken() == {"what was refused left no trace"}


def test_a_refused_write_that_only_a_reader_saw_is_found(ground: "Ground") -> None:
    refused = ground.record("insert", "User 0-3")
    read = ground.record("read", "User 0-2")
    ground.change(read, results=(replace(read.results[0], revision=f"{refused.id}-1"),))
    assert ground.broken() == {"what was refused left no trace"}


def test_an_item_that_no_operation_was_to_write_is_found(ground: "Ground") -> None:
    ground.item("DOC#0-2", "v0_TEXT")["_rev"] = {S: ground.item("USER#0-2", "PROFILE")["_rev"][S]}
    assert ground.broken() == {"every item has its writer"}


def test_two_writes_under_one_revision_are_found(ground: "Ground") -> None:
    save = ground.record("save", "User 0-1")
    ground.records.append(replace(save, id="2.1-1", results=(), begin=save.begin - 1))
    assert ground.broken() == {"no revision has two successors"}


@pytest.mark.parametrize("returned", [{"values": {"id": "0-1", "text": "two"}}, {"revision": "1.1-99-1"}])
def test_a_version_that_is_not_as_it_was_returned_is_found(
    ground: "Ground", returned: dict[str, Any]
) -> None:
    save = ground.record("save again", "Document 0-1")
    read = replace(save, id="2.1-1", effects=(Effect("Document 0-1", "read version"),))
    ground.records.append(replace(read, results=(replace(save.results[0], **returned),)))
    assert ground.broken() == {"versions are the history"}


def test_a_write_that_made_two_versions_is_found(ground: "Ground") -> None:
    first = ground.item("DOC#0-1", "v1_TEXT")
    ground.item("DOC#0-1", "v2_TEXT")["_rev"] = first["_rev"]
    again = ground.record("save again", "Document 0-1")
    ground.change(again, outcome="unknown", end=None, results=())
    assert ground.broken() == {"no write made two versions"}


def test_a_refusal_that_changed_an_object_is_found(ground: "Ground") -> None:
    ground.change(ground.record("insert", "User 0-3"), changed=("User 0-3",))
    assert ground.broken() == {"refusals change no object"}


def test_a_refusal_that_nothing_accounts_for_is_found(ground: "Ground") -> None:
    ground.change(ground.record("insert", "User 0-3"), error="UnexpectedRefusal")
    assert ground.broken() == {"refusals are expected"}


def test_a_read_of_nothing_is_no_write(ground: "Ground") -> None:
    read = ground.record("read", "User 0-2")
    ground.change(read, results=(Result("User 0-2", None),))
    assert ground.broken() == set()
