"""What users write, for the type checkers: mypy --strict and pyright strict accept this file without a plugin.

It is never run. Each mistake that a checker must report has a ``type: ignore``: if a checker no longer reports the
mistake, it reports the unused comment.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, assert_type

from pydantic import BaseModel, Field, field_validator

from dynaorm import (
    Aggregate,
    AnyValue,
    AsyncSession,
    Attribute,
    BinaryKey,
    CreatedAt,
    Entity,
    ExpiresAt,
    F,
    GlobalIndex,
    Index,
    InKey,
    Key,
    LocalIndex,
    NumberKey,
    NumberRevision,
    Plan,
    Session,
    Table,
    Transaction,
    Unique,
    UpdatedAt,
    Version,
    Versioned,
    any_of,
    codecs,
    detached,
    inspect,
    new_ksuid,
    tools,
)
from dynaorm.description import Difference, Entry, TableDescription, answer_of, classify, describe
from dynaorm.entity.table import IndexOf
from dynaorm.export import cloudformation
from dynaorm.session import Page, Query, Results, Row
from tests.static.computed_code import Dated

app = Table(
    "app", indexes=[GlobalIndex("GSI1"), GlobalIndex("Regions", pk=("tenant", "region")), LocalIndex("LSI1")]
)
events = Table("events", pk=BinaryKey("digest"), sk=NumberKey("at"), guard_table=app, key_fields="in_key")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str = Field(default_factory=new_ksuid)
    user_name: Annotated[str, Unique()]
    email: Annotated[str, Unique(normalize=str.casefold, when=lambda user: user.email != "")]
    phone: Annotated[str | None, Unique(scope="user_name")] = None
    full_name: Annotated[str, Attribute("Name", formerly=("name",))]
    expires_at: Annotated[datetime | None, ExpiresAt()] = None


legacy = Table("legacy", pk="pk", sk=None, revision_attribute=NumberRevision("version"), escape=False)


class Legacy(Entity, table=legacy, pk="item#{id}", formerly=("Old",)):
    id: str
    email: Annotated[str, Unique(pk="_unique#email#{email}")]
    at: Annotated[datetime | None, Attribute("createdAt", codec=codecs.ISO_MILLISECONDS)] = None
    extra: dict[str, AnyValue] = Field(default_factory=dict)


class Audit(Entity, table=app, pk="EQUIPMENT#{equipment_id}", sk="Audit", versioned=True, version_padding=4):
    equipment_id: str
    result: Annotated[str, Versioned()]


class Ticket(
    Entity,
    table=app,
    pk="PROJECT#{project}",
    sk="TICKET#{number:06d}",
    name="ticket",
    unique={"project_slug": ("project", "slug"), "title": "title"},
):
    project: Annotated[str, InKey()]
    number: int
    slug: str
    title: str = ""
    by_status = Index("GSI1", pk="STATUS#{slug}#{number:shard8}", sk="{title}")
    by_region: ClassVar = Index("Regions", pk=("{project}", "{slug}"), sk="{title}")

    @field_validator("slug")
    @classmethod
    def check(cls, value: str) -> str:
        return value

    @property
    def label(self) -> str:
        return f"{self.project}-{self.number}"


class Bug(Ticket, unique={"crash": ("slug",)}):
    severity: int = 1


class Point(Entity, table=app, pk="POINT#{name}", sk="A", frozen=True):
    name: str
    x: Decimal


class Project(Entity, table=app, pk="PROJECT#{project}", sk="TOTALS"):
    project: str
    stars: int = 0


class Star(Entity, table=app, pk="STAR#{user}", sk="STAR#{given_to}"):
    user: str
    given_to: str
    weight: int = 1
    counted = Aggregate(
        Project, sum={"weight": "stars"}, key={"project": "given_to"}, when=lambda star: star.weight > 0
    )


class Address(BaseModel):
    city: str


class Monthly(Entity, table=app, pk="MONTHLY#{month}", sk="TOTAL"):
    month: str
    sales: int = 0


class Sale(Dated, table=app, pk="SALE#{sale_id}", sk="SALE", unique={"slot": ("address.city", "month")}):
    sale_id: str
    address: Address
    status: str = "open"
    notes: Annotated[dict[str, Any], Attribute(codec=codecs.PYNAMODB_JSON)] = Field(default_factory=dict)
    email: Annotated[str, Unique("buyer", when=F.status == "open")] = ""
    created: Annotated[datetime | None, CreatedAt()] = None
    updated: Annotated[datetime | None, UpdatedAt()] = None
    in_month = Aggregate(Monthly, count="sales", when=F.status == "open", restrict=True)
    open_ones = Index("GSI1", pk="MONTH#{month}", sk="{address.city}", when=F.status == "open")
    closed_ones = Index(
        "GSI1", pk="MONTH#{month}", sk="CLOSED#{at!s}", when=lambda sale: sale.status == "closed"
    )


class TicketOut(Ticket, table=None):
    pass


class UserPatch(BaseModel):
    full_name: str | None = None


def declarations() -> None:
    user = User(user_name="bo", email="bo@example.com", full_name="Bo")
    assert_type(user.phone, str | None)
    assert_type(user.expires_at, datetime | None)
    assert_type(Ticket.by_status, IndexOf[Ticket])
    assert_type(Star.counted, Aggregate)
    assert_type(Star(user="u", given_to="p").counted, Aggregate)
    assert_type(detached(user, email="x"), User)
    assert_type(user.model_copy(update=UserPatch().model_dump(exclude_unset=True)), User)
    assert_type(Bug(project="p", number=1, slug="s").severity, int)
    assert_type(TicketOut(project="p", number=1, slug="s").label, str)
    assert_type(Key(User, user_id="u1"), Key[User])
    assert_type(inspect(user).revision, str | None)
    assert_type(inspect(user).changes, Mapping[str, tuple[Any, Any]])


def mistakes(session: Session) -> None:
    from dynaorm import Sesion  # type: ignore[attr-defined]  # noqa: F401, PLC0415 - a name that does not exist
    from dynaorm.testing import Clok  # type: ignore[attr-defined]  # noqa: F401, PLC0415 - likewise

    User(user_name="bo", email="bo@example.com")  # type: ignore[call-arg]
    User(user_name="bo", email="bo@example.com", full_name=5)  # type: ignore[arg-type]
    Point(name="p", x=Decimal(1)).x = Decimal(2)  # type: ignore[misc]
    session.get(Key(User, user_id="u1"), verison=1)  # type: ignore[call-overload]
    session.save(None)  # type: ignore[type-var]
    session.save(session.get(User, user_id="u1"))  # type: ignore[type-var]  # it may be None
    session.query(str)  # type: ignore[type-var]
    session.save_many([1])  # type: ignore[type-var]
    session.get_one(User, user_id="u1").full_nmae  # type: ignore[attr-defined]  # noqa: B018
    session.update(Key(User, user_id="u1"), "full_name")  # type: ignore[call-overload]
    session.save(User(user_name="b", email="e", full_name="f"), F.visits < 10)  # type: ignore[call-arg]


def reading(session: Session) -> None:
    key = Key(Audit, equipment_id="1")
    assert_type(session.get(User, user_id="u1"), User | None)
    assert_type(session.get(key, version=2, consistent=True), Audit | None)
    assert_type(session.get(key, as_of=datetime(2024, 1, 1, tzinfo=UTC)), Audit | None)
    assert_type(session.get_one(User, user_id="u1"), User)
    assert_type(session.get_one(key), Audit)
    assert_type(session.get_by(User, email="Bobby@Example.com"), User | None)
    assert_type(session.exists(User, user_id="u1"), bool)
    assert_type(session.exists(key, consistent=True), bool)
    assert_type(session.refresh(Audit(equipment_id="1", result="ok")), Audit)


def asking(session: Session) -> None:
    query = session.query(Ticket, project="p").ge(number=1).descending().limit(5).filter(F.slug == "s")
    assert_type(query, Query[Ticket])
    assert_type(query.all(), Results[Ticket])
    assert_type(query.first(), Ticket | None)
    assert_type(query.one(), Ticket)
    assert_type(query.page(5), Page[Ticket])
    assert_type(query.keys().all(), Results[Key[Ticket]])
    assert_type(session.query(Ticket.by_status, status=any_of("open", "closed")), Query[Ticket])
    assert_type(list(session.scan(Ticket, segments=4)), list[Ticket])
    collection = session.collection(Ticket, Bug, project="p")
    assert_type(collection.split(), tuple[list[Ticket], list[Bug]])
    assert_type(session.get_many([Key(User, user_id="1")]), list[User | None])
    assert_type(session.snapshot([Key(User, user_id="1")]), list[User | None])
    assert_type(query.values("project", "slug").all(), Results[Row])
    for row in query.values("project"):
        text: str = row.project
        assert_type(row, Row)
        assert_type((text, row[0]), tuple[str, Any])
    assert_type(query.page(5, before=query.page(5).previous), Page[Ticket])
    assert_type(query.explain(), str)


async def asking_asynchronously(session: AsyncSession) -> None:
    query = session.query(Ticket, project="p").descending()
    assert_type(await query.all(), Results[Ticket])
    assert_type([ticket async for ticket in query], list[Ticket])
    assert_type(await session.get(User, user_id="1"), User | None)
    tickets, bugs = await session.collection(Ticket, Bug, project="p").split()
    assert_type((tickets, bugs), tuple[list[Ticket], list[Bug]])


def computed(session: Session, sale: Sale) -> None:
    assert_type(sale.month, str)
    assert_type(session.get_by(Sale, **{"address.city": "Oslo", "month": "2024-01"}), Sale | None)
    found = session.query(Sale.open_ones, month="2024-01").filter(F.month == "2024-01")
    assert_type(found, Query[Sale])
    assert_type(found.values("email", "month"), Query[Row])
    session.delete_table(app, name="app")


def described(session: Session, item: Mapping[str, Any]) -> None:
    description = describe(app)
    assert_type(description, TableDescription)
    entry = classify(item, app)
    assert_type(entry, Entry)
    assert_type(answer_of(description.questions[0], entry, [entry]), tuple[Entry, ...])
    assert_type(tools.compare_table(session, app), tuple[Difference, ...])
    assert_type(cloudformation(description), dict[str, Any])


def writing(session: Session, user: User) -> None:
    assert_type(session.save(user), User)
    assert_type(session.save(user, overwrite=True), User)
    assert_type(session.save(user, condition=(F.visits < 10) & F.nick.missing()), User)
    changed = session.update(
        Key(User, user_id="u1"), F.visits.add(1), F.nick.set("b"), condition=F.visits < 10
    )
    assert_type(changed, User)
    assert_type(session.update(user, {"full_name": "B", "phone": None}, exactly_once=True), User)
    assert_type(session.upsert(Key(User, user_id="u1"), F.visits.add(1), {"nick": "b"}), User)
    assert_type(session.save_many([user], per_transaction=25), list[User])
    session.delete_many([user, Key(User, user_id="u1")], per_transaction=25)
    assert_type(session.move(user), User)
    assert_type(session.plan(user), Plan)
    assert_type(session.resume(session.plan(user)), bool)
    session.delete(user)
    session.delete(Key(User, user_id="u1"), condition=F.visits == 0)


def versions(session: Session, audit: Audit) -> None:
    assert_type(session.history(audit), Iterator[Version[Audit]])
    assert_type(session.history(Key(Audit, equipment_id="1")), Iterator[Version[Audit]])
    for version in session.history(audit):
        assert_type(version.number, int)
        assert_type(version.at, datetime)
        assert_type(version.entity, Audit | None)
    assert_type(session.diff(audit, 1, 3), dict[str, tuple[Any, Any]])
    assert_type(session.restore(audit, version=1), Audit)
    assert_type(session.restore(Key(Audit, equipment_id="1"), version=1), Audit)
    assert_type(tools.prune(session, audit, keep=10), int)
    assert_type(tools.purge(session, audit), int)


def units_of_work(session: Session, user: User, audit: Audit) -> None:
    with session.transaction(token="TRANSACTION1") as tx:
        assert_type(tx, Transaction)
        tx.save(user)
        tx.update(Key(User, user_id="u2"), F.left.add(-1), condition=F.left >= 1)
        tx.upsert(Key(User, user_id="u3"), F.visits.add(1))
        tx.delete(audit)
        tx.check(user, F.balance >= 100)
        tx.on_commit(lambda: None)

    def work(tx: Transaction) -> int:
        tx.save(user)
        return 5

    assert_type(session.run(work, attempts=3), int)
    assert_type(session.plan_of(work), Plan)
    assert_type(session.plan_of(lambda tx: tx.delete(user)), Plan)
