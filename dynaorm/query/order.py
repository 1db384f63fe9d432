"""The order of items in an index: DynamoDB's own, attribute by attribute of the sort key."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dynaorm.entity.table import KeyAttribute
from dynaorm.item.value import Item


def place(item: Item, keys: Sequence[KeyAttribute]) -> tuple[Any, ...]:
    """Where an item stands by these attributes: strings by code point, numbers by value, binary by byte.

    Code points sort as their UTF-8 bytes do (Amazon DynamoDB Developer Guide, "Query: sort order").
    """
    return tuple(_comparable(item[key.name]) for key in keys)


def _comparable(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content
