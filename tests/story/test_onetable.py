"""Models of DynamoDB OneTable, stored exactly as OneTable stores them, with its items for unique values.

The models are those of OneTable's own overview sample and of its tests of unique attributes.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, Session, Table, Unique, codecs, tools
from tests.story.engine import Engine

table = Table(
    "OneTable",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex("gs1", pk="gs1pk", sk="gs1sk", projection="KEYS_ONLY")],
    type_attribute="_type",
    revision_attribute=None,
    escape=False,
)

Time = Annotated[datetime | None, Attribute(codec=codecs.ISO_MILLISECONDS)]


class User(Entity, table=table, pk="User#{name}", sk="User#"):
    name: str
    email: Annotated[str, Unique(pk="_unique#User#email#{email}", sk="_unique#")]
    phone: Annotated[str | None, Unique(pk="_unique#User#phone#{phone}", sk="_unique#")] = None
    age: int | None = None


class Product(Entity, table=table, pk="product#{id}", sk="product#"):
    id: str
    name: str
    price: Decimal
    by_name = Index("gs1", pk="product#", sk="product#{name}#{id}")


class Invoice(Entity, table=table, pk="account#{accountId}", sk="invoice#{id}"):
    accountId: str  # noqa: N815 - stored under this name
    id: str
    date: Annotated[datetime, Attribute(codec=codecs.ISO_MILLISECONDS)]
    count: int | None = None
    created: Time = None
    by_date = Index("gs1", pk="invoice#", sk="invoice#{date}#{id}")


def item(**values: Any) -> dict[str, Any]:
    return {name: value if isinstance(value, dict) else {"S": value} for name, value in values.items()}


PETER = item(pk="User#Peter Smith", sk="User#", _type="User", name="Peter Smith", email="peter@example.com")
EMAIL = item(pk="_unique#User#email#peter@example.com", sk="_unique#")
OWNER = {"owner": {"M": item(pk="User#Peter Smith", sk="User#")}}
BREAD = item(
    pk="product#P1",
    sk="product#",
    gs1pk="product#",
    gs1sk="product#Bread#P1",
    _type="Product",
    id="P1",
    name="Bread",
    price={"N": "2.5"},
)
INVOICE = item(
    pk="account#A1",
    sk="invoice#I1",
    gs1pk="invoice#",
    gs1sk="invoice#2024-05-01T12:30:00.123Z#I1",
    _type="Invoice",
    accountId="A1",
    id="I1",
    date="2024-05-01T12:30:00.123Z",
    count={"N": "3"},
    created="2024-05-01T12:30:00.999Z",
)


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(table)
    return engine.session()


@pytest.fixture
def filled(engine: Engine, session: Session) -> Session:
    """What OneTable stored."""
    for one in (PETER, EMAIL, BREAD, INVOICE):
        engine.put(table, **one)
    return session


def test_every_item_is_stored_as_onetable_stores_it(engine: Engine, session: Session) -> None:
    at = datetime(2024, 5, 1, 12, 30, 0, 123000, tzinfo=UTC)
    session.save(Product(id="P1", name="Bread", price=Decimal("2.5")))
    session.save(Invoice(accountId="A1", id="I1", date=at, count=3, created=at.replace(microsecond=999_000)))
    session.save(User(name="Peter Smith", email="peter@example.com"))
    assert engine.items(table) == [PETER, {**EMAIL, **OWNER}, INVOICE, BREAD]


# -- items for unique values -------------------------------------------------------------------------------------------


def test_verify_and_repair_know_the_items(engine: Engine, filled: Session) -> None:
    engine.remove(table, EMAIL["pk"]["S"], "_unique#")
    engine.put(table, **item(pk="_unique#User#phone#9", sk="_unique#"), owner=OWNER["owner"])
    found = sorted((finding.kind.value, finding.detail) for finding in tools.verify(filled, table))
    assert [kind for kind, _ in found] == ["missing guard", "orphan guard"]
    assert len([one for one in tools.repair(filled, table) if one.outcome.value == "repaired"]) == 2
    assert engine.items(table) == [PETER, {**EMAIL, **OWNER}, INVOICE, BREAD]
