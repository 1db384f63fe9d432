"""Values are equal if their types are, too."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from dynaorm.entity.mapping.validation_rules import is_equal


class Colour(str, Enum):  # noqa: UP042 - equal to its text, which must not hide the difference
    RED = "red"


@dataclass
class Point:
    x: int


class Box(BaseModel):
    parts: list[int]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, True, False),
        ([1, [2]], [1, [2]], True),
        ([1], [True], False),
        (["red"], [Colour.RED], False),
        ({"a": 1}, {"a": 1.0}, False),
        ({1: "a"}, {True: "a"}, False),
        ({"red": 1}, {Colour.RED: 1}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1, "b": 2}, {"b": 1, "a": 2}, False),
        ({1}, {True}, False),
        (Point(1), Point(1), True),
        (Point(1), Point(True), False),
        (Box(parts=[1]), Box(parts=[1]), True),
        (Box(parts=[1]), Box.model_construct(parts=[True]), False),
    ],
)
def test_values_are_equal_with_their_types_at_every_depth(one: Any, other: Any, expected: bool) -> None:
    assert is_equal(one, other) is expected
