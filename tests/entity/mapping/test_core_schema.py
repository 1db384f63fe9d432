"""What the walks over pydantic's core schemas find."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationInfo

from dynaorm.entity.mapping.core_schema import (
    definitions_of,
    looks_beside,
    nodes_of,
    path_to_fields,
    referred,
    revalidating,
    unwrapped,
    validator_of,
)


def look(value: str, info: ValidationInfo) -> str:
    return f"{value} of {sorted(info.data)}"


Looking = Annotated[str, AfterValidator(look)]


class Inner(BaseModel):
    first: int = 0
    looking: Looking = ""


class Tree(BaseModel):
    value: Looking = ""
    children: "list[Tree]" = Field(default_factory=list)


class Outer(BaseModel):
    plain: int = 0
    looking: Looking = ""
    listed: list[Looking | None] = Field(default_factory=list)
    inner: Inner = Inner()
    tree: Tree = Tree()
    made: str = Field(default_factory=lambda data: str(data["plain"]))


SCHEMA: Any = Outer.__pydantic_core_schema__
FIELDS: Any = path_to_fields(SCHEMA)[-1]["fields"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("plain", False),
        ("looking", True),
        ("listed", True),
        ("inner", False),
        ("tree", False),
        ("made", False),
    ],
)
def test_a_validator_of_a_nested_class_does_not_look_at_the_fields_around_it(
    field: str, expected: bool
) -> None:
    assert looks_beside(FIELDS[field]["schema"], definitions_of(SCHEMA)) is expected


def test_a_factory_looks_at_the_fields_beside_it_where_factories_count() -> None:
    assert looks_beside(FIELDS["made"]["schema"], {}, factories=True)


def test_a_walk_follows_references_and_ends() -> None:
    definitions = definitions_of(SCHEMA)
    found = [one["cls"] for one in referred(FIELDS["tree"]["schema"], definitions) if one["type"] == "model"]
    assert found == [Tree]
    assert [one["type"] for one in nodes_of({"type": "list", "items_schema": {"type": "int"}})] == [
        "list",
        "int",
    ]


def test_a_default_and_none_are_wrapped_around_a_type() -> None:
    node = {"type": "default", "schema": {"type": "nullable", "schema": {"type": "int"}}, "default": None}
    assert unwrapped(node) == {"type": "int"}


def test_an_instance_of_a_nested_class_is_validated_again_by_a_changed_schema() -> None:
    wrong = Inner.model_construct(first="x")
    schema: Any = Inner.__pydantic_core_schema__
    assert validator_of(schema).validate_python(wrong) is wrong
    assert not validator_of(revalidating(schema)).isinstance_python(wrong)
