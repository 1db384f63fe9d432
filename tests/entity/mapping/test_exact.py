"""Values that are valid by their types alone are encoded as validation would leave them, and no others are."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from dynaorm import Entity, Table
from dynaorm.entity.mapping.mapping import mapping_of

app = Table("exact")


class Address(BaseModel):
    city: str
    floor: int | None = None


class Color(Enum):
    RED = "red"


class Shop(Entity, table=app, pk="SHOP#{name}", sk="S"):
    name: Annotated[str, Field(max_length=5)]
    at: Address
    stock: dict[str, int] = Field(default_factory=dict)
    tags: set[str] = Field(default_factory=set)
    price: Decimal = Decimal(1)
    opened: datetime | None = None
    color: Color = Color.RED
    floors: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list)


class Ruled(Entity, table=app, pk="RULED#{name}", sk="S"):
    name: Annotated[str, AfterValidator(str.upper)]


class Text(str):
    __slots__ = ()


class Villa(Address):
    garden: bool = True


def values(**changes: Any) -> dict[str, Any]:
    return {**vars(Shop(name="a", at=Address(city="b"))), **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": "é", "stock": {"x": 10**37, "é": -1}},
        {"tags": {"b", "a"}, "floors": [0, 3], "price": Decimal("1.50")},
        {"opened": datetime(2024, 5, 1, 12, 30, 1, 20, tzinfo=UTC), "at": Address(city="c", floor=2)},
    ],
)
def test_exact_values_are_encoded_as_the_codecs_do(changes: dict[str, Any]) -> None:
    mapping, given = mapping_of(Shop), values(**changes)
    assert mapping.encoder.encode_exact(given) == mapping.encoder.encode(given)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "abcdef"},
        {"name": Text("a")},
        {"name": None},
        {"name": "\ud800"},
        {"at": Villa(city="b")},
        {"at": Address.model_construct(city=1)},
        {"at": {"city": "b"}},
        {"stock": {"x": True}},
        {"tags": ["a"]},
        {"tags": {"a", 1}},
        {"price": 1},
        {"price": Decimal("NaN")},
        {"opened": datetime(2024, 5, 1)},  # noqa: DTZ001 - without a time zone
        {"color": "red"},
        {"floors": [-1]},
        {"floors": (1,)},
        {"more": 1},
    ],
)
def test_any_other_value_is_left_to_validation(changes: dict[str, Any]) -> None:
    assert mapping_of(Shop).encoder.encode_exact(values(**changes)) is None


def test_a_class_with_validators_is_always_validated() -> None:
    assert mapping_of(Ruled).encoder.encode_exact({"name": "A"}) is None
