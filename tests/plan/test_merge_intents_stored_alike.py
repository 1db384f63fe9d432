"""Values of other types that are stored as the value that loads."""

from decimal import Decimal
from enum import Enum

import pytest
from pydantic import Field

from dynaorm import Entity, Table
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.plan.intent import Save
from tests.plan.compiling import committed, plan_of, saved

app = Table("stored-alike")


class Colour(Enum):
    RED = "red"


class Loosely(Entity, table=app, pk="LOOSELY#{name}", sk="L"):
    name: str
    price: Decimal = Decimal(1)
    share: float = 1.0
    colour: Colour = Colour.RED
    words: list[str] = Field(default_factory=lambda: ["a"])
    ranks: tuple[str, ...] = ("a",)
    tags: set[str] = Field(default_factory=lambda: {"a"})
    prices: dict[str, Decimal] = Field(default_factory=lambda: {"a": Decimal(1)})


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("price", 1, Decimal(1)),
        ("share", 1, 1.0),
        ("colour", "red", Colour.RED),
        ("words", ("a",), ["a"]),
        ("ranks", ["a"], ("a",)),
        ("tags", frozenset({"a"}), {"a"}),
        ("prices", {"a": 1}, {"a": Decimal(1)}),
    ],
)
def test_a_value_of_another_type_that_is_stored_alike_becomes_what_loads_without_a_request(
    name: str, given: object, expected: object
) -> None:
    entity = saved(Loosely(name="a"))
    setattr(entity, name, given)
    plan = plan_of(Save(entity))
    committed(plan)
    assert plan.actions == ()
    assert is_equal(getattr(entity, name), expected)


def test_it_becomes_what_loads_also_beside_a_change_of_another_field() -> None:
    entity = saved(Loosely(name="a"))
    vars(entity).update(price=1, words=["b"])
    committed(plan_of(Save(entity)))
    assert is_equal((entity.price, entity.words), (Decimal(1), ["b"]))
