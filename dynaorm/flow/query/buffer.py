"""The buffer of a walk: live items to be decoded, and entities that the reply reader has made.

Rule 1. Replies are read directly into entities if no items must be compared with each other or fetched.
Rule 2. The cursor is the key of the last entity returned, even if it changes later.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.page import ParsedReply, is_entity
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import LazyItem, Loaded, read_state_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.choose_key import compared_attributes
from dynaorm.query.key_query import KeyQueries, KeyQuery, needs_whole_items
from dynaorm.query.key_range import comparable
from dynaorm.query.query_spec import QuerySpec


class FoundItem(NamedTuple):
    """A live item with its class."""

    mapping: EntityMapping
    item: Item


class FoundEntry(NamedTuple):
    """An index entry whose item must be fetched."""

    item: Item


ItemSource: TypeAlias = Item | Loaded | LazyItem
"""A stored item, or the snapshot that has it."""


def source_of(found: Any) -> ItemSource:
    """The item of something buffered."""
    return found.item if isinstance(found, FoundItem | FoundEntry) else read_state_of(found)


def key_in(source: ItemSource, names: tuple[str, ...]) -> dict[str, AttributeValue]:
    """The key attributes of an item."""
    item = source if isinstance(source, Mapping) else source.item
    return {name: item[name] for name in names}


def reply_reader_for(
    spec: QuerySpec, key_queries: KeyQueries, wanted: tuple[type, ...]
) -> ReplyReader | None:
    """The reader of the replies to a query; None if items are needed."""
    several = len(key_queries.key_queries) > 1 and spec.segments is None
    if spec.keys_only or spec.names or several or not spec.source.is_whole or not key_queries.key_queries:
        return None
    local = key_queries.local_filter
    if any(map(needs_whole_items, spec.sources)) or (local is not None and local.computed):
        return None
    first, names = key_queries.key_queries[0], set[str]()
    if first.wanted and first.surplus is None:
        given = {*spec.equal, *(bound.field for bound in spec.bounds)}
        names |= {key.name for key in spec.source.keys}
        for source in spec.sources:
            names |= compared_attributes(source, given)
    if local is not None:
        names |= local.attributes or set()
    has_heads = bool(names or first.surplus)
    return reader_of(spec.source.table, wanted, first.operation, tuple(sorted(names)) if has_heads else None)


def accepted(reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries) -> list[Any]:
    """The results of a page: the wanted entities, and the items that are not entities yet.

    The reader has compared the primary key of each entity with what its class renders.
    """
    local, surplus = key_queries.local_filter, key_query.surplus
    if local is None and not (key_query.wanted if surplus is None else surplus):
        return reading.found
    pairs = zip(reading.found, reading.heads, strict=True)
    if local is None and surplus is not None:
        (sort,) = key_query.form.sort
        return [
            found
            for found, head in pairs
            if not is_entity(found) or comparable(head[sort.name]) not in surplus
        ]
    return [
        found
        for found, head in pairs
        if not is_entity(found) or is_accepted(mapping_of(type(found)), head, key_query, key_queries)
    ]


def is_accepted(mapping: EntityMapping, item: Item, key_query: KeyQuery, key_queries: KeyQueries) -> bool:
    """Whether a live item is wanted."""
    local = key_queries.local_filter
    return key_query.accepts(mapping, item) and (local is None or local.holds(mapping, item))
