"""Classes of every kind that commands show: nested values, times, numbers, secrets, versions, unique values, totals."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, Field, SecretStr

from dynaorm import Aggregate, Entity, ExpiresAt, GlobalIndex, Index, Session, Table, Unique

desk: Final = Table("desk", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])
bare: Final = Table("bare-desk", pk="code", sk=None)


class Place(BaseModel):
    city: str
    street: str = ""


class Org(Entity, table=desk, pk="ORG#{org}", sk="ORG"):
    """A customer."""

    org: str
    name: str
    cases: int = 0


class Agent(Entity, table=desk, pk="AGENT#{agent}", sk="AGENT"):
    """Somebody who answers."""

    agent: str
    email: Annotated[str, Unique(normalize=str.casefold)]
    password: SecretStr | None = None
    place: Place | None = None
    balance: Decimal = Decimal(0)
    tags: frozenset[str] = frozenset()
    active: bool = True
    by_city = Index("GSI1", pk="CITY#{place.city}", sk="{agent}")


class Case(Entity, table=desk, pk="ORG#{org}", sk="CASE#{number:03d}"):
    """What a customer asks."""

    org: str
    number: int
    title: str
    status: str = "open"
    created: datetime
    due: date | None = None
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{created}")
    by_due = Index("GSI2", pk="DUE", sk="{due:%Y-%m-%d}")
    of_org = Aggregate(Org, count="cases")


class Guide(Entity, table=desk, pk="GUIDE#{slug}", sk="GUIDE", versioned=True):
    """A page of help."""

    slug: str
    title: str
    text: str = ""


class Login(Entity, table=desk, pk="LOGIN#{token}", sk="LOGIN"):
    """Its key is a secret."""

    token: str = Field(repr=False)
    agent: str
    until: Annotated[datetime | None, ExpiresAt()] = None


class Code(Entity, table=bare, pk="{code}"):
    """In a table without a sort key."""

    code: str
    used: int = 0


def fill(session: Session) -> None:
    """Store some entities of each class."""
    session.save(Org(org="acme", name="Acme Ltd"))
    liz = {"agent": "liz", "email": "Liz@x.com", "password": "hush", "tags": {"b", "a"}}
    session.save(Agent.model_validate({**liz, "place": {"city": "Oslo"}}))
    session.save(Agent(agent="bob", email="bob@x.com", balance=Decimal("12.50"), active=False))
    times = [
        datetime(2026, 1, 5, tzinfo=UTC),
        datetime(2026, 2, 7, 12, 30, tzinfo=UTC),
        datetime(2025, 12, 31, tzinfo=UTC),
    ]
    for number, created in enumerate(times, start=1):
        case = Case(org="acme", number=number, title=f"Case {number}", created=created)
        case.status = "closed" if number == 3 else "open"
        case.due = date(2026, 2, 1) if number == 1 else None
        session.save(case)
    guide = session.save(Guide(slug="first", title="First"))
    guide.text = "Begin here."
    session.save(guide)
    guide.title = "First steps"
    session.save(guide)
    session.save(Login(token="tok-1", agent="liz", until=datetime(2100, 1, 1, tzinfo=UTC)))
    session.save(Code(code="c1"))
