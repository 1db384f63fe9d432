"""One application in which most declarations have a part, and what is true of its classes, in plain Python.

A fact is what a reader of the documentation says of a class. Nothing here asks dynaorm.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    NumberKey,
    Table,
    Unique,
    Versioned,
)

app = Table(
    "world",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("GSI2", projection="KEYS_ONLY"),
        GlobalIndex("Sizes", pk="kind", sk=NumberKey("members")),
        GlobalIndex("Hours", pk="kind", sk=NumberKey("hours"), projection="KEYS_ONLY"),
    ],
)
house = Table("world-house", type_attribute=None, revision_attribute=None)
points = Table("world-points", pk="device", sk=NumberKey("name"))
TABLES = (app, house, points)


class Team(Entity, table=app, pk="TEAM#{name}", sk="T"):
    name: str
    title: str
    kind: str = "team"
    members: int = 0
    hours: Decimal = Decimal(0)
    by_size = Index("Sizes", pk="{kind}", sk="{members}")
    by_hours = Index("Hours", pk="{kind}", sk="{hours}")


class Member(Entity, table=app, pk="MEMBER#{name}", sk="M", unique={"badge": ("tenant", "number")}):
    name: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    desk: Annotated[str | None, Unique(when=F.active == True)] = None  # noqa: E712
    tenant: str = "t"
    number: int | None = None
    team: str | None = None
    hours: Decimal | None = None
    active: bool = True
    visits: int = 0
    in_team = Aggregate(Team, key={"name": "team"}, count="members", sum={"hours": "hours"}, restrict=True)
    by_team = Index("GSI1", pk="TEAM#{team}#{name:shard2}", sk="{visits:03d}#{name}")
    if_active = Index("GSI2", pk="ACTIVE#{tenant}", sk="{name}", when=F.active == True)  # noqa: E712


class Lead(Member):
    rank: int = 1


class Tally(Entity, table=app, pk="TALLY#{name}", sk="T"):
    name: str
    good: int = 0
    note: str | None = None


class Page(Entity, table=app, pk="PAGE#{name}", sk="P", versioned=True):
    name: str
    text: str = ""
    alias: Annotated[str | None, Unique(shared=True)] = None


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    name: str
    result: Annotated[str, Versioned()] = "new"
    note: str = ""
    day: str | None = None
    on_day = Aggregate(Tally, key={"name": "day"}, count="good", when=F.result == "good")


class Login(Entity, table=app, pk="LOGIN#{name}", sk="L"):
    name: str
    alias: Annotated[str | None, Unique(shared=True)] = None
    hits: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Room(Entity, table=house, pk="HOUSE#{house}", sk="ROOM#{name}", unique={"door": ("house", "door")}):
    house: Annotated[str, InKey()] = "h"
    name: Annotated[str, InKey()]
    door: int | None = None
    size: int = 0


class Lamp(Entity, table=house, pk="HOUSE#{house}", sk="LAMP#{name}"):
    house: str = "h"
    name: str
    watts: int = 0
    label: str | None = None


class Sheet(Entity, table=house, pk="HOUSE#{house}", sk="SHEET#{name}", versioned=True):
    house: str = "h"
    name: str
    text: str = ""


class Point(Entity, table=points, pk="{device}", sk="{name}"):
    device: str = "d"
    name: int
    size: int = 0


Values: TypeAlias = dict[str, Any]
Kind: TypeAlias = Any
"""A class of the cast. mypy finds no common type of their list but the metaclass."""
Item: TypeAlias = dict[str, Any]
Name: TypeAlias = tuple[str, Any]
"""A family and the identifier of an entity in it: what one key is of."""


@dataclass(frozen=True)
class Facts:
    """What is true of a class.

    Attributes:
        family: classes of one family share their keys.
        names: the identifiers that are used.
        key: the primary key of an item.
        pools: the values that fields take, besides those of the key.
        guards: the values that an entity claims, as keys of guard items.
        counts: what it adds to totals: (target, field) to number.
        index: its key attributes in indexes.
        beside: the other field of the primary key.
        in_key: fields that are not attributes.
        versioned: the fields of which versions are kept; None for no versions.
        blind: fields that an update by key changes without reading.
        relied_on: on a table without revisions, the fields that every write relies on.
        totals: fields that dynaorm maintains.
        restricted: with totals that are not zero, an entity is not deleted.
        made: the values of a target that is made when the first source names it; None if it has to be there.
        counter: a number to add to.
    """

    family: str
    names: list[Any]
    key: Callable[[Values], Item]
    pools: Mapping[str, list[Any]]
    guards: Callable[[Values], Iterable[str]] = lambda _: ()
    counts: Callable[[Values], dict[tuple[Name, str], Decimal]] = lambda _: {}
    index: Callable[[Values], dict[str, str]] = lambda _: {}
    beside: Mapping[str, Any] = field(default_factory=dict)
    in_key: frozenset[str] = frozenset()
    versioned: frozenset[str] | None = None
    blind: frozenset[str] = frozenset()
    relied_on: frozenset[str] | None = None
    totals: frozenset[str] = frozenset()
    restricted: bool = False
    made: Mapping[str, Any] | None = None
    counter: str | None = None
    table: Table = app


def escaped(text: str) -> str:
    return text.replace("%", "%25").replace("#", "%23")


def keyed(partition: str, sort: str) -> Callable[[Values], Item]:
    """Renders a key of two texts; a name in it is escaped."""

    def key(values: Values) -> Item:
        texts = {name: escaped(value) for name, value in values.items() if isinstance(value, str)}
        return {"PK": {"S": partition.format(**texts)}, "SK": {"S": sort.format(**texts)}}

    return key


def _member_guards(values: Values) -> Iterable[str]:
    if values["email"] is not None:
        yield f"email#{values['email'].casefold()}"
    if values["desk"] is not None and values["active"]:
        yield f"desk#{values['desk']}"
    if values["number"] is not None:
        yield f"badge#{escaped(values['tenant'])}#{values['number']}"


def _member_counts(values: Values) -> dict[tuple[Name, str], Decimal]:
    team = ("TEAM", values["team"])
    return (
        {}
        if values["team"] is None
        else {(team, "members"): Decimal(1), (team, "hours"): values["hours"] or Decimal(0)}
    )


def _member_index(values: Values) -> dict[str, str]:
    keys: dict[str, str] = {}
    if values["team"] is not None:
        shard = zlib.crc32(values["name"].encode()) % 2 + 1
        keys |= {
            "GSI1PK": f"TEAM#{escaped(values['team'])}#{shard}",
            "GSI1SK": f"{values['visits']:03d}#{escaped(values['name'])}",
        }
    if values["active"]:
        keys |= {"GSI2PK": f"ACTIVE#{escaped(values['tenant'])}", "GSI2SK": values["name"]}
    return keys


def _alias(values: Values) -> Iterable[str]:
    return () if values["alias"] is None else (f"alias#{values['alias']}",)


_MEMBER: dict[str, list[Any]] = {
    "email": ["a@x", "A@X", "b@x", None],
    "desk": ["d", "d#%", None],
    "tenant": ["t", "u#%"],
    "number": [0, 1, None],
    "team": ["red", "blue#", None, "green"],
    "hours": [Decimal(0), Decimal("1.5"), Decimal(3), None],
    "active": [True, False],
    "visits": [0, 7, 10],
}


def _member(names: list[str], pools: dict[str, list[Any]]) -> Facts:
    return Facts(
        "MEMBER", names, keyed("MEMBER#{name}", "M"), pools, _member_guards, _member_counts, _member_index,
        counter="visits",
    )  # fmt: skip


FACTS: dict[Kind, Facts] = {
    Team: Facts(
        "TEAM", ["red", "blue#"], keyed("TEAM#{name}", "T"), {"title": ["", "x", "y"]},
        blind=frozenset({"title"}), totals=frozenset({"members", "hours"}), restricted=True,
    ),
    Member: _member(["1", "2", "3#%"], _MEMBER),
    Lead: _member(["1", "2"], {**_MEMBER, "rank": [1, 2]}),
    Tally: Facts(
        "TALLY", ["mon", "tue"], keyed("TALLY#{name}", "T"), {"note": ["", "n", None]},
        blind=frozenset({"note"}), totals=frozenset({"good"}), made={"good": 0, "note": None},
    ),
    Page: Facts(
        "PAGE", ["1", "2"], keyed("PAGE#{name}", "v0_P"), {"text": ["", "a", "b"], "alias": ["a", "b", None]},
        _alias, versioned=frozenset({"name", "text", "alias"}),
    ),
    Audit: Facts(
        "AUDIT", ["1", "2"], keyed("AUDIT#{name}", "v0_A"),
        {"result": ["new", "good"], "note": ["", "n"], "day": ["mon", "wed", None]},
        counts=lambda values: {} if values["day"] is None or values["result"] != "good" else
        {(("TALLY", values["day"]), "good"): Decimal(1)},
        versioned=frozenset({"result"}), blind=frozenset({"note"}),
    ),
    Login: Facts(
        "LOGIN", ["1", "2"], keyed("LOGIN#{name}", "L"),
        {"alias": ["a", "b", None], "hits": [0, 1], "until": [30, 100, 1000, None]},
        _alias, blind=frozenset({"hits"}), counter="hits",
    ),
    Room: Facts(
        "ROOM", ["1", "2%"], keyed("HOUSE#{house}", "ROOM#{name}"), {"door": [1, 2, None], "size": [0, 1]},
        lambda values: () if values["door"] is None else (f"door#{escaped(values['house'])}#{values['door']}",),
        beside={"house": "h"}, in_key=frozenset({"house", "name"}), relied_on=frozenset({"door"}),
        blind=frozenset({"size"}), counter="size", table=house,
    ),
    Lamp: Facts(
        "LAMP", ["1", "#"], keyed("HOUSE#{house}", "LAMP#{name}"), {"watts": [0, 60], "label": ["x", None]},
        beside={"house": "h"}, relied_on=frozenset(), blind=frozenset({"watts", "label"}), counter="watts", table=house,
    ),
    Sheet: Facts(
        "SHEET", ["1", "2"], keyed("HOUSE#{house}", "v0_SHEET#{name}"), {"text": ["", "a", "b"]},
        beside={"house": "h"}, versioned=frozenset({"house", "name", "text"}), relied_on=frozenset(), table=house,
    ),
    Point: Facts(
        "POINT", [-1, 0, 10], lambda values: {"device": {"S": "d"}, "name": {"N": str(values["name"])}},
        {"size": [0, 1]}, beside={"device": "d"}, blind=frozenset({"size"}), counter="size", table=points,
    ),
}  # fmt: skip
