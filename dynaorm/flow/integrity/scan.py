"""Reading tables from one end to the other: strips, each with where it stands, a page at a time.

A strip is a segment of a Scan, or the item collection of one partition key.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final

from dynaorm.entity.table import Table
from dynaorm.flow.bulk.limits import CONCURRENCY
from dynaorm.flow.protocol.call import Call, Flow, Pause
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import repeat
from dynaorm.item.condition import Attr, Compare, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

# How many seconds' worth of units that were not used may be used afterwards.
_CREDIT: Final = 1.0
# How many items are read in one step at most, where the rate allows for it.
_STEP: Final = 2000


@record(frozen=False)
class ScanSegment:
    """A part of a table that is read page by page.

    Attributes:
        table: the table.
        segment: which segment of how many; of one partition key, the first of one.
        segments: how many there are.
        partition: the partition key, where only its items are read.
        after: the key of the last item read; None at the beginning.
        is_over: everything was read.
    """

    table: Table
    segment: int = 0
    segments: int = 1
    partition: AttributeValue | None = None
    after: Item | None = None
    is_over: bool = False

    def request(self, name: str, limit: int) -> Call:
        """The call for its next page."""
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
    """One page of a strip."""

    strip: ScanSegment
    items: Sequence[Item]
    after: Item | None

    def turn(self) -> None:
        """Let the strip go on behind this page."""
        self.strip.after, self.strip.is_over = self.after, self.after is None


def scan_segments_of(tables: Sequence[Table], segments: int, segment: int | None) -> list[ScanSegment]:
    """The strips of whole tables, or of one segment of each."""
    wanted = range(segments) if segment is None else (segment,)
    return [ScanSegment(table, one, segments) for table in tables for one in wanted]


@record(frozen=False)
class RateLimiter:
    """How much is read and written, and how fast.

    Attributes:
        context: the session's settings.
        rate: capacity units per second; None for no limit.
        cost: what was read so far.
        written: write capacity units consumed so far.
    """

    context: Context
    rate: float | None = None
    cost: ReadCost = field(default_factory=ReadCost)
    written: float = 0.0
    _paid: float = 0.0
    _due: float | None = None

    def limit(self, strips: int) -> int:
        """How many items a page of one of so many strips may have: what a step reads is held and paid for at once."""
        most = _STEP if self.rate is None else min(_STEP, self.rate)
        return max(5, int(most / strips))

    def keep(self) -> Flow[None]:
        """Wait until what was consumed is no more than the rate allows. Time that went unused is not made up for."""
        if self.rate is None:
            return
        now = self.context.clock.monotonic()
        consumed = self.cost.read_units + self.written
        self._due = (
            max(now if self._due is None else self._due, now - _CREDIT) + (consumed - self._paid) / self.rate
        )
        self._paid = consumed
        if self._due > now:
            yield Pause(self._due - now)


def read_pages(strips: Sequence[ScanSegment], limiter: RateLimiter) -> Flow[list[ScannedPage]]:
    """The next page of each of the first strips that are not over, read together. None is turned yet."""
    waiting = [strip for strip in strips if not strip.is_over][:CONCURRENCY]
    yield from limiter.keep()
    costs = [ReadCost() for _ in waiting]
    pages = yield from gather(
        [
            _page(strip, limiter, cost, limiter.limit(len(waiting)))
            for strip, cost in zip(waiting, costs, strict=True)
        ],
        CONCURRENCY,
    )
    limiter.cost.take(costs)
    return pages


def _page(strip: ScanSegment, limiter: RateLimiter, cost: ReadCost, limit: int) -> Flow[ScannedPage]:
    call = strip.request(limiter.context.table_name(strip.table.name), limit)
    reply = yield from repeat(call, limiter.context)
    cost.add(reply)
    return ScannedPage(strip, reply.get("Items", ()), reply.get("LastEvaluatedKey"))
