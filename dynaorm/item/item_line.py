"""Items as lines of text, in DynamoDB JSON: ``{"Item":{"PK":{"S":"USER#1"}}}``.

Rule 1. The lines are those of an export to S3, and what an import from S3 takes (Amazon DynamoDB Developer Guide,
        "DynamoDB table export output format", "Amazon S3 import formats for DynamoDB").
Rule 2. An item has one line: attributes, members of maps and elements of sets are sorted.
"""

from collections.abc import Mapping
from typing import Any, Final

from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.prefix import scattered
from dynaorm.item.value import Item
from dynaorm.item.well_formed import is_item

ITEM: Final = "Item"
_SETS: Final = ("SS", "NS", "BS")


def item_line(item: Item) -> bytes:
    """The line of an item, with its end."""
    return encode_body({ITEM: _members(scattered(item))}) + b"\n"


def item_in(line: bytes) -> dict[str, Any]:
    """The item of a line. Members beside ``Item`` are left out.

    Raises:
        ValueError: it is no line of an item. The message says what is wrong, and quotes nothing.
    """
    try:
        found = decode_body(line)
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not isinstance(found, dict) or ITEM not in found:
        raise ValueError(f"it is no JSON object with the member {ITEM!r}")
    item = found[ITEM]
    try:
        is_whole = is_item(item)
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise ValueError(f"its {ITEM!r} is not in DynamoDB JSON")
    assert isinstance(item, dict)
    return item


def _members(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(members[name]) for name in sorted(members)}


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    ((tag, content),) = value.items()
    if tag == "M":
        return {tag: _members(content)}
    if tag == "L":
        return {tag: [_value(one) for one in content]}
    return {tag: sorted(content) if tag in _SETS else content}
