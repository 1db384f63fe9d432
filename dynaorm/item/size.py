"""The size of an item by DynamoDB's rules, and the limits that apply to it.

Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats" and "Constraints in DynamoDB". There,
1 KB is 1,024 bytes, and the size of a number is approximate.

A value of a form that DynamoDB does not have today, such as a newer type, has the size of its text. It is stored as is.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dynaorm.item.prefix import scattered
from dynaorm.item.value import AttributeValue, Item

KB: Final = 1024
MB: Final = 1024 * KB

ITEM_LIMIT: Final = 400 * KB
"""Bytes of an item, attribute names included."""

TRANSACTION_LIMIT: Final = 4 * MB
"""Bytes of all items in one TransactWriteItems."""

ACTION_LIMIT: Final = 100
"""Actions in one TransactWriteItems."""


def item_size(item: Item) -> int:
    """Bytes of an item or key: its attribute names in UTF-8 and its values."""
    return _members_size(scattered(item))


def _members_size(members: Item) -> int:
    return sum(_text_size(name) + _value_size(value) for name, value in members.items())


def size_bound(item: Item) -> int:
    """An upper bound of ``item_size`` that is quicker to compute, because every save is checked against 400 KB."""
    try:
        return _size_bound(scattered(item))
    # A value of a form that DynamoDB does not have today.
    except (TypeError, AttributeError):
        return item_size(item)


def _size_bound(item: Item) -> int:
    characters = len("".join(item))
    values = [*item.values()]
    for value in values:  # grows by what maps and lists hold
        if "S" in value:
            characters += len(value["S"])
        elif "M" in value:
            characters += len("".join(value["M"]))
            values += value["M"].values()
        elif "L" in value:
            values += value["L"]
        elif "N" not in value and "BOOL" not in value:
            characters += _value_size(value)
    # A character has at most four bytes. A number, or a value without its characters, has at most 24 bytes.
    return 4 * characters + 24 * len(values)


def write_units(bytes: int) -> int:
    """Write capacity units of a standard write of this many bytes: one per started KB, at least one."""
    return max(1, -(-bytes // KB))


def _text_size(text: str) -> int:
    # An attribute that no field reads is kept as it is, even with half of a surrogate pair.
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _number_size(text: str) -> int:
    """One byte for every two significant digits, plus one byte, plus one for a minus sign."""
    if text.isdigit():
        return (max(1, len(text.strip("0"))) + 1) // 2 + 1
    mantissa = text.upper().partition("E")[0]
    negative = mantissa.startswith("-")
    digits = mantissa.lstrip("+-").replace(".", "").strip("0")
    return (max(1, len(digits)) + 1) // 2 + 1 + negative


def _list_size(elements: Collection[AttributeValue]) -> int:
    # 3 bytes for the list itself, and 1 for each element.
    return 3 + len(elements) + sum(map(_value_size, elements))


def _map_size(members: Item) -> int:
    # 3 bytes for the map itself, and 1 for each member, as in a list.
    return 3 + len(members) + _members_size(members)


_SIZES: Final[Mapping[str, Callable[[Any], int]]] = {
    "S": _text_size,
    "N": _number_size,
    "B": len,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda texts: sum(map(_text_size, texts)),
    "NS": lambda numbers: sum(map(_number_size, numbers)),
    "BS": lambda blobs: sum(map(len, blobs)),
    "L": _list_size,
    "M": _map_size,
}


def _value_size(value: AttributeValue) -> int:
    try:
        ((tag, content),) = value.items()
        return _SIZES[tag](content)
    except (AttributeError, KeyError, TypeError, ValueError):
        return len(repr(value))
