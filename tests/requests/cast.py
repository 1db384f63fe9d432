"""The classes that tests of plans share. Their table has no TTL: no request is about more than its test.

The cast of sessions, `tests/cast`, has one, and is taken where the request does not matter.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated

from pydantic import ConfigDict

from dynaorm import (
    Aggregate,
    Attribute,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    NumberRevision,
    Table,
    Unique,
    Versioned,
)

app = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
fleeting = Table("fleeting")
"""With a TTL."""
loose = Table("loose", revision_attribute=None)
bare = Table("bare", type_attribute=None, revision_attribute=None)
numbered = Table("numbered", revision_attribute=NumberRevision("number"))
locks = Table("locks", pk="lock", sk=None)
away = Table("away", guard_table=locks)
teams = Table("teams")
both = Table("both", indexes=[GlobalIndex("GSI1", pk="X", sk="Y"), GlobalIndex("GSI2", pk="X", sk="Z")])


# -- entities of one item, and what depends on them --------------------------------------------------------------------


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    """Nothing follows from it but a place in an index."""

    sku: str
    left: int = 0
    note: str | None = None
    shelf: str | None = None
    by_shelf = Index("GSI1", pk="SHELF#{shelf}", sk="{sku}")


class Fragile(Stock):
    """A subclass under the same keys."""

    padding: int = 0


class Coupon(Entity, table=fleeting, pk="COUPON#{code}", sk="C"):
    """Expires, and its guard with it."""

    code: str
    left: int = 0
    alias: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Gift(Coupon):
    """A subclass of what expires."""

    wrapping: str = ""


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    """Somebody with a unique value, and perhaps another one."""

    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique("tel")] = None
    name: str | None = None


class Document(Entity, table=app, pk="DOC#{doc_id}", sk="D", versioned=True):
    """Versions, a unique value, a place in an index."""

    doc_id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None
    tags: frozenset[str] = frozenset()
    shelf: str | None = None
    by_shelf = Index("GSI1", pk="DSHELF#{shelf}", sk="{doc_id}")


class Audit(Entity, table=app, pk="AUDIT#{name}", sk="A", versioned=True):
    """Versions of one field."""

    name: str
    result: Annotated[str, Versioned()] = ""
    note: str = ""


class Held(Entity, table=app, pk="HELD#{name}", sk="H"):
    """A field lives in the key of an index alone."""

    name: str
    place: Annotated[str | None, InKey()] = None
    note: str = ""
    by_place = Index("GSI1", pk="PLACE#{place}", sk="{name}")


class Renamed(Entity, table=app, pk="RENAMED#{name}", sk="R"):
    """An attribute had another name."""

    name: str
    left: int = 0
    kind: Annotated[str, Attribute("sort_of", formerly=("category",))] = ""


class Both(Entity, table=both, pk="BOTH#{name}", sk="B"):
    """In two indexes that share a key attribute."""

    name: str
    one: str | None = None
    other: str | None = None
    by_one = Index("GSI1", pk="BOTH", sk="{one}")
    by_other = Index("GSI2", pk="BOTH", sk="{other}")


class Visitor(Entity, table=away, pk="VISITOR#{name}", sk="V"):
    """Its guards are in another table."""

    name: str
    nick: Annotated[str | None, Unique()] = None


# -- tables without type or revision, or with a number as revision -----------------------------------------------------


class Loose(Entity, table=loose, pk="LOOSE#{name}", sk="L"):
    """Without a revision."""

    name: str
    left: int = 0
    note: str | None = None


class Plain(Entity, table=bare, pk="PLAIN#{name}", sk="P"):
    """Without type and revision."""

    name: str
    left: int = 0
    note: str | None = None
    email: Annotated[str | None, Unique("mail")] = None


class Numbered(Entity, table=numbered, pk="NUMBERED#{name}", sk="N", formerly=("Counted",)):
    """Its revision is a number, and the class had another name."""

    name: str
    text: str = ""


# -- totals, and everything that follows from a person -----------------------------------------------------------------


class Team(Entity, table=teams, pk="TEAM#{team}", sk="T"):
    """It cannot be made of its key, because it has to have a label."""

    team: str
    label: str
    people: int = 0
    leaders: int = 0
    papers: int = 0
    hours: Decimal = Decimal(0)


class Person(Entity, table=teams, pk="PERSON#{name}", sk="P", unique={"seat": ("tenant", "seat")}):
    """Holds values of every kind of constraint, and is counted in two ways."""

    name: str
    tenant: str = "t"
    seat: int | None = None
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    handle: Annotated[str | None, Unique(scope=("tenant",))] = None
    desk: Annotated[str | None, Unique(when=F.active == True)] = None  # noqa: E712 - a condition
    active: bool = True
    team: str | None = None
    hours: Decimal | None = None
    note: str = ""
    leads: str | None = None
    is_leader = Aggregate(Team, count="leaders", key={"team": "leads"})
    in_team = Aggregate(Team, count="people", sum={"hours": "hours"}, when=lambda one: one.active)


class Member(Person):
    """A subclass with a unique value of its own."""

    badge: Annotated[str | None, Unique()] = None


class Paper(Entity, table=teams, pk="PAPER#{name}", sk="P", versioned=True):
    """Versions, beside a unique value and a total."""

    name: str
    email: Annotated[str | None, Unique("mail")] = None
    team: str | None = None
    note: str = ""
    of_team = Aggregate(Team, count="papers", when=F.note != "left out")


class Box(Entity, table=app, pk="BOX#{box}", sk="B"):
    """A target that can be made of its key."""

    box: str
    label: str = ""
    parts: int = 0


class Part(Entity, table=app, pk="BOX#{box}", sk="PART#{number:03d}"):
    """Counted by its box."""

    box: str
    number: int = 1
    in_box = Aggregate(Box, count="parts")


class Crate(Box):
    """A target that has a total of its own besides that of its base."""

    lids: int = 0


class Lid(Entity, table=app, pk="BOX#{box}", sk="LID#{number:03d}"):
    """Counted by its crate."""

    box: str
    number: int = 1
    on_crate = Aggregate(Crate, count="lids")


class Shelf(Entity, table=bare, pk="SHELF#{shelf}", sk="INFO"):
    """A target without type and revision."""

    shelf: str
    label: str = ""
    books: int = 0


class Book(Entity, table=bare, pk="BOOK#{isbn}", sk="BOOK"):
    """Counted by its shelf."""

    isbn: str
    shelf: str = "a"
    title: str = ""
    on_shelf = Aggregate(Shelf, count="books")


# -- values in other forms ---------------------------------------------------------------------------------------------


@dataclass
class Size:
    """A part that is no model."""

    width: int = 1
    height: int = 1


class Parcel(Entity, table=app, pk="PARCEL#{name}", sk="P"):
    """A strict class, with values that are stored in another form."""

    model_config = ConfigDict(strict=True)

    name: str
    weight: int = 0
    size: Size = Size()
    labels: frozenset[str] = frozenset()
    sides: dict[str, Size] = {}  # noqa: RUF012
    level: Annotated[int, Attribute(encode=lambda level: {"S": str(level)}, decode=lambda one: one["S"])] = 1
