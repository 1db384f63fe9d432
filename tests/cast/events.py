"""Events and readings: times, computed and nested fields, and keys of every type."""

from datetime import date, datetime
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, JsonValue, computed_field

from dynaorm import Attribute, CreatedAt, Entity, ExpiresAt, F, Index, InKey, Unique, UpdatedAt, codecs
from tests.cast.tables import app, blobs, log, native


class Note(Entity, table=app, pk="NOTE#{note}", sk="N"):
    """Times that the session keeps, and a place in an index while it has a kind."""

    note: str
    text: str = ""
    kind: str | None = None
    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{note}", when=F.kind != "draft")
    latest = Index("GSI2", pk="LATEST", sk="{changed}")
    of_day = Index("LSI1", sk="{created:%Y-%m-%d}")


class Event(Entity, table=app, pk="MONTH#{month}", sk="EVENT#{event_id}"):
    """Its partition key is computed; so is a key of its index, once, by a cached property."""

    event_id: str
    at: datetime
    score: int = 0
    note: str = ""
    by_rank = Index("GSI1", pk="RANKS", sk="{rank}#{event_id}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def month(self) -> str:
        return f"{self.at:%Y-%m}"

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @cached_property
    def rank(self) -> str | None:
        return None if self.score < 0 else "gold" if self.score >= 10 else "tin"


class Upload(Entity, table=app, pk="EVENT#{event_id}", sk="E"):
    """Loaded by the thousand: any data, a sparse index, a time to live."""

    event_id: str
    kind: str | None = None
    data: JsonValue = None
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_kind = Index("GSI1", pk="UPLOADS#{kind}#{event_id:shard2}", sk="{event_id}")


class Mark(Entity, table=app, pk="EVENT#{event_id}", sk="MARK#{name}", frozen=True):
    """Frozen, beside an upload."""

    event_id: str
    name: str
    text: str = ""


class Address(BaseModel):
    city: str
    street: str = ""


class Store(
    Entity, table=app, pk="STORE#{store_id}", sk="STORE", unique={"corner": ("address.city", "name")}
):
    """Found by parts of its address, and unique by one."""

    store_id: str
    address: Address | None = None
    name: str | None = None
    note: str = ""
    by_city = Index("GSI1", pk="CITY#{address.city:casefold}", sk="{store_id}")
    by_street = Index("GSI2", pk="STREETS", sk="{address.city:upper}#{address.street}")


class Entry(Entity, table=log, pk="{source}", sk="{at}"):
    """A number is its sort key; a key of an index is an attribute of its own, as another library writes times."""

    source: str
    at: int
    kind: str | None = None
    text: str = ""
    at_text: Annotated[datetime | None, Attribute(codec=codecs.ISO_MILLISECONDS)] = None
    by_time = Index("ByTime")


class Blob(Entity, table=blobs, pk="{owner}", sk="{digest}"):
    """Bytes are its sort key. Its index has a number as key."""

    owner: str
    digest: bytes
    size: int | None = None
    by_size = Index("BySize", sk="{size}")


def written(day: date) -> dict[str, str]:
    return {"S": f"{day:%d.%m.%Y}"}


class Shop(Entity, table=native, pk="SHOP#{number:05d}", sk="{tenant:raw}#"):
    """Keys of several attributes in an index; a field in the key alone; a value in a form of its own."""

    number: Annotated[int, InKey()]
    tenant: str
    region: str | None = None
    city: str | None = None
    opened: Annotated[
        date | None,
        Attribute(encode=written, decode=lambda it: datetime.strptime(it["S"], "%d.%m.%Y").date()),  # noqa: DTZ007
    ] = None
    in_region = Index("Regions", pk=("{tenant}", "{region}"), sk=("{city}", "{number}"))
    # A value of the tenant is unique in it, whatever its case.
    code: Annotated[str | None, Unique(scope=("tenant",), normalize=str.casefold)] = None
