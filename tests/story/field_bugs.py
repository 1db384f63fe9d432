"""Users and notes for the bugs of other libraries: in a table with types and revisions, and in one without."""

from typing import Annotated, Any, Final

from dynaorm import Entity, GlobalIndex, Index, Table, Unique

app: Final = Table("App", indexes=[GlobalIndex("GSI1")])
legacy: Final = Table("Legacy", type_attribute=None, revision_attribute=None)


class _User(Entity):
    user_id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    phone: Annotated[str | None, Unique()] = None
    city: str | None = None
    visits: int = 0


class User(_User, table=app, pk="USER#{user_id}", sk="PROFILE"):
    by_city = Index("GSI1", pk="CITY#{city}", sk="USER#{user_id}")


class LegacyUser(_User, table=legacy, pk="USER#{user_id}", sk="PROFILE"):
    pass


class _Note(Entity):
    note_id: str
    text: str = ""
    owner_mail: Annotated[str | None, Unique()] = None


class Note(_Note, table=app, pk="NOTE#{note_id}", sk="NOTE", versioned=True):
    pass


class LegacyNote(_Note, table=legacy, pk="NOTE#{note_id}", sk="NOTE", versioned=True):
    pass


def table_of(kind: Any) -> Table:
    """The table of a class of users or notes."""
    return legacy if kind in (LegacyUser, LegacyNote) else app
