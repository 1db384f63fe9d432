"""A cast with everything that has to fit together, stored healthy, and raw writes to do damage to it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator

from dynaorm import (
    Aggregate,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    InKey,
    LocalIndex,
    NumberKey,
    Session,
    Table,
    Unique,
    Versioned,
)
from dynaorm.flow.integrity.finding import FindingKind
from dynaorm.flow.windows import windows
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, Reply, Transport
from tests.dynamodb_json import Item

app = Table("zoo", indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1")])
keepers = Table("zoo-guards", pk="Guard", sk=None)
far = Table("zoo-far", pk="Owner", sk=NumberKey("Number"), guard_table=keepers, type_attribute=None)
plain = Table("zoo-plain", type_attribute=None, revision_attribute=None)
TABLES = (app, keepers, far, plain)

# In the future of the engines, too: ministack deletes what has expired by its own clock.
TODAY = datetime(2100, 1, 1, tzinfo=UTC)
TOMORROW = TODAY + timedelta(days=1)


def clock() -> FakeClock:
    """The time of every session; waiting takes none."""
    return FakeClock(TODAY.timestamp(), jitter=0.0)


def epoch(hours: float) -> dict[str, str]:
    """A time so many hours from now, as stored."""
    return {"N": str(int((TODAY + timedelta(hours=hours)).timestamp()))}


class Group(Entity, table=app, pk="GROUP#{group_id}", sk="INFO"):
    group_id: str
    title: str = "a group"
    members: int = 0
    hours: Decimal = Decimal(0)


class Member(Entity, table=app, pk="GROUP#{group_id}", sk="MEMBER#{name}"):
    group_id: str
    name: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    phone: Annotated[str | None, Unique(scope=("group_id",))] = None
    status: Annotated[str, AfterValidator(str.lower)] = "new"
    hours: Decimal | None = None
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{name}")
    by_hours = Index("LSI1", sk="HOURS#{hours!s}")
    in_group = Aggregate(Group, count="members", sum={"hours": "hours"})


class Book(Entity, table=app, pk="BOOK#{isbn}", sk="TEXT", versioned=True):
    isbn: str
    slug: Annotated[str, Unique()]
    text: str = ""


class Page(Entity, table=app, pk="PAGE#{number}", sk="PAGE", versioned="r_{version}_{sk}", version_padding=3):
    number: str
    text: Annotated[str, Versioned()] = ""
    views: int = 0


class Voucher(Entity, table=app, pk="VOUCHER#{voucher_id}", sk="VOUCHER"):
    voucher_id: str
    code: Annotated[str, Unique()]
    ends: Annotated[datetime | None, ExpiresAt()] = None


class Device(Entity, table=far, pk="{owner}", sk="{number}"):
    owner: str
    number: int
    serial: Annotated[str, Unique()]


class Room(Entity, table=plain, pk="HOUSE#{house}", sk="ROOM#{name}", unique={"door": ("house", "door")}):
    house: Annotated[str, InKey()]
    name: Annotated[str, InKey()]
    door: int
    size: int = 0


def populate(session: Session) -> None:
    """Everything as it should be."""
    for group in ("red", "blue"):
        session.save(Group(group_id=group))
    for number, name in enumerate(("ann", "bob", "cyd", "dan")):
        group = "red" if number < 3 else "blue"
        phone, hours = (None, None) if name == "cyd" else (str(number), Decimal(number) / 4)
        session.save(Member(group_id=group, name=name, email=f"{name.title()}@x", phone=phone, hours=hours))
    for isbn in ("1", "2"):
        book = session.save(Book(isbn=isbn, slug=f"slug{isbn}"))
        for text in ("a", "b", "c"):
            book.text = text
            session.save(book)
    gone = session.save(Book(isbn="gone", slug="gone"))
    session.delete(gone)
    page = session.save(Page(number="1"))
    page.text = "second"
    session.save(page)
    page.views = 7
    session.save(page)
    session.save(Voucher(voucher_id="1", code="c1", ends=TOMORROW))
    session.save(Voucher(voucher_id="2", code="c2"))
    for number in (1, 2):
        session.save(Device(owner="o", number=number, serial=f"s{number}"))
    for name, door in (("hall", 1), ("attic", 2)):
        session.save(Room(house="h", name=name, door=door))


_SAVED: dict[str, list[dict[str, Any]]] = {}


class _Before:
    """A transport that lets somebody come first, once."""

    def __init__(self, inner: Transport, operation: str, work: Callable[[], object], naming: str) -> None:
        self._inner = inner
        self._operation = operation
        self._naming = naming
        self._work: Callable[[], object] | None = work

    def call(self, call: Call, /) -> Reply:
        work = self._work
        if work is not None and call.operation == self._operation and self._naming in repr(call.request):
            self._work = None
            work()
        return self._inner.call(call)


class Raw:
    """AWS's own client for the tables of one engine, and a session on them."""

    def __init__(self, client: Any, name: Callable[[str], str], transport: Transport) -> None:
        self.client = client
        self.name = name
        self.transport = transport
        self.session = self.opened()

    def opened(self) -> Session:
        """Another session on the same tables."""
        return Session(transport=self.transport, table_names=self.name, clock=clock())

    def session_before(self, operation: str, work: Callable[[], object], *, naming: str = "") -> Session:
        """A session that does something just before its first call of a kind whose request names a text."""
        return Session(
            transport=_Before(self.transport, operation, work, naming),
            table_names=self.name,
            clock=clock(),
        )

    def create(self, *tables: Table) -> None:
        for table in tables:
            self.session.create_table(table)

    def fill(self) -> None:
        """Everything as it should be: saved once, and after that stored as it was saved."""
        if not _SAVED:
            populate(self.session)
            _SAVED.update(self.items(*TABLES))
            return
        puts = [
            (self.name(name), {"PutRequest": {"Item": item}})
            for name, items in _SAVED.items()
            for item in items
        ]
        for some in windows(puts, 25):
            requests: dict[str, list[Any]] = {}
            for name, put in some:
                requests.setdefault(name, []).append(put)
            assert not self.client.batch_write_item(RequestItems=requests)["UnprocessedItems"]

    def items(self, *tables: Table) -> dict[str, list[dict[str, Any]]]:
        """Every item of some tables exactly as stored, in the order of their keys."""
        found = {}
        for table in tables:
            items = self.client.scan(TableName=self.name(table.name), ConsistentRead=True)["Items"]
            found[table.name] = sorted(items, key=lambda item: [str(item[one]) for one in table.key_names])
        return found

    def get(self, table: Table, key: Item) -> dict[str, Any]:
        found = self.client.get_item(TableName=self.name(table.name), Key=key, ConsistentRead=True)
        item: dict[str, Any] = found["Item"]
        return item

    def put(self, table: Table, key: Item, **attributes: Any) -> None:
        self.client.put_item(TableName=self.name(table.name), Item={**key, **attributes})

    def delete(self, table: Table, key: Item) -> None:
        self.client.delete_item(TableName=self.name(table.name), Key=key)

    def change(self, table: Table, key: Item, /, **attributes: Any) -> None:
        """Set attributes of an item; None removes one."""
        item = {**self.get(table, key), **attributes}
        self.put(table, {name: value for name, value in item.items() if value is not None})


def text(value: str) -> dict[str, str]:
    return {"S": value}


def key_of(partition: str, sort: str | None = None) -> dict[str, Any]:
    """A key of the table ``app``; of a guard item without ``sort``."""
    return {"PK": text(partition), "SK": text(sort or partition)}


def member(name: str) -> dict[str, Any]:
    return key_of("GROUP#blue" if name == "dan" else "GROUP#red", f"MEMBER#{name}")


Found = tuple[FindingKind, str, str]
"""A finding as a test names it: its kind, table, and the contents of its key."""


@dataclass(frozen=True)
class Damage:
    """One raw write that breaks something.

    Attributes:
        name: what it does.
        do: does it.
        found: what verify must find, and nothing else.
        mends: ``repair`` mends it.
        touches: the items it concerns, by a word: two damages that concern one are not done together.
    """

    name: str
    do: Callable[[Raw], object]
    found: frozenset[Found]
    mends: bool
    touches: frozenset[str]


def guard(name: str) -> str:
    return f"{name} {name}"
