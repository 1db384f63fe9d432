"""Which texts a key can be, as a shape, and whether two shapes have a text in common.

A shape is a sequence of literal texts and runs of characters of one class. Some shapes say more than the keys they
stand for (they know no alternatives), so ``may_meet`` may err towards True; False is always right.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Run:
    """``least`` to ``most`` characters, each one of ``chars``, or each one not of ``chars``.

    Attributes:
        chars: the characters of the class, or those outside it.
        least: how many there are at least.
        most: how many there are at most; None for no limit.
        but: ``chars`` are those that do not occur.
    """

    chars: frozenset[str]
    least: int = 0
    most: int | None = None
    but: bool = False


Shape: TypeAlias = tuple[str | Run, ...]
"""Literal texts and runs, in order."""

ANYTHING: Final = Run(frozenset(), but=True)
DIGITS: Final = frozenset("0123456789")

_State: TypeAlias = tuple[int, int]  # a part, and how many of its characters have been passed


def digits(least: int, most: int | None) -> Run:
    """A run of decimal digits."""
    return Run(DIGITS, least, most)


def shape_of_text(prefix: str) -> Shape:
    """The shape of every text that begins with ``prefix``."""
    return (prefix, ANYTHING)


def may_meet(a: Shape, b: Shape) -> bool:
    """Whether one text could be of both shapes.

    Example:
        >>> may_meet(("USER#", ANYTHING), ("ORDER#", ANYTHING)), may_meet(("v", digits(1, None)), ("v10",))
        (False, True)
    """
    start: tuple[_State, _State] = (0, 0), (0, 0)
    seen = {start}
    waiting = [start]
    while waiting:
        one, other = waiting.pop()
        ends, steps = _moves(a, one)
        other_ends, other_steps = _moves(b, other)
        if ends and other_ends:
            return True
        for chars, target in steps:
            for other_chars, other_target in other_steps:
                pair = target, other_target
                if pair not in seen and _share(chars, other_chars):
                    seen.add(pair)
                    waiting.append(pair)
    return False


def _moves(shape: Shape, state: _State) -> tuple[bool, list[tuple[Run, _State]]]:
    """Whether a text may end here, and which characters lead where."""
    steps: list[tuple[Run, _State]] = []
    part, passed = state
    while part < len(shape):
        here = shape[part]
        if isinstance(here, str):
            if passed < len(here):
                steps.append((Run(frozenset(here[passed])), (part, passed + 1)))
                return False, steps
        else:
            # Without an upper limit, all counts above the lower one are alike.
            limit = here.most if here.most is not None else max(here.least, 1)
            if here.most is None or passed < limit:
                steps.append((here, (part, min(passed + 1, limit))))
            if passed < here.least:
                return False, steps
        part, passed = part + 1, 0
    return True, steps


def _share(one: Run, other: Run) -> bool:
    if one.but:
        return other.but or bool(other.chars - one.chars)
    return bool(one.chars - other.chars) if other.but else not one.chars.isdisjoint(other.chars)
