"""Walking the strands of a query together: pages are read as they are needed, and merged in key order.

Rule 1. A page may be empty and not the last: only a missing LastEvaluatedKey ends a strand.
Rule 2. KeyQueries that have nothing in hand are read together. None is read further than what is wanted can need.
Rule 3. Where the walk stands is the key of the last entity returned from each strand, so a cursor stays true while
        others write.
Rule 4. Items of other classes, guard items, versions, tombstones and expired items are passed over; one that no class
        understands is passed over too, and reported.
"""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Final, Literal, TypeGuard

from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.page import is_entity
from dynaorm.errors import DecodeError
from dynaorm.flow.protocol.call import Call, Flow, Reply
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.query.buffer import FoundItem, ItemSource, admitted, json_reader_for, key_at, source_of
from dynaorm.flow.read import BATCH_GET_LIMIT, get_items, repeat
from dynaorm.item.evaluate import holds
from dynaorm.item.value import Item
from dynaorm.plan.reads import Ident, ident_of
from dynaorm.query.cursor import Position
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.order import place
from dynaorm.query.query_spec import QuerySpec
from dynaorm.record import record

_logger = logging.getLogger("dynaorm")

CONCURRENCY: Final = 16
"""How many strands are read at once."""

# A filter, or items passed over, make a page yield less than was asked for: the next one asks for so much more.
_GROWTH: Final = 4
_LARGEST: Final = 10_000


@record(frozen=False)
class _Reading:
    """How the walk of one strand stands.

    Attributes:
        strand: what is walked.
        after: where the last of it was that was returned; None at its beginning.
        read_to: the key its next page begins after.
        is_read: its last page has been read.
        pages: how many pages were read.
        buffered: what was read and not returned yet: entities, and visible items (``FoundItem``).
        unknown: items that no class understands, to be reported.
        cost: what reading it has cost.
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
        """A page was read."""
        self.cost.add(reply)
        self.pages += 1
        self.read_to = reply.get("LastEvaluatedKey")
        self.is_read = self.read_to is None

    def all_entities(self, most: int | None) -> list[Any]:
        """All that is in hand, and out of it, if that is entities, and ``most`` at most; else nothing."""
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
        return key_at(self.after, names) if self.buffered else self.read_to


class Walk:
    """One walk through the answer to a question, from its beginning or from a cursor's position."""

    def __init__(
        self, spec: QuerySpec, key_queries: KeyQueries, context: Context, start: Position | None = None
    ) -> None:
        self.spec = spec
        self._context = context
        self._filter = key_queries.local_filter
        self._has_told = False
        # A partial entity never exists: an index that carries only some attributes gives keys to fetch whole items by.
        is_part = not spec.source.is_whole
        is_judged = key_queries.local_filter is not None or any(one.held for one in key_queries.key_queries)
        self._is_fetching = is_part and (not spec.keys_only or is_judged)
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
        self._wire = json_reader_for(spec, key_queries, self._wanted)
        self._key_names = tuple(dict.fromkeys([*table.key_names, *(key.name for key in source.keys)]))
        self._sort = tuple(part.attribute for part in source.sort) if spec.segments is None else ()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to return."""
        return self._left == 0 or all(reading.is_over for reading in self._readings)

    @property
    def position(self) -> Position:
        stand = tuple(reading.position(self._key_names) for reading in self._readings)
        return Position(stand, self._returned)

    @property
    def cost(self) -> ReadCost:
        """What the walk has cost so far."""
        return ReadCost.of(reading.cost for reading in self._readings)

    @property
    def _left(self) -> int | None:
        limit = self.spec.limit
        return None if limit is None else max(limit - self._returned, 0)

    def more(self, most: int | None = None) -> Flow[list[Any]]:
        """The next entities (or keys) in order, ``most`` at most; none only when the walk is over.

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
            for reading, sighted in self._merged():
                if most is not None and len(found) >= most:
                    reading.buffered.appendleft(sighted)
                    break
                reading.after = source_of(sighted)
                if (entity := self._taken(sighted)) is not None:
                    found.append(entity)
        self._returned += len(found)
        return found

    def page(self, size: int | None) -> Flow[list[Any]]:
        """The next ``size`` entities, fewer only where the walk ends; all that are left for None."""
        found: list[Any] = []
        while not self.is_over and (size is None or len(found) < size):
            found += yield from self.more(None if size is None else size - len(found))
        return found

    # -- merging ---------------------------------------------------------------------------------------------------

    def _merged(self) -> Iterator[tuple[_Reading, Any]]:
        """What is in hand, in order, until a strand that has more to read has nothing in hand."""
        if not self._sort or len(self._readings) == 1:
            for reading in self._readings:
                while reading.buffered:
                    yield reading, reading.buffered.popleft()
            return
        while not any(reading.is_waiting for reading in self._readings):
            ready = [reading for reading in self._readings if reading.buffered]
            if not ready:
                return
            # Of equals the strand declared first comes first, whichever way the keys run.
            chosen = (max if self.spec.descending else min)(
                ready, key=lambda reading: place(reading.buffered[0].item, self._sort)
            )
            yield chosen, chosen.buffered.popleft()

    def _taken(self, sighted: Any) -> Any | None:
        if not isinstance(sighted, FoundItem):
            return sighted
        mapping, item = sighted
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
        """Read pages of one strand until something is in hand, or it is over."""
        while reading.is_waiting:
            request = dict(reading.key_query.request)
            if reading.read_to is not None:
                request["ExclusiveStartKey"] = reading.read_to
            if (size := self._page_size(reading, most)) is not None:
                request["Limit"] = size
            reply = yield from repeat(Call(reading.key_query.operation, request), self._context)
            now = self._context.clock.now()
            page = self._wire and self._wire.read(reply, None if self.spec.expired else now)
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
        """Keep an item that is wanted in hand, and one that no class understands to be reported."""
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
            problems=(
                "no class of the table understands this item; declare one, or import the module that does",
            ),
        )
        if self._context.on_decode_error is not None:
            self._context.on_decode_error(problem)
            return
        # The key may be personal data: without a handler only the fact is told, and once.
        if not self._has_told:
            _logger.warning("items in %r are of no declared class, and are passed over", self._table)
        self._has_told = True

    def _whole(self, entries: Sequence[Item], reading: _Reading) -> Flow[list[Item]]:
        """The items behind entries of an index, in their order: those that still stand where the entry says."""
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
        return True  # it is told when the item is taken


def _least(first: int | None, second: int | None) -> int | None:
    return first if second is None else second if first is None else min(first, second)
