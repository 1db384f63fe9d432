"""What is an item in the low-level form, and what is not."""

from typing import Any

import pytest

from dynaorm.item.value import is_item, is_list_of, is_value


@pytest.mark.parametrize(
    "value",
    [
        {"S": ""},
        {"N": "1"},
        {"B": b"x"},
        {"SS": ["a"]},
        {"NS": ["1"]},
        {"BS": [b"x"]},
        {"M": {"a": {"L": [{"NULL": True}]}}},
        {"BOOL": False},
    ],
)
def test_every_type_of_dynamodb_is_an_attribute_value(value: Any) -> None:
    assert is_value(value)
    assert is_item({"name": value})


@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        {},
        {"S": 1},
        {"N": 1},
        {"B": "eA=="},
        {"X": "x"},
        {"S": "a", "N": "1"},
        {"L": ["x"]},
        {"M": {"a": 1}},
    ],
)
def test_anything_else_is_none(value: Any) -> None:
    assert not is_value(value)
    assert not is_item({"name": value})
    assert not is_list_of(is_value)([value])
