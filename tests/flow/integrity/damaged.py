"""Tables that hold some of everything, how to damage their items in memory, and what is then found."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

import pytest

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    Unique,
    Versioned,
    tools,
)
from dynaorm.flow.call import Call, Transport
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.integrity.judge import judge_items
from dynaorm.testing import FakeClock

app = Table("checked", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
keys = Table("checked-keys", sk=None)
rooms = Table("checked-rooms", pk="room", sk=None, guard_table=keys, type_attribute=None)


class User(Entity, table=app, pk="USER#{id}", sk="U"):
    id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    team: str | None = None
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{id}")


class Document(Entity, table=app, pk="DOC#{id}", sk="D", versioned=True):
    id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    by_text = Index("GSI1", pk="TEXT#{text}", sk="{id}")


class Audit(Entity, table=app, pk="AUDIT#{id}", sk="A", versioned=True):
    id: str
    result: Annotated[str, Versioned()] = "new"
    note: str = ""


class Login(Entity, table=app, pk="LOGIN#{id}", sk="L"):
    id: str
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Group(Entity, table=app, pk="GROUP#{group}", sk="G"):
    group: str
    members: int = 0
    hours: Decimal = Decimal(0)


class Membership(Entity, table=app, pk="GROUP#{group}", sk="M#{user}"):
    group: str
    user: str
    hours: Decimal = Decimal(0)
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"})


class Room(Entity, table=rooms, pk="{room}"):
    room: str
    phone: Annotated[str | None, Unique()] = None


Items: TypeAlias = dict[Table, list[dict[str, Any]]]
Damage: TypeAlias = Callable[[Items], object]
Found: TypeAlias = tuple[FindingKind, str]
"""A finding as a test names it: its kind, and the contents of its key."""

NOW = FakeClock().now()
NUMBERS = ("1.5", "1E+125", "1E99999999", "9" * 6000, "NaN", "x")
"""Numbers that are no version and no time, some of which DynamoDB cannot hold."""
TABLES = (app, rooms, keys)


def saved(session: Session) -> Items:
    """The items that a session leaves after it saved some of everything."""
    for table in (app, rooms):
        session.create_table(table)
    session.save(User(id="1", email="A@x", team="red"))
    session.save(User(id="2", email="b@x"))
    for kind, field in ((Document, "text"), (Audit, "result")):
        one: Any = session.save(kind(id="1"))
        for value in "abc":
            setattr(one, field, value)
            session.save(one)
    session.update(Key(Audit, id="1"), {"note": "not versioned"})
    tools.prune(session, Key(Document, id="1"), keep=3)
    session.save(slugged := Document(id="gone", slug="s"))
    session.delete(slugged)
    for name, until in (("soon", NOW + 1), ("later", NOW + 1000)):
        session.save(Login(id=name, alias=name, until=datetime.fromtimestamp(until, UTC)))
    for user in "uvw":
        session.save(Membership(group="g", user=user, hours=Decimal("1.5")))
    session.save(Room(room="r", phone="123"))
    return {table: _scanned(session._transport, table) for table in TABLES}


def _scanned(engine: Transport, table: Table) -> list[dict[str, Any]]:
    return list(engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"])


def found(items: Items, now: float = NOW) -> list[Found]:
    """What is found in the items, in order."""
    return [
        (one.kind, " ".join(str(value["S"]) for value in one.item_key.values()))
        for one in judge_items(items, now)
    ]


def damage(name: str, do: Damage, *found: Found) -> Any:
    """A test case: what is done to the items, and everything that must be found then."""
    return pytest.param(do, list(found), id=name)


def item(items: Items, partition: str, sort: str = "", table: Table = app) -> dict[str, Any]:
    """The item with this key."""
    return next(
        one
        for one in items[table]
        if one[table.pk.name] == {"S": partition} and (not sort or one["SK"] == {"S": sort})
    )


def guard(items: Items, text: str) -> dict[str, Any]:
    return item(items, text, text)


def remove(items: Items, partition: str, sort: str = "", table: Table = app) -> None:
    items[table].remove(item(items, partition, sort, table))
