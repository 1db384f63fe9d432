"""The entities of the state machine, and a model in plain Python of what the table must hold."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from dynaorm import Entity, ExpiresAt, GlobalIndex, Index, Table, Unique, Versioned
from dynaorm.errors import AlreadyExists, DynaormError, StaleEntity, UniqueViolation
from dynaorm.item.value import Item

app = Table("machine", indexes=[GlobalIndex("GSI1")])


class User(Entity, table=app, pk="USER#{id}", sk="U", unique={"badge": ("tenant", "number")}):
    id: str
    email: Annotated[str | None, Unique(normalize=str.casefold)] = None
    handle: Annotated[str | None, Unique(scope=("tenant",))] = None
    desk: Annotated[str | None, Unique(when=lambda user: user.active)] = None
    tenant: str = "t"
    number: int | None = None
    active: bool = True
    team: str | None = None
    visits: int = 0
    by_team = Index("GSI1", pk="TEAM#{team}", sk="{id}")


class Document(Entity, table=app, pk="DOC#{id}", sk="D", versioned=True):
    id: str
    text: str = ""
    slug: Annotated[str | None, Unique()] = None


class Audit(Entity, table=app, pk="AUDIT#{id}", sk="D", versioned=True):
    id: str
    result: Annotated[str, Versioned()] = "new"
    note: str = ""


class Login(Entity, table=app, pk="LOGIN#{id}", sk="L"):
    id: str
    alias: Annotated[str | None, Unique()] = None
    hits: int = 0
    until: Annotated[datetime | None, ExpiresAt()] = None


PREFIX = {User: "USER", Document: "DOC", Audit: "AUDIT", Login: "LOGIN"}
POOLS: dict[type[Entity], dict[str, list[Any]]] = {
    User: {
        "email": ["a@x", "A@X", "b@x", "c@x", None],
        "handle": ["h", "i", None],
        "desk": ["d", None],
        "tenant": ["t", "u#%"],
        "number": [0, 1, None],
        "active": [True, False],
        "team": [None, "x", "y"],
        "visits": [0, 7],
    },
    Document: {"text": ["", "a", "b"], "slug": ["s", "r", None]},
    Audit: {"result": ["new", "good", "bad"], "note": ["", "n"]},
    Login: {"alias": ["a", "b", None], "hits": [0, 1], "until": [30, 100, 1000, None]},
}
NEW, OVER, ANY = -1, -2, -3

Ident: TypeAlias = tuple[type[Entity], str]
Values: TypeAlias = dict[str, Any]


@dataclass
class Record:
    """What is stored under one key. ``values`` is None for a tombstone; ``stamp`` counts the writes."""

    values: Values | None
    stamp: int
    number: int = 0
    versions: dict[int, Values] = field(default_factory=dict)


@dataclass
class Write:
    """A change of one record. ``base``: the stamp it was loaded at, or NEW (insert), OVER (replace), ANY (by key)."""

    ident: Ident
    values: Values | None
    base: int


def values_of(entity: Entity) -> Values:
    return dict(vars(entity))


def expiry(values: Values) -> int | None:
    until = values.get("until")
    return None if until is None else int(until.timestamp())


def guards_of(kind: type[Entity], values: Values) -> set[str]:
    tenant = values.get("tenant", "").replace("%", "%25").replace("#", "%23")
    claims = {
        "email": values.get("email") and f"email#{values['email'].casefold()}",
        "handle": values.get("handle") and f"handle#{tenant}#{values['handle']}",
        "desk": values.get("desk") and values["active"] and f"desk#{values['desk']}",
        "badge": values.get("number") is not None and f"badge#{tenant}#{values['number']}",
        "slug": values.get("slug") and f"slug#{values['slug']}",
        "alias": values.get("alias") and f"alias#{values['alias']}",
    }
    return {claim for claim in claims.values() if claim}


def sort_of(kind: type[Entity], number: int = 0) -> str:
    return f"v{number}_D" if kind in (Document, Audit) else {User: "U", Login: "L"}[kind]


def attributes(values: Values) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, datetime):
            found[name] = {"N": str(int(value.timestamp()))}
        elif value is not None:
            tag = "BOOL" if isinstance(value, bool) else "N" if isinstance(value, int) else "S"
            found[name] = {tag: str(value) if tag == "N" else value}
    return found


class Model:
    """All records, and the holder and expiry of each guard item."""

    def __init__(self) -> None:
        self.records: dict[Ident, Record] = {}
        self.guards: dict[str, tuple[Ident, int | None]] = {}
        self.stamps = 0

    def live(self, ident: Ident, now: float) -> Values | None:
        record = self.records.get(ident)
        if record is None or record.values is None:
            return None
        end = expiry(record.values)
        return None if end is not None and end <= now else record.values

    def _left(self, write: Write, now: float) -> set[str]:
        values = self.live(write.ident, now)
        return set() if values is None else guards_of(write.ident[0], values)

    def judge(self, writes: list[Write], now: float) -> type[DynaormError] | None:
        """The error with which these changes must be refused; None if they must succeed."""
        wrong: set[type[DynaormError]] = set()
        claims: dict[str, Ident] = {}
        for write in writes:
            record = self.records.get(write.ident)
            alive = self.live(write.ident, now) is not None
            if write.base >= 0 and (record is None or record.values is None or record.stamp != write.base):
                wrong.add(StaleEntity)
            if write.base == NEW and alive:
                wrong.add(AlreadyExists)
            for text in guards_of(write.ident[0], write.values) if write.values is not None else ():
                if text in claims:
                    return UniqueViolation
                claims[text] = write.ident
        given_up = {
            text for write in writes for text in self._left(write, now) if self.guards[text][0] == write.ident
        }
        for text, claimer in claims.items():
            holder, until = self.guards.get(text, (claimer, None))
            free = holder == claimer or text in given_up or (until is not None and until < int(now) - 60)
            if not free:
                wrong.add(UniqueViolation)
        return next((one for one in (StaleEntity, AlreadyExists, UniqueViolation) if one in wrong), None)

    def book(self, writes: list[Write], now: float) -> None:
        """Make the changes."""
        for write in writes:
            for text in self._left(write, now):
                if self.guards[text][0] == write.ident:
                    del self.guards[text]
        for write in writes:
            self.stamps += 1
            if write.values is not None:
                for text in guards_of(write.ident[0], write.values):
                    self.guards[text] = (write.ident, expiry(write.values))
            self._book_one(write)

    def _book_one(self, write: Write) -> None:
        kind = write.ident[0]
        old = self.records.get(write.ident) or Record(None, 0)
        if kind not in (Document, Audit):
            self.records.pop(write.ident, None)
            if write.values is not None:
                self.records[write.ident] = Record(write.values, self.stamps)
            return
        record = Record(write.values, self.stamps, old.number, old.versions)
        replaced = write.base in (NEW, OVER) or old.values is None
        if write.values is not None:
            kept = {"result": write.values["result"]} if kind is Audit else write.values
            if kind is Document or replaced or (old.values or {})["result"] != kept["result"]:
                record.number += 1
                record.versions[record.number] = kept
        self.records[write.ident] = record

    def table(self) -> dict[tuple[str, str], Item]:
        """Every item that must be stored, without revisions and the times of versions."""
        items: list[Item] = []
        for (kind, name), record in self.records.items():
            key = {"PK": {"S": f"{PREFIX[kind]}#{name}"}, "SK": {"S": sort_of(kind)}}
            number = {"version": {"N": str(record.number)}} if kind in (Document, Audit) else {}
            if record.values is None:
                items.append({**key, **number, "deleted": {"BOOL": True}})
            else:
                team = record.values.get("team")
                index = {"GSI1PK": {"S": f"TEAM#{team}"}, "GSI1SK": {"S": name}} if team else {}
                items.append(
                    {**key, **number, **index, "_type": {"S": kind.__name__}, **attributes(record.values)}
                )
            for one, values in record.versions.items():
                own = {"SK": {"S": sort_of(kind, one)}, "version": {"N": str(one)}}
                items.append({**key, **own, **attributes(values)})
        for text, ((kind, name), until) in self.guards.items():
            owner = {"PK": {"S": f"{PREFIX[kind]}#{name}"}, "SK": {"S": sort_of(kind)}}
            ttl = {} if until is None else {"until": {"N": str(until)}}
            items.append({"PK": {"S": text}, "SK": {"S": text}, "owner": {"M": owner}, **ttl})
        return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}
