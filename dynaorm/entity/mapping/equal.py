"""Equality of values and their types, at every depth."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from operator import is_
from typing import Any, Final

from pydantic import BaseModel

# Every save compares values, and `list | tuple` would be built for each.
_SEQUENCES: Final = (list, tuple)
_SETS: Final = (set, frozenset)


def is_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types, at every depth."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, _SEQUENCES):
        return len(one) == len(other) and (all(map(is_, one, other)) or all(map(is_equal, one, other)))
    if isinstance(one, dict):
        # The key 1 equals the key True.
        return _typed(one) == _typed(other) and _have_equal(one, other)
    if isinstance(one, BaseModel):
        before, now = vars(one), vars(other)
        return before.keys() == now.keys() and _have_equal(before, now)
    if is_dataclass(one):
        return all(is_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    # The set of 1 equals the set of True.
    return bool(one == other) and (not isinstance(one, _SETS) or _typed(one) == _typed(other))


def _have_equal(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Whether two dicts of equal keys have equal values."""
    # By key, because equal dicts may have their keys in another order.
    return all(map(is_equal, one.values(), map(other.__getitem__, one)))


def _typed(members: Any) -> set[Any]:
    return {(type(one), one) for one in members}
