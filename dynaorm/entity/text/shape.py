"""Shapes: sets of texts, and whether two such sets have a text in common.

A shape is a sequence of literal texts and runs of characters. Shapes have no alternatives, so the shape of a key may
include texts that no key has. ``may_meet`` may therefore return True for keys that never meet; False is always right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from dynaorm.record import record


@record
class CharacterRun:
    """``least`` to ``most`` characters, each in ``chars`` or, with ``but``, each outside of ``chars``.

    Attributes:
        chars: the characters that can occur, or those that cannot.
        least: the smallest number of characters.
        most: the largest number of characters; None for no limit.
        but: ``chars`` are those that cannot occur.
    """

    chars: frozenset[str]
    least: int = 0
    most: int | None = None
    but: bool = False


Shape: TypeAlias = tuple[str | CharacterRun, ...]
"""Literal texts and runs, in order."""

ANYTHING: Final = CharacterRun(frozenset(), but=True)
DIGITS: Final = frozenset("0123456789")

_State: TypeAlias = tuple[int, int]  # the index of a part, and how many of its characters have been passed


def digits(least: int, most: int | None) -> CharacterRun:
    """A run of decimal digits."""
    return CharacterRun(DIGITS, least, most)


def shape_of_text(prefix: str) -> Shape:
    """The shape of every text that begins with ``prefix``."""
    return (prefix, ANYTHING)


def is_fixed(shape: Shape) -> bool:
    """Whether all texts of a shape have one length."""
    return all(isinstance(part, str) or part.least == part.most for part in shape)


def listed(characters: frozenset[str]) -> str:
    """Characters as they stand between the brackets of a regular expression."""
    return "".join(map(re.escape, sorted(characters)))


def pattern_of(shape: Shape) -> str:
    """A regular expression of the texts of a shape."""
    return "".join(re.escape(part) if isinstance(part, str) else _run_pattern(part) for part in shape)


def _run_pattern(run: CharacterRun) -> str:
    characters = f"[{'^' if run.but else ''}{listed(run.chars)}]" if run.chars else r"[\s\S]"
    return f"{characters}{{{run.least},{'' if run.most is None else run.most}}}"


def may_meet(a: Shape, b: Shape) -> bool:
    """Whether a text belongs to both shapes.

    Examples:
        >>> may_meet(("USER#", ANYTHING), ("ORDER#", ANYTHING)), may_meet(("v", digits(1, None)), ("v10",))
        (False, True)
    """
    start = _Pair((0, 0), (0, 0))
    seen = {start}
    waiting = [start]
    while waiting:
        pair = waiting.pop()
        if pair.one[0] == len(a) and pair.other[0] == len(b):
            return True
        for found in _after(a, b, pair):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return False


class _Pair(NamedTuple):
    """How far one text has come in two shapes."""

    one: _State
    other: _State


def _after(a: Shape, b: Shape, pair: _Pair) -> Iterator[_Pair]:
    """The next pairs: past the end of a part in one shape, or over a character in both."""
    chars, target, beyond = _moves(a, pair.one)
    other_chars, other_target, other_beyond = _moves(b, pair.other)
    if beyond is not None:
        yield _Pair(beyond, pair.other)
    if other_beyond is not None:
        yield _Pair(pair.one, other_beyond)
    if target is not None and other_target is not None and _share(chars, other_chars):
        yield _Pair(target, other_target)


_NOTHING: Final = CharacterRun(frozenset(), 0, 0)


def _moves(shape: Shape, state: _State) -> tuple[CharacterRun, _State | None, _State | None]:
    """The characters that may come next, the state after one of them, and the state after the part if it can end."""
    part, passed = state
    if part == len(shape):
        return _NOTHING, None, None
    here = shape[part]
    if isinstance(here, str):
        if passed == len(here):
            return _NOTHING, None, (part + 1, 0)
        return CharacterRun(frozenset(here[passed])), (part, passed + 1), None
    beyond = (part + 1, 0) if passed >= here.least else None
    if here.most is None:
        # Without an upper limit, counts above the lower one need not be told apart.
        return here, (part, min(passed + 1, here.least)), beyond
    return here, (part, passed + 1) if passed < here.most else None, beyond


def _share(one: CharacterRun, other: CharacterRun) -> bool:
    if one.but:
        return other.but or bool(other.chars - one.chars)
    return bool(one.chars - other.chars) if other.but else not one.chars.isdisjoint(other.chars)
