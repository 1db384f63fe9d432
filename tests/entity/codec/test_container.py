"""Lists, tuples, sets and dicts: what they are stored as, and where in them a problem is."""

import contextlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from dynaorm.entity.codec.of_type import codec_of


class Point(NamedTuple):
    x: int
    label: str = "origin"


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (list[int], [1, 2], {"L": [{"N": "1"}, {"N": "2"}]}),
        (list[int], [], {"L": []}),
        (list[int | None], [None], {"L": [{"NULL": True}]}),
        (tuple[int, ...], (1,), {"L": [{"N": "1"}]}),
        (tuple[int, str], (1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (tuple[()], (), {"L": []}),
        (Point, Point(1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (set[str], {"b", "a"}, {"SS": ["a", "b"]}),
        (frozenset[int], frozenset({2}), {"NS": ["2"]}),
        (set[bytes], {b"x"}, {"BS": [b"x"]}),
        (set[UUID], {UUID(int=0)}, {"SS": ["00000000-0000-0000-0000-000000000000"]}),
        (AbstractSet[int], {1}, {"NS": ["1"]}),
        (dict[str, int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
        (dict[int, bool], {-1: True}, {"M": {"-1": {"BOOL": True}}}),
        (dict[date, str], {date(2024, 1, 1): ""}, {"M": {"2024-01-01": {"S": ""}}}),
        (Mapping[str, int], {}, {"M": {}}),
    ],
)
def test_a_container_comes_back_as_what_it_was(annotation: Any, value: Any, stored: Any) -> None:
    codec = codec_of(annotation)
    assert codec.encode(value) == stored
    assert codec.decode(stored) == value
    assert type(codec.decode(stored)) is type(value)


def test_an_empty_set_is_an_empty_list_because_dynamodb_has_none() -> None:
    codec = codec_of(dict[str, set[str]])
    assert codec.encode({"a": set()}) == {"M": {"a": {"L": []}}}
    assert codec.decode({"M": {"a": {"L": []}}}) == {"a": set()}
    assert codec_of(set[str]).is_set


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (list[int], (1,), "is a tuple, not a list"),
        (list[list[int]], [[1], [2, "a"]], r"at \[1\]\[1\]: is a str, not an int"),
        (tuple[int, ...], [1], "not a tuple"),
        (tuple[int, str], (1,), "has 1 member, not 2"),
        (tuple[int, str], (1, 2), r"at \[1\]: is an int"),
        (Point, (1, "a"), "not a Point"),
        (set[int], [1], "not a set"),
        (set[int], {"a"}, "is a str, not an int"),
        (dict[str, int], [], "not a dict"),
        (dict[str, list[int]], {"a": ["b"]}, r"at a\[0\]: is a str, not an int"),
        (dict[int, int], {"a": 1}, "has a key that is a str, not an int"),
    ],
)
def test_a_problem_says_where_it_is(annotation: Any, value: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).encode(value)


@pytest.mark.parametrize(
    ("annotation", "stored", "problem"),
    [
        (list[int], {"L": [{"N": "1"}, {"S": "a"}]}, r"at \[1\]: is stored as S, not as N"),
        (tuple[int, str], {"L": []}, "has 0 members, not 2"),
        (tuple[int, str], {"L": [{"N": "1"}, {"S": "a"}, {"S": "b"}]}, "has 3 members, not 2"),
        (set[int], {"L": [{"N": "1"}]}, "is stored as L, not as NS"),
        (dict[str, int], {"M": {"a": {"S": ""}}}, "at a: is stored as S"),
        (dict[UUID, int], {"M": {"a": {"N": "1"}}}, "has a key that is stored as 'a', which is not a UUID"),
    ],
)
def test_a_stored_problem_says_where_it_is(annotation: Any, stored: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        codec_of(annotation).decode(stored)


@pytest.mark.parametrize("key", [Level, int | float, int, float, Decimal, timedelta, date, UUID], ids=str)
@pytest.mark.parametrize("text", ["", "x", "1e", "sNaN", "Infinity", "\x00"])
def test_a_stored_key_that_encode_never_makes_is_decoded_or_a_value_error(key: Any, text: str) -> None:
    """A map's keys are text whatever their type, so unlike numbers they may be anything."""
    kinds: Any = dict
    with contextlib.suppress(ValueError):
        codec_of(kinds[key, str]).decode({"M": {text: {"S": ""}}})


def test_values_of_a_set_that_have_one_text_are_refused() -> None:
    """Two readings of one moment in different ambiguous hours are unequal to Python, and one text."""
    moment = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1)))

    class Unequal(datetime):
        def __eq__(self, other: object) -> bool:
            return self is other

        __hash__ = object.__hash__

    other = Unequal(2024, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    with pytest.raises(ValueError, match="same text"):
        codec_of(set[datetime]).encode({moment, other})
    with pytest.raises(ValueError, match="same text"):
        codec_of(dict[datetime, int]).encode({moment: 1, other: 2})
