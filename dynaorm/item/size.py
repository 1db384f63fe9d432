"""The size of an item by DynamoDB's rules, and the limits that apply to it.

Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats" and "Constraints in DynamoDB". There,
1 KB is 1,024 bytes, and the size of a number is approximate.

A value of a form that DynamoDB does not have today, such as a newer type, has the size of its text. It is stored as is.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from dynaorm.item.json_body import Request
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
    return sum(map(_text_size, item)) + sum(map(_value_size, item.values()))


def size_bound(item: Item) -> int:
    """An upper bound of ``item_size`` that is quicker to compute, because every save is checked against 400 KB."""
    try:
        return _size_bound(item)
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
    return 3 + len(members) + item_size(members)


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


T = TypeVar("T")

# How items are packed into BatchWriteItem requests: at most 25 items and 16 MB in each.
#
# The 16 MB limit applies to the request as it is sent. A list of small numbers takes several times as many bytes in
# JSON as it counts for the size of its item, so 25 items of less than 400 KB each may be too large for one request.
# Source: Amazon DynamoDB API Reference, "BatchWriteItem".


BATCH_WRITE_LIMIT: Final = 25
"""Items in one BatchWriteItem."""

REQUEST_LIMIT: Final = 16 * MB
"""Bytes of one BatchWriteItem, as sent."""

# The table name, and the JSON around the items.
_ENVELOPE: Final = 4 * KB
_ROOM: Final = REQUEST_LIMIT - _ENVELOPE

# 25 items of this size always fit: botocore writes at most three bytes for a byte of text, and spaces between values.
# Larger items are measured.
_SURELY_SMALL: Final = _ROOM // BATCH_WRITE_LIMIT // 4


def packed(entries: Iterable[T], sized: Callable[[T], tuple[Item, bytes]]) -> Iterator[list[T]]:
    """The entries in order, in portions of one request. ``sized`` returns an entry's item and the JSON of it."""
    portion: list[T] = []
    room = _ROOM
    for entry in entries:
        size = _sent_bytes(*sized(entry))
        if portion and (len(portion) == BATCH_WRITE_LIMIT or size > room):
            yield portion
            portion, room = [], _ROOM
        portion.append(entry)
        room -= size
    if portion:
        yield portion


def puts_of(table: str, items: Sequence[tuple[Item, bytes]]) -> Request:
    """The request of a BatchWriteItem that puts items, each given with the JSON of it."""
    puts = b",".join([b'{"PutRequest":{"Item":%b}}' % text for _, text in items])
    body = b'{"RequestItems":{%b:[%b]}}' % (json.dumps(table).encode(), puts)
    return Request({"RequestItems": {table: [{"PutRequest": {"Item": item}} for item, _ in items]}}, body)


def _sent_bytes(item: Item, text: bytes) -> int:
    """An upper bound of the bytes that an item takes in a request."""
    if len(text) <= _SURELY_SMALL:
        return _ROOM // BATCH_WRITE_LIMIT
    return len(json.dumps(item, default=_base64))


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
