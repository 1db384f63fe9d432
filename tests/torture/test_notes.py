"""What the checkers allow to plain inserts, families and a table without revisions, and nothing more."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.torture.journal import Effect, Observed, Record
from tests.torture.linearizability import Event, linearize

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

ENTITY = "every entity is linearizable"
NOTE = {(ENTITY, "Note 0-1")}
LOOSE = {(ENTITY, "Loose 0-1")}


def deleted(ground: "Ground", record: Record, begin: int, end: int) -> Record:
    """Another process deleted what an operation inserted, in between these times."""
    effects = (Effect(record.effects[0].on, "delete"),)
    delete = Record("2.1-1", "delete by key", begin, effects, end, "acknowledged")
    ground.records.append(delete)
    return delete


def test_a_plain_insert_may_come_back_while_it_is_under_way(ground: "Ground") -> None:
    insert = ground.record("insert a note", "Note 0-1")
    assert insert.end is not None
    deleted(ground, insert, insert.begin + 1, insert.end - 1)
    assert ground.without_order() == NOTE
    ground.change(insert, unanswered=True)
    assert ground.without_order() == set()
    assert ground.broken() == set()


@pytest.mark.parametrize("changes", [{"plain": False}, {}])
def test_an_insert_that_came_back_otherwise_is_found(ground: "Ground", changes: dict[str, Any]) -> None:
    insert = ground.record("insert a note", "Note 0-1")
    assert insert.end is not None
    insert = ground.change(
        insert, unanswered=True, effects=tuple(replace(one, **changes) for one in insert.effects)
    )
    late = not changes
    begin, end = (insert.end + 1, insert.end + 2) if late else (insert.begin + 1, insert.end - 1)  # type: ignore[operator]  # it ended
    deleted(ground, insert, begin, end)
    assert ground.without_order() == NOTE
    assert ground.broken() == ({"what was acknowledged is there"} if late else set())


@pytest.mark.parametrize("unanswered", [True, False])
def test_a_revision_that_came_back_may_have_two_successors_and_not_three(
    ground: "Ground", *, unanswered: bool
) -> None:
    insert = ground.change(ground.record("insert a note", "Note 0-1"), unanswered=unanswered)
    base = insert.results[0].revision
    effects = (Effect("Note 0-1", "save", base, {"id": "0-1", "text": "x", "seen": 0, "class": "Memo"}),)
    for number in range(2, 5):
        save = Record(f"{number}.1-1", "save", insert.begin + number, effects, insert.end, "acknowledged")
        ground.records.append(save)
        found = "no revision has two successors" in ground.broken()
        assert found is (number > (3 if unanswered else 2))


def test_a_possible_event_takes_effect_before_its_end_or_never() -> None:
    def event(name: str, begin: int, end: int, change: tuple[int, int], *, required: bool = True) -> Event:
        def apply(state: int) -> int | None:
            return change[1] if state == change[0] else None

        return Event(name, begin, end, apply, required=required)

    insert, delete, last = event("insert", 1, 2, (0, 1)), event("delete", 3, 4, (1, 0)), (0, 10, 11)
    for end, order in ((9, ("insert", "delete", "again", "read")), (2, None)):
        again = event("again", 1, end, (0, 1), required=False)
        read = event("read", last[1], last[2], (1, 1))
        assert linearize([insert, delete, again, read], 0).order == order


def test_a_note_whose_class_has_changed_is_found(ground: "Ground") -> None:
    ground.item("NOTE#0-1", "NOTE")["_type"] = {"S": "Note"}
    assert ground.without_order() == NOTE


def test_a_lost_write_without_revision_is_found(ground: "Ground") -> None:
    ground.item("LOOSE#0-1", "LOOSE")["text"] = {"S": "two"}
    assert ground.without_order() == LOOSE
    ground.remove("LOOSE#0-1", "LOOSE")
    assert ground.without_order() == LOOSE


def test_a_write_without_revision_over_other_values_than_were_loaded_is_found(ground: "Ground") -> None:
    insert = ground.record("insert", "Loose 0-1")
    for where, found in (("one", set()), ("two", LOOSE)):
        effect = Effect("Loose 0-1", "change", values={"text": "three"}, where={"text": where})
        save = Record(
            "2.1-1", "save", (insert.end or 0) + 1, (effect,), (insert.end or 0) + 2, "acknowledged"
        )
        ground.records.append(save)
        ground.item("LOOSE#0-1", "LOOSE")["text"] = {"S": "three"}
        assert ground.without_order() == found
        ground.records.remove(save)


def test_a_refusal_without_revision_where_everything_was_as_loaded_is_found(ground: "Ground") -> None:
    insert = ground.record("insert", "Loose 0-1")
    effect = Effect("Loose 0-1", "delete", where=dict(insert.effects[0].values))
    begin = (insert.end or 0) + 1
    refused = Record("2.1-1", "delete", begin, (effect,), begin + 1, "refused")
    ground.records.append(replace(refused, observed=(Observed("Loose 0-1", "not as"),), error="StaleEntity"))
    assert ground.without_order() == LOOSE


def test_an_upsert_that_was_lost_or_made_twice_is_found(ground: "Ground") -> None:
    begin = (ground.record("insert", "Loose 0-1").end or 0) + 1
    stored = ground.item("LOOSE#0-1", "LOOSE")
    new = {**stored, "PK": {"S": "LOOSE#0-9"}, "id": {"S": "0-9"}}
    ground.items.append(new)
    for number, (item, name) in enumerate(((stored, "Loose 0-1"), (new, "Loose 0-9"))):
        effect = Effect(name, "upsert", values={"text": "two"}, add={"seen": 1})
        ground.records.append(Record(f"2.1-{number}", "upsert", begin, (effect,), begin + 1, "acknowledged"))
        item |= {"text": {"S": "two"}, "seen": {"N": "1"}}
    assert ground.without_order() == set()
    for item in (stored, new):
        for seen in ("0", "2"):
            item["seen"] = {"N": seen}
            assert ground.without_order()
        item["seen"] = {"N": "1"}
    ground.items.remove(new)
    assert ground.without_order()
