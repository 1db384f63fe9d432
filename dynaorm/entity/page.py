"""A reply that was read straight from its bytes: the entities found, and the text of each one's item.

Rule 1. An entity keeps the text of its own item, not the page. The text is parsed when the item is needed.
Rule 2. The texts are cut, not parsed: finding where items begin takes a twentieth of the time that reading them takes.
        If a page could be cut in more than one way, ``item_texts`` gives nothing, and the page is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from dynaorm.entity.ident import Ident
from dynaorm.item.json_body import decode_body
from dynaorm.item.value import Item
from dynaorm.record import record

# The beginning of the first item of a reply. In a text, each of these quotes would have a backslash; and no attribute
# has a list without a type.
_BEGINNINGS: Final[Mapping[str, bytes]] = {
    "GetItem": rb'"Item":{(?=")',
    "Query": rb'"Items":\[{(?=")',
    "Scan": rb'"Items":\[{(?=")',
    "BatchGetItem": rb'"Responses":{"[^"]+":\[{(?=")',
}

# The end of one item and the beginning of another with its first attribute. It also matches between two maps in a list
# if the second one's first member has the name M, and between two keys of a batch that was not read whole.
_CUT: Final = rb'}},{(?="(?:[^"\\]|\\.)*+":{"(?:[SNB]":"|[SNB]S":\[|L":\[|M":{|BOOL":[tf]|NULL":t))'

# Compiled when they are used: the first get of a process needs one.
_compiled: Final = cache(re.compile)

BETWEEN: Final = b"}},{"
"""What separates the texts of two items."""

_ITEMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sequence[Item]]]] = {
    "GetItem": lambda reply: [reply["Item"]],
    "Query": lambda reply: reply["Items"],
    "Scan": lambda reply: reply["Items"],
    "BatchGetItem": lambda reply: [item for items in reply["Responses"].values() for item in items],
}


def item_texts(raw: bytes, operation: str, count: int) -> list[bytes] | None:
    """The texts of the items in a reply, as ``decode_item`` takes them; None where the items must be parsed.

    Args:
        raw: the body of the reply.
        operation: ``GetItem``, ``Query``, ``Scan``, or ``BatchGetItem`` of one table.
        count: the number of items. Every item has an attribute.
    """
    if count == 0:
        return []
    if count == 1:
        beginning = _compiled(_BEGINNINGS[operation]).search(raw)
        return None if beginning is None else [raw[beginning.end() :]]
    _, texts = cut(raw, operation)
    return texts if len(texts) == count else None


def cut(raw: bytes, operation: str) -> tuple[bytes, list[bytes]]:
    """The beginning of a reply, and the texts of its items, which ``BETWEEN`` joins again.

    There are other texts than items if the reply could be cut in more than one way, and none if it is not compact.
    """
    beginning = _compiled(_BEGINNINGS[operation]).search(raw)
    if beginning is None:
        return raw, []
    return raw[: beginning.end()], _compiled(_CUT).split(raw[beginning.end() :])


def items_in(raw: bytes, operation: str) -> Sequence[Item]:
    """The items of a reply, parsed. Raises ValueError for a binary value that is not base64."""
    return _ITEMS[operation](decode_body(raw))


@record(quick=True)
class ParsedReply:
    """A reply that was read.

    Attributes:
        found: in order, entities, and items (dicts) that are left to the codecs. Expired entities are left out.
        heads: for each of these, its key and perhaps more of its item; empty where no reader needs them.
        rest: the reply without its items.
        idents: for each of these, the contents of its key, if the operation is BatchGetItem; empty for any other.
    """

    found: list[Any]
    heads: Sequence[Item]
    rest: Mapping[str, Any]
    idents: Sequence[Ident] = ()

    @property
    def is_of_entities(self) -> bool:
        """Whether nothing is left to the codecs."""
        return dict not in map(type, self.found)


def is_entity(found: Any) -> bool:
    """Whether a member of ``found`` is an entity, not an item."""
    return type(found) is not dict
