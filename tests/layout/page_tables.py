"""Tables for the page, with their items: a help desk with everything a class can declare, secrets, and many classes."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SecretStr

from dynaorm import (
    Aggregate,
    Attribute,
    CreatedAt,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    Table,
    Unique,
    UpdatedAt,
)
from dynaorm.description.access_patterns import describe
from dynaorm.description.description import TableDescription
from dynaorm.description.entry import Entry, classify
from dynaorm.description.sample_items import samples
from dynaorm.record import replace

desk: Final = Table("desk", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


class Org(Entity, table=desk, pk="ORG#{org}", sk="ORG"):
    """A customer of ours."""

    org: str
    name: str
    plan: Literal["free", "team"] = "free"
    open_tickets: int = 0


class User(Entity, table=desk, pk="ORG#{org}", sk="USER#{user_id}"):
    """A person who signs in. One e-mail address, one user."""

    org: str
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    full_name: str
    joined: Annotated[datetime | None, CreatedAt()] = None
    active: bool = True
    by_name = Index("GSI1", pk="ORG#{org}#USERS", sk="{full_name}", when=F.active == True)  # noqa: E712 - a condition


class Ticket(Entity, table=desk, pk="ORG#{org}", sk="TICKET#{number:06d}", unique={"slug": ("org", "slug")}):
    """What somebody wants done."""

    org: str
    number: int
    slug: str
    title: str
    status: Literal["open", "working", "closed"] = "open"
    assignee: str | None = None
    created: Annotated[datetime | None, CreatedAt()] = None
    updated: Annotated[datetime | None, UpdatedAt()] = None
    by_status = Index("GSI1", pk="STATUS#{status}#{number:shard4}", sk="{created}")
    assigned = Index("GSI2", pk="USER#{assignee}", sk="TICKET#{status}#{number:06d}")
    in_org = Aggregate(Org, count="open_tickets", when=F.status != "closed")


class Comment(Entity, table=desk, pk="TICKET#{org}#{number:06d}", sk="COMMENT#{at}"):
    """What somebody says about a ticket."""

    org: str
    number: int
    at: datetime
    author: str
    text: str


class Guide(Entity, table=desk, pk="GUIDE#{slug}", sk="TEXT", versioned=True):
    """A page of the manual. Every version is kept."""

    slug: str
    title: str
    body: str


class SignIn(Entity, table=desk, pk="SIGNIN#{token}", sk="SIGNIN"):
    """A browser that is signed in."""

    token: str
    user_id: str
    until: Annotated[datetime, ExpiresAt()]
    of_user = Index("GSI2", pk="USER#{user_id}", sk="SIGNIN#{token}")


_AT: Final = "2026-11-02T09:%02d:00Z"

DESK: Final[Sequence[tuple[type[Entity], dict[str, Any]]]] = [
    (Org, {"org": "acme", "name": "Acme Corp.", "plan": "team"}),
    (Org, {"org": "birch", "name": "Birch & Sons"}),
    (User, {"org": "acme", "user_id": "u1", "email": "Liz@Example.com", "full_name": "Liz Lemon"}),
    (User, {"org": "acme", "user_id": "u2", "email": "sue@example.com", "full_name": "Sue Storm"}),
    (User, {"org": "acme", "user_id": "u3", "email": "bob@example.com", "full_name": "Bob", "active": False}),
    (User, {"org": "birch", "user_id": "u4", "email": "ann@birch.example", "full_name": "Ann Birch"}),
    (Ticket, {"org": "acme", "number": 1, "slug": "install", "title": "Install fails", "assignee": "u1"}),
    (Ticket, {"org": "acme", "number": 2, "slug": "typo", "title": "Typo", "status": "closed"}),
    (Ticket, {"org": "acme", "number": 4, "slug": "slow", "title": "Slow query"}),
    (Ticket, {"org": "birch", "number": 1, "slug": "docs", "title": "Docs are missing", "assignee": "u4"}),
    (Comment, {"org": "acme", "number": 1, "at": _AT % 5, "author": "u2", "text": "Which version?"}),
    (
        Comment,
        {"org": "acme", "number": 1, "at": _AT % 12, "author": "u1", "text": "11, in a path with a space"},
    ),
    (Guide, {"slug": "first-steps", "title": "First steps", "body": "Sign up, and invite your team."}),
    (SignIn, {"token": "q8Zr", "user_id": "u1", "until": "2100-01-01T00:00:00Z"}),
]


def lines(entities: Sequence[tuple[type[Entity], dict[str, Any]]]) -> list[str]:
    """Lines of seeds."""
    return [json.dumps({one.__name__: values}) for one, values in entities]


def desk_entries() -> list[Entry]:
    """The items of the help desk."""
    return samples(desk, seeds=lines(DESK))


def many_desk_entries() -> list[Entry]:
    """About a thousand of them: one partition with hundreds of items, and hundreds with a few."""
    tickets = [
        (
            Ticket,
            {"org": "acme", "number": n, "slug": f"t-{n}", "title": f"Ticket {n}", "assignee": f"u{n % 4}"},
        )
        for n in range(10, 260)
    ]
    comments = [
        (
            Comment,
            {"org": "acme", "number": n % 200, "at": _AT % (n // 200), "author": "u1", "text": f"No. {n}"},
        )
        for n in range(500)
    ]
    return samples(desk, seeds=lines([*DESK, *tickets, *comments]))


# -- secrets -----------------------------------------------------------------------------------------------------------

vault: Final = Table("vault", indexes=[GlobalIndex("GSI1")])
SECRETS: Final = ("hunter2", "private-note", "whisper", "key-in-key")


class Login(Entity, table=vault, pk="LOGIN#{door}", sk="L"):
    """Has secrets in its key, its guard, its index and its fields."""

    door: str = Field(repr=False)
    password: Annotated[SecretStr, Unique()]
    note: str = Field(repr=False)
    hint: SecretStr
    level: int = 1
    by_hint = Index("GSI1", pk="HINT#{hint}", sk="{level:03d}", when=F.note == "private-note")


class Visit(Entity, table=vault, pk="VISIT#{door}", sk="{number:03d}", versioned=True):
    """A secret in the key of what keeps versions."""

    door: str = Field(repr=False)
    number: int


def vault_entries() -> list[Entry]:
    """The items of the vault: each of ``SECRETS`` is in some of them."""
    login = {"door": "key-in-key", "password": "hunter2", "note": "private-note", "hint": "whisper"}
    return samples(vault, seeds=lines([(Login, login), (Visit, {"door": "key-in-key", "number": 1})]))


# -- many classes, and long names --------------------------------------------------------------------------------------

town: Final = Table("a-table-with-a-long-name-in-a-town-with-a-long-name", indexes=[GlobalIndex("GSI1")])


class Inhabitant(
    Entity,
    table=town,
    pk="COUNTRY#{country}#REGION#{region}#CITY#{city}",
    sk="STREET#{street}#HOUSE#{house:05d}#PERSON#{person}",
):
    """Somebody whose address is a long key."""

    country: str
    region: str
    city: str
    street: str
    house: int
    person: str
    remarks: list[str]
    past: dict[str, str]
    by_person = Index("GSI1", pk="PERSON#{person}", sk="COUNTRY#{country}#{region}#{city}#{street}")


def _class(number: int) -> type[Entity]:
    class Thing(
        Entity, table=town, name=f"Thing{number}", pk=f"T{number}#{{thing_id}}", sk=f"T{number}#{{part}}"
    ):
        """One of many."""

        thing_id: str
        part: str
        weight: int = number

    Thing.__name__ = Thing.__qualname__ = f"Thing{number}"
    return Thing


THINGS: Final = [_class(number) for number in range(1, 12)]


def town_entries() -> list[Entry]:
    """The items of twelve classes, one of them with values that are longer than a line."""
    who = {
        "country": "Switzerland",
        "region": "Appenzell Innerrhoden",
        "city": "Appenzell",
        "street": "Unterrainstrasse ob dem Dorfplatz",
        "house": 17,
        "person": "annemarie-wintergruen-von-der-halden",
        "remarks": [f"remark number {number}" for number in range(40)],
        "past": {f"place {number}": "somewhere else" for number in range(12)},
    }
    things = chain.from_iterable(
        [(one, {"thing_id": "1", "part": "a"}), (one, {"thing_id": "1", "part": "b"})] for one in THINGS
    )
    return samples(town, seeds=lines([(Inhabitant, who), *things]))


# -- text that wants to be more than text ------------------------------------------------------------------------------

EVIL: Final = (
    '</script><img src=x onerror=alert(1)><script>alert(2)</script>\u2028\u2029\u202e%DATA%%TITLE% " onmouseover='
    "alert(3) javascript:alert(4) <!-- <script> ]]> &lt;b&gt; __proto__"
)

evil: Final = Table("evil", indexes=[GlobalIndex("GSI1"), GlobalIndex("toString", projection="KEYS_ONLY")])


class constructor(Entity, table=evil, pk=f"{EVIL}#{{name}}", sk="{note}"):  # noqa: N801 - objects have this name, too
    name: str
    note: str
    valueOf: Annotated[str, Attribute(EVIL)]  # noqa: N815 - objects have this name, too
    toString: Annotated[str, Unique(when=F.note != EVIL)] = Field(description=EVIL)  # noqa: N815 - the same
    until: Annotated[datetime | None, ExpiresAt()] = None
    hasOwnProperty = Index("toString", pk="{note}", sk="{name}", when=F.note != EVIL)  # noqa: N815 - the same
    by_name = Index("GSI1", pk="{name}", sk="{note}")


constructor.__doc__ = EVIL


def evil_description() -> TableDescription:
    """The description of a table that is called like an attack, too."""
    return replace(describe(evil), name=f"{EVIL}\ud800")


def evil_entries() -> list[Entry]:
    """Items of it, one with a lifetime that is no time, and one that belongs to no class."""
    names = {
        "name": EVIL[:300],
        "note": EVIL[::-1],
        "valueOf": EVIL,
        "toString": EVIL,
        "until": "2100-01-01T00:00:00Z",
    }
    one, *others = samples(evil, seeds=lines([(constructor, names)]))
    spoiled = {**one.item, "PK": {"S": EVIL + "2"}, "ttl": {"S": EVIL}, "until": {"N": "9e99"}}
    strange = {
        "PK": {"S": EVIL},
        "SK": {"S": EVIL},
        "__proto__": {"M": {EVIL: {"L": [{"S": EVIL}]}}},
        EVIL: {"B": b"<"},
    }
    return [one, *others, classify(spoiled, evil), classify(strange, evil)]


NOW: Final = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
