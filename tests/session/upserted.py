"""The classes that the tests of upserts use."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, model_validator

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    Key,
    Table,
    Unique,
)
from dynaorm.flow.protocol.call import Transport
from dynaorm.item.value import Item
from tests.cast.seen import items

app = Table("upsert-app", indexes=[GlobalIndex("GSI1")])


class Place(BaseModel):
    city: str = ""


class Hits(Entity, table=app, pk="PAGE#{page}", sk="HITS"):
    page: str
    count: Annotated[int, Field(ge=0, le=10)] = 0
    least: int = 100
    seen: set[str] = Field(default_factory=set)
    owner: str | None = None
    made: list[int] = Field(default_factory=lambda: [7])
    place: Place | None = None
    by_kind = Index("GSI1", pk="HITS", sk="{page}")


class Tally(Entity, table=app, pk="TALLY#{name}", sk="T"):
    name: Annotated[str, AfterValidator(str.lower)]
    number: int


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    visits: int = 0


class Team(Entity, table=app, pk="TEAM#{team}", sk="T"):
    team: str
    goal: int = 10
    members: int = 0


class Member(Entity, table=app, pk="MEMBER#{name}", sk="M"):
    name: str
    team: str | None = None
    in_team = Aggregate(Team, key={"team": "team"}, count="members")


class Page(Entity, table=app, pk="TEXT#{name}", sk="TEXT", versioned=True):
    name: str
    text: str = ""


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T"):
    number: int
    status: str = "open"
    visits: int = 0
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")


class Lease(Entity, table=app, pk="LEASE#{name}", sk="L"):
    name: str
    uses: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


class Ruled(Entity, table=app, pk="RULED#{name}", sk="R"):
    name: str
    low: int = 0
    high: int = 10

    @model_validator(mode="after")
    def ordered(self) -> "Ruled":
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Animal(Entity, table=app, pk="ANIMAL#{name}", sk="A"):
    name: str
    legs: int = 4


class Bird(Animal):
    legs: int = 2


class Fish(Animal):
    fins: int = 2


ROOT = Key(Hits, page="/")


def stored(moto: Transport) -> dict[str, Item]:
    return items(moto, "upsert-app")
