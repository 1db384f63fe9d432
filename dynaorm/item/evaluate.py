"""Evaluates a condition in memory as DynamoDB would, for items whose condition could not be sent with the query.

Rule 1. An attribute that is not stored is unequal to everything, and neither less nor greater than anything.
Rule 2. Values of two types are unequal, and neither is less than the other.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import singledispatch
from typing import Any, Final

from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    HasType,
    IsIn,
    Missing,
    Not,
    Or,
    SizeOf,
)
from dynaorm.item.known import Unread
from dynaorm.item.path import value_at
from dynaorm.item.value import AttributeValue, Item, same

_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@singledispatch
def holds(condition: Condition, item: Item) -> bool:
    """Whether a resolved condition holds for an item. Raises Unread where the known part of one does not say."""
    raise TypeError(f"{condition!r} for {item!r} is not a condition; combine conditions of F")


@holds.register
def _(condition: And, item: Item) -> bool:
    return not _has_part(condition.parts, item, holding=False)


@holds.register
def _(condition: Or, item: Item) -> bool:
    return _has_part(condition.parts, item, holding=True)


def _has_part(parts: Iterable[Condition], item: Item, *, holding: bool) -> bool:
    """Whether one part holds, or does not; a part that is decided may be one where others are not."""
    unread: Unread | None = None
    for part in parts:
        try:
            if holds(part, item) is holding:
                return True
        except Unread as unknown:
            unread = unknown
    if unread is not None:
        raise unread
    return False


@holds.register
def _(condition: Not, item: Item) -> bool:
    return not holds(condition.part, item)


@holds.register
def _(condition: Exists, item: Item) -> bool:
    return value_at(item, condition.path) is not None


@holds.register
def _(condition: Missing, item: Item) -> bool:
    return value_at(item, condition.path) is None


@holds.register
def _(condition: HasType, item: Item) -> bool:
    return condition.tag in (value_at(item, condition.path) or {})


@holds.register
def _(condition: Compare, item: Item) -> bool:
    left, right = _operand(condition.left, item), _operand(condition.right, item)
    if condition.operator == "=":
        return left is not None and right is not None and same(left, right)
    # Rule 1: DynamoDB's <> holds for an absent attribute, too.
    if condition.operator == "<>":
        return left is None or right is None or not same(left, right)
    return _compared(left, condition.operator, right)


@holds.register
def _(condition: Between, item: Item) -> bool:
    value = _operand(condition.operand, item)
    return _compared(value, ">=", _operand(condition.low, item)) and _compared(
        value, "<=", _operand(condition.high, item)
    )


@holds.register
def _(condition: IsIn, item: Item) -> bool:
    value = _operand(condition.operand, item)
    others = [_operand(one, item) for one in condition.values]
    return value is not None and any(other is not None and same(value, other) for other in others)


@holds.register
def _(condition: BeginsWith, item: Item) -> bool:
    value, prefix = value_at(item, condition.path), _operand(condition.prefix, item)
    if value is None or prefix is None:
        return False
    ((kind, content),), ((other, beginning),) = value.items(), prefix.items()
    return kind == other and kind in ("S", "B") and bool(content.startswith(beginning))


@holds.register
def _(condition: Contains, item: Item) -> bool:
    value, wanted = value_at(item, condition.path), _operand(condition.value, item)
    if value is None or wanted is None:
        return False
    ((kind, content),), ((other, piece),) = value.items(), wanted.items()
    if kind in ("S", "B"):
        return kind == other and piece in content
    if kind in ("SS", "NS", "BS"):
        return any(same({kind[0]: one}, wanted) for one in content)
    return kind == "L" and any(same(one, wanted) for one in content)


def _operand(operand: Any, item: Item) -> AttributeValue | None:
    if isinstance(operand, Attr):
        return value_at(item, operand.path)
    if isinstance(operand, SizeOf):
        return size_of(value_at(item, operand.path))
    value: AttributeValue = operand
    return value


def size_of(value: AttributeValue | None) -> AttributeValue | None:
    """The size of a value as DynamoDB's ``size`` gives it; None for a value without one."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    # Text is measured in characters, binary in bytes, everything else in elements. Numbers have no size.
    return {"N": str(len(content))} if kind in ("S", "B", "SS", "NS", "BS", "L", "M") else None


def _compared(left: AttributeValue | None, sign: str, right: AttributeValue | None) -> bool:
    if left is None or right is None:
        return False
    ((kind, content),), ((other, bound),) = left.items(), right.items()
    if kind != other or kind not in ("S", "N", "B"):
        return False
    # Python compares texts by code points, which is the order of their UTF-8 bytes, by which DynamoDB compares.
    return _ORDERED[sign](*((Decimal(content), Decimal(bound)) if kind == "N" else (content, bound)))
