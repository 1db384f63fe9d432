"""How items are packed into BatchWriteItem requests: at most 25 items and 16 MB in each.

The 16 MB limit applies to the request as it is sent. A list of small numbers takes several times as many bytes in JSON
as it counts for the size of its item, so 25 items of less than 400 KB each may be too large for one request.
Source: Amazon DynamoDB API Reference, "BatchWriteItem".
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from dynaorm.item.size import KB, MB, item_size
from dynaorm.item.value import Item

T = TypeVar("T")

BATCH_WRITE_LIMIT: Final = 25
"""Items in one BatchWriteItem."""

REQUEST_LIMIT: Final = 16 * MB
"""Bytes of one BatchWriteItem, as sent."""

# The table name, and the JSON around the items.
_ENVELOPE: Final = 4 * KB
_ROOM: Final = REQUEST_LIMIT - _ENVELOPE

# The JSON of an item is at most 23 times as long as its size (the worst case is a set of numbers of 40 digits with only
# one other than 0), so 25 items of this size always fit. Larger items are measured.
_SURELY_SMALL: Final = _ROOM // BATCH_WRITE_LIMIT // 32


def packed(entries: Iterable[T], sized: Callable[[T], tuple[Item, int]]) -> Iterator[list[T]]:
    """The entries in order, in portions of one request. ``sized`` returns an entry's item and its ``size_bound``."""
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


def _sent_bytes(item: Item, bound: int) -> int:
    """An upper bound of the bytes that an item takes in a request."""
    if bound <= _SURELY_SMALL or item_size(item) <= _SURELY_SMALL:
        return _ROOM // BATCH_WRITE_LIMIT
    return len(json.dumps(item, default=_base64))


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
