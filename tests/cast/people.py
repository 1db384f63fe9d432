"""People and their teams: unique values, an index, totals."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel

from dynaorm import Aggregate, CreatedAt, Entity, Index, Key, Unique, UpdatedAt
from tests.cast.tables import app, away


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    """Somebody with two unique values and a place in an index. Most tests of sessions need no more."""

    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    phone: Annotated[str | None, Unique()] = None
    name: str = ""
    team: str | None = None
    visits: int = 0
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{user_id}")


USER = Key(User, user_id="1")


class Staff(User):
    """A subclass under the same keys; only the type attribute tells the two apart."""

    desk: str = ""


class Plain(BaseModel):
    """No entity at all."""

    name: str


class Team(Entity, table=app, pk="TEAM#{team}", sk="T"):
    """The target of totals, with times that the session keeps."""

    team: str
    goal: int = 10
    members: int = 0
    hours: Decimal = Decimal(0)
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None


class Member(Entity, table=app, pk="MEMBER#{name}", sk="M"):
    """Counted and summed by its team, while it has one; its badge is unique in the team."""

    name: str
    team: str | None = None
    badge: Annotated[str | None, Unique(scope="team")] = None
    hours: Decimal | None = None
    in_team = Aggregate(Team, key={"team": "team"}, count="members", sum={"hours": "hours"}, restrict=True)


class Guest(Entity, table=away, pk="GUEST#{name}", sk="G"):
    """Its guards are in another table."""

    name: str
    nick: Annotated[str, Unique("called", shared=True)]


class Visitor(Entity, table=away, pk="VISITOR#{name}", sk="V"):
    """Shares the names of guests: nobody is called as one of them."""

    name: str
    nick: Annotated[str, Unique("called", shared=True)]


def a_user(user_id: str = "1", **changes: Any) -> User:
    """Somebody with an address of their own."""
    return User(**{"user_id": user_id, "email": f"{user_id}@x", **changes})
