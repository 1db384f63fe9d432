"""Which fields pydantic reads itself, and which it leaves to the field's codec."""

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    create_model,
)

from dynaorm.entity.codec.field import StoredField
from dynaorm.entity.codec.of_type import codec_of
from dynaorm.entity.core_schema import by_name, definitions_of, validator_of, without_definitions
from dynaorm.entity.json_reader.model import FieldReader, Undecided
from dynaorm.item.json_body import encode_body


class Mood(Enum):
    FINE = "fine"
    SAD = "sad"


class Guessed(Enum):
    ANY = "any"

    @classmethod
    def _missing_(cls, value: object) -> "Guessed | None":
        return cls.ANY if value else None


class Address(BaseModel):
    city: str = Field(alias="City")
    floor: int | None = None


class Loose(BaseModel):
    city: str = ""


def field(annotation: Any, default: Any = ..., config: ConfigDict | None = None) -> Any:
    """The JSON schema of a field of this type, stored as ``f``."""
    model: Any = create_model("Model", __config__=config, f=(annotation, default))
    declared = model.__pydantic_core_schema__
    schema, definitions = without_definitions(declared), definitions_of(declared)
    reader = FieldReader(definitions, schema.get("config", {}))
    made = reader.field(
        StoredField("f", "f", codec_of(annotation), required=default is ...), schema["schema"]["fields"]["f"]
    )
    return {**made, "metadata": {"definitions": by_name(list(definitions.values()))}}


def read(made: Any, item: dict[str, Any]) -> dict[str, Any]:
    fields = {"f": {**made, "type": "typed-dict-field", "required": made["schema"]["type"] != "default"}}
    schema: dict[str, Any] = {"type": "typed-dict", "fields": fields}
    if definitions := made["metadata"]["definitions"]:
        schema = {"type": "definitions", "schema": schema, "definitions": definitions}
    found: dict[str, Any] = validator_of(schema).validate_json(encode_body(item))
    return found


STRAIGHT: list[tuple[Any, Any, Any]] = [
    (str, {"S": "x"}, "x"),
    (int, {"N": "5"}, 5),
    (float, {"N": "0.5"}, 0.5),
    (Decimal, {"N": "1.50"}, Decimal("1.50")),
    (bool, {"BOOL": False}, False),
    (Mood, {"S": "sad"}, Mood.SAD),
    (Literal["a", "b"], {"S": "b"}, "b"),
    (Address, {"M": {"city": {"S": "Rome"}}}, Address(City="Rome")),
    (list[str], {"L": [{"S": "x"}]}, ["x"]),
    (dict[str, str], {"M": {"a": {"S": "x"}, "S": {"S": "y"}}}, {"a": "x", "S": "y"}),
    (Annotated[str, AfterValidator(str.upper)], {"S": "x"}, "X"),
]


@pytest.mark.parametrize(("annotation", "stored", "value"), STRAIGHT)
def test_pydantic_reads_simple_types_itself(annotation: Any, stored: Any, value: Any) -> None:
    made = field(annotation)
    (tag,) = stored
    assert made["validation_alias"] == [["f", tag]]
    assert read(made, {"f": stored}) == {"f": value}


@pytest.mark.parametrize(("annotation", "stored", "value"), STRAIGHT)
def test_null_is_none_and_another_type_is_not_absence(annotation: Any, stored: Any, value: Any) -> None:
    made = field(annotation | None, None)
    assert [read(made, {"f": one})["f"] for one in (stored, {"NULL": True})] == [value, None]
    assert read(made, {}) == {"f": None}
    for wrong in ({"SS": ["x"]}, {"M": {"NULL": {"BOOL": True}}}, {"B": b"x"}):
        with pytest.raises(ValueError, match="validation error"):
            read(made, {"f": wrong})


CODED: list[tuple[Any, Any, Any]] = [
    (bytes, {"B": b"\xff"}, b"\xff"),
    (set[int], {"NS": ["1"]}, {1}),
    (dict[str, bytes], {"M": {"a": {"B": b"\xff"}}}, {"a": b"\xff"}),
    (JsonValue, {"L": [{"N": "1"}]}, [1]),
    (int | str, {"S": "5"}, "5"),
    (Guessed, {"S": "?"}, Guessed.ANY),
    (Annotated[str, BeforeValidator(str.upper)], {"S": "x"}, "X"),
    (Annotated[list[str], Field(min_length=1)], {"L": [{"S": "x"}]}, ["x"]),
]


@pytest.mark.parametrize(("annotation", "stored", "value"), CODED)
def test_the_codec_reads_any_other_type(annotation: Any, stored: Any, value: Any) -> None:
    made = field(annotation)
    assert made["validation_alias"] == [["f"]] or made["validation_alias"] == [["f", "S"]]
    assert read(made, {"f": stored}) == {"f": value}


def test_a_time_is_read_from_its_text_unless_the_text_may_be_missing() -> None:
    assert field(datetime)["validation_alias"] == [["f", "S"]]
    assert field(datetime | None, None)["validation_alias"] == [["f"]]


def test_the_codec_reads_a_model_without_required_fields_that_may_be_absent() -> None:
    assert field(Loose)["validation_alias"] == [["f", "M"]]
    made = field(Loose, Loose(city="x"))
    assert made["validation_alias"] == [["f"]]
    with pytest.raises(ValueError, match="not as M"):
        read(made, {"f": {"S": "x"}})


def test_texts_of_a_model_that_changes_them_are_validated() -> None:
    assert read(field(list[str]), {"f": {"L": [{"S": " x "}]}}) == {"f": [" x "]}
    assert (
        field(list[str], config=ConfigDict(str_strip_whitespace=True))["schema"]["type"] == "function-before"
    )


def test_a_field_with_a_validated_default_cannot_be_read_by_its_codec() -> None:
    with pytest.raises(Undecided, match="its default is validated"):
        field(dict[str, int], {}, ConfigDict(validate_default=True))
    assert read(field(int, 5, ConfigDict(validate_default=True)), {}) == {"f": 5}
