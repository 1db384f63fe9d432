"""The buffer of a walk: live items to be decoded, and entities that the reply reader has made.

Rule 1. Replies are read directly into entities, unless the results are not entities or the whole item tells if it is
    wanted.
Rule 2. The cursor is the key of the last entity returned, even if it changes later.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.page import ParsedReply, is_entity
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import LazyItem, Loaded, read_state_of
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.key_query import KeyQueries, KeyQuery
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


_NO_HEAD: Final[Item] = {}
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


def reply_reader_for(spec: QuerySpec, key_queries: KeyQueries, *, is_merged: bool) -> ReplyReader | None:
    """The reader of the replies to a query; None if items are needed. ``is_merged``: keys are needed, too."""
    found, form = key_queries.key_queries, key_queries.form
    if not form.is_whole or not found or _needs_items(spec, key_queries):
        return None
    names = _compared(key_queries)
    if is_merged:
        names |= {*form.key_names}
    key = found[0].operation, tuple(sorted(names)) if names else None
    if key not in form.readers:
        form.readers[key] = reader_of(spec.source.table, form.classes, *key)
    return form.readers[key]


def batch_reader_for(spec: QuerySpec, key_queries: KeyQueries) -> ReplyReader | None:
    """The reader of the whole items of index entries; None if items are needed."""
    if _needs_items(spec, key_queries):
        return None
    form = key_queries.form
    names = _compared(key_queries) | {*form.key_names}
    return reader_of(spec.source.table, form.classes, "BatchGetItem", tuple(sorted(names)))


def _needs_items(spec: QuerySpec, key_queries: KeyQueries) -> bool:
    """Whether the results are not entities, or only the whole item tells if it is wanted."""
    local = key_queries.local_filter
    is_computed = local is not None and local.attributes is None
    return spec.keys_only or bool(spec.names) or is_computed or key_queries.form.needs_whole


def _compared(key_queries: KeyQueries) -> set[str]:
    """The attributes by which entities are accepted, besides the primary key and the values of their fields."""
    local = key_queries.local_filter
    names: set[str] = {*key_queries.form.key_names} if key_queries.form.has_rivals else set()
    return names if local is None else names | (local.attributes or set())


def accepted(reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries) -> list[Any]:
    """The results of a page: the wanted entities, and the items that are not entities yet.

    The reader has compared the primary key of each entity with what its class renders.
    """
    if key_queries.local_filter is None:
        if not key_query.wanted:
            return reading.found
        if (fits := key_query.fits) is not None:
            return _fitting(reading.found, fits)
    heads = reading.heads or repeat(_NO_HEAD)
    return [
        found
        for found, head in zip(reading.found, heads, strict=False)
        if not is_entity(found) or is_accepted(found, head, key_query, key_queries)
    ]


def _fitting(found: Sequence[Any], fits: Callable[[Mapping[str, Any]], bool]) -> list[Any]:
    wanted: list[Any] = []
    for one in found:
        try:
            if type(one) is dict or fits(one.__dict__):  # inlined: half the time of is_entity
                wanted.append(one)
        except ValueError:
            # It loads, but no key can have the value. So another program wrote the key.
            wanted.append(one)
    return wanted


def accepted_to_merge(reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries) -> list[Any]:
    """The same with the keys of the entities."""
    is_all = key_queries.local_filter is None and not key_query.wanted
    pairs = zip(reading.found, reading.heads, strict=True)
    return [
        FoundEntity(found, head) if is_entity(found) else found
        for found, head in pairs
        if is_all or not is_entity(found) or is_accepted(found, head, key_query, key_queries)
    ]


def is_accepted(entity: Any, head: Item, key_query: KeyQuery, key_queries: KeyQueries) -> bool:
    """Whether an entity is wanted. ``head``: the attributes of its item that ``reply_reader_for`` asks for."""
    mapping, local = mapping_of(type(entity)), key_queries.local_filter
    if key_query.wanted and not key_query.accepts(mapping, entity.__dict__, head):
        return False
    return local is None or local.holds(mapping, head)


def is_item_accepted(
    mapping: EntityMapping, item: Item, key_query: KeyQuery, key_queries: KeyQueries
) -> bool:
    """Whether a live item is wanted."""
    local = key_queries.local_filter
    if key_query.wanted and not key_query.accepts(mapping, mapping.subject(item), item):
        return False
    return local is None or local.holds(mapping, item)
