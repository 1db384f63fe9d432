"""What the checkers allow to takes, numbers, touches and deletions that return what they deleted, and nothing more."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.torture.journal import Effect, Observed, Record, Result

if TYPE_CHECKING:
    from tests.torture.conftest import Ground

NOTE = {("every entity is linearizable", "Note 0-1")}


def held(ground: "Ground") -> dict[str, Any]:
    """The values of the note that is stored."""
    return dict(ground.record("insert a note", "Note 0-1").effects[0].values)


def later(ground: "Ground", effect: Effect, *results: Result, number: int = 1) -> Record:
    """An acknowledged operation of another process, after all others."""
    begin = max(one.end or 0 for one in ground.records) + 1
    record = Record(f"2.1-{number}", effect.do, begin, (effect,), begin + 1, "acknowledged", results)
    ground.records.append(record)
    return record


def stored(ground: "Ground", writer: int, **attributes: Mapping[str, str]) -> None:
    """The note is stored as an operation of that process wrote it."""
    ground.item("NOTE#0-1", "NOTE").update({"_rev": {"S": f"2.1-{writer}-1"}, **attributes})


@pytest.mark.parametrize("is_as_asked", [True, False])
def test_a_take_of_what_is_not_as_asked_is_found(ground: "Ground", *, is_as_asked: bool) -> None:
    where = {"text": held(ground)["text"] if is_as_asked else "another"}
    later(ground, Effect("Note 0-1", "take", values={**held(ground), "text": "new"}, where=where))
    stored(ground, 1, text={"S": "new"})
    assert ground.without_order() == (set() if is_as_asked else NOTE)


@pytest.mark.parametrize("is_as_asked", [True, False])
def test_a_refused_take_of_what_is_as_asked_is_found(ground: "Ground", *, is_as_asked: bool) -> None:
    where = {"text": held(ground)["text"] if is_as_asked else "another"}
    record = later(ground, Effect("Note 0-1", "take", values=held(ground), where=where))
    ground.change(
        record, outcome="refused", observed=(Observed("Note 0-1", "present"),), error="AlreadyExists"
    )
    assert ground.without_order() == (NOTE if is_as_asked else set())


@pytest.mark.parametrize(("second", "found"), [(2, set()), (1, NOTE), (3, NOTE)])
def test_a_number_that_was_given_twice_or_left_out_is_found(
    ground: "Ground", second: int, found: set[tuple[str, str]]
) -> None:
    count = Effect("Note 0-1", "upsert", add={"seen": 1})
    for number, seen in enumerate((1, second), start=1):
        later(ground, count, Result("Note 0-1", {"seen": seen}, partial=True), number=number)
    stored(ground, 2, seen={"N": "2"})
    assert ground.without_order() == found


@pytest.mark.parametrize(
    ("returned", "unanswered", "is_right"),
    [("as stored", False, True), ("another", False, False), (None, False, False), (None, True, True)],
)
def test_a_deletion_that_returns_something_else_is_found(
    ground: "Ground", returned: str | None, *, unanswered: bool, is_right: bool
) -> None:
    values = {**held(ground), **({"text": "another"} if returned == "another" else {})}
    result = Result("Note 0-1", None if returned is None else values)
    record = later(ground, Effect("Note 0-1", "delete"), result)
    ground.change(record, unanswered=unanswered)
    ground.remove("NOTE#0-1", "NOTE")
    assert ground.without_order() == (set() if is_right else NOTE)


@pytest.mark.parametrize("is_stale", [False, True])
def test_a_touch_of_what_somebody_changed_is_found(ground: "Ground", *, is_stale: bool) -> None:
    insert = ground.record("insert a note", "Note 0-1")
    base = insert.results[0].revision
    if is_stale:
        later(ground, Effect("Note 0-1", "change", values={"text": held(ground)["text"]}), number=2)
    later(ground, Effect("Note 0-1", "save", base, held(ground)))
    stored(ground, 1)
    assert ground.without_order() == (NOTE if is_stale else set())
    touched = ground.record("save", "Note 0-1")
    ground.change(touched, effects=(replace(touched.effects[0], base=None),))
    assert ground.without_order() == set()
