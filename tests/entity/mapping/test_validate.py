"""Validation before a write gives the values that loading will give, and says which it changed."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Annotated, Any, Self

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dynaorm import Entity, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import validated, validated_field
from dynaorm.entity.state import LOADING
from dynaorm.errors import InvalidValue
from tests.pydantic_version import needs_pydantic_2_13

app = Table("validate")


@dataclass
class Point:
    x: int


class Box(BaseModel):
    parts: list[int]


class Thing(Entity, table=app, pk="THING#{name}", sk="T"):
    name: Annotated[str, AfterValidator(str.lower)]
    size: int = 0
    code: Annotated[str, StringConstraints(to_lower=True, max_length=1)] = "a"
    doubled: Annotated[str, AfterValidator(lambda text: text * 2)] = ""


def test_the_values_that_validation_changed_are_named() -> None:
    values = {"name": "A", "size": "5", "code": "b", "doubled": ""}
    found = validated(mapping_of(Thing), values)
    assert found.values == {"name": "a", "size": 5, "code": "b", "doubled": ""}
    assert found.altered == {"name": "a", "size": 5}
    assert values == {"name": "A", "size": "5", "code": "b", "doubled": ""}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("doubled", "x", "changed by its validators again"),
        ("code", "\u0130", "into a value that they refuse"),
    ],
)
def test_a_value_that_would_not_load_as_it_is_stored_is_refused(field: str, value: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        validated(mapping_of(Thing), {"name": "a", "size": 0, "code": "a", "doubled": "", field: value})


class Named(Entity, table=app, pk="NAMED#{number}", sk="N"):
    number: int
    name: str

    @field_validator("name")
    @classmethod
    def in_full(cls, name: str, info: ValidationInfo) -> str:
        return name if info.context is LOADING else {"Ann": "Anna"}[name]


def test_a_validator_that_fails_for_what_it_returned_is_named() -> None:
    with pytest.raises(
        InvalidValue, match=r"Named\.name = 'Anna': validator in_full\(\) raises KeyError"
    ) as caught:
        validated(mapping_of(Named), {"number": 1, "name": "Ann"})
    assert isinstance(caught.value.__cause__, KeyError)


class Lists(Entity, table=app, pk="LISTS#{name}", sk="L"):
    name: str
    parts: list[int] = Field(default=[])
    groups: dict[str, list[int]] = Field(default={})
    boxes: list[Box] = Field(default=[])


class SeenTogether(Lists):
    @model_validator(mode="after")
    def together(self) -> Self:
        return self


@pytest.mark.parametrize("kind", [Lists, SeenTogether])
@pytest.mark.parametrize("kept", [frozenset[str](), frozenset({"name"})], ids=["new", "loaded"])
@pytest.mark.parametrize(
    ("field", "made"),
    [
        ("parts", lambda: (number for number in [1, 2])),
        ("parts", lambda: map(int, "12")),
        ("groups", lambda: {"a": [1], "b": iter([1, 2])}),
    ],
    ids=["generator", "map", "inside"],
)
def test_an_iterator_is_refused_each_time_because_a_second_validation_would_find_it_used_up(
    kind: type[Lists], kept: frozenset[str], field: str, made: Callable[[], object]
) -> None:
    values = {"name": "a", "parts": [], "groups": {}, "boxes": [], field: made()}
    for _ in range(2):
        with pytest.raises(
            InvalidValue, match=rf"{field} = .*: is or contains an iterator.*; give it a list"
        ):
            validated(mapping_of(kind), values, kept=kept)


@dataclass(slots=True)
class Corner:
    x: int
    way: list[int] = dataclass_field(default_factory=list)


class Drawn(Entity, table=app, pk="DRAWN#{name}", sk="D"):
    name: str
    corners: list[Corner] = Field(default=[])


def test_an_iterator_inside_a_dataclass_with_slots_is_refused_and_other_values_are_converted() -> None:
    start: Any = Corner(x="5")  # type: ignore[arg-type]
    assert validated(mapping_of(Drawn), {"name": "a", "corners": [start]}).altered == {"corners": [Corner(5)]}
    start.way = iter([1])
    with pytest.raises(InvalidValue, match="contains an iterator"):
        validated(mapping_of(Drawn), {"name": "a", "corners": [start]})


class Longer(Box):
    name: str = ""


@dataclass
class Solid(Point):
    z: int = 0


class Packed(Entity, table=app, pk="PACKED#{name}", sk="P"):
    name: str
    box: Box | None = None
    boxes: list[Box] = Field(default_factory=list)
    by_name: dict[str, tuple[Box, int]] = Field(default_factory=dict)
    point: Point | None = None


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("box", Longer(parts=[1]), ""),
        ("boxes", [Box(parts=[]), Longer(parts=[])], r"at \[1\]: "),
        ("by_name", {"a": (Longer(parts=[]), 1)}, r"at a\[0\]: "),
        ("point", Solid(1), ""),
    ],
)
def test_an_instance_of_a_subclass_is_refused_because_it_would_lose_fields(
    field: str, value: Any, where: str
) -> None:
    mapping, values = mapping_of(Packed), vars(Packed(name="a"))
    for judge in (
        lambda given: validated(mapping, given),
        lambda given: validated(mapping, given, kept=frozenset({"name"})),
        lambda given: validated_field(mapping, field, given),
    ):
        with pytest.raises(
            InvalidValue, match=rf"Packed\.{field} = .*: {where}is a .* and would be loaded as a"
        ):
            judge({**values, field: value})


@needs_pydantic_2_13
def test_an_instance_of_the_class_itself_is_validated_again() -> None:
    box = Box(parts=[1])
    box.parts = ["2"]  # type: ignore[list-item]
    found = validated(mapping_of(Packed), {**vars(Packed(name="a")), "box": box, "boxes": [{"parts": [1]}]})
    assert found.altered == {"box": Box(parts=[2]), "boxes": [Box(parts=[1])]}
