"""Computed and nested values, from the values of fields."""

from dataclasses import dataclass
from functools import cached_property

from pydantic import BaseModel, computed_field

from dynaorm import Entity, Table
from dynaorm.entity.mapping.field import computed_field_value, nested_value


class Thing(Entity, table=Table("computing"), pk="THING#{name}", sk="T"):
    name: str
    size: int

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def area(self) -> int:
        return self.size * self.size

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @cached_property
    def half(self) -> int:
        return self.size // 2


def test_a_computed_field_is_computed_from_the_given_values() -> None:
    thing = Thing(name="x", size=4)
    assert (thing.area, thing.half) == (16, 2)
    values = {**vars(thing), "size": 6}
    assert values["half"] == 2  # the cached one
    assert computed_field_value(Thing, "area", frozenset({"size"}))(values) == 36
    assert computed_field_value(Thing, "half", frozenset({"size"}))(values) == 3


class Inner(BaseModel):
    city: str | None = None


@dataclass
class Middle:
    inner: Inner


def test_a_nested_field_is_found_in_records_of_every_kind() -> None:
    value = nested_value(("outer", "middle", "inner", "city"))
    assert value({"outer": {"middle": Middle(Inner(city="Oslo"))}}) == "Oslo"
    assert value({"outer": {"middle": Middle(Inner())}}) is None
    assert value({"outer": {"middle": None}}) is None
    assert value({"outer": None}) is None
