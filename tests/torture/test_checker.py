"""Each invariant of the table finds its violation, and no other invariant is violated."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

S = "S"


def test_a_sound_table_breaks_nothing(ground: "Ground") -> None:
    assert ground.broken() == set()


def test_an_item_of_no_kind_is_a_stranger(ground: "Ground") -> None:
    ground.items.append({"PK": {S: "LOCK#1"}, "SK": {S: "LOCK"}})
    assert ground.broken() == {"nothing is a stranger"}


def test_an_index_key_that_is_left_behind_is_found(ground: "Ground") -> None:
    ground.item("USER#0-2", "PROFILE")["GSI1SK"] = {S: "NAME#somebody"}
    assert ground.broken() == {"keys follow from fields"}


def test_an_index_key_of_what_is_in_no_index_is_found(ground: "Ground") -> None:
    ground.item("USER#0-1", "PROFILE").update(GSI1PK={S: "TEAM#red"}, GSI1SK={S: "NAME#Ann"})
    assert ground.broken() == {"keys follow from fields"}


def test_a_field_that_no_longer_fits_the_key_is_found(ground: "Ground") -> None:
    moved = ground.item("SHELF#0-b", "PLACE#1")
    moved["PK"] = {S: "SHELF#0-a"}
    ground.item("label#l")["owner"]["M"]["PK"] = {S: "SHELF#0-a"}
    assert ground.broken() == {"keys follow from fields"}


def test_a_value_without_its_guard_is_found(ground: "Ground") -> None:
    ground.remove("email#ann@0")
    assert ground.broken() == {"every value is guarded"}


def test_a_guard_made_by_hand_without_its_owner_is_found(ground: "Ground") -> None:
    owner = {"PK": {S: "USER#0-9"}, "SK": {S: "PROFILE"}}
    ground.items.append({"PK": {S: "email#eve@0"}, "SK": {S: "email#eve@0"}, "owner": {"M": owner}})
    assert ground.broken() == {"every guard has its owner"}


def test_a_guard_that_names_nobody_is_found(ground: "Ground") -> None:
    del ground.item("email#ann@0")["owner"]
    assert ground.broken() == {"every guard has its owner"}


def test_a_guard_of_a_value_that_was_given_up_is_found(ground: "Ground") -> None:
    owner = ground.item("email#ann@0")["owner"]
    ground.items.append({"PK": {S: "phone#2"}, "SK": {S: "phone#2"}, "owner": owner})
    assert ground.broken() == {"every guard has its owner"}


def test_a_value_with_two_owners_is_found(ground: "Ground") -> None:
    ground.item("USER#0-2", "PROFILE")["email"] = {S: "ANN@0"}
    ground.remove("email#bob@0")
    assert ground.broken() == {"no value has two owners"}


def test_a_gap_in_the_versions_is_found(ground: "Ground") -> None:
    """A version that no operation returned: otherwise the history of its writer would be violated, too."""
    ground.remove("DOC#0-1", "v2_TEXT")
    ground.change(ground.record("save again", "Document 0-1"), outcome="unknown", end=None, results=())
    assert ground.broken() == {"versions are dense"}


def test_a_version_beyond_the_newest_is_found(ground: "Ground") -> None:
    tombstone = ground.item("DOC#0-2", "v0_TEXT")
    tombstone["version"] = {"N": "0"}
    assert ground.broken() == {"versions are dense"}


def test_versions_without_a_latest_copy_are_found(ground: "Ground") -> None:
    ground.remove("DOC#0-2", "v0_TEXT")
    assert ground.broken() == {"versions are dense"}


def test_a_latest_copy_that_is_no_version_is_found(ground: "Ground") -> None:
    ground.item("DOC#0-1", "v0_TEXT")["text"] = {S: "four"}
    assert ground.broken() == {"the latest copy is the newest version"}


def test_a_total_that_does_not_add_up_is_found(ground: "Ground") -> None:
    ground.item("GROUP#0-g", "INFO")["hours"] = {"N": "6"}
    assert ground.broken() == {"totals add up"}


def test_members_of_a_group_that_does_not_exist_are_found(ground: "Ground") -> None:
    ground.remove("GROUP#0-g", "INFO")
    ground.records.remove(ground.record("insert", "Group 0-g"))
    assert ground.broken() == {"totals add up"}
