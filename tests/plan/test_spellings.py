"""A block under a token is recognised by its values, however these are spelled."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from dynaorm import Entity, F, GlobalIndex, Index, InKey, Key, Session, Table, Transaction
from dynaorm.errors import TokenReused
from dynaorm.item.update import Change

app = Table("spellings", indexes=[GlobalIndex("GSI1")])


class Shelf(Entity, table=app, pk="SHELF#{name}", sk="S"):
    name: str
    size: Annotated[Decimal, InKey()] = Decimal(0)
    at: Annotated[datetime, InKey()]
    weight: Decimal = Decimal(0)
    parts: dict[str, int] = Field(default_factory=dict)
    by_size = Index("GSI1", pk="SIZE#{size}", sk="{at}")


class Plain(Entity, table=app, pk="PLAIN#{name}", sk="P"):
    name: str
    weight: Decimal = Decimal(0)
    parts: dict[str, int] = Field(default_factory=dict)


Work: TypeAlias = Callable[[Transaction, Shelf], object]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DECIMALS = st.decimals(-1000, 1000, places=2)
PARTS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))
NEW, OLD, BARE = "new", Key(Shelf, name="old"), Key(Plain, name="bare")


def otherwise(value: Decimal) -> Decimal:
    """The same number with another exponent."""
    return value.normalize() if str(value) != str(value.normalize()) else value + Decimal("0.000")


def works(size: Decimal, at: datetime, weight: Decimal, parts: dict[str, int]) -> list[Work]:
    """A block of each verb with these values."""

    def save(tx: Transaction, shelf: Shelf) -> None:
        for name, value in (("size", size), ("at", at + timedelta(1)), ("parts", parts)):
            setattr(shelf, name, value)
        tx.save(shelf)

    changes: tuple[Change, ...] = (F.size.set(size), F.at.set(at), F.parts.set(parts), F.weight.add(weight))
    some: tuple[Change, ...] = (F.parts.set(parts), F.weight.add(weight))
    differ = (F.parts != {"z": 9, **parts}) & (F.weight > -2000 + weight)
    return [
        lambda tx, _: tx.save(Shelf(name=NEW, size=size, at=at, weight=weight, parts=parts)),
        save,
        lambda tx, shelf: tx.update(shelf, *changes),
        lambda tx, _: tx.update(OLD, *changes),
        lambda tx, _: tx.update(BARE, *some, condition=differ),
        lambda tx, _: tx.upsert(Key(Plain, name=NEW), F.parts.set(parts), F.weight.set(weight)),
        lambda tx, _: tx.delete(BARE, condition=differ),
        lambda tx, _: tx.check(BARE, differ),
    ]


def is_recognised(first: Work, second: Work) -> bool:
    """Whether the second block is taken for the first, which was applied."""
    with Session(endpoint="memory:") as session:
        session.create_table(app)
        session.save(Shelf(name="old", at=NOON))
        session.save(Plain(name="bare", parts={"y": 1}))
        shelves: list[Any] = [session.get_one(OLD) for _ in range(2)]
        for work, shelf in zip((first, second), shelves, strict=True):
            try:
                with session.transaction(token="T") as tx:
                    work(tx, shelf)
            except TokenReused:
                assert work is second
                return False
        return True


@given(size=DECIMALS, weight=DECIMALS, hours=st.integers(-12, 12), parts=PARTS)
def test_an_equal_block_is_recognised(
    size: Decimal, weight: Decimal, hours: int, parts: dict[str, int]
) -> None:
    there, turned = NOON.astimezone(timezone(timedelta(hours=hours))), dict(reversed(parts.items()))
    blocks = works(size, NOON, weight, parts)
    for one, other in zip(blocks, works(otherwise(size), there, otherwise(weight), turned), strict=True):
        assert is_recognised(one, other)


@given(size=DECIMALS, other=DECIMALS)
def test_another_value_in_a_key_is_another_block(size: Decimal, other: Decimal) -> None:
    first, second = (works(one, NOON, Decimal(0), {})[0] for one in (size, other))
    assert is_recognised(first, second) is (size == other)
