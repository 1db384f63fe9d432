"""Walking the key queries of a query: pages are read as they are needed, and merged in key order.

Rule 1. A page may be empty and not the last: only a missing LastEvaluatedKey ends a key query.
Rule 2. Key queries with an empty buffer are read together. Never read more pages than the result requires.
Rule 3. The position is the key of the last entity returned from each key query, so a cursor stays valid while others
        write.
Rule 4. Items of other classes, guard items, versions, tombstones and expired items are skipped. An item of no declared
        class is skipped and reported.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Final, Literal, TypeGuard

from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.json_reader.answer import is_entity
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import DecodeError
from dynaorm.flow.protocol.call import Call, Flow, Reply
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.query.buffer import FoundItem, ItemSource, admitted, json_reader_for, key_in, source_of
from dynaorm.flow.read import BATCH_GET_LIMIT, get_items, repeat
from dynaorm.item.evaluate import holds
from dynaorm.item.value import Item
from dynaorm.plan.known import Ident, ident_of
from dynaorm.query.cursor import Position
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.order import place
from dynaorm.query.query_spec import QuerySpec
from dynaorm.record import record

_logger = logging.getLogger("dynaorm")

CONCURRENCY: Final = 16
"""The most key queries to read at a time."""

# Filtered and skipped items make pages too small: each page requests so many times more than the one before.
_GROWTH: Final = 4
_LARGEST: Final = 10_000


@record(frozen=False)
class _Reading:
    """The state of one key query.

    Attributes:
        key_query: the partition or segment.
        after: the last item that was returned; None at the beginning.
        read_to: the key after which the next page begins.
        is_read: the last page has been read.
        pages: the number of pages read.
        buffered: read but not yet returned: entities, and live items (``FoundItem``).
        unknown: items of no declared class, to be reported.
        cost: the requests and capacity used.
    """

    key_query: KeyQuery
    after: ItemSource | None = None
    read_to: Item | None = None
    is_read: bool = False
    pages: int = 0
    buffered: deque[Any] = field(default_factory=deque)
    unknown: list[Item] = field(default_factory=list)
    cost: ReadCost = field(default_factory=ReadCost)

    @property
    def is_over(self) -> bool:
        return self.is_read and not self.buffered

    @property
    def is_waiting(self) -> bool:
        return not self.is_read and not self.buffered

    def advance(self, reply: Reply) -> None:
        """Record that a page was read."""
        self.cost.add(reply)
        self.pages += 1
        self.read_to = reply.get("LastEvaluatedKey")
        self.is_read = self.read_to is None

    def all_entities(self, most: int | None) -> list[Any]:
        """Take the whole buffer if it has only entities, and at most ``most``; else nothing."""
        if (most is not None and len(self.buffered) > most) or FoundItem in map(type, self.buffered):
            return []
        found = list(self.buffered)
        if found:
            self.after = source_of(found[-1])
            self.buffered.clear()
        return found

    def position(self, names: tuple[str, ...]) -> Item | Literal[True] | None:
        if self.is_over:
            return True
        return key_in(self.after, names) if self.buffered else self.read_to


class Walk:
    """One walk through the results of a query, from the beginning or from a cursor's position."""

    def __init__(
        self, spec: QuerySpec, key_queries: KeyQueries, context: Context, start: Position | None = None
    ) -> None:
        self.spec = spec
        self._context = context
        self._filter = key_queries.local_filter
        self._has_warned = False
        # Entities are always whole: if an index projects only some attributes, items are fetched by key.
        is_part = not spec.source.is_whole
        needs_items = key_queries.local_filter is not None or any(one.held for one in key_queries.key_queries)
        self._is_fetching = is_part and (not spec.keys_only or needs_items)
        self._returned = start.returned if start is not None else 0
        self._readings = [_Reading(key_query) for key_query in key_queries.key_queries]
        for reading, after in zip(
            self._readings, start.key_queries if start is not None else (), strict=False
        ):
            if after is True:
                reading.is_read = True
            else:
                reading.after = reading.read_to = after
        table, source = spec.source.table, spec.source
        self._table = table
        self._wanted = tuple(one.mapping.entity for one in spec.sources)
        self._reader = json_reader_for(spec, key_queries, self._wanted)
        self._key_names = tuple(dict.fromkeys([*table.key_names, *(key.name for key in source.keys)]))
        self._sort = tuple(part.attribute for part in source.sort) if spec.segments is None else ()

    @property
    def is_over(self) -> bool:
        """Whether all entities were returned."""
        return self._left == 0 or all(reading.is_over for reading in self._readings)

    @property
    def position(self) -> Position:
        stand = tuple(reading.position(self._key_names) for reading in self._readings)
        return Position(stand, self._returned)

    @property
    def cost(self) -> ReadCost:
        """The requests and capacity used so far."""
        return ReadCost.of(reading.cost for reading in self._readings)

    @property
    def _left(self) -> int | None:
        limit = self.spec.limit
        return None if limit is None else max(limit - self._returned, 0)

    def more(self, most: int | None = None) -> Flow[list[Any]]:
        """The next entities (or keys) in order, at most ``most``; empty only when the walk is over.

        Raises:
            DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
            Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as any read.
        """
        found: list[Any] = []
        while not found and not self.is_over:
            most = _least(most, self._left)
            yield from self._refill(most)
            if len(self._readings) == 1 and (found := self._readings[0].all_entities(most)):
                break
            for reading, found_one in self._merged():
                if most is not None and len(found) >= most:
                    reading.buffered.appendleft(found_one)
                    break
                reading.after = source_of(found_one)
                if (entity := self._taken(found_one)) is not None:
                    found.append(entity)
        self._returned += len(found)
        return found

    def page(self, size: int | None) -> Flow[list[Any]]:
        """The next ``size`` entities, fewer only at the end; None for all that are left."""
        found: list[Any] = []
        while not self.is_over and (size is None or len(found) < size):
            found += yield from self.more(None if size is None else size - len(found))
        return found

    # -- merging ---------------------------------------------------------------------------------------------------

    def _merged(self) -> Iterator[tuple[_Reading, Any]]:
        """The buffered results in order, until a key query that is not over has an empty buffer."""
        if not self._sort or len(self._readings) == 1:
            for reading in self._readings:
                while reading.buffered:
                    yield reading, reading.buffered.popleft()
            return
        while not any(reading.is_waiting for reading in self._readings):
            ready = [reading for reading in self._readings if reading.buffered]
            if not ready:
                return
            # Of equal keys, that of the first key query comes first, in both directions.
            chosen = (max if self.spec.descending else min)(
                ready, key=lambda reading: place(reading.buffered[0].item, self._sort)
            )
            yield chosen, chosen.buffered.popleft()

    def _taken(self, found_one: Any) -> Any | None:
        if not isinstance(found_one, FoundItem):
            return found_one
        mapping, item = found_one
        if self.spec.keys_only:
            return stored_key(mapping, mapping.key_of(item))
        try:
            return mapping.hydrate(item)
        except DecodeError as problem:
            if self._context.on_decode_error is None:
                raise
            self._context.on_decode_error(problem)
            return None

    # -- reading ---------------------------------------------------------------------------------------------------

    def _refill(self, most: int | None) -> Flow[None]:
        waiting = [reading for reading in self._readings if reading.is_waiting]
        if not self._sort and any(reading.buffered for reading in self._readings):
            return
        yield from gather([self._read(reading, most) for reading in waiting], CONCURRENCY)
        for reading in waiting:
            while reading.unknown:
                self._report(reading.unknown.pop())

    def _read(self, reading: _Reading, most: int | None) -> Flow[None]:
        """Read pages of one key query until its buffer has something, or it is over."""
        while reading.is_waiting:
            request = dict(reading.key_query.request)
            if reading.read_to is not None:
                request["ExclusiveStartKey"] = reading.read_to
            if (size := self._page_size(reading, most)) is not None:
                request["Limit"] = size
            reply = yield from repeat(Call(reading.key_query.operation, request), self._context)
            now = self._context.clock.now()
            page = self._reader and self._reader.read(reply, None if self.spec.expired else now)
            reading.advance(page.rest if page else reply)
            key_query = reading.key_query
            seen = (
                admitted(page, key_query) if page else list(filter(key_query.admits, reply.get("Items", ())))
            )
            if self._is_fetching:
                seen = yield from self._whole(seen, reading)
                now = self._context.clock.now()
            if page and page.is_of_entities:
                reading.buffered.extend(seen)
                continue
            for one in seen:
                if page and is_entity(one):
                    reading.buffered.append(one)
                else:
                    self._sort_out(reading, one, now)

    def _sort_out(self, reading: _Reading, item: Item, now: float) -> None:
        """Buffer an item that is wanted; note an item of no declared class to be reported."""
        mapping = classify(self._table, item)
        if mapping is NotAnEntity.UNKNOWN:
            reading.unknown.append(item)
        elif self._is_wanted(mapping, item, now) and _holds_fields(reading.key_query, mapping, item):
            reading.buffered.append(FoundItem(mapping, item))

    def _page_size(self, reading: _Reading, most: int | None) -> int | None:
        if most is None:
            return None
        rounds = reading.pages + (1 if self.spec.filters else 0)
        size = most * _GROWTH ** min(rounds, 10)
        return size if size <= _LARGEST else None

    def _is_wanted(
        self, found: EntityMapping | NotAnEntity, item: Item, now: float
    ) -> TypeGuard[EntityMapping]:
        if isinstance(found, NotAnEntity) or not issubclass(found.entity, self._wanted):
            return False
        return self.spec.expired or not found.is_expired(item, now)

    def _report(self, item: Item) -> None:
        key = {name: item[name] for name in self._table.key_names}
        problem = DecodeError(
            entity=str(self._table),
            key=key,
            problems=("no class of the table is declared for this item; declare one, or import its module",),
        )
        if self._context.on_decode_error is not None:
            self._context.on_decode_error(problem)
            return
        # The key may be personal data: without a handler, log the fact only, once.
        if not self._has_warned:
            _logger.warning("items in %r are of no declared class, and are skipped", self._table)
        self._has_warned = True

    def _whole(self, entries: Sequence[Item], reading: _Reading) -> Flow[list[Item]]:
        """The items of index entries, in order. An item that has changed its keys since is dropped."""
        keys = [{name: entry[name] for name in self._table.key_names} for entry in entries]
        name = self._context.table_name(self._table.name)
        consistent = bool(self.spec.consistent) or self._context.consistent
        portions = [keys[start : start + BATCH_GET_LIMIT] for start in range(0, len(keys), BATCH_GET_LIMIT)]
        costs = [ReadCost() for _ in portions]
        read = yield from gather(
            [
                get_items(name, one, self._context, consistent=consistent, cost=cost)
                for one, cost in zip(portions, costs, strict=True)
            ],
            CONCURRENCY,
        )
        reading.cost = ReadCost.of([reading.cost, *costs])
        stored: dict[Ident, Item] = {
            ident_of(self._table, item): item for portion in read for item in portion
        }
        found: list[Item] = []
        for entry, key in zip(entries, keys, strict=True):
            item = stored.get(ident_of(self._table, key))
            if item is None or any(item.get(one) != entry[one] for one in self._key_names):
                continue
            if self._filter is None or holds(self._filter, item):
                found.append(item)
        return found


def _holds_fields(key_query: KeyQuery, mapping: EntityMapping, item: Item) -> bool:
    if not key_query.held:
        return True
    values = mapping.subject(item)
    try:
        return all(values[name] == value for name, value in key_query.held)
    except DecodeError:
        return True  # raised or reported when the item is decoded


def _least(first: int | None, second: int | None) -> int | None:
    return first if second is None else second if first is None else min(first, second)
