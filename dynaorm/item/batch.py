"""How items are packed into BatchWriteItem requests: at most 25 items and 16 MB in each.

The 16 MB limit applies to the request as it is sent. A list of small numbers takes several times as many bytes in JSON
as it counts for the size of its item, so 25 items of less than 400 KB each may be too large for one request.
Source: Amazon DynamoDB API Reference, "BatchWriteItem".
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from dynaorm.item.json_body import Request
from dynaorm.item.prefix import scattered
from dynaorm.item.size import KB, MB
from dynaorm.item.value import Item

T = TypeVar("T")

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
    return Request(
        {"RequestItems": {table: [{"PutRequest": {"Item": scattered(item)}} for item, _ in items]}}, body
    )


def _sent_bytes(item: Item, text: bytes) -> int:
    """An upper bound of the bytes that an item takes in a request."""
    if len(text) <= _SURELY_SMALL:
        return _ROOM // BATCH_WRITE_LIMIT
    return len(json.dumps(item, default=_base64))


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
