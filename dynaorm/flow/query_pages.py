"""Walking the key queries of a query: pages are read as they are needed, and several are merged.

Rule 1. A page may be empty and not the last: only a missing LastEvaluatedKey ends a key query.
Rule 2. Never read more than the result requires: each of several partitions is read by its share, and further when
        its share is used up. The segments of a scan are read one after another where a number of entities is wanted.
Rule 3. Index entries are merged first. Whole items are fetched for those alone that are returned.
Rule 4. The position is one key: that of the last entity returned, or of the last item read if all before it were
        skipped. It stays valid while others write.
"""

import heapq
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

from dynaorm.entity.state import ParsedReply, is_entity
from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import Unreachable
from dynaorm.flow.call import Call, Context, Flow, ReadCost, Reply, gather, last_key
from dynaorm.flow.read import BATCH_GET_LIMIT, check_keys, repeat
from dynaorm.flow.result_filter import (
    CONCURRENCY,
    FoundItem,
    Progress,
    ResultFilter,
    accepted,
    key_in,
    reply_reader_for,
    source_of,
)
from dynaorm.item.value import Item
from dynaorm.query.cursor import Position
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.key_range import comparable
from dynaorm.query.query_spec import QuerySpec

# The merge of several key queries, such as the shards of one partition, in the order of their sort keys.
#
# Rule 1. The place of a key query is that of the first result buffered of it, or else that of the item read last.
#         Nothing is taken past a key query of which a page must be read first.
# Rule 2. Of results with equal sort keys, that of the first key query comes first; in a walk backwards, that of the
#         last.
# Rule 3. A walk that begins at a cursor begins each key query at the cursor's sort key: behind it if the results of
#         that key query come before those of the cursor's own.


class Reversed:
    """A sort position in descending order."""

    __slots__ = ("_place",)

    def __init__(self, place: tuple[Any, ...]) -> None:
        self._place = place

    def __lt__(self, other: "Reversed") -> bool:
        return other._place < self._place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and self._place == other._place

    __hash__ = None  # type: ignore[assignment]  # compared only


Rank: TypeAlias = tuple[Any, ...] | Reversed
"""The place of an item in the order of a walk."""


def rank(item: Item, sort: Sequence[KeyAttribute], *, descending: bool) -> Rank:
    """The place of an item in the order of a walk, which may be descending.

    Code points sort as their UTF-8 bytes do (Amazon DynamoDB Developer Guide, "Query: sort order").
    """
    found = tuple([comparable(item[key.name]) for key in sort])  # faster than of a generator
    return Reversed(found) if descending else found


def is_merged(spec: QuerySpec, key_queries: KeyQueries) -> bool:
    """Whether the results of several key queries are merged in key order."""
    return spec.segments is None and len(key_queries.key_queries) > 1


class Merge:
    """The merge of the key queries of a walk.

    Args:
        progress: those of the key queries, by their numbers.
        sort: the attributes of the sort key.
        descending: whether the walk goes from the highest sort key to the lowest.
        turn: -1 for the walk of another query from its end to its beginning, else 1.
    """

    def __init__(
        self, progress: Sequence[Progress], sort: Sequence[KeyAttribute], *, descending: bool, turn: int
    ) -> None:
        self._progress = progress
        self._sort = sort
        self._descending = descending
        self._turn = turn
        self._heap: list[tuple[Any, ...]] = []

    def begin(self, progress: Progress, start: Position) -> None:
        """Let a key query begin at a position."""
        if start.key is None:
            return
        is_before = self._turn * progress.number < self._turn * start.number
        if progress.number == start.number:
            progress.read_to = start.key
        elif not self._sort:
            progress.is_read = is_before
        else:
            parts = progress.key_query.from_point(
                start.key, descending=self._descending, including=not is_before
            )
            progress.is_read = not parts
            progress.key_query, *later = parts or (progress.key_query,)
            progress.later = tuple(later)

    def place(self, progress: Progress) -> tuple[Any, ...]:
        """The lowest place that the next result of a key query can have. The last element is its number."""
        number = progress.number
        if progress.buffered:
            item = progress.buffered[0].item
        elif progress.read_to is None:
            return (0, self._turn * number, number)
        else:
            item = dict(progress.read_to)
        return (1, rank(item, self._sort, descending=self._descending), self._turn * number, number)

    def is_before(self, one: Position, other: Position) -> bool:
        """Whether a position comes before another one. A position without a key is not compared."""
        if one.key is None or other.key is None:
            return False
        first, last = (
            (rank(key, self._sort, descending=self._descending), self._turn * number)
            for key, number in ((one.key, one.number), (other.key, other.number))
        )
        return first < last

    def affordable(self, waiting: list[Progress], unspent: int) -> list[Progress]:
        """The key queries to read next if only so many items may be read.

        All that were never read are read, because nothing is merged before.
        """
        waiting.sort(key=self.place)
        return waiting[: max(unspent, 1, sum(not one.pages for one in waiting))]

    def arrange(self) -> None:
        """Put the key queries into order, after what is buffered of them has changed."""
        self._heap = [self.place(one) for one in self._progress if not one.is_over]
        heapq.heapify(self._heap)

    def take(self, most: int | None) -> list[tuple[Progress, Any]]:
        """Buffered results in order, at most ``most``, up to the first that must be read."""
        taken: list[tuple[Progress, Any]] = []
        while self._heap and (most is None or len(taken) < most):
            progress = self._progress[self._heap[0][-1]]
            if not progress.buffered:
                break
            taken.append((progress, progress.buffered.popleft()))
            if progress.is_over:
                heapq.heappop(self._heap)
            else:
                heapq.heapreplace(self._heap, self.place(progress))
        return taken


