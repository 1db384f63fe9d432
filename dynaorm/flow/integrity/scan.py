"""Read tables page by page in segments, each of which remembers its position, at a limited rate.

A segment is one segment of a Scan, or the item collection of one partition key.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from dynaorm.argument import check_amount
from dynaorm.entity.table import Table
from dynaorm.flow.call import Call, Context, Flow, PageKeys, Pause, ReadCost, gather, last_key
from dynaorm.flow.read import check_keys, repeat
from dynaorm.flow.windows import CONCURRENCY
from dynaorm.item.condition import Attr, Compare, render
from dynaorm.item.path import Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

# Unused capacity may be used later, but no more than this many seconds' worth.
_CREDIT: Final = 1.0
# The most items read in one step, and the fewest of a page: a request for one item costs as much as for some.
_STEP: Final = 2000
_LEAST: Final = 5


@record(frozen=False)
class ScanSegment:
    """A part of a table that is read page by page.

    Attributes:
        table: the table.
        segment: the number of this segment, from 0.
        segments: the number of segments of the table.
        partition: a partition key value; then only its item collection is read, with Query.
        after: the key of the last item read; None at the beginning.
        is_over: the last page was read.
        page_keys: checks that no page ends where another one did.
    """

    table: Table
    segment: int = 0
    segments: int = 1
    partition: AttributeValue | None = None
    after: Item | None = None
    is_over: bool = False
    page_keys: PageKeys[Item] = field(default_factory=PageKeys, repr=False)

    def request(self, name: str, limit: int) -> Call:
        """The call for the next page."""
        request: dict[str, Any] = {
            "TableName": name,
            "ConsistentRead": True,
            "ReturnConsumedCapacity": "TOTAL",
            "Limit": limit,
        }
        if self.after is not None:
            request["ExclusiveStartKey"] = self.after
        if self.partition is None:
            if self.segments > 1:
                request |= {"Segment": self.segment, "TotalSegments": self.segments}
            return Call("Scan", request)
        placeholders = Placeholders()
        condition = Compare(Attr((self.table.pk.name,)), "=", self.partition)
        request["KeyConditionExpression"] = render(condition, placeholders)
        request["ExpressionAttributeNames"] = placeholders.names
        request["ExpressionAttributeValues"] = placeholders.values
        return Call("Query", request)


@record(frozen=False)
class ScannedPage:
    """One page of a segment."""

    segment: ScanSegment
    items: Sequence[Item]
    after: Item | None

    def finish(self) -> None:
        """Move the segment behind this page. Raises Unreachable if pages repeat."""
        operation = "Scan" if self.segment.partition is None else "Query"
        self.segment.after = self.segment.page_keys.checked(operation, self.after)
        self.segment.is_over = self.after is None


def scan_segments_of(tables: Sequence[Table], segments: int, segment: int | None) -> list[ScanSegment]:
    """All segments of some tables, or one segment of each."""
    wanted = range(segments) if segment is None else (segment,)
    return [ScanSegment(table, one, segments) for table in tables for one in wanted]


FASTEST: Final = 1e9
"""The most capacity units per second that a rate can say: more than any table has."""


@record(frozen=False)
class RateLimiter:
    """Counts the capacity that a run consumes, and keeps it to a rate.

    Attributes:
        context: the session's settings.
        rate: capacity units per second; None for no limit.
        most: the most items that are read in one step.
        cost: the reads so far.
        written: the write capacity units consumed so far.
    """

    context: Context
    rate: float | None = None
    most: int = _STEP
    cost: ReadCost = field(default_factory=ReadCost)
    written: float = 0.0
    _counted: float = 0.0
    _free_at: float | None = None

    def __post_init__(self) -> None:
        if self.rate is not None:
            check_amount("rate={}", self.rate, most=FASTEST)

    def limit(self, segments: int) -> int:
        """The ``Limit`` of a page when this many segments are read together."""
        most = min(_STEP, self.most)
        if self.rate is not None:
            most = min(most, max(_LEAST, int(self.rate)))
        return max(min(_LEAST, self.most), most // segments)

    def wait(self) -> Flow[None]:
        """Pause until the consumption so far is within the rate. Only a second of unused time is credited."""
        if self.rate is None:
            return
        now = self.context.clock.monotonic()
        consumed = self.cost.read_units + self.written
        free_at = max(now if self._free_at is None else self._free_at, now - _CREDIT)
        self._free_at = free_at + (consumed - self._counted) / self.rate
        self._counted = consumed
        if self._free_at > now:
            yield Pause(self._free_at - now)


def read_pages(segments: Sequence[ScanSegment], limiter: RateLimiter) -> Flow[list[ScannedPage]]:
    """The next pages of the first segments that are not over, read together. ``finish`` moves on behind them."""
    waiting = [one for one in segments if not one.is_over][:CONCURRENCY]
    yield from limiter.wait()
    costs = [ReadCost() for _ in waiting]
    pages = yield from gather(
        [
            _page(segment, limiter, cost, limiter.limit(len(waiting)))
            for segment, cost in zip(waiting, costs, strict=True)
        ],
        CONCURRENCY,
    )
    limiter.cost.take(costs)
    return pages


def _page(segment: ScanSegment, limiter: RateLimiter, cost: ReadCost, limit: int) -> Flow[ScannedPage]:
    call = segment.request(limiter.context.table_name(segment.table.name), limit)
    reply = yield from repeat(call, limiter.context)
    cost.add(reply)
    after = last_key(reply)
    check_keys(call.operation, reply.get("Items", ()), segment.table.keys)
    check_keys(call.operation, () if after is None else (after,), segment.table.keys)
    return ScannedPage(segment, reply.get("Items", ()), after)
