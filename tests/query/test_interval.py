"""Intervals of keys in DynamoDB's order."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.query.key_range import EVERYTHING, NOTHING, Interval, key_after, key_before, successor

_texts = st.text(max_size=4)


@given(text=_texts, other=_texts)
def test_nothing_that_begins_with_a_text_reaches_its_successor(text: str, other: str) -> None:
    after = successor(text)
    assert not after or text + other < after
    assert not after or not (text <= other < after) or other.startswith(text)


def test_the_last_character_has_no_successor_of_its_own() -> None:
    assert successor("a\U0010ffff") == "b"
    assert successor("\U0010ffff") == ""
    assert successor("\ud7ff") == "\ue000"


# Equal ones are not the same objects.
NUMBERS = st.integers(0, 5).map(Decimal)


@given(cuts=st.lists(st.tuples(st.sampled_from(["<", "<=", ">", ">="]), NUMBERS), max_size=4), key=NUMBERS)
def test_an_interval_holds_what_every_cut_leaves(cuts: list[tuple[str, Decimal]], key: Decimal) -> None:
    found = EVERYTHING
    for sign, bound in cuts:
        found = found.cut(sign, bound)
    wanted = all(
        {"<": key < bound, "<=": key <= bound, ">": key > bound, ">=": key >= bound}[sign]
        for sign, bound in cuts
    )
    assert (key in found) == wanted
    assert not (wanted and found.is_empty)


def test_an_interval_is_shifted_by_what_stands_before_every_key() -> None:
    assert Interval("a", "c", has_high=False).shifted("v0_") == Interval("v0_a", "v0_c", has_high=False)
    assert EVERYTHING.shifted("v0_") == Interval("v0_", "v0`", has_high=False)
    assert EVERYTHING.shifted("") is EVERYTHING


NUMBER_TEXTS = ["0", "1", "-1", "1E-130", "-1E-130", "1.1E-130", "10", "9.99E+125", "-9.99E+125", "0.1"]
KEYS: dict[Any, st.SearchStrategy[Any]] = {
    "S": st.text(st.sampled_from("\0a\x7f\u0800\ud7ff\ue000\uffff\U0010ffff"), min_size=1, max_size=4)
    | st.builds(
        lambda end: "a" * (1024 - len(end.encode())) + end, st.sampled_from(["b", "\0", "\U0010ffff"])
    ),
    "B": st.binary(min_size=1, max_size=3).map(lambda content: content.decode("latin-1"))
    | st.just("\xff" * 1024),
    "N": st.sampled_from(NUMBER_TEXTS).map(Decimal) | st.decimals(-10, 10, places=3),
}


def is_key(key: Any, kind: str) -> bool:
    if kind == "N":
        return key == 0 or (Decimal("1E-130") <= key.copy_abs() and len(key.as_tuple().digits) <= 38)
    return 0 < len(key.encode("latin-1" if kind == "B" else "utf-8")) <= 1024


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_the_next_key_is_the_next_one_in_both_directions(data: st.DataObject, kind: Any) -> None:
    key, other = data.draw(KEYS[kind]), data.draw(KEYS[kind])
    following, preceding = key_after(key, kind), key_before(key, kind)
    assert following is None or (is_key(following, kind) and key < following)
    assert preceding is None or (is_key(preceding, kind) and preceding < key)
    assert following is None or key_before(following, kind) == key
    assert preceding is None or key_after(preceding, kind) == key
    assert not key < other or following <= other
    assert not other < key or other <= preceding


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data(), has_low=st.booleans(), has_high=st.booleans())
def test_a_closed_interval_has_the_same_keys(
    data: st.DataObject, kind: Any, has_low: bool, has_high: bool
) -> None:
    low, high, key = (data.draw(KEYS[kind] | st.none()) for _ in range(3))
    interval = Interval(low, high, has_low, has_high)
    closed = interval.closed(kind)
    assert key is None or (key in closed) == (key in interval)
    assert interval.hull(closed) == interval or closed is NOTHING or closed.is_empty
    assert None in (low, high) or closed.has_low
    assert None in (low, high) or closed.has_high or kind != "N"


@given(
    st.lists(st.integers(0, 3) | st.none(), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_a_hull_has_all_keys_of_both(ends: list[int | None], has: list[bool]) -> None:
    one, other = Interval(ends[0], ends[1], has[0], has[1]), Interval(ends[2], ends[3], has[2], has[3])
    keys = [Decimal(number) / 2 for number in range(-2, 9)]
    hull = one.hull(other)
    assert all(key in hull for key in keys if key in one or key in other)


def test_a_prefix_may_be_the_last_character_there_is() -> None:
    assert EVERYTHING.shifted("\U0010ffff") == Interval("\U0010ffff", None, has_high=False)
