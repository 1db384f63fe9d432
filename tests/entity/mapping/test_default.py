"""Which defaults that pydantic does not validate a write judges."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from dynaorm import Entity, Table, detached
from dynaorm.entity.mapping.default import untouched_defaults
from dynaorm.entity.mapping.mapping import mapping_of

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


def test_only_a_default_that_validation_may_refuse_or_change_is_doubtful() -> None:
    assert dict(MAPPING.rules.spared) == {"none": None, "low": 0, "upper": "a", "looking": ""}


def test_a_default_of_a_new_object_is_no_input_if_nothing_is_stored_of_it() -> None:
    assert untouched_defaults(MAPPING, Row(id="1")) == {"none"}
    assert untouched_defaults(MAPPING, detached(Row(id="1"))) == {"none"}


def test_a_default_of_a_loaded_object_is_no_input_where_the_attribute_is_absent() -> None:
    row, kept = MAPPING.hydrate(KEY), frozenset(Row.model_fields)
    assert untouched_defaults(MAPPING, row, KEY, kept) == {"none", "low", "upper", "looking"}
    assert untouched_defaults(MAPPING, row, {**KEY, "low": {"N": "0"}}, kept) == {"none", "upper", "looking"}
    assert untouched_defaults(MAPPING, row, KEY, kept - {"low"}) == {"none", "upper", "looking"}
