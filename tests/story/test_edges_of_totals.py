"""Every way to write an edge of a graph keeps the counters of its ends."""

from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    F,
    GlobalIndex,
    Index,
    InKey,
    Key,
    NumberKey,
    Session,
    Table,
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


# -- edges and their counters ------------------------------------------------------------------------------------------


def test_every_way_to_write_an_edge_keeps_the_counters(engine: Engine, session: Session) -> None:
    def now(members: int, hours: str, other: int = 0, liz: int = 1) -> bool:
        found = counters(engine)
        return bool(
            found["GROUP#g.members"] == members
            and found["GROUP#g.hours"] == Decimal(hours)
            and found["GROUP#h.members"] == other
            and found["USER#liz.groups"] == liz
        )

    liz = session.save(Membership(group_id="g", user_id="liz", hours=Decimal(1)))
    session.update(liz, {"hours": Decimal(4)})
    assert now(1, "4")
    updated = session.update(Key(Membership, group_id="g", user_id="liz"), F.hours.add(Decimal("0.5")))
    assert (updated.hours, now(1, "4.5")) == (Decimal("4.5"), True)
    liz = session.save(Membership(group_id="g", user_id="liz", hours=Decimal(2)), overwrite=True)
    assert now(1, "2")
    liz.group_id = "h"
    session.move(liz)
    assert now(0, "0", other=1)
    liz.group_id = "g"
    session.move(liz)
    assert now(1, "2")
    session.delete(Key(Membership, group_id="g", user_id="liz"))
    assert now(0, "0", liz=0)
