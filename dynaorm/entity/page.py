"""The items of one answer of DynamoDB's, kept as the bytes that came until somebody asks for one of them.

Entities made from the bytes themselves share a page, for the day one of them is changed and saved. It is taken apart
once for all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item


class ReplyPage:
    """The items of an answer.

    Threads may share it: two that ask at once both take it apart, and either result will do.

    Args:
        raw: the body of a reply.
        operation: what it answers: ``GetItem``, ``Query``, ``Scan`` or ``BatchGetItem`` of one table.
    """

    __slots__ = ("_items", "_operation", "_raw")

    def __init__(self, raw: bytes, operation: str) -> None:
        self._raw = raw
        self._operation = operation
        self._items: Sequence[Item] | None = None

    def __getitem__(self, place: int) -> Item:
        raw, items = self._raw, self._items  # in this order: the bytes go when the items are there
        if items is None:
            self._items = items = _ITEMS[self._operation](decode_body(raw))
            self._raw = b""
        return items[place]


def _items(reply: Mapping[str, Any]) -> Sequence[Item]:
    found: Sequence[Item] = reply["Items"]
    return found


_ITEMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sequence[Item]]]] = {
    "GetItem": lambda reply: [reply["Item"]],
    "Query": _items,
    "Scan": _items,
    "BatchGetItem": lambda reply: [item for items in reply["Responses"].values() for item in items],
}
