"""The buffer of a walk: live items to be decoded, and entities that the reply reader has made.

Rule 1. Replies are read directly into entities, unless the results are not entities or the whole item tells if it is
    wanted.
Rule 2. The cursor is the key of the last entity returned, even if it changes later.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.page import ParsedReply, is_entity
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import LazyItem, Loaded, read_state_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.choose_key import compared_attributes
from dynaorm.query.key_query import KeyQueries, KeyQuery, needs_whole_items
from dynaorm.query.query_spec import QuerySpec


class FoundItem(NamedTuple):
    """A live item with its class."""

    mapping: EntityMapping
    item: Item


class FoundEntity(NamedTuple):
    """An entity, and its key and the key attributes of the walk, by which it is merged."""

    entity: Any
    item: Item


class FoundEntry(NamedTuple):
    """An index entry whose item must be fetched."""

    item: Item


_FOUND: Final = (FoundItem, FoundEntity, FoundEntry)

ItemSource: TypeAlias = Item | Loaded | LazyItem
"""A stored item, or the snapshot that has it."""


def source_of(found: Any) -> ItemSource:
    """The item of something buffered."""
    return found.item if isinstance(found, _FOUND) else read_state_of(found)


def key_in(source: ItemSource, names: tuple[str, ...]) -> dict[str, AttributeValue]:
    """The key attributes of an item."""
    item = source if isinstance(source, Mapping) else source.item
    return {name: item[name] for name in names}


def reply_reader_for(
    spec: QuerySpec, key_queries: KeyQueries, wanted: tuple[type, ...]
) -> ReplyReader | None:
    """The reader of the replies to a query; None if items are needed."""
    if not spec.source.is_whole or not key_queries.key_queries or _needs_items(spec, key_queries):
        return None
    names = _compared(spec, key_queries)
    has_heads = any(one.accepts_key for one in key_queries.key_queries)
    if has_heads or is_merged(spec, key_queries):
        names |= {key.name for key in spec.source.keys}
    operation = key_queries.key_queries[0].operation
    return reader_of(spec.source.table, wanted, operation, tuple(sorted(names)) if names else None)


def batch_reader_for(
    spec: QuerySpec, key_queries: KeyQueries, wanted: tuple[type, ...]
) -> ReplyReader | None:
    """The reader of the whole items of index entries; None if items are needed."""
    if _needs_items(spec, key_queries):
        return None
    names = _compared(spec, key_queries) | {key.name for key in spec.source.keys}
    return reader_of(spec.source.table, wanted, "BatchGetItem", tuple(sorted(names)))


def is_merged(spec: QuerySpec, key_queries: KeyQueries) -> bool:
    """Whether the results of several key queries are merged in key order."""
    return spec.segments is None and len(key_queries.key_queries) > 1


def _needs_items(spec: QuerySpec, key_queries: KeyQueries) -> bool:
    """Whether the results are not entities, or only the whole item tells if it is wanted."""
    local = key_queries.local_filter
    is_computed = local is not None and local.attributes is None
    return spec.keys_only or bool(spec.names) or is_computed or needs_whole_items(spec)


def _compared(spec: QuerySpec, key_queries: KeyQueries) -> set[str]:
    """The attributes by which items are accepted, besides the primary key."""
    names, local = set[str](), key_queries.local_filter
    if any(one.wanted and one.own is None for one in key_queries.key_queries):
        names |= {key.name for key in spec.source.keys} | compared_attributes(spec)
    return names if local is None else names | (local.attributes or set())


def accepted(reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries) -> list[Any]:
    """The results of a page: the wanted entities, and the items that are not entities yet.

    The reader has compared the primary key of each entity with what its class renders.
    """
    test = _acceptance(key_query, key_queries)
    if test is None:
        return reading.found
    pairs = zip(reading.found, reading.heads, strict=True)
    return [found for found, head in pairs if not is_entity(found) or test(found, head)]


def accepted_to_merge(reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries) -> list[Any]:
    """The same with the keys of the entities."""
    test = _acceptance(key_query, key_queries)
    pairs = zip(reading.found, reading.heads, strict=True)
    return [
        FoundEntity(found, head) if is_entity(found) else found
        for found, head in pairs
        if not is_entity(found) or test is None or test(found, head)
    ]


def _acceptance(key_query: KeyQuery, key_queries: KeyQueries) -> Callable[[Any, Item], bool] | None:
    """Whether an entity, whose head is given, is wanted; None if all are."""
    if key_queries.local_filter is None and (key_query.own is not None or not key_query.wanted):
        by_key = key_query.accepts_key
        return None if by_key is None else lambda _, head: by_key(head)
    return lambda found, head: is_accepted(mapping_of(type(found)), head, key_query, key_queries)


def is_accepted(mapping: EntityMapping, item: Item, key_query: KeyQuery, key_queries: KeyQueries) -> bool:
    """Whether a live item is wanted."""
    local = key_queries.local_filter
    return key_query.accepts(mapping, item) and (local is None or local.holds(mapping, item))
