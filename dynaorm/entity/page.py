"""A reply that was read straight from its bytes: the entities found, and the page from which their items are parsed.

The entities of a reply share its page. The items are parsed once, when the item of any of them is first needed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item
from dynaorm.record import record


class ReplyPage:
    """The items of a reply.

    Threads may share it: two that need an item at the same time both parse the reply, with equal results.

    Args:
        raw: the body of the reply.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
    """

    __slots__ = ("_items", "_operation", "_raw")

    def __init__(self, raw: bytes, operation: str) -> None:
        self._raw = raw
        self._operation = operation
        self._items: Sequence[Item] | None = None

    def __getitem__(self, place: int) -> Item:
        raw, items = (
            self._raw,
            self._items,
        )  # in this order: another thread drops the bytes once it has parsed the items
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


@record
class ParsedReply:
    """A reply that was read.

    Attributes:
        found: in order, entities, and items (dicts) that are left to the codecs. Expired entities are left out.
        heads: for each of these, its key and perhaps more of its item; empty where no reader needs them.
        rest: the reply without its items.
    """

    found: list[Any]
    heads: Sequence[Item]
    rest: Mapping[str, Any]

    @property
    def is_of_entities(self) -> bool:
        """Whether nothing is left to the codecs."""
        return dict not in map(type, self.found)


def is_entity(found: Any) -> bool:
    """Whether a member of ``found`` is an entity, not an item."""
    return type(found) is not dict
