"""Conditions as their authors write them, with ``F``: for messages and plans in words."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Final

from dynaorm.failure import MASK
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    IsIn,
    Missing,
    Not,
    Or,
    SizeOf,
)
from dynaorm.item.field import FieldPath, FieldSize
from dynaorm.item.path import Path

_NOTHING: Final[AbstractSet[str]] = frozenset()
_SIGNS: Final = {"=": "==", "<>": "!="}


def condition_text(condition: Condition, secret: AbstractSet[str] = _NOTHING) -> str:
    """A condition on fields, as it was written. Values compared with the fields in ``secret`` are masked."""
    if isinstance(condition, And | Or):
        sign = " & " if isinstance(condition, And) else " | "
        return sign.join(f"({condition_text(part, secret)})" for part in condition.parts)
    if isinstance(condition, Not):
        return f"~({condition_text(condition.part, secret)})"
    return _of_one_field(condition, secret)


def _of_one_field(condition: Condition, secret: AbstractSet[str]) -> str:
    match condition:
        case Compare(left, operator, right):
            (value,) = _values(left.path, [right], secret)
            return f"{_operand(left)} {_SIGNS.get(operator, operator)} {value}"
        case Between(operand, low, high):
            return f"{_operand(operand)}.between({', '.join(_values(operand.path, [low, high], secret))})"
        case IsIn(operand, values):
            return f"{_operand(operand)}.is_in({', '.join(_values(operand.path, values, secret))})"
        case BeginsWith(path, value) | Contains(path, value):
            called = "begins_with" if isinstance(condition, BeginsWith) else "contains"
            return f"{_operand(Attr(path))}.{called}({', '.join(_values(path, [value], secret))})"
        case Exists(path):
            return f"{_operand(Attr(path))}.exists()"
        case Missing(path):
            return f"{_operand(Attr(path))}.missing()"
    return repr(condition)


def _operand(operand: Attr | SizeOf) -> str:
    return repr(FieldPath(operand) if isinstance(operand, Attr) else FieldSize(operand))


def _values(path: Path, values: Iterable[Any], secret: AbstractSet[str]) -> list[str]:
    """What a path is compared with: paths, or values."""
    return [
        _operand(one) if isinstance(one, Attr | SizeOf) else MASK if path[0] in secret else repr(one)
        for one in values
    ]
