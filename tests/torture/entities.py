"""The entities of the torture test: a few classes, and small pools of keys and values for which the processes compete.

Every name and value contains the epoch in which it is used (``"3-1"``, ``"a@3"``). A new epoch begins with nothing
stored, so that the history of each entity stays short enough for the search.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from dynaorm import Aggregate, Entity, ExpiresAt, GlobalIndex, Index, Key, Table, Unique

app = Table("torture", indexes=[GlobalIndex("GSI1")])
loose = Table("torture-loose", revision_attribute=None)

leases = Table("torture-leases")

TABLES: Final = {app: "", loose: "-loose", leases: "-leases"}
"""The tables, and what the name of each ends with."""


class User(Entity, table=app, pk="USER#{id}", sk="PROFILE"):
    id: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique()] = None
    nick: Annotated[str | None, Unique(scope="team")] = None
    team: str | None = None
    name: str = ""
    visits: int = 0
    by_team = Index("GSI1", pk="TEAM#{team}", sk="NAME#{name}")


class Document(Entity, table=app, pk="DOC#{id}", sk="TEXT", versioned=True):
    id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None


class Parcel(Entity, table=app, pk="SHELF#{shelf}", sk="PLACE#{place}"):
    shelf: str
    place: str
    label: Annotated[str | None, Unique()] = None
    weight: int = 0


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    name: str = ""
    members: int = 0
    hours: int = 0


class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="USER#{user_id}"):
    group_id: str
    user_id: str
    hours: int = 0
    active: bool = True
    badge: Annotated[str | None, Unique()] = None
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"}, when=lambda one: one.active)


class Note(Entity, table=app, pk="NOTE#{id}", sk="NOTE"):
    id: str
    text: str = ""
    seen: int = 0


class Memo(Note):
    """A note of another class, under the same keys."""

    topic: str = ""


class Loose(Entity, table=loose, pk="LOOSE#{id}", sk="LOOSE"):
    """Nothing that is stored says who wrote it."""

    id: str
    text: str = ""
    seen: int = 0


class Lease(Entity, table=leases, pk="LEASE#{id}", sk="LEASE"):
    """Absent from a time on, although it may still be stored."""

    id: str
    text: str = ""
    until: Annotated[datetime, ExpiresAt()]


class Till(Entity, table=app, pk="TILL#{id}", sk="TILL"):
    """How often the block of a token was applied. Only this block counts in it."""

    id: str
    runs: int = 0
    note: str = ""


class Purse(Entity, table=app, pk="PURSE#{id}", sk="PURSE"):
    """The sum of the tills of an epoch."""

    id: str
    total: int = 0
    note: str = ""


class Receipt(Entity, table=app, pk="RECEIPT#{id}", sk="RECEIPT"):
    """What the block of a token inserts, and others delete."""

    id: str
    amount: int


CLASSES: Final[dict[str, type[Any]]] = {
    one.__name__: one for one in (User, Document, Parcel, Group, Membership, Note, Loose, Lease)
}
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "User": ("id",),
    "Document": ("id",),
    "Parcel": ("shelf", "place"),
    "Group": ("group_id",),
    "Membership": ("group_id", "user_id"),
    "Note": ("id",),
    "Loose": ("id",),
    "Lease": ("id",),
}
SUBCLASSES: Final = {"Memo": "Note"}
"""A subclass has the keys of its base."""
UNIQUE: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "User": {"email": ("email",), "phone": ("phone",), "nick": ("team", "nick")},
    "Document": {"slug": ("slug",)},
    "Parcel": {"label": ("label",)},
    "Membership": {"badge": ("badge",)},
    "Group": {},
    "Note": {},
    "Loose": {},
    "Lease": {},
}
VERSIONED: Final = "Document"
EXPIRING: Final = "Lease"
WITHOUT_REVISION: Final = "Loose"
CLASS: Final = "class"
"""Among the values of an entity, the name of its class, if it is one of a family."""

NAMES: Final = ("n", "o", "p", "q")
USERS: Final = ("1", "2", "3")
EMAILS: Final = ("a", "A", "b", "c", "d")
PHONES: Final = ("1", "2", None)
NICKS: Final = ("x", "y", None)
TEAMS: Final = ("red", "blue", None)
DOCUMENTS: Final = ("1", "2", "3")
PURGED: Final = ("3",)
"""The documents that are purged. They are not restored: after a purge a number can be that of another version."""
SLUGS: Final = ("s", "t", None)
SHELVES: Final = ("a", "b")
PLACES: Final = ("1", "2")
LABELS: Final = ("l", "m", None)
GROUPS: Final = ("g", "h")
MEMBERS: Final = ("1", "2")
BADGES: Final = ("p", "q", None)
NOTES: Final = ("1", "2", "3")
TOKENS: Final = ("1", "2", "3", "4", "5", "6", "7", "8")
FOR_AN_HOUR: Final = frozenset("1234")
AMOUNTS: Final = (1, 100)


def name_of(kind: str, fields: Mapping[str, Any]) -> str:
    """The name of an entity in journals and evidence: ``"Membership 3-g/1"``."""
    return f"{kind} {'/'.join(str(fields[name]) for name in KEYS[kind])}"


def name_of_entity(entity: Entity) -> str:
    return name_of(base_of(type(entity).__name__), vars(entity))


def name_of_key(key: Any) -> str:
    return name_of(base_of(key.entity.__name__), key.fields)


def base_of(kind: str) -> str:
    """The class whose keys a class has."""
    return SUBCLASSES.get(kind, kind)


def kind_of(name: str) -> str:
    return name.partition(" ")[0]


def fields_of(name: str) -> dict[str, str]:
    """The key fields in a name."""
    kind, _, values = name.partition(" ")
    return dict(zip(KEYS[kind], values.split("/"), strict=True))


def created_by_key(name: str) -> dict[str, Any]:
    """The fields of a note that is created of its key and the defaults."""
    return {**fields_of(name), "text": "", "seen": 0} | ({CLASS: "Note"} if kind_of(name) == "Note" else {})


def key_of(name: str) -> Key[Any]:
    return Key(CLASSES[kind_of(name)], **fields_of(name))


def family_of(name: str) -> tuple[str, str]:
    """The family of an entity, a kind and an epoch: its entities can be written together, or claim the same values."""
    kind, _, values = name.partition(" ")
    return "Group" if kind == "Membership" else kind, values.partition("-")[0]


def shown(entity: Entity) -> dict[str, Any]:
    """The fields of an entity that are stored: those that are not None. Of a family, its class, too.

    Times are epoch seconds, as they are stored.
    """
    found = {
        name: int(value.timestamp()) if isinstance(value, datetime) else value
        for name, value in vars(entity).items()
        if value is not None
    }
    return found | {CLASS: type(entity).__name__} if isinstance(entity, Note) else found


def claims(kind: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The unique values of an entity: constraint to the text of the guard's key. None claims nothing."""
    found: dict[str, str] = {}
    for constraint, fields in UNIQUE[kind].items():
        parts = [values.get(name) for name in fields]
        if None not in parts:
            text = "#".join([constraint, *map(str, parts)])
            found[constraint] = text.casefold() if constraint == "email" else text
    return found
