"""Intervals of keys in DynamoDB's order."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from dynaorm.query.interval import EVERYTHING, Interval, successor

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


def test_what_stands_before_every_key_may_be_the_last_character_there_is() -> None:
    assert EVERYTHING.shifted("\U0010ffff") == Interval("\U0010ffff", None, has_high=False)
