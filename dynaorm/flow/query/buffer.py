"""The buffer of a walk: items to be decoded, and entities that the JSON reader has made.

Rule 1. Replies are read directly into entities if only keys of the items must be checked first. So they are not if
    several key queries are merged, or fields must have certain values.
Rule 2. The cursor is the key of the last entity returned, even if it changes later.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.json_reader.answer import JsonReader, Reading, json_reader_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import LazyItem, place_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.query_spec import QuerySpec


class FoundItem(NamedTuple):
    """A live item with its class."""

    mapping: EntityMapping
    item: Item


ItemSource: TypeAlias = Item | LazyItem
"""A stored item, or the reply to take it from."""


def source_of(found: Any) -> ItemSource:
    """The item of something buffered."""
    return found.item if isinstance(found, FoundItem) else place_of(found)


def key_in(source: ItemSource | None, names: tuple[str, ...]) -> dict[str, AttributeValue] | None:
    """The key attributes of an item."""
    if source is None:
        return None
    item = source if isinstance(source, Mapping) else source.item
    return {name: item[name] for name in names}


def json_reader_for(spec: QuerySpec, key_queries: KeyQueries, wanted: tuple[type, ...]) -> JsonReader | None:
    """The JSON reader for the replies to a query; None if items must be decoded first."""
    several = len(key_queries.key_queries) > 1 and spec.segments is None
    if spec.keys_only or several or not spec.source.is_whole or not key_queries.key_queries:
        return None
    first = key_queries.key_queries[0]
    if first.held:
        return None
    names = tuple(name for name, _ in first.checks)
    return json_reader_of(spec.source.table, wanted, first.operation, names or None)


def admitted(reading: Reading, key_query: KeyQuery) -> list[Any]:
    """The results of a page that are wanted."""
    if not key_query.checks:
        return reading.found
    pairs = zip(reading.found, reading.heads, strict=True)
    return [found for found, head in pairs if key_query.admits(head)]
