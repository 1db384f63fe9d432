"""What is wanted of what was read: live items of the wanted classes, index entries to fetch, and items to report.

Rule 1. Items of other classes, guard items, versions, tombstones and expired items are skipped. An item of no declared
        class is skipped and reported.
Rule 2. Entities are always whole. An index that projects only some attributes gives entries, whose items are fetched
        by key. Keys need no item if the entry tells the class and whether the item is live.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeGuard

from dynaorm.entity.classify import NotAnEntity, classify, unknown_item
from dynaorm.entity.declare.catalog import catalog_of, overlapping_classes
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.reader import ReplyReader, reader_of
from dynaorm.entity.state import LazyItem, Loaded, ParsedReply, is_entity, read_state_of
from dynaorm.entity.table import Ident, Table, contents_of
from dynaorm.errors import DecodeError
from dynaorm.flow.call import Context, Flow, PageKeys, ReadCost, Reply, gather
from dynaorm.flow.read import BATCH_GET_LIMIT, check_item, find_items
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.filter import Filter
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.results import attributes_of_rows, row_of
from dynaorm.record import record


@record(frozen=False)
class Progress:
    """The progress of one key query.

    Attributes:
        number: its number among the key queries of the walk.
        key_query: the partition or segment.
        later: what is read after ``key_query``, in key order; only where a walk begins at a cursor.
        read_to: the key after which the next page begins; None at the beginning.
        is_read: the last page has been read.
        pages: the number of pages read.
        scanned: the number of items that DynamoDB has read.
        buffered: read but not yet returned: entities, live items and index entries.
        unknown: items of no declared class, to be reported.
        cost: the requests and capacity used.
        page_keys: checks that no page ends where another one did; None until a page is not the last.
    """

    number: int
    key_query: KeyQuery
    later: tuple[KeyQuery, ...] = ()
    read_to: Item | None = None
    is_read: bool = False
    pages: int = 0
    scanned: int = 0
    buffered: deque[Any] = field(default_factory=deque)
    unknown: list[Item] = field(default_factory=list)
    cost: ReadCost = field(default_factory=ReadCost)
    page_keys: PageKeys[Item] | None = None

    @property
    def is_over(self) -> bool:
        return self.is_read and not self.buffered

    @property
    def is_waiting(self) -> bool:
        """Whether a page must be read before it has anything to return."""
        return not self.is_read and not self.buffered

    def advance(self, reply: Reply, count: int, last: Item | None) -> None:
        """Record a page of ``count`` items that ends at the key ``last``. Raises Unreachable if pages repeat."""
        self.cost.add(reply)
        self.pages += 1
        self.scanned += reply.get("ScannedCount", count)
        if last is not None:
            self.page_keys = self.page_keys or PageKeys()
            self.page_keys.checked(self.key_query.operation, last)
            if self.key_query.ends_at(last):
                last = None
        self.read_to = last
        self.is_read = self.read_to is None and not self.later
        if self.read_to is None and self.later:
            self.key_query, *later = self.later
            self.later = tuple(later)


# The buffer of a walk: live items to be decoded, and entities that the reply reader has made.
#
# Rule 1. Replies are read directly into entities, unless the results are not entities or the whole item tells if it
#         is wanted.
# Rule 2. The cursor is the key of the last entity returned, even if it changes later.


class FoundItem(NamedTuple):
    """Something that was read, and may be wanted.

    Attributes:
        mapping: its class; None for an index entry, whose item must be fetched.
        item: the item, or the entry; of an entity, as much of its item as the walk needs.
        entity: the entity, if a reader has made it.
    """

    mapping: EntityMapping | None
    item: Item
    entity: Any = None

    def is_wanted(self, key_query: KeyQuery, key_queries: KeyQueries) -> bool:
        """Whether an item or entity of a known class is wanted."""
        mapping, item, entity = self
        assert mapping is not None
        if key_query.wanted:
            values = mapping.subject(item) if entity is None else entity.__dict__
            if not key_query.accepts(mapping, values, item):
                return False
        local = key_queries.local_filter
        return local is None or local.holds(mapping, item)


_NO_HEAD: Final[Item] = {}


def source_of(found: Any) -> FoundItem | Loaded | LazyItem:
    """What has the item of something buffered."""
    return found if type(found) is FoundItem else read_state_of(found)


def key_in(source: FoundItem | Loaded | LazyItem, names: tuple[str, ...]) -> dict[str, AttributeValue]:
    """The key attributes of an item."""
    item = source.item
    return {name: item[name] for name in names}


def is_entry(found: Any) -> bool:
    """Whether something buffered is an index entry, whose item must be fetched."""
    return type(found) is FoundItem and found.mapping is None


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


def accepted(
    reading: ParsedReply, key_query: KeyQuery, key_queries: KeyQueries, *, is_merged: bool
) -> list[Any]:
    """The results of a page: the wanted entities, and the items that are not entities yet.

    The reader has compared the primary key of each entity with what its class renders. ``is_merged``: entities with
    what the reader has left of their items.
    """
    is_all = key_queries.local_filter is None and not key_query.wanted
    if key_queries.local_filter is None and not is_merged:
        if is_all:
            return reading.found
        if (fits := key_query.fits) is not None:
            return _fitting(reading.found, fits)
    results: list[Any] = []
    for one, head in zip(reading.found, reading.heads or repeat(_NO_HEAD), strict=False):
        if not is_entity(one):
            results.append(one)
            continue
        found = FoundItem(mapping_of(type(one)), head, one)
        if is_all or found.is_wanted(key_query, key_queries):
            results.append(found if is_merged else one)
    return results


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


_logger = logging.getLogger("dynaorm")
CONCURRENCY: Final = 16
"""The most key queries, or batches of whole items, to read at a time."""


class ResultFilter:
    """Finds the wanted items of one walk.

    Attributes:
        is_fetching: index entries are not enough; whole items are fetched.
        cost: the requests and capacity used to fetch them.
    """

    def __init__(self, spec: QuerySpec, key_queries: KeyQueries, context: Context) -> None:
        self.is_fetching = not spec.source.is_whole and _is_fetching(spec, key_queries.local_filter)
        self.cost = ReadCost()
        self._spec = spec
        self._key_queries = key_queries
        self._context = context
        self._table: Table = spec.source.table
        self._has_warned = False

    def buffer(self, progress: Progress, key_query: KeyQuery, found: Sequence[Any], now: float) -> None:
        """Buffer what is wanted of a page."""
        is_whole, buffered = self._spec.source.is_whole, progress.buffered
        for one in found:
            if is_entity(one):
                buffered.append(one)
            elif not is_whole:
                self._buffer_entry(progress, key_query, one, now)
            else:
                wanted = self._wanted_of(progress.unknown, one, key_query, now)
                buffered.extend([wanted] if wanted is not None else [])

    def _buffer_entry(self, progress: Progress, key_query: KeyQuery, entry: Item, now: float) -> None:
        """Buffer an index entry if its item may be wanted."""
        verdict, local = key_query.may_match(entry), self._key_queries.local_filter
        if verdict is False or not (local is None or local.may_hold(entry)):
            return
        if self.is_fetching:
            if self._may_be_wanted(entry, now):
                progress.buffered.append(FoundItem(None, entry))
        elif (mapping := self._class_of(progress.unknown, entry, now)) is not None:
            verdict = key_query.may_match(entry, mapping)
            if verdict is None:
                progress.buffered.append(FoundItem(None, entry))
            elif verdict and (local is None or local.holds(mapping, entry)):
                progress.buffered.append(FoundItem(mapping, entry))

    def _may_be_wanted(self, entry: Item, now: float) -> bool:
        found = classify(self._table, entry)
        if isinstance(found, NotAnEntity):
            return found is NotAnEntity.UNKNOWN
        if self._table.type_attribute is None or self._table.type_attribute in entry:
            return self._is_wanted(found, entry, now)
        # The classes of a family share their keys.
        mappings = [source.mapping for source in self._spec.sources]
        return any(mapping.root is found.root or mapping.key_matches(entry) for mapping in mappings)

    def _class_of(self, unknown: list[Item], item: Item, now: float) -> EntityMapping | None:
        """The class of an item that reads find; None for any other."""
        found = classify(self._table, item)
        if found is NotAnEntity.UNKNOWN:
            unknown.append(item)
        return found if self._is_wanted(found, item, now) else None

    def _is_wanted(
        self, found: EntityMapping | NotAnEntity, item: Item, now: float
    ) -> TypeGuard[EntityMapping]:
        if isinstance(found, NotAnEntity) or not issubclass(found.entity, self._key_queries.form.classes):
            return False
        return self._spec.expired or not found.is_expired(item, now)

    # -- whole items -----------------------------------------------------------------------------------------------

    def whole(self, taken: Sequence[tuple[Progress, Any]]) -> Flow[Sequence[tuple[Progress, Any]]]:
        """The same with the items of index entries."""
        entries = [one.item for _, one in taken if is_entry(one)]
        if not entries:
            return taken
        stored = yield from self._fetched(entries)
        now, unknown = self._context.clock.now(), list[Item]()
        found: list[tuple[Progress, Any]] = []
        for progress, one in taken:
            whole: Any = one
            if is_entry(one):
                fetched = stored.get(contents_of(self._table, one.item))
                # An item that has changed its keys since is dropped.
                if fetched is None or any(
                    fetched[1].get(name) != one.item[name] for name in self._key_queries.form.key_names
                ):
                    continue
                whole = self._wanted_of(unknown, fetched[0], progress.key_query, now, head=fetched[1])
            if whole is not None:
                found.append((progress, whole))
        for item in unknown:
            self.report(item)
        return found

    def _wanted_of(
        self, unknown: list[Item], one: Any, key_query: KeyQuery, now: float, *, head: Item = _NO_HEAD
    ) -> FoundItem | None:
        """A whole item, or an entity with its ``head``, if it is wanted."""
        if is_entity(one):
            found = FoundItem(mapping_of(type(one)), head, one)
        elif (mapping := self._class_of(unknown, one, now)) is not None:
            found = FoundItem(mapping, one)
        else:
            return None
        return found if found.is_wanted(key_query, self._key_queries) else None

    def _fetched(self, entries: Sequence[Item]) -> Flow[dict[Ident, tuple[Any, Item]]]:
        """The whole items: entities, and items for the codecs, each with its head, by the contents of its key."""
        names = self._table.key_names
        by_ident = {
            contents_of(self._table, entry): {name: entry[name] for name in names} for entry in entries
        }
        keys = list(by_ident.values())
        consistent = bool(self._spec.consistent) or self._context.consistent
        portions = [keys[start : start + BATCH_GET_LIMIT] for start in range(0, len(keys), BATCH_GET_LIMIT)]
        costs = [ReadCost() for _ in portions]
        reader = batch_reader_for(self._spec, self._key_queries)
        read = yield from gather(
            [
                find_items(
                    self._table,
                    portion,
                    self._context,
                    reader,
                    consistent=consistent,
                    expired=self._spec.expired,
                    cost=cost,
                )
                for portion, cost in zip(portions, costs, strict=True)
            ],
            CONCURRENCY,
        )
        self.cost.take(costs)
        return {ident: (one, head) for portion in read for ident, one, head in portion}

    def entity(self, found: Any) -> Any | None:
        """The entity, key or row of what was found; None for one that cannot be read and was reported."""
        if type(found) is not FoundItem:
            return found
        mapping, item, entity = found
        if entity is not None:
            return entity
        assert mapping is not None
        try:
            if (local := self._key_queries.local_filter) is not None:
                local.check(mapping, item)
            if self._spec.keys_only:
                return stored_key(mapping, mapping.key_of(item))
            return (
                row_of(mapping, item, self._spec.names) if self._spec.names else mapping.loader.hydrate(item)
            )
        except DecodeError as problem:
            if self._context.on_decode_error is None:
                raise
            self._context.on_decode_error(problem)
            return None
        except Exception:
            # The item may have come with an earlier page, whose reply is not remembered any more.
            check_item(self._key_queries.key_queries[0].operation, item)
            raise

    def report(self, item: Item) -> None:
        """Report an item of no declared class."""
        problem = unknown_item(self._table, item)
        if self._context.on_decode_error is not None:
            self._context.on_decode_error(problem)
            return
        if not self._has_warned:
            _logger.warning("an item is skipped, and more may be in the same read: %s", problem)
        self._has_warned = True


def _is_fetching(spec: QuerySpec, local_filter: Filter | None) -> bool:
    """Whether the entries of an index are not enough: for the results, for the filter, or to know what they are of."""
    projected = spec.source.projected
    assert projected is not None
    attributes = attributes_of_rows(spec)
    filtered = local_filter.attributes if local_filter is not None else frozenset()
    if attributes is None or filtered is None:
        return True
    return not projected.issuperset(attributes | filtered) or _hides(spec, projected)


def _hides(spec: QuerySpec, projected: AbstractSet[str]) -> bool:
    """Whether the entries of an index do not tell the class of an item, or whether it is live."""
    table = spec.source.table
    roots = {source.mapping.root for source in spec.sources}
    family = [mapping for mapping in catalog_of(table).mappings.values() if mapping.root in roots]
    is_shared = len(family) > len(roots) or any(
        overlapping_classes(source.mapping) for source in spec.sources
    )
    asked = {table.type_attribute} if is_shared else set()
    if not spec.expired:
        asked |= {one.expires.attribute for one in family if one.expires is not None}
    # Only an index keyed by the table's own keys has entries of what a deletion leaves.
    if {key.name for key in spec.source.keys} <= set(table.key_names):
        asked |= {one.deletion_mark for one in family}
    return not asked <= {None, *projected}
