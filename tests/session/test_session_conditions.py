"""Places in an index that hold under a condition: written by every method, and read as what they are."""

from collections.abc import Callable
from typing import Any

import pytest

from dynaorm import (
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Transport,
)
from dynaorm.errors import BulkError, InvalidValue
from dynaorm.flow.protocol.call import Call
from dynaorm.item.value import Item
from dynaorm.testing import FaultyTransport, assert_consistent
from tests.cast.seen import items
from tests.cast.tickets import Issue, Repo

app = Table("places", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


def sent(wire: FaultyTransport) -> list[Call]:
    """The calls since the last question."""
    found = list(wire.calls)
    wire.calls.clear()
    return found


def index_keys(item: Item) -> dict[str, str]:
    return {name: value["S"] for name, value in item.items() if name.startswith("GSI")}


OPEN = {"GSI1PK": "REPO#r", "GSI1SK": "OPEN#99998"}


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str
    flag: bool = False
    state: str = "new"
    note: str = ""
    at: str = "0"
    flags = Index("GSI1", pk="FLAG#{name}", sk="F", when=F.flag == True)  # noqa: E712 - a condition
    named = Index("GSI2", pk="STATE#{state}", sk="{name}", when=(F.state != "new") & (F.note != "hidden"))


def test_an_update_by_key_reads_only_where_it_does_not_decide_the_condition(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Plain(name="a"))
    cases: list[tuple[list[Any], list[str]]] = [
        ([F.flag.set(True)], ["UpdateItem"]),
        ([F.flag.set(False)], ["UpdateItem"]),
        ([F.at.set("1")], ["UpdateItem"]),
        ([F.state.set("new")], ["UpdateItem"]),
        ([F.note.set("hidden")], ["UpdateItem"]),
        ([F.state.set("old")], ["GetItem", "UpdateItem"]),
        ([F.note.set("shown")], ["GetItem", "UpdateItem"]),
        ([F.state.set("older"), F.note.set("shown too")], ["UpdateItem"]),
    ]
    sent(wire)
    for changes, expected in cases:
        session.update(Key(Plain, name="a"), *changes)
        assert [call.operation for call in sent(wire)] == expected
        assert_consistent(session, app)
        sent(wire)


def test_an_upsert_creates_an_entity_in_its_place(session: Session, wire: FaultyTransport) -> None:
    for change, flagged in ((F.flag.set(True), True), (F.at.set("1"), True), (F.flag.set(False), False)):
        session.upsert(Key(Plain, name="a"), change)
        assert session.query(Plain.flags, name="a").count() == flagged
        assert_consistent(session, app)
    sent(wire)
    session.upsert(Key(Plain, name="b"), F.at.set("1"))
    session.upsert(Key(Plain, name="c"), F.flag.set(True))
    assert [call.operation for call in sent(wire)] == ["UpdateItem", "UpdateItem"]
    assert_consistent(session, app)


native = Table("native", indexes=[GlobalIndex("Native", pk=("team_key",), sk=("day_key", "job_key"))])


class Shift(Entity, table=native, pk="SHIFT#{id}", sk="J"):
    id: str
    team: str
    state: str
    day: str
    open_shifts = Index("Native", pk=("T#{team}",), sk=("{day}", "OPEN#{id}"), when=F.state == "open")
    done_shifts = Index("Native", pk=("T#{team}",), sk=("{day}", "DONE#{id}"), when=F.state == "done")


def test_places_that_only_a_later_sort_key_tells_apart_are_told_apart(session: Session) -> None:
    for number, one in enumerate(["open", "done", "open"]):
        session.save(Shift(id=f"{number}", team="a", state=one, day="mon"))
    for state, place in (("open", Shift.open_shifts), ("done", Shift.done_shifts)):
        whole = session.query(place, team="a")
        for query in (whole, whole.ge(day="a"), session.query(place, team="a", day="mon")):
            assert {one.state for one in query.all()} == {state}
            assert query.count() == len(query.keys().all()) == len(query.all())


def test_two_places_at_once_are_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport
) -> None:
    class Both(Entity, table=app, pk="BOTH#{name}", sk="B"):
        name: str
        size: int = 0
        small = Index("GSI1", pk="SIZE", sk="S#{name}", when=F.size < 10)
        large = Index("GSI1", pk="SIZE", sk="L#{name}", when=F.size > 5)

    sent(wire)
    both = Both(name="x", size=7)
    with pytest.raises(InvalidValue) as caught:
        session.save(both)
    assert str(caught.value) == (
        "Both.size = 7: puts the entity into small (F.size < 10) and large (F.size > 5), which are both in 'GSI1', "
        "and an item has one place in an index; write conditions (when=) that exclude each other"
    )
    with pytest.raises(BulkError, match="puts the entity into"):
        session.bulk_load([both])
    assert sent(wire) == []
    session.save(Both(name="y"))
    sent(wire)
    with pytest.raises(InvalidValue, match="puts the entity into"):
        session.update(Key(Both, name="y"), F.size.set(7))
    assert sent(wire) == []
    assert session.get_one(Both, name="y").size == 0


def test_a_plan_says_why_an_entity_is_in_a_place(session: Session) -> None:
    plan = session.plan(Issue(repo="r", number=1, slug="s"))
    _, insert, claim, total = plan.explain().splitlines()
    assert "; it is in open_issues of GSI1, because F.status == 'open'" in insert
    assert (
        "claim slug = 's' for Issue(repo='r', number=1), if nobody else holds it, because F.status == 'open'"
        in claim
    )
    assert "for Issue.of_repo, or make it of its key; Issue.of_repo counts where F.status == 'open'" in total


WRITES: dict[str, Callable[[Session, Issue, str], object]] = {
    "save": lambda session, issue, status: session.save(issue.model_copy(update={"status": status})),
    "by key": lambda session, issue, status: session.update(key_of(issue), F.status.set(status)),
}


def key_of(issue: Issue) -> Key[Issue]:
    return Key(Issue, repo=issue.repo, number=issue.number)


@pytest.mark.parametrize("way", WRITES)
def test_a_write_moves_an_entity_between_its_places(session: Session, moto: Transport, way: str) -> None:
    """All other ways are those of the laws of writing."""
    session.save(Repo(repo="r"))
    issue = session.save(Issue(repo="r", number=1, slug="s"))
    for status, keys in (("closed", {**OPEN, "GSI1SK": "CLOSED#99998"}), ("waiting", {}), ("open", OPEN)):
        WRITES[way](session, issue, status)
        assert index_keys(items(moto)["REPO#r ISSUE#00001"]) == keys
        issue = session.get_one(key_of(issue))
        assert session.get_one(Repo, repo="r").open_issues == (status == "open")
        assert (session.get_by(Issue, slug="s") is not None) == (status == "open")
