"""The merge of several key queries, such as the shards of one partition, in the order of their sort keys.

Rule 1. The place of a key query is that of the first result buffered of it, or else that of the item read last.
        Nothing is taken past a key query of which a page must be read first.
Rule 2. Of results with equal sort keys, that of the first key query comes first; in a walk backwards, that of the last.
Rule 3. A walk that begins at a cursor begins each key query at the cursor's sort key: behind it if the results of that
        key query come before those of the cursor's own.
"""

import heapq
from collections.abc import Sequence
from typing import Any, TypeAlias

from dynaorm.entity.table_index import KeyAttribute
from dynaorm.flow.query.progress import Progress
from dynaorm.item.value import Item
from dynaorm.query.cursor import Position
from dynaorm.query.interval import comparable
from dynaorm.query.key_query import KeyQueries
from dynaorm.query.query_spec import QuerySpec


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
