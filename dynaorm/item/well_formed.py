"""Whether a value from outside is an item: attribute names and attribute values, with bytes for binary values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from dynaorm.item.value import Item

_Check: TypeAlias = tuple[type, Callable[[Any], bool] | None]


def is_item(value: object) -> TypeGuard[Item]:
    """Whether it is a dict of attribute values. Raises RecursionError if it is nested deeper than DynamoDB allows."""
    return isinstance(value, dict) and all(map(is_value, value.values()))


def is_value(value: object) -> bool:
    """Whether it is an attribute value."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, inner),) = value.items()
    if kind not in _VALUES:
        return False
    of, is_valid = _VALUES[kind]
    return isinstance(inner, of) and (is_valid is None or is_valid(inner))


def is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value is a list, and all its elements are valid."""
    return lambda value: isinstance(value, list) and all(map(is_valid, value))


_are_texts: Final[_Check] = (list, is_list_of(lambda one: isinstance(one, str)))

_VALUES: Final[Mapping[object, _Check]] = {
    "S": (str, None),
    "N": (str, None),
    "B": (bytes, None),
    "SS": _are_texts,
    "NS": _are_texts,
    "BS": (list, is_list_of(lambda one: isinstance(one, bytes))),
    "M": (dict, is_item),
    "L": (list, is_list_of(is_value)),
    "BOOL": (bool, None),
    "NULL": (bool, None),
}
