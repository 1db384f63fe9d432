"""Every way to write moves an entity between the places and claims that conditions give it."""

from collections.abc import Callable
from typing import Annotated

import pytest

from dynaorm import (
    Aggregate,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Transport,
    Unique,
    detached,
)
from dynaorm.errors import UniqueViolation
from dynaorm.flow.protocol.call import Call
from dynaorm.item.value import Item
from dynaorm.testing import FaultyTransport, assert_consistent

app = Table("places", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


class Repo(Entity, table=app, pk="REPO#{repo}", sk="INFO"):
    repo: str
    open_issues: int = 0


class Issue(Entity, table=app, pk="REPO#{repo}", sk="ISSUE#{number:05d}"):
    repo: str
    number: int
    status: str = "open"
    title: str = ""
    urgent: bool = False
    slug: Annotated[str | None, Unique(when=F.status == "open")] = None
    open_issues = Index("GSI1", pk="REPO#{repo}", sk="OPEN#{number:05d:desc}", when=F.status == "open")
    closed_issues = Index("GSI1", pk="REPO#{repo}", sk="CLOSED#{number:05d:desc}", when=F.status == "closed")
    flagged = Index("GSI2", pk="URGENT", sk="{number:05d}", when=lambda one: one.urgent)
    of_repo = Aggregate(Repo, count="open_issues", when=F.status == "open")


def sent(wire: FaultyTransport) -> list[Call]:
    """The calls since the last question."""
    found = list(wire.calls)
    wire.calls.clear()
    return found


def stored(moto: Transport, number: int = 1) -> Item:
    reply = moto.call(Call("Scan", {"TableName": "places"}))
    found: list[Item] = [one for one in reply["Items"] if one.get("number") == {"N": str(number)}]
    return found[0]


def index_keys(item: Item) -> dict[str, str]:
    return {name: value["S"] for name, value in item.items() if name.startswith("GSI")}


OPEN = {"GSI1PK": "REPO#r", "GSI1SK": "OPEN#99998"}
CLOSED = {"GSI1PK": "REPO#r", "GSI1SK": "CLOSED#99998"}
URGENT = {"GSI2PK": "URGENT", "GSI2SK": "00001"}

WRITES: dict[str, Callable[[Session, Issue, str], object]] = {
    "save": lambda session, issue, status: session.save(_with(issue, status)),
    "overwrite": lambda session, issue, status: session.save(detached(issue, status=status), overwrite=True),
    "update": lambda session, issue, status: session.update(issue, F.status.set(status)),
    "by key": lambda session, issue, status: session.update(_key(issue), F.status.set(status)),
    "exactly once": lambda session, issue, status: session.update(
        _key(issue), F.status.set(status), exactly_once=True
    ),
}


def _with(issue: Issue, status: str) -> Issue:
    issue.status = status
    return issue


def _key(issue: Issue) -> Key[Issue]:
    return Key(Issue, repo=issue.repo, number=issue.number)


@pytest.mark.parametrize("way", WRITES)
def test_every_write_moves_an_entity_between_its_places(session: Session, moto: Transport, way: str) -> None:
    session.save(Repo(repo="r"))
    issue = session.save(Issue(repo="r", number=1, slug="s"))
    assert index_keys(stored(moto)) == OPEN
    for status, keys in (("closed", CLOSED), ("waiting", {}), ("open", OPEN)):
        WRITES[way](session, issue, status)
        assert index_keys(stored(moto)) == keys
        issue = session.get_one(_key(issue))
        assert session.get_one(Repo, repo="r").open_issues == (status == "open")
        assert (session.get_by(Issue, slug="s") is not None) == (status == "open")
        assert_consistent(session, app)


def test_a_function_moves_an_entity_in_and_out(session: Session, moto: Transport) -> None:
    session.save(Repo(repo="r"))
    issue = session.save(Issue(repo="r", number=1, urgent=True))
    assert index_keys(stored(moto)) == OPEN | URGENT
    session.update(_key(issue), F.urgent.set(False))
    assert index_keys(stored(moto)) == OPEN
    session.bulk_load([Plain(name="a", flag=True), Plain(name="b")])
    assert [one.name for one in session.query(Plain.flags, name="a")] == ["a"]
    assert session.query(Plain.flags, name="b").all() == []


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str
    flag: bool = False
    state: str = "new"
    note: str = ""
    at: str = "0"
    flags = Index("GSI1", pk="FLAG#{name}", sk="F", when=F.flag == True)  # noqa: E712 - a condition
    named = Index("GSI2", pk="STATE#{state}", sk="{name}", when=(F.state != "new") & (F.note != "hidden"))


def test_an_update_that_decides_against_a_place_removes_its_keys(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Plain(name="a", flag=True))
    sent(wire)
    session.update(Key(Plain, name="a"), F.flag.set(False))
    (call,) = sent(wire)
    assert "REMOVE" in call.request["UpdateExpression"]
    assert {"GSI1PK", "GSI1SK"} <= set(call.request["ExpressionAttributeNames"].values())


class Alike(Entity, table=app, pk="ALIKE#{name}", sk="A"):
    """Its places have the same keys, so that only their conditions tell them apart."""

    name: str
    rank: int = 0
    state: str = "a"
    first = Index("GSI1", pk="ALIKE", sk="{rank:03d}", when=F.state == "a")
    second = Index("GSI1", pk="ALIKE", sk="{rank:03d:desc}", when=F.state == "b")
    far = Index("GSI2", pk="ALIKE", sk="{rank:03d}", when=F.state == "a")
    near = Index("GSI2", pk="ALIKE", sk="{rank:03d:desc}", when=lambda one: one.state == "b")


@pytest.mark.parametrize(("first", "second"), [("first", "second"), ("far", "near")])
def test_places_with_keys_alike_are_told_apart_by_their_conditions(
    session: Session, first: str, second: str
) -> None:
    for rank, state in enumerate("abcba"):
        session.save(Alike(name=str(rank), rank=rank, state=state))
    one, other = getattr(Alike, first), getattr(Alike, second)
    assert [found.rank for found in session.query(one)] == [0, 4]
    assert [found.rank for found in session.query(other)] == [3, 1]
    assert session.query(one).ge(rank=1).count() == 1
    assert [key.fields["name"] for key in session.query(other).keys().all()] == ["3", "1"]
    assert [found.rank for found in session.scan(other, segments=2)] in ([1, 3], [3, 1])
    assert [len(some) for some in session.collection(one, other).split()] == [2, 2]
    page = session.query(other).page(1)
    assert [found.rank for found in (*page, *session.query(other).page(5, after=page.cursor))] == [3, 1]


class Parted(Entity, table=app, pk="PARTED#{name}", sk="P"):
    """Its places are never in one partition, but in one index."""

    name: str
    state: str = "a"
    first = Index("GSI1", pk="STATE#{state}", sk="{name}", when=F.state == "a")
    second = Index("GSI1", pk="STATE#{state}#{name}", sk="{name}", when=F.state == "b")
    far = Index("GSI2", pk="STATE#{state}", sk="{name}", when=F.state == "a")
    near = Index("GSI2", pk="STATE#{state}#{name}", sk="{name}", when=F.state == "b")


@pytest.mark.parametrize(("first", "second"), [("first", "second"), ("far", "near")])
def test_a_scan_of_a_place_leaves_out_those_in_other_partitions(
    session: Session, first: str, second: str
) -> None:
    for name, state in enumerate("abcba"):
        session.save(Parted(name=str(name), state=state))
    one, other = session.scan(getattr(Parted, first)), session.scan(getattr(Parted, second))
    assert sorted(found.name for found in one) == ["0", "4"]
    assert sorted(found.name for found in other) == ["1", "3"]
    assert one.count() == len(other.keys().all()) == len(other.values("name").all()) == 2


def test_a_value_is_unique_while_the_condition_holds(session: Session) -> None:
    session.save(Repo(repo="r"))
    first = session.save(Issue(repo="r", number=1, slug="s"))
    with pytest.raises(UniqueViolation):
        session.save(Issue(repo="r", number=2, slug="s"))
    session.save(Issue(repo="r", number=3, slug="s", status="closed"))
    session.update(first, F.status.set("closed"))
    session.save(Issue(repo="r", number=2, slug="s"))
    assert session.get_by(Issue, slug="s") == session.get_one(Issue, repo="r", number=2)
    assert_consistent(session, app)


def test_an_upsert_creates_an_entity_in_its_place(
    session: Session, moto: Transport, wire: FaultyTransport
) -> None:
    key = Key(Plain, name="a")
    for changes, flagged in (
        ([F.flag.set(True)], True),
        ([F.at.set("1")], True),
        ([F.flag.set(False)], False),
    ):
        session.upsert(key, *changes)
        assert session.query(Plain.flags, name="a").count() == flagged
        assert_consistent(session, app)
    sent(wire)
    session.upsert(Key(Plain, name="b"), F.at.set("1"))
    session.upsert(Key(Plain, name="c"), F.flag.set(True))
    assert [call.operation for call in sent(wire)] == ["UpdateItem", "UpdateItem"]
    assert_consistent(session, app)
