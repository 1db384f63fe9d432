"""The entities that several of the fault tests share."""

from typing import Annotated, Final

from dynaorm import Entity, Key, Retry, Table, Unique

app: Final = Table("App")


class Account(Entity, table=app, pk="ACCOUNT#{name}", sk="ACCOUNT"):
    name: str
    city: str = "Bern"
    visits: int = 0
    tags: frozenset[str] = frozenset()


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique()] = None
    full_name: str = ""


class Page(Entity, table=app, pk="PAGE#{name}", sk="TEXT", versioned=True):
    name: str
    text: str


LIZ: Final = Key(Account, name="liz")
NINE_MINUTES: Final = 540.0
ONE_TRY: Final = Retry(attempts=1)
FOREVER: Final = 1000


def taken(user_id: str, *values: str) -> list[str]:
    """The keys of a user and of the guard items of its values, in order."""
    return sorted([f"USER#{user_id} PROFILE", *(f"{value} {value}" for value in values)])
