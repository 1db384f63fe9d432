"""The order of items in a table or index: by the attributes of the sort key, as DynamoDB sorts them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dynaorm.entity.table import KeyAttribute
from dynaorm.item.value import Item


def place(item: Item, keys: Sequence[KeyAttribute]) -> tuple[Any, ...]:
    """The sort position of an item by these attributes: strings by code point, numbers by value, binary by byte.

    Code points sort as their UTF-8 bytes do (Amazon DynamoDB Developer Guide, "Query: sort order").
    """
    return tuple([_comparable(item[key.name]) for key in keys])  # faster than of a generator


def _comparable(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return Decimal(content) if kind == "N" else content