# Filtered and skipped items make pages too small: each page requests so many times more than the one before.
_GROWTH: Final = 4
_GROWTH_MERGED: Final = 2
_LARGEST: Final = 10_000


class Walk:
    """One walk through the results of a query, from the beginning or from a cursor's position.

    ``read_at_most`` bounds the number of items that DynamoDB reads. ``backwards``: the walk is that of another query
    from its end to its beginning, so that entities with equal sort keys come in the reverse order, too.
    """

    def __init__(
        self,
        spec: QuerySpec,
        key_queries: KeyQueries,
        context: Context,
        start: Position | None = None,
        *,
        read_at_most: int | None = None,
        backwards: bool = False,
    ) -> None:
        self.spec = spec
        self._turn = -1 if backwards else 1
        self._context = context
        self._key_queries = key_queries
        self._budget = read_at_most
        self._start = start
        self._returned = start.returned if start is not None else 0
        form = key_queries.form
        self._keys, self._key_names = form.keys, form.key_names
        self._progress = [Progress(*one) for one in enumerate(key_queries.key_queries)]
        self._merge: Merge | None = None
        if is_merged(spec, key_queries):
            self._merge = Merge(self._progress, form.sort, descending=spec.descending, turn=self._turn)
        if start is not None:
            begin = self._begin if self._merge is None else self._merge.begin
            for one in self._progress:
                begin(one, start)
        # The first and the last result, each with the number of its key query.
        self._first: tuple[int, Any] | None = None
        self._last: tuple[int, Any] | None = None
        self._has_read = False
        self._reader = reply_reader_for(spec, key_queries, is_merged=self._merge is not None)

    @cached_property
    def _wanted(self) -> ResultFilter:
        # Most walks need none: a reader gives them entities.
        return ResultFilter(self.spec, self._key_queries, self._context)

    def _begin(self, progress: Progress, start: Position) -> None:
        """Let a key query begin at a position, where one is read after the other."""
        if progress.number == start.number:
            progress.read_to = start.key
        else:
            progress.is_read = self._turn * progress.number < self._turn * start.number

    @property
    def is_over(self) -> bool:
        """Whether all entities were returned."""
        for one in self._progress:
            if one.buffered or not one.is_read:
                return self.spec.limit is not None and self._left == 0
        return True

    @property
    def cost(self) -> ReadCost:
        """The requests and capacity used so far."""
        costs = [one.cost for one in self._progress]
        if "_wanted" in self.__dict__:
            costs.append(self._wanted.cost)
        return costs[0] if len(costs) == 1 else ReadCost.of(costs)

    @property
    def _left(self) -> int | None:
        limit = self.spec.limit
        return None if limit is None else max(limit - self._returned, 0)

    def _unspent(self, budget: int) -> int:
        """How many more items may be read."""
        return budget - sum(one.scanned for one in self._progress)

    @property
    def position(self) -> Position:
        """Where to continue: everything before it was returned or skipped."""
        waiting = self._next_waiting()
        if waiting is not None and waiting.read_to is not None:
            key = {name: waiting.read_to[name] for name in self._key_names}
            return self._reached(Position(waiting.number, key, self._returned))
        if self._last is not None:
            number, found = self._last
            return self._reached(Position(number, key_in(source_of(found), self._key_names), self._returned))
        if waiting is not None and self._merge is None:
            return Position(waiting.number, None, self._returned)
        return self._start if self._start is not None else Position(0, None, self._returned)

    def _reached(self, found: Position) -> Position:
        """A position, which is never before the one that the walk began at. Raises Unreachable."""
        start = self._start
        if self._merge is not None and start is not None and self._merge.is_before(found, start):
            operation = self._key_queries.key_queries[0].operation
            reason = "a page ends before the cursor that it began at: is the endpoint a DynamoDB?"
            raise Unreachable(operation=operation, attempts=1, reason=reason)
        return found

    @property
    def first(self) -> Position | None:
        """The position of the first entity returned; None if there is none yet."""
        if self._first is None:
            return None
        number, found = self._first
        return Position(number, key_in(source_of(found), self._key_names))

    def _next_waiting(self) -> Progress | None:
        """The key query that holds the next result, if a page of it must be read first."""
        left = [one for one in self._progress if not one.is_over]
        if not left:
            return None
        first = left[0] if self._merge is None else min(left, key=self._merge.place)
        return first if first.is_waiting else None

    def more(self, most: int | None = None, *, window: int = BATCH_GET_LIMIT) -> Flow[list[Any]]:
        """The next entities (or keys) in order, at most ``most``; empty only at the end, or where the budget is spent.

        ``window``: how many whole items of index entries to fetch at a time.

        Raises:
            DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
            Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as any read.
        """
        found: list[Any] = []
        rounds = 0
        while not self.is_over:
            wanted = most if self.spec.limit is None else _least(most, self._left)
            taken: list[tuple[Progress, Any]] = []
            if self._has_read:
                if found := self._entities(wanted):
                    break
                size = wanted
                if not self._key_queries.form.is_whole and self._wanted.is_fetching:
                    size = window if wanted is None else min(wanted * _GROWTH**rounds, window * CONCURRENCY)
                taken = self._taken(size)
            if taken:
                rounds += 1
                found = yield from self._resolved(taken, wanted)
                if found:
                    break
            elif self._budget is not None and self._unspent(self._budget) <= 0:
                break
            else:
                yield from self._refill(wanted)
        self._returned += len(found)
        return found

    def page(self, size: int | None) -> Flow[list[Any]]:
        """The next ``size`` entities, fewer only at the end or where the budget is spent; None for all."""
        found: list[Any] = []
        while not self.is_over and (size is None or len(found) < size):
            if size is None:
                more = yield from self.more(window=BATCH_GET_LIMIT * CONCURRENCY)
            else:
                more = yield from self.more(size - len(found))
            if not more:
                break
            found += more
        return found

    # -- what is buffered ------------------------------------------------------------------------------------------

    def _taken(self, most: int | None) -> list[tuple[Progress, Any]]:
        """Buffered results in order, at most ``most``, up to the first that must be read."""
        if self._merge is not None:
            return self._merge.take(most)
        taken: list[tuple[Progress, Any]] = []
        for progress in self._progress:
            while progress.buffered and (most is None or len(taken) < most):
                taken.append((progress, progress.buffered.popleft()))
            if not progress.is_read and most is not None:
                break
        return taken

    def _entities(self, most: int | None) -> list[Any]:
        """The whole buffer of one key query, if it has only entities and at most ``most``; else nothing."""
        if self._merge is not None:
            return []
        for progress in self._progress:
            if progress.buffered or not progress.is_read:
                break
        found = list(progress.buffered)
        is_too_much = not found or (most is not None and len(found) > most)
        if is_too_much or FoundItem in map(type, found):
            return []
        progress.buffered.clear()
        self._first = self._first or (progress.number, found[0])
        self._last = progress.number, found[-1]
        return found

    def _put_back(self, found: Sequence[tuple[Progress, Any]]) -> None:
        for progress, one in reversed(found):
            progress.buffered.appendleft(one)
        if self._merge is not None:
            self._merge.arrange()

    def _resolved(self, taken: Sequence[tuple[Progress, Any]], most: int | None) -> Flow[list[Any]]:
        """The entities of what was taken, at most ``most``; the rest is put back."""
        whole = yield from self._wanted.whole(taken)
        found: list[Any] = []
        for place, (progress, one) in enumerate(whole):
            if most is not None and len(found) == most:
                self._put_back(whole[place:])
                break
            self._last = progress.number, one
            if (entity := self._wanted.entity(one)) is not None:
                self._first = self._first or self._last
                found.append(entity)
        else:
            # What was passed over counts, too: an entry whose item is gone.
            progress, one = taken[-1]
            self._last = progress.number, one
        return found

    # -- reading ---------------------------------------------------------------------------------------------------

    def _refill(self, most: int | None) -> Flow[None]:
        """Read the next page of each key query that has nothing buffered."""
        waiting = [one for one in self._progress if not one.is_read and not one.buffered]
        if self._merge is None:
            waiting = waiting if most is None else waiting[:1]
        elif self._budget is not None:
            waiting = self._merge.affordable(waiting, self._unspent(self._budget))
        if most is None and self._budget is None:
            reading = [self._read(one, None) for one in waiting]
        else:
            reading = [self._read(one, self._page_size(one, most, len(waiting))) for one in waiting]
        self._has_read = True
        yield from reading[0] if len(reading) == 1 else gather(reading, CONCURRENCY)
        if self._merge is not None:
            self._merge.arrange()
        for progress in waiting:
            while progress.unknown:
                self._wanted.report(progress.unknown.pop(0))

    def _read(self, progress: Progress, size: int | None) -> Flow[None]:
        is_first = True
        # Between its parts there is no key to go on from, unless an item was found.
        while is_first or (progress.is_waiting and progress.read_to is None):
            is_first = False
            key_query = progress.key_query
            request = dict(key_query.request)
            if progress.read_to is not None:
                request["ExclusiveStartKey"] = progress.read_to
            if size is not None:
                request["Limit"] = size
            reply = yield from repeat(Call(key_query.operation, request), self._context)
            self._take(progress, key_query, reply)

    def _take(self, progress: Progress, key_query: KeyQuery, reply: Reply) -> None:
        """Buffer what is wanted of a page. Raises Unreachable if it is not DynamoDB's."""
        now = self._context.clock.now()
        page = None
        if self._reader is not None:
            page = self._reader.read(reply, None if self.spec.expired else now)
        items = page.found if page else reply.get("Items", ())
        is_of_entities = page is not None and page.is_of_entities
        if not is_of_entities:
            check_keys(
                key_query.operation, (item for item in items if not page or not is_entity(item)), self._keys
            )
        rest = page.rest if page else reply
        if (last := last_key(rest)) is not None:
            check_keys(key_query.operation, (last,), self._keys)
        progress.advance(rest, len(items), last)
        found = self._accepted(page, key_query) if page else items
        if is_of_entities:
            progress.buffered.extend(found)
        else:
            self._wanted.buffer(progress, key_query, found, now)

    def _accepted(self, page: ParsedReply, key_query: KeyQuery) -> list[Any]:
        try:
            return accepted(page, key_query, self._key_queries, is_merged=self._merge is not None)
        except (KeyError, TypeError):
            check_keys(key_query.operation, page.heads, self._keys)
            raise

    def _page_size(self, progress: Progress, most: int | None, reading: int) -> int | None:
        size: int | None = None
        if most is not None:
            merged = sum(not one.is_read for one in self._progress) if self._merge is not None else 1
            # A share and a half, so that most partitions need one page.
            share = min(most, 1 + -(-most * 3 // (merged * 2))) if merged > 1 else most
            growth = _GROWTH if merged == 1 else _GROWTH_MERGED
            size = share * growth ** min(progress.pages, 10)
            size = size if size <= _LARGEST else None
        if self._budget is not None:
            share = max(1, self._unspent(self._budget) // reading)
            size = share if size is None else min(size, share)
        return size


def _least(first: int | None, second: int | None) -> int | None:
    return first if second is None else second if first is None else min(first, second)
