"""What sessions leave passes, and each kind of damage is found and named."""

import copy
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
)
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing import (
    Broken,
    FakeClock,
    inconsistencies,
    strict_moto,
)
from dynaorm.transport.pynamodb import PynamoTransport

app = Table("census", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
keys = Table("census-keys", sk=None)
rooms = Table("census-rooms", pk="room", sk=None, guard_table=keys, type_attribute=None)


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
NOW = FakeClock().now()
TABLES = (app, rooms, keys)


def raw(engine: Transport) -> Items:
    return {
        table: list(engine.call(Call("Scan", {"TableName": table.name, "ConsistentRead": True}))["Items"])
        for table in TABLES
    }


@pytest.fixture(scope="module")
def left(credentials: None) -> Items:
    """What some sessions have left: some of everything."""
    with strict_moto(), Session(transport=PynamoTransport(region="eu-west-1"), clock=FakeClock()) as session:
        session.create_table(app)
        session.create_table(rooms)
        session.save(User(id="1", email="A@x", team="red"))
        session.save(User(id="2", email="b@x"))
        for kind, field in ((Document, "text"), (Audit, "result")):
            one: Any = session.save(kind(id="1"))
            for value in "abc":
                setattr(one, field, value)
                session.save(one)
        session.update(Key(Audit, id="1"), {"note": "not versioned"})
        session.prune(Key(Document, id="1"), keep=3)
        session.save(slugged := Document(id="gone", slug="s"))
        session.delete(slugged)
        for name, until in (("soon", NOW + 1), ("later", NOW + 1000)):
            session.save(Login(id=name, alias=name, until=datetime.fromtimestamp(until, UTC)))
        for user in "uvw":
            session.save(Membership(group="g", user=user, hours=Decimal("1.5")))
        session.save(Room(room="r", phone="123"))
        return raw(session._transport)


@pytest.fixture
def items(left: Items) -> Items:
    """The same, to be damaged."""
    return {table: copy.deepcopy(found) for table, found in left.items()}


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


def test_what_sessions_leave_is_consistent(left: Items) -> None:
    assert sum(map(len, left.values())) == 25
    assert inconsistencies(left, NOW) == []


def test_nothing_at_all_is_consistent() -> None:
    assert inconsistencies({app: []}, NOW) == []


def test_what_has_expired_owes_nothing_and_guards_nothing(items: Items) -> None:
    remove(items, "alias#soon", "alias#soon")
    assert [one.broken for one in inconsistencies(items, NOW)] == [Broken.NO_GUARD]
    assert inconsistencies(items, NOW + 1) == []
    remove(items, "LOGIN#later", "L")
    assert [one.broken for one in inconsistencies(items, NOW + 1)] == [Broken.ORPHAN_GUARD]
    assert inconsistencies(items, NOW + 1000) == []


def test_a_guard_written_by_hand_without_an_owner_holds_a_live_value(items: Items) -> None:
    del guard(items, "email#a@x")["owner"]
    assert inconsistencies(items, NOW) == []


def test_the_oldest_versions_may_be_pruned(items: Items) -> None:
    remove(items, "AUDIT#1", "v1_A")
    remove(items, "AUDIT#1", "v2_A")
    assert inconsistencies(items, NOW) == []


DAMAGES: list[tuple[str, Callable[[Items], object], list[tuple[Broken, str]]]] = [
    (
        "an item of no class",
        lambda items: items[app].append({"PK": {"S": "X#1"}, "SK": {"S": "U"}}),
        [(Broken.UNKNOWN_ITEM, "X#1 U")],
    ),
    (
        "an item of a class nobody declared",
        lambda items: item(items, "USER#2", "U").update(_type={"S": "Usr"}),
        [(Broken.UNKNOWN_ITEM, "USER#2 U"), (Broken.ORPHAN_GUARD, "email#b@x email#b@x")],
    ),
    (
        "a field of another type",
        lambda items: item(items, "USER#1", "U").update(team={"N": "1"}),
        [(Broken.UNREADABLE, "USER#1 U")],
    ),
    (
        "a key that its fields do not render",
        lambda items: item(items, "USER#1", "U").update(id={"S": "3"}),
        [(Broken.UNREADABLE, "USER#1 U")],
    ),
    (
        "an index key of other fields",
        lambda items: item(items, "USER#1", "U").update(GSI1PK={"S": "TEAM#blue"}),
        [(Broken.INDEX_KEY, "USER#1 U")],
    ),
    (
        "an index key that is missing",
        lambda items: item(items, "USER#1", "U").pop("GSI1SK"),
        [(Broken.INDEX_KEY, "USER#1 U")],
    ),
    (
        "an index key of an entity that is not indexed",
        lambda items: item(items, "USER#2", "U").update(GSI1PK={"S": "TEAM#x"}),
        [(Broken.INDEX_KEY, "USER#2 U")],
    ),
    (
        "a key of an index in which the class has no place",
        lambda items: item(items, "USER#2", "U").update(GSI2PK={"S": "?"}),
        [(Broken.INDEX_KEY, "USER#2 U")],
    ),
    (
        "a guard that is missing",
        lambda items: remove(items, "email#a@x"),
        [(Broken.NO_GUARD, "USER#1 U")],
    ),
    (
        "a guard in another table that is missing",
        lambda items: items[keys].clear(),
        [(Broken.NO_GUARD, "r")],
    ),
    (
        "a guard of somebody else",
        lambda items: guard(items, "email#a@x").update(owner=guard(items, "email#b@x")["owner"]),
        [(Broken.FOREIGN_GUARD, "USER#1 U")],
    ),
    (
        "two live entities of one value",
        lambda items: item(items, "USER#2", "U").update(email={"S": "a@X"}),
        [(Broken.FOREIGN_GUARD, "USER#2 U"), (Broken.ORPHAN_GUARD, "email#b@x email#b@x")],
    ),
    (
        "a guard in another table that names no table",
        lambda items: items[keys][0]["owner"]["M"].pop("table"),
        [(Broken.FOREIGN_GUARD, "r")],
    ),
    (
        "a guard of nobody",
        lambda items: items[app].append({"PK": {"S": "slug#s"}, "SK": {"S": "slug#s"}}),
        [(Broken.ORPHAN_GUARD, "slug#s slug#s")],
    ),
    (
        "a guard whose owner is gone",
        lambda items: remove(items, "USER#2"),
        [(Broken.ORPHAN_GUARD, "email#b@x email#b@x")],
    ),
    (
        "a guard whose owner has another value",
        lambda items: item(items, "USER#2", "U").pop("email"),
        [(Broken.ORPHAN_GUARD, "email#b@x email#b@x")],
    ),
    (
        "a guard that expires before its entity",
        lambda items: guard(items, "alias#later").update(until={"N": "1"}),
        [(Broken.GUARD_EXPIRY, "alias#later alias#later")],
    ),
    (
        "a guard that holds more",
        lambda items: guard(items, "email#a@x").update(note={"S": "?"}),
        [(Broken.GUARD_SHAPE, "email#a@x email#a@x")],
    ),
    (
        "a guard whose owner is a text",
        lambda items: guard(items, "email#a@x").update(owner={"S": "USER#1"}),
        [(Broken.GUARD_SHAPE, "email#a@x email#a@x"), (Broken.FOREIGN_GUARD, "USER#1 U")],
    ),
    (
        "a gap in the versions",
        lambda items: remove(items, "DOC#1", "v3_D"),
        [(Broken.VERSION_GAP, "DOC#1 v0_D")],
    ),
    (
        "the newest version is missing",
        lambda items: remove(items, "DOC#1", "v4_D"),
        [(Broken.VERSION_GAP, "DOC#1 v0_D")],
    ),
    (
        "a version newer than the latest copy",
        lambda items: items[app].append(
            item(items, "DOC#1", "v4_D") | {"SK": {"S": "v5_D"}, "version": {"N": "5"}}
        ),
        [(Broken.VERSION_GAP, "DOC#1 v0_D")],
    ),
    (
        "a latest copy that is not the newest version",
        lambda items: item(items, "AUDIT#1", "v0_A").update(result={"S": "other"}),
        [(Broken.NOT_NEWEST, "AUDIT#1 v0_A")],
    ),
    (
        "a newest version of another time",
        lambda items: item(items, "AUDIT#1", "v4_A").update(version_at={"S": "2020-01-01T00:00:00.000000Z"}),
        [(Broken.NOT_NEWEST, "AUDIT#1 v0_A")],
    ),
    (
        "versions without a latest copy",
        lambda items: remove(items, "AUDIT#1", "v0_A"),
        [(Broken.STRAY_VERSION, f"AUDIT#1 v{number}_A") for number in range(1, 5)],
    ),
    (
        "a version whose number is spelled in another way",
        lambda items: item(items, "DOC#1", "v2_D").update(SK={"S": "v02_D"}),
        [(Broken.STRAY_VERSION, "DOC#1 v02_D")],
    ),
    (
        "a version that says another number",
        lambda items: item(items, "DOC#1", "v2_D").update(version={"N": "3"}),
        [(Broken.VERSION_SHAPE, "DOC#1 v2_D")],
    ),
    (
        "a version that is in an index",
        lambda items: item(items, "DOC#1", "v2_D").update(GSI1PK={"S": "TEXT#a"}),
        [(Broken.VERSION_SHAPE, "DOC#1 v2_D")],
    ),
    (
        "a version without a time",
        lambda items: item(items, "DOC#1", "v2_D").pop("version_at"),
        [(Broken.VERSION_SHAPE, "DOC#1 v2_D")],
    ),
    (
        "a tombstone that kept a field",
        lambda items: item(items, "DOC#gone", "v0_D").update(text={"S": "?"}),
        [(Broken.TOMBSTONE, "DOC#gone v0_D")],
    ),
    (
        "a tombstone without its number",
        lambda items: item(items, "DOC#gone", "v0_D").pop("version"),
        [(Broken.VERSION_GAP, "DOC#gone v0_D"), (Broken.TOMBSTONE, "DOC#gone v0_D")],
    ),
    (
        "a total that nobody added up",
        lambda items: item(items, "GROUP#g", "G").update(members={"N": "4"}),
        [(Broken.TOTAL, "GROUP#g G")],
    ),
    (
        "what was counted is gone",
        lambda items: remove(items, "GROUP#g", "M#u"),
        [(Broken.TOTAL, "GROUP#g G"), (Broken.TOTAL, "GROUP#g G")],
    ),
]


@pytest.mark.parametrize(
    ("damage", "expected"), [one[1:] for one in DAMAGES], ids=[one[0] for one in DAMAGES]
)
def test_each_kind_of_damage_is_found_and_nothing_else(
    items: Items, damage: Callable[[Items], object], expected: list[tuple[Broken, str]]
) -> None:
    damage(items)
    found = inconsistencies(items, NOW)
    assert [
        (one.broken, " ".join(str(value["S"]) for value in one.key.values())) for one in found
    ] == expected
    assert all(one.problem and str(one).startswith("census") for one in found)


def test_every_rule_has_its_damage() -> None:
    assert {broken for *_, expected in DAMAGES for broken, _ in expected} == set(Broken)
