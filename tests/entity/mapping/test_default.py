"""Which defaults that pydantic does not validate a write judges."""

from typing import Annotated

import pytest
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from dynaorm import Entity, Table, detached
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.mapping.validate import (
    untouched_defaults,
    validated,
    with_made_values,
    with_stored_defaults,
)
from dynaorm.errors import InvalidValue

KEY = {"PK": {"S": "ROW#1"}, "SK": {"S": "R"}, "_type": {"S": "Row"}, "_rev": {"S": "r"}, "id": {"S": "1"}}


class Row(Entity, table=Table("defaults"), pk="ROW#{id}", sk="R"):
    id: str
    right: int = 0
    none: int = None  # type: ignore[assignment]  # that is the fault
    low: Annotated[int, Field(ge=1)] = 0
    upper: Annotated[str, AfterValidator(str.upper)] = "a"
    made: Annotated[int, Field(ge=1)] = Field(default_factory=lambda: 0)
    looking: str = ""

    @field_validator("looking")
    @classmethod
    def look(cls, value: str, info: ValidationInfo) -> str:
        return value or str(info.data["id"])


MAPPING = mapping_of(Row)


def test_a_default_of_a_new_object_is_no_input() -> None:
    assert untouched_defaults(MAPPING, Row(id="1")) == {"none"}
    assert untouched_defaults(MAPPING, detached(Row(id="1"))) == {"none"}


def test_what_is_assigned_is_an_input_even_if_it_is_the_default() -> None:
    row = Row(id="1")
    row.none = None  # type: ignore[assignment]  # that is the fault
    assert untouched_defaults(MAPPING, row) == set()


def test_a_default_of_an_absent_attribute_is_no_input() -> None:
    row, kept = MAPPING.loader.hydrate(KEY), frozenset(Row.model_fields)
    assert untouched_defaults(MAPPING, row, KEY, kept) == {"none", "low", "upper", "looking"}
    assert untouched_defaults(MAPPING, row, {**KEY, "low": {"N": "0"}}, kept) == {"none", "upper", "looking"}
    assert untouched_defaults(MAPPING, row, KEY, kept - {"low"}) == {"none", "upper", "looking"}


def test_a_default_that_is_stored_has_to_be_valid() -> None:
    stored = with_stored_defaults(MAPPING, {"id": "1"})
    assert stored == {"id": "1", "low": 0, "upper": "a", "looking": ""}
    with pytest.raises(InvalidValue, match=r"Row.low = 0: Input should be greater than or equal to 1"):
        validated(MAPPING, stored)


def test_what_a_factory_makes_has_to_be_valid() -> None:
    given = {"id": "1", "low": 1}
    made = with_made_values(MAPPING, given, {**given, "made": 0})
    assert made == {"id": "1", "low": 1, "made": 0}
    with pytest.raises(InvalidValue, match=r"Row.made = 0: Input should be greater than or equal to 1"):
        validated(MAPPING, made)
