"""Validation before a write says which values it changed, and leaves equal ones as the objects they are."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from dynaorm import Entity, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import validated
from dynaorm.entity.mapping.validation_rules import rules_of
from tests.pydantic_version import needs_pydantic_2_13


class Box(BaseModel):
    parts: list[int]


class Packed(Entity, table=Table("validate"), pk="PACKED#{name}", sk="P"):
    name: Annotated[str, AfterValidator(str.lower)]
    size: int = 0
    box: Box | None = None
    boxes: list[Box] = Field(default_factory=list)


def test_the_values_that_validation_changed_are_named() -> None:
    values = {"name": "A", "size": "5", "box": Box(parts=[1]), "boxes": []}
    given = dict(values)
    assert validated(mapping_of(Packed), values).altered == {"name": "a", "size": 5}
    assert values == given


@needs_pydantic_2_13
def test_an_instance_of_the_class_itself_is_validated_again() -> None:
    box = Box(parts=[1])
    box.parts = ["2"]  # type: ignore[list-item]  # that is the fault
    values = {**vars(Packed(name="a")), "box": box, "boxes": [{"parts": [1]}]}
    assert validated(mapping_of(Packed), values).altered == {"box": Box(parts=[2]), "boxes": [Box(parts=[1])]}


class Bounded(BaseModel):
    size: Annotated[int, Field(ge=0, le=5)] = 0


class Outer(BaseModel):
    bounded: list[Bounded] = Field(default_factory=list)


def test_bounds_are_known_where_they_alone_decide() -> None:
    assert rules_of(Bounded).fields["size"].bounds == {"ge": 0, "le": 5}
    assert rules_of(Outer).fields["bounded"].lengths is None
