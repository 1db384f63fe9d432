"""A shop as it was, and as it is declared now: constraints, an index, versions and totals came later."""

from decimal import Decimal
from typing import Annotated

from dynaorm import Aggregate, Entity, GlobalIndex, Index, Session, Table, Unique

# The table as it was, and as it is declared now, under one name.
before = Table("shop", indexes=[GlobalIndex("GSI1")])
now = Table("shop", indexes=[GlobalIndex("GSI1")])
untyped_before = Table("shop", indexes=[GlobalIndex("GSI1")], type_attribute=None, revision_attribute=None)
untyped = Table("shop", indexes=[GlobalIndex("GSI1")], type_attribute=None, revision_attribute=None)


class OldUser(Entity, table=before, pk="USER#{user_id}", sk="PROFILE", name="User"):
    user_id: str
    email: str
    nick: str | None = None
    team: str | None = None
    hours: Decimal = Decimal(0)


class OldPage(Entity, table=before, pk="PAGE#{number}", sk="TEXT", name="Page"):
    number: str
    slug: str
    text: str = ""


class Team(Entity, table=now, pk="TEAM#{team}", sk="INFO"):
    team: str
    members: int = 0
    hours: Decimal = Decimal(0)


class User(Entity, table=now, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    nick: Annotated[str | None, Unique()] = None
    team: str | None = None
    hours: Decimal = Decimal(0)
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{user_id}")
    in_team = Aggregate(Team, count="members", sum={"hours": "hours"})


class Page(Entity, table=now, pk="PAGE#{number}", sk="TEXT", versioned=True):
    number: str
    slug: Annotated[str, Unique()]
    text: str = ""


class OldNote(Entity, table=untyped_before, pk="NOTE#{number}", sk="TEXT"):
    number: str
    text: str = ""


class Note(Entity, table=untyped, pk="NOTE#{number}", sk="TEXT", versioned=True):
    number: str
    text: str = ""


def store(session: Session) -> None:
    session.create_table(before)
    fill(session)


def fill(session: Session) -> None:
    session.save(OldUser(user_id="1", email="Ann@x", team="a", hours=Decimal("1.5")))
    session.save(OldUser(user_id="2", email="bob@x", nick="bob", team="a", hours=Decimal(2)))
    session.save(OldUser(user_id="3", email="cyd@x", nick="bob"))
    for number in ("1", "2"):
        session.save(OldPage(number=number, slug=f"slug{number}", text=number))
