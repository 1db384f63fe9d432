"""What a walk has in hand: items yet to become entities, and entities that came out of an answer as such.

Rule 1. An answer is read straight into entities where no more of an item than its keys has to be looked into before.
    So it is not where strands are merged, or fields have to hold.
Rule 2. Whoever was returned last says where the walk stands, whatever has become of it since.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.page import ParsedReply
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import LazyItem, place_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.query_spec import QuerySpec


class FoundItem(NamedTuple):
    """A visible item, with its class."""

    mapping: EntityMapping
    item: Item


ItemSource: TypeAlias = Item | LazyItem
"""Where something was found: the item, or what will give it."""


def source_of(sighted: Any) -> ItemSource:
    """The place of something in hand."""
    return sighted.item if isinstance(sighted, FoundItem) else place_of(sighted)


def key_at(place: ItemSource | None, names: tuple[str, ...]) -> dict[str, AttributeValue] | None:
    """The key attributes at a place."""
    if place is None:
        return None
    item = place if isinstance(place, Mapping) else place.item
    return {name: item[name] for name in names}


def json_reader_for(spec: QuerySpec, key_queries: KeyQueries, wanted: tuple[type, ...]) -> ReplyReader | None:
    """What reads the answers to a question into entities; None where items have to be looked into."""
    several = len(key_queries.key_queries) > 1 and spec.segments is None
    if spec.keys_only or several or not spec.source.is_whole or not key_queries.key_queries:
        return None
    first = key_queries.key_queries[0]
    if first.held:
        return None
    names = tuple(name for name, _ in first.checks)
    return reader_of(spec.source.table, wanted, first.operation, names or None)


def admitted(reading: ParsedReply, key_query: KeyQuery) -> list[Any]:
    """Of what was read, what was asked for."""
    if not key_query.checks:
        return reading.found
    pairs = zip(reading.found, reading.heads, strict=True)
    return [found for found, head in pairs if key_query.admits(head)]
