"""The validator of a class's fields: types, constraints and field validators, without model validators."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationError, field_validator, model_validator

from dynaorm.entity.declare.validator import fields_validator


class Node(BaseModel):
    name: str = Field(alias="Name", min_length=2)
    nodes: list["Node"] = Field(default_factory=list)
    level: Annotated[int, AfterValidator(abs)] = Field(default=0, frozen=True)

    @field_validator("name")
    @classmethod
    def check(cls, value: str) -> str:
        if value == "no":
            raise ValueError("no is no name")
        return value

    @model_validator(mode="after")
    def never(self) -> "Node":
        raise AssertionError("a model validator ran")


class Wrapped(BaseModel, extra="forbid"):
    name: str

    @model_validator(mode="before")
    @classmethod
    def never(cls, values: Any) -> Any:
        raise AssertionError(f"a model validator ran on {values}")

    @model_validator(mode="wrap")
    @classmethod
    def never_either(cls, values: Any, handler: Any) -> Any:
        raise AssertionError(f"a model validator ran on {values}, before {handler}")


def check(model: type[BaseModel], values: dict[str, Any], changed: str | None = None) -> None:
    validator = fields_validator(model)
    if changed is None:
        validator.validate_python(values, by_alias=False, by_name=True)
    else:
        validator.validate_assignment(values, changed, values[changed], by_alias=False, by_name=True)


def test_fields_are_checked_by_name_without_model_validators() -> None:
    check(Node, {"name": "ab", "nodes": [], "level": -1})
    check(Wrapped, {"name": "ab"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "a"}, "at least 2 characters"),
        ({"name": "no"}, "no is no name"),
        ({"name": 5}, "valid string"),
    ],
)
def test_types_constraints_and_field_validators_count(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        check(Node, values)
    with pytest.raises(ValidationError, match=message):
        check(Node, values, "name")


def test_the_rules_of_the_whole_class_count() -> None:
    class Short(BaseModel, str_max_length=3, strict=True):
        name: str
        size: int = 0

    check(Short, {"name": "abc"})
    with pytest.raises(ValidationError, match="at most 3 characters"):
        check(Short, {"name": "abcd"})
    with pytest.raises(ValidationError, match="valid integer"):
        check(Short, {"size": "5"}, "size")


def test_one_field_is_checked_without_a_look_at_the_others() -> None:
    check(Node, {"name": "", "nodes": []}, "nodes")


def test_a_frozen_field_may_have_another_value_in_a_copy_as_long_as_it_is_valid() -> None:
    check(Node, {"name": "ab", "level": 5}, "level")
    with pytest.raises(ValidationError, match="valid integer"):
        check(Node, {"name": "ab", "level": "x"}, "level")
