"""The rules of a class: its validators, and what a write must consider when it validates."""

from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from dynaorm.entity.mapping.validation_rules import rules_of
from tests.pydantic_version import needs_pydantic_2_13


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


def check(model: type[BaseModel], values: dict[str, Any], changed: str | None = None) -> None:
    validator = rules_of(model).single
    if changed is None:
        validator.validate_python(values, by_alias=False, by_name=True)
    else:
        validator.validate_assignment(values, changed, values[changed], by_alias=False, by_name=True)


def test_fields_are_checked_by_name_without_model_validators() -> None:
    check(Node, {"name": "ab", "nodes": [], "level": -1})


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


def test_a_frozen_field_may_have_another_value_in_a_copy_as_long_as_it_is_valid() -> None:
    check(Node, {"name": "ab", "level": 5}, "level")
    with pytest.raises(ValidationError, match="valid integer"):
        check(Node, {"name": "ab", "level": "x"}, "level")


class Inner(BaseModel):
    size: Annotated[int, Field(ge=0)] = 0


class Outer(BaseModel):
    inner: Inner = Inner()
    inners: list[Inner] = Field(default_factory=list)


@needs_pydantic_2_13
def test_instances_of_nested_models_are_validated_again() -> None:
    wrong = Inner()
    wrong.size = -1
    for values in ({"inner": wrong}, {"inners": [wrong]}):
        with pytest.raises(ValidationError, match="greater than or equal to 0"):
            rules_of(Outer).whole.validate_python(values, by_alias=False, by_name=True)
    assert Outer.model_validate({"inner": wrong}).inner is wrong


class Plain(BaseModel):
    name: str = ""
    secret: SecretStr | None = None
    size: Annotated[int, Field(ge=0, le=5)] = 0


class Lowered(BaseModel):
    name: Annotated[str, StringConstraints(to_lower=True)] = ""


class Stripped(BaseModel, str_strip_whitespace=True):
    name: str = ""


class Initialised(BaseModel):
    name: str = ""

    def model_post_init(self, _: object, /) -> None:
        self.name = self.name.upper()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Plain, True),
        pytest.param(Outer, True, marks=needs_pydantic_2_13),
        (Node, False),
        (Lowered, False),
        (Stripped, False),
        (Initialised, False),
    ],
)
def test_a_class_is_stable_unless_a_validator_may_change_values(
    model: type[BaseModel], expected: bool
) -> None:
    assert rules_of(model).is_stable is expected


def test_bounds_and_lengths_are_known_where_they_alone_decide() -> None:
    rules = rules_of(Plain).fields
    assert (rules["size"].bounds, rules["name"].bounds) == ({"ge": 0, "le": 5}, None)
    assert rules_of(Outer).fields["inners"].lengths is None
