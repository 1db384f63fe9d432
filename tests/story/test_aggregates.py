"""Totals kept near real time: AWS's music library with its top songs of a month, and edges counted at both ends.

Source of the library: Amazon DynamoDB Developer Guide, "Using Global Secondary Indexes for materialized aggregation
queries in DynamoDB".
"""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Session,
    Table,
    inspect,
)
from tests.story.engine import Engine

music = Table(
    "MusicLibrary",
    pk="songID",
    sk="sort",
    indexes=[GlobalIndex("DownloadsByMonth", pk="Month", sk=NumberKey("MonthTotal"))],
)
app = Table("Groups", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK")])
people = Table("People")


class Song(Entity, table=music, pk="Song-{song}", sk="Details"):
    song: Annotated[str, InKey()]
    title: Annotated[str, Attribute("Title")]


class MonthTotal(Entity, table=music, pk="Song-{song}", sk="Month-{month}"):
    song: Annotated[str, InKey()]
    month: Annotated[str, Attribute("Month")]
    total: Annotated[int, Attribute("MonthTotal")] = 0
    by_month = Index("DownloadsByMonth", pk="{month}", sk="{total}")


class Download(Entity, table=music, pk="Song-{song}", sk="DId-{download}"):
    song: Annotated[str, InKey()]
    download: Annotated[str, InKey()]
    time: Annotated[str, Attribute("Time")]
    month: Annotated[str, Attribute("InMonth")]
    counted = Aggregate(MonthTotal, count="total")


class Person(Entity, table=people, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    name: str
    groups: int = 0


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str
    members: int = 0
    hours: Decimal = Decimal(0)


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    hours: Decimal = Decimal(0)
    inverted = Index("Inverted")
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"})
    of_user = Aggregate(Person, count="groups")


def download(song: str, number: int, month: str = "2018-01") -> Download:
    return Download(song=song, download=f"{number:010d}", time=f"{month}-01T00:00:07", month=month)


def top(engine: Engine, month: str, limit: int) -> list[tuple[str, Any]]:
    """The most downloaded songs of a month, queried with AWS's client."""
    found = engine.client.query(
        TableName=engine.name(music.name),
        IndexName="DownloadsByMonth",
        KeyConditionExpression="#m = :m",
        ExpressionAttributeNames={"#m": "Month"},
        ExpressionAttributeValues={":m": {"S": month}},
        ScanIndexForward=False,
        Limit=limit,
    )["Items"]
    return [(item["songID"]["S"], Decimal(item["MonthTotal"]["N"])) for item in found]


def counters(engine: Engine) -> dict[str, Any]:
    """Every stored total of groups and people."""
    found = {}
    for item in [*engine.raw(app), *engine.raw(people)]:
        if item["SK"]["S"] in ("INFO", "PROFILE"):
            for name in ("members", "hours", "groups"):
                if name in item:
                    found[f"{item['PK']['S']}.{name}"] = Decimal(item[name]["N"])
    return found


@pytest.fixture
def session(engine: Engine) -> Session:
    """Two groups without members, and two people in no group."""
    engine.create(music, app, people)
    session = engine.session()
    for one in ("g", "h"):
        session.save(Group(group_id=one, name=one.upper()))
    for one in ("liz", "bob"):
        session.save(Person(user_id=one, name=one.title()))
    engine.forget()
    return session


# -- the music library -------------------------------------------------------------------------------------------------


def test_the_first_download_of_a_month_makes_its_total_in_one_transaction(
    engine: Engine, session: Session
) -> None:
    session.save(Song(song="129", title="Wild Love"))
    engine.forget()
    session.save(download("129", 9349823681))
    assert engine.operations == ["TransactWriteItems"]
    song = {"songID": {"S": "Song-129"}}
    assert engine.items(music) == [
        {
            **song,
            "sort": {"S": "DId-9349823681"},
            "Time": {"S": "2018-01-01T00:00:07"},
            "InMonth": {"S": "2018-01"},
            "_type": {"S": "Download"},
            "_rev": {"S": "*"},
        },
        {
            **song,
            "sort": {"S": "Details"},
            "Title": {"S": "Wild Love"},
            "_type": {"S": "Song"},
            "_rev": {"S": "*"},
        },
        {
            **song,
            "sort": {"S": "Month-2018-01"},
            "Month": {"S": "2018-01"},
            "MonthTotal": {"N": "1"},
            "_type": {"S": "MonthTotal"},
            "_rev": {"S": "*"},
        },
    ]


def test_the_top_songs_of_a_month_are_one_query_of_the_sparse_index(engine: Engine, session: Session) -> None:
    for song, times in (("129", 3), ("130", 5), ("131", 1)):
        for number in range(times):
            session.save(download(song, number))
    session.save(download("129", 99, "2018-02"))
    assert top(engine, "2018-01", 2) == [("Song-130", 5), ("Song-129", 3)]
    assert top(engine, "2018-02", 2) == [("Song-129", 1)]
    found = session.query(MonthTotal.by_month, month="2018-01").descending().limit(2).all()
    assert [(one.song, one.total) for one in found] == [("130", 5), ("129", 3)]


# -- edges and their counters ------------------------------------------------------------------------------------------


def test_an_edge_counts_at_both_its_ends_in_two_tables_in_one_transaction(
    engine: Engine, session: Session
) -> None:
    session.save(Membership(group_id="g", user_id="liz", hours=Decimal("2.5")))
    assert engine.operations == ["TransactWriteItems"]
    (edge,) = [item for item in engine.items(app) if item["SK"]["S"] == "USER#liz"]
    assert edge == {
        "PK": {"S": "GROUP#g"},
        "SK": {"S": "USER#liz"},
        "_type": {"S": "Membership"},
        "_rev": {"S": "*"},
        "group_id": {"S": "g"},
        "user_id": {"S": "liz"},
        "hours": {"N": "2.5"},
    }
    (group,) = [
        item for item in engine.items(app) if item["PK"]["S"] == "GROUP#g" and item["SK"]["S"] == "INFO"
    ]
    assert group == {
        "PK": {"S": "GROUP#g"},
        "SK": {"S": "INFO"},
        "_type": {"S": "Group"},
        "_rev": {"S": "*"},
        "group_id": {"S": "g"},
        "name": {"S": "G"},
        "members": {"N": "1"},
        "hours": {"N": "2.5"},
    }
    assert counters(engine)["USER#liz.groups"] == 1


def test_a_block_of_many_edges_is_one_action_per_counter(engine: Engine, session: Session) -> None:
    with session.transaction() as tx:
        group = tx.save(Group(group_id="n", name="N"))
        for number in range(40):
            tx.save(
                Membership(group_id="n" if number % 2 else "g", user_id="liz" if number < 2 else f"u{number}")
            )
            if number >= 2:
                tx.save(Person(user_id=f"u{number}", name="U"))
    assert len(engine.sent(app)) == 1 + 40 + 38 + 2
    assert (group.members, inspect(group).changes) == (20, {})
    assert counters(engine)["GROUP#n.members"] == counters(engine)["GROUP#g.members"] == 20
    assert (counters(engine)["USER#liz.groups"], counters(engine)["USER#u9.groups"]) == (2, 1)
    group.name = "saved under the revision it has"
    session.save(group)


# -- lost answers and rivals -------------------------------------------------------------------------------------------


def test_a_group_deleted_while_somebody_leaves_lets_them_leave(engine: Engine, session: Session) -> None:
    liz = session.save(Membership(group_id="g", user_id="liz"))
    rival = engine.session()
    overtaken = engine.session(before=("TransactWriteItems", lambda: rival.delete(Key(Group, group_id="g"))))
    overtaken.delete(liz)
    assert [item["PK"]["S"] for item in engine.raw(app)] == ["GROUP#h"]
    assert counters(engine)["USER#liz.groups"] == 0
