"""A shop: plain counters, rules about values, and what is created by an upsert."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from dynaorm import AnyValue, Entity, ExpiresAt, Index, Key, Unique
from tests.cast.tables import app, fleeting


class Stock(Entity, table=app, pk="STOCK#{sku}", sk="S"):
    """Nothing follows from its number, so that an update by key is one request."""

    sku: str
    left: int = 0


class Place(BaseModel):
    city: str = ""
    street: str = ""
    notes: dict[str, AnyValue] = Field(default={})


class Hits(Entity, table=app, pk="PAGE#{page}", sk="HITS"):
    """Bounds of a number, defaults of all kinds, a model: what upserts start from."""

    page: str
    count: Annotated[int, Field(ge=0, le=10)] = 0
    least: int = 100
    seen: Annotated[set[str], Field(max_length=2)] = Field(default_factory=set)
    owner: str | None = None
    made: list[int] = Field(default_factory=lambda: [7])
    place: Place | None = None
    by_kind = Index("GSI1", pk="HITS", sk="{page}")


ROOT = Key(Hits, page="/")


class Bag(Entity, table=app, pk="BAG#{name}", sk="B"):
    """Holds anything, at any depth."""

    name: str
    extra: AnyValue = None
    parts: dict[str, AnyValue] = Field(default={})
    found: list[AnyValue] = Field(default=[])
    place: Place = Place()
    tags: set[str] | None = None
    steps: list[int] = Field(default=[])


class Login(Entity, table=fleeting, pk="LOGIN#{token}", sk="L"):
    """Expires, and its guard with it."""

    token: str
    alias: Annotated[str | None, Unique()] = None
    uses: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None
