"""How items are packed into BatchWriteItem requests: at most 25 items and 16 MB in each.

The 16 MB are those of the request as it is sent. In JSON a list of small numbers takes several times the bytes that
count for its item, so that 25 items of less than 400 KB may be too much.
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

# The table's name, and what stands around each item.
_ENVELOPE: Final = 4 * KB
_ROOM: Final = REQUEST_LIMIT - _ENVELOPE

# JSON is at most 23 times as long as what it says (a number of 40 digits in a set, all but one of them 0), so that 25
# items of this size fit in any case. Longer ones are measured.
_SURELY_SMALL: Final = _ROOM // BATCH_WRITE_LIMIT // 32


def packed(entries: Iterable[T], sized: Callable[[T], tuple[Item, int]]) -> Iterator[list[T]]:
    """Portions of one request each, in order. ``sized``: an entry's item, and its ``size_bound``."""
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
    """No fewer bytes than an item takes in a request."""
    if bound <= _SURELY_SMALL or item_size(item) <= _SURELY_SMALL:
        return _ROOM // BATCH_WRITE_LIMIT
    return len(json.dumps(item, default=_base64))


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
