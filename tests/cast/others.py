"""Tables as other programs made them: without type or revision, with fields in keys alone, with guards of their own."""

from datetime import datetime
from typing import Annotated

from dynaorm import CreatedAt, Entity, ExpiresAt, Unique, UpdatedAt
from tests.cast.tables import bare, counted, fleeting, leases, untyped


class Loose(Entity, table=bare, pk="LOOSE#{name}", sk="L"):
    """Nothing stored says who wrote it."""

    name: str
    left: int = 0
    note: str | None = None


class Room(Entity, table=untyped, pk="HOUSE#{house}", sk="ROOM#{name}", unique={"door": ("house", "door")}):
    """Told by the shape of its keys, which alone hold two of its fields."""

    house: str
    name: str
    door: int
    size: int = 0


class Account(Entity, table=counted, pk="Account#{name}", sk="Account#", name="account"):
    """A revision that counts, and guards as OneTable writes them."""

    name: str
    balance: int = 0
    email: Annotated[str | None, Unique(pk="_unique#Account#email#{email}", sk="_unique#")] = None


class Savings(Account, name="savings", formerly=("Saving",)):
    """A subclass with a name of its own, which had another one."""

    rate: int = 1


class Spot(Entity, table=fleeting, pk="PLACE#{name}", sk="P"):
    """A class that does not expire, though a subclass of it does."""

    name: str
    visits: int = 0


class Lease(Entity, table=leases, pk="LEASE#{name}", sk="LEASE"):
    """Of a program that keeps milliseconds, and deletes by itself what is over."""

    name: str
    holder: Annotated[str | None, Unique()] = None
    until: Annotated[datetime | None, ExpiresAt(unit="ms")] = None


class Stall(Spot):
    """Gone after some time. The session keeps the times of its creation and its changes."""

    created: Annotated[datetime | None, CreatedAt()] = None
    changed: Annotated[datetime | None, UpdatedAt()] = None
    until: Annotated[datetime | None, ExpiresAt()] = None


class Thing(Entity, table=fleeting, pk="{thing}", sk="P"):
    """Its keys could be those of the others; the type attribute tells them apart."""

    thing: str
    visits: int = 0
