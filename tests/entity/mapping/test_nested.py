"""Where the places inside of a field's values are, and what pydantic says of a value there."""

from typing import Annotated, Any, Literal, Union

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationError, ValidationInfo

from dynaorm.entity.mapping.validation_rules import NestedPlaces
from dynaorm.item.path import Path


def look(value: int, info: ValidationInfo) -> int:
    if value > info.data.get("most", 9):
        raise ValueError("is too large")
    return value


class Address(BaseModel):
    city: str


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    owner: str = ""


class Bounded(BaseModel):
    most: int = 9
    size: Annotated[int, AfterValidator(look)] = 0


class Holder(BaseModel):
    address: Address | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    both: tuple[int, str] = (0, "")
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")] = Cat()  # noqa: UP007 - as classes are written
    bounded: Bounded = Bounded()


PLACES = NestedPlaces(Holder.__pydantic_core_schema__)


def judged(path: Path, value: Any, **beside: Any) -> Any:
    place = PLACES.at(path)
    assert place is not None
    found: Any = place.validator.validate_assignment({**beside, place.name: value}, place.name, value)
    return found[0][place.name]


def test_a_validator_is_shown_the_fields_of_the_class_around_its_place() -> None:
    place = PLACES.at(("bounded", "size"))
    assert place is not None
    assert (place.looks_beside, place.name, place.depth) == (True, "size", 1)
    assert judged(("bounded", "size"), 3, most=5) == 3
    with pytest.raises(ValidationError):
        judged(("bounded", "size"), 7, most=5)


@pytest.mark.parametrize(
    "path", [("address", "zip"), ("nothing", "x"), ("counts", "new", "deep"), ("both", 2), ("pet", "wings")]
)
def test_where_no_place_is_there_is_none(path: Path) -> None:
    assert PLACES.at(path) is None
