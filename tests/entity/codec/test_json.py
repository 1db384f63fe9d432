"""Values of undeclared type: what JSON can say, and what a model allows beyond its fields."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, JsonValue

from dynaorm.entity.codec.json import ANY
from dynaorm.entity.codec.of_type import codec_of
from dynaorm.item.value import AttributeValue


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (1e23, "would be loaded as 100000000000000000000000"),
        (Decimal("0.1"), "would be loaded as 0.1"),
        ({1: 2}, "has the key 1, not a str"),
        ({"a": [object()]}, r"at a\[0\]: is <object object at .*>, which is not a value of JSON or DynamoDB"),
        ({"a": {"x", b"y"}}, "at a: a DynamoDB set holds only strings, .* not B and S"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(JsonValue).encode(value)


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ({"SS": ["a"]}, "is stored as SS, which JsonValue cannot hold; use AnyValue"),
        ({"M": {"a": {"L": [{"B": b"x"}]}}}, r"at a\[0\]: is stored as B, which JsonValue cannot hold"),
    ],
)
def test_what_json_does_not_have_is_refused_with_a_remedy(stored: AttributeValue, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(JsonValue).decode(stored)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


def test_extra_fields_of_a_model_are_stored_and_every_type_of_them_is_read() -> None:
    codec = codec_of(Open)
    value = Open.model_validate(
        {"name": "a", "more": [1, 2.5], "raw": b"x", "tags": {"b", "a"}, "none": None}
    )
    stored = codec.encode(value)
    assert stored["M"]["tags"] == {"SS": ["a", "b"]}
    assert Open.model_validate(codec.decode(stored)) == value
    assert codec.decode({"M": {"name": {"S": "a"}, "n": {"NS": ["1"]}, "b": {"BS": [b"x"]}}}) == {
        "name": "a",
        "n": {1},
        "b": {b"x"},
    }


# -- AnyValue ----------------------------------------------------------------------------------------------------------


def test_the_types_of_dynamodb_are_those_of_python() -> None:
    stored: dict[str, AttributeValue] = {
        "fraction": {"N": "0.1"},
        "exact": {"N": "0.1234567890123456789"},
        "whole": {"N": "7.0"},
        "numbers": {"NS": ["1", "2.5"]},
        "bytes": {"B": b"1"},
    }
    loaded = ANY.decode({"M": stored})
    assert loaded == {
        "fraction": 0.1,
        "exact": Decimal("0.1234567890123456789"),
        "whole": 7,
        "numbers": {1, 2.5},
        "bytes": b"1",
    }
    assert ANY.decode(ANY.encode(loaded)) == loaded
