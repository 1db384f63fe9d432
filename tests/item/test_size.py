"""Sizes follow the developer guide's rules, and limits are binary kilobytes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.size import ACTION_LIMIT, ITEM_LIMIT, TRANSACTION_LIMIT, item_size, size_bound, write_units


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é€"}, 5),
        ({"B": b"\x00\xff"}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 2),
        ({"N": "7"}, 2),
        ({"N": "42"}, 2),
        ({"N": "-42"}, 3),
        ({"N": "123"}, 3),
        ({"N": "1000000"}, 2),
        ({"N": "0.00012"}, 2),
        ({"N": "1.5E-90"}, 2),
        ({"N": "9" * 38}, 20),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "-22"]}, 5),
        ({"BS": [b"a", b"bc"]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 2 + 2 + 1),
        ({"M": {}}, 3),
        ({"M": {"name": {"S": "ab"}, "é": {"L": [{"NULL": True}]}}}, 3 + 2 + 4 + 2 + 2 + (3 + 1 + 1)),
    ],
    ids=repr,
)
def test_a_value_has_the_size_of_the_guide(value: dict[str, Any], size: int) -> None:
    assert item_size({"": value}) == size


def test_names_count_in_utf8_bytes() -> None:
    assert item_size({"PK": {"S": "a"}, "größe": {"S": ""}}) == 2 + 1 + 7


def test_an_empty_item_has_no_size() -> None:
    assert item_size({}) == 0


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (2048, 2), (409_600, 400)])
def test_a_write_costs_a_unit_for_every_started_kb(size: int, units: int) -> None:
    assert write_units(size) == units


def test_the_limits_are_dynamodbs() -> None:
    assert (ITEM_LIMIT, TRANSACTION_LIMIT, ACTION_LIMIT) == (409_600, 4_194_304, 100)


PLAIN = st.one_of(
    st.fixed_dictionaries({"S": st.text(max_size=12)}),
    st.fixed_dictionaries({"N": st.integers(-(10**37), 10**37).map(str)}),
    st.fixed_dictionaries({"B": st.binary(max_size=12)}),
    st.just({"BOOL": True}),
    st.just({"NULL": True}),
    st.fixed_dictionaries({"SS": st.lists(st.text(max_size=5), min_size=1, max_size=4)}),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"L": st.lists(inner, max_size=4)}),
        st.fixed_dictionaries({"M": st.dictionaries(st.text(max_size=5), inner, max_size=4)}),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=6))
def test_the_quick_bound_is_never_below_the_size(item: dict[str, Any]) -> None:
    assert size_bound(item) >= item_size(item)
