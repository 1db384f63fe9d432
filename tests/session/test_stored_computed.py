"""``Stored()``: computed fields that are kept as attributes, for the program that owns the table."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, computed_field

from dynaorm import Computed, Entity, F, Key, Session, Stored, Table, item_of
from dynaorm.description import classify, describe
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Transport
from tests.cast.seen import items, operations

carts = Table("carts")
plain = Table("plain-carts", type_attribute=None, revision_attribute=None)


class Cart(Entity, table=carts, pk="CART#{id}", sk="CART", versioned=True):
    """Two computed fields are kept, one of them under another name."""

    id: str
    prices: list[Decimal] = Field(default_factory=list)
    note: str | None = None
    visits: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> Annotated[Decimal, Stored(), Computed(of="prices")]:
        return sum(self.prices, Decimal(0))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def first(self) -> Annotated[str | None, Stored("firstLetter"), Computed(of="note")]:
        if self.note == "broken":
            raise ValueError("no letter")
        return self.note and self.note[0]


class Basket(Entity, table=plain, pk="CART#{id}", sk="CART"):
    """Without a revision, and the function may look at every field."""

    id: str
    count: int = 0
    visits: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> Annotated[int, Stored()]:
        return 2 * self.count


class Vault(Entity, table=plain, pk="VAULT#{id}", sk="VAULT"):
    id: str
    pin: Annotated[str, Field(repr=False)]

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def ends(self) -> Annotated[str, Stored(), Computed(of="pin")]:
        return self.pin[-2:]


def kept(transport: Transport, key: str = "CART#1 v0_CART", table: Table = carts) -> list[Any]:
    item = items(transport, table)[key]
    return [
        next(iter(item[name].values()), None) if name in item else None for name in ("total", "firstLetter")
    ]


def test_every_write_keeps_the_value_in_the_same_request(session: Session, wire: FaultyTransport) -> None:
    key = Key(Cart, id="1")
    cart = session.save(Cart(id="1", prices=[Decimal("1.5"), Decimal(2)], note="Bread"))
    assert kept(wire) == ["3.5", "B"]
    cart.prices.append(Decimal(4))
    assert session.plan(cart).write_units == 4
    session.save(cart)
    assert kept(wire) == ["7.5", "B"]
    session.update(key, F.note.remove())
    assert kept(wire) == ["7.5", None]
    session.update(cart := session.get_one(key), F.prices.set([]), F.note.set(""))
    assert kept(wire) == ["0", ""]
    session.restore(cart, version=1)
    assert kept(wire) == ["3.5", "B"]
    session.upsert(Key(Cart, id="2"), F.note.set("x"))
    assert kept(wire, "CART#2 v0_CART") == ["0", "x"]


def test_an_update_by_key_reads_only_if_it_changes_what_the_value_is_made_of(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Basket(id="1"))
    wire.calls.clear()
    session.update(Key(Basket, id="1"), F.visits.add(1))
    assert operations(wire) == ["GetItem", "UpdateItem"]  # the function may look at it
    basket = session.update(Key(Basket, id="1"), F.count.set(4))
    assert (basket.twice, items(wire, plain)["CART#1 CART"]["twice"]) == (8, {"N": "8"})


def test_it_is_described_and_a_secret_one_is_masked() -> None:
    (cart,) = describe(carts).classes
    assert [
        (one.name, one.attribute, one.dynamodb_types) for one in cart.fields if "computed" in one.marks
    ] == [
        ("total", "total", ("N",)),
        ("first", "firstLetter", ("S",)),
    ]
    vault = next(one for one in describe(plain).classes if one.name == "Vault")
    assert [one.secret for one in vault.fields] == [False, True, True]
    assert "ends" in classify(item_of(Vault(id="1", pin="1234")), plain).secret
