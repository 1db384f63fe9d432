"""Two shapes meet where one text is of both; checked against shapes small enough to list all their texts."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.entity.text.scalar import (
    ANYTHING,
    CharacterRun,
    Shape,
    digits,
    may_meet,
    pattern_of,
)

AB = frozenset("ab")
PARTS = st.one_of(
    st.text("abc", max_size=2),
    st.builds(
        lambda chars, least, more, but: CharacterRun(frozenset(chars), least, least + more, but),
        st.text("abc", min_size=1, max_size=2),
        st.integers(0, 2),
        st.integers(0, 2),
        st.booleans(),
    ),
)
SHAPES = st.lists(PARTS, max_size=3).map(tuple)


def texts(shape: Shape) -> set[str]:
    """All texts of a shape of runs with an end, over an alphabet of four characters."""
    choices = []
    for part in shape:
        if isinstance(part, str):
            choices.append([part])
            continue
        assert part.most is not None
        chars = sorted(set("abcd") - part.chars if part.but else part.chars)
        lengths = range(part.least, part.most + 1)
        choices.append(["".join(one) for length in lengths for one in product(chars, repeat=length)])
    return {"".join(parts) for parts in product(*choices)}


@given(SHAPES, SHAPES)
def test_shapes_meet_exactly_where_they_have_a_text_in_common(a: Shape, b: Shape) -> None:
    assert may_meet(a, b) == bool(texts(a) & texts(b))


@given(SHAPES, st.text("abcd", max_size=4))
def test_a_text_matches_a_shape_exactly_where_it_is_of_it(shape: Shape, text: str) -> None:
    assert (re.fullmatch(pattern_of(shape), text) is not None) == (text in texts(shape))


@given(st.text(), st.data())
def test_a_text_and_anything_that_covers_it_meet(text: str, data: st.DataObject) -> None:
    parts: list[str | CharacterRun] = []
    rest = text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        piece, rest = rest[:size], rest[size:]
        covers: list[str | CharacterRun] = [
            piece,
            ANYTHING,
            CharacterRun(frozenset(piece)),
            CharacterRun(frozenset(piece), size),
            CharacterRun(frozenset(piece), 0, size),
            CharacterRun(frozenset("x#") - set(piece), size, but=True),
        ]
        parts.append(data.draw(st.sampled_from(covers)))
    assert may_meet((text,) if text else (), tuple(parts))


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [
        ((), (), True),
        ((), ("a",), False),
        ((), (ANYTHING,), True),
        (("USER#", ANYTHING), ("ORDER#", ANYTHING), False),
        (("USER#", ANYTHING), ("USER#", digits(6, 6)), True),
        (("USER#", CharacterRun(frozenset("#"), but=True)), ("USER#", ANYTHING, "#x"), False),
        (("v", digits(1, None), "_", ANYTHING), ("v0_Audit",), True),
        (("v", digits(1, None), "_", ANYTHING), ("version",), False),
        ((digits(3, None),), (digits(1, 2),), False),
        ((digits(3, None),), (digits(1, 3),), True),
        ((digits(1, None), "x"), (CharacterRun(AB), digits(2, 4), CharacterRun(frozenset("x"), 1)), True),
        ((CharacterRun(frozenset("ab"), 5, but=True),), (CharacterRun(frozenset("cd"), 5, but=True),), True),
        ((CharacterRun(frozenset("ab"), 1, but=True),), (CharacterRun(AB, 1),), False),
    ],
)
def test_known_pairs(a: Shape, b: Shape, *, meet: bool) -> None:
    assert may_meet(a, b) is meet


def test_shapes_of_many_runs_are_walked_in_reasonable_time() -> None:
    """There are 3 ** 40 ways to read such a text; every pair of places is visited once."""
    many: Shape = tuple(part for _ in range(20) for part in (ANYTHING, digits(0, 3)))
    assert may_meet((*many, "a"), (*many, "a"))
    assert not may_meet((*many, "a"), (*many, "b"))
