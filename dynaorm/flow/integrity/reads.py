"""How items are read to be judged: page by page at a limited rate, and by key, as a check asks for them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

from dynaorm.argument import check_amount
from dynaorm.entity.table import Ident, Table, ident_of
from dynaorm.flow.call import Call, Context, Flow, PageKeys, Pause, ReadCost, gather, last_key
from dynaorm.flow.read import BATCH_GET_LIMIT, check_keys, get_items, get_items_at_once, repeat
from dynaorm.flow.windows import CONCURRENCY, windows
from dynaorm.item.condition import Attr, Compare, render
from dynaorm.item.path import Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

# A stored check: a generator that asks for items by key, and does not depend on how they are read.
#
# One check serves twice. To find what looks wrong, many checks are answered together with BatchGetItem. To confirm a
# finding, one check is answered with a TransactGetItems that reads everything it asks for at one moment, so that no
# write can come between.

T = TypeVar("T")

TRANSACT_GET_LIMIT: Final = 100
"""TransactGetItems takes at most 100 items (Amazon DynamoDB API Reference)."""

# How often a check starts again because the items it needs changed while it was read.
_ROUNDS: Final = 12


@record
class ItemAddress:
    """A table and a primary key. The item need not exist."""

    table: Table
    key: Item

    @property
    def ident(self) -> Ident:
        return ident_of(self.table, self.key)


class Lookup(ABC):
    """Asks for the key of an item that is found by a search, so only where something looks wrong."""

    @property
    @abstractmethod
    def ident(self) -> Ident:
        """What names the question, among the identities of items."""

    @abstractmethod
    def among(self, items: Iterable[Item]) -> Item | None:
        """The item, if all the items of its table that a search could find are among these."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """The table in which it is searched for."""

    @abstractmethod
    def search(self, context: Context, cost: ReadCost) -> Flow[Item | None]:
        """The key of the item, strongly consistent."""


Address: TypeAlias = ItemAddress | Lookup

StoredCheck: TypeAlias = Generator[Sequence[Address], Sequence[Item | None], T]
"""Yields the addresses of items, is sent the items in that order (None if absent), and returns its result."""


@record(frozen=False)
class _RunningCheck:
    check: StoredCheck[Any]
    wanted: Sequence[Address] = ()
    result: Any = None
    is_over: bool = False

    def resume(self, items: Sequence[Item | None] | None) -> None:
        try:
            self.wanted = next(self.check) if items is None else self.check.send(items)
        except StopIteration as stop:
            self.result, self.is_over = stop.value, True


def answer_from(check: StoredCheck[T], items: Mapping[Ident, Item]) -> T:
    """The result of a check, if these are all the items that exist."""
    running = _RunningCheck(check)
    running.resume(None)
    while not running.is_over:
        running.resume([_item_in(items, address) for address in running.wanted])
    result: T = running.result
    return result


def _item_in(items: Mapping[Ident, Item], address: Address) -> Item | None:
    if isinstance(address, ItemAddress):
        return items.get(address.ident)
    return address.among(item for ident, item in items.items() if ident[0] == address.table.name)


@record
class Unanswered:
    """What a check asked for that is not known in full. It has no result yet."""

    addresses: Mapping[Ident, Address]


def try_run(check: StoredCheck[T], known: Mapping[Ident, Sequence[Item]]) -> T | Unanswered:
    """The result of a check, or everything that it has asked for if some of that is not known.

    Args:
        known: for each address, the items that it can mean: at most one, or all that a search would find.
    """
    asked: dict[Ident, Address] = {}
    running = _RunningCheck(check)
    running.resume(None)
    while not running.is_over:
        asked.update((address.ident, address) for address in running.wanted)
        if any(address.ident not in known for address in running.wanted):
            running.check.close()
            return Unanswered(asked)
        running.resume([_item_of(known[address.ident], address) for address in running.wanted])
    result: T = running.result
    return result


def _item_of(items: Sequence[Item], address: Address) -> Item | None:
    return next(iter(items), None) if isinstance(address, ItemAddress) else address.among(items)


def run_batched(
    checks: Iterable[StoredCheck[T]], seen: Mapping[Ident, Item], context: Context, cost: ReadCost
) -> Flow[list[T]]:
    """The results of many checks, answered together by strongly consistent reads.

    Args:
        seen: items that were just read and need not be read again.
        context: the session's settings.
        cost: what the reads consume is added to it.
    """
    running = [_RunningCheck(one) for one in checks]
    known: dict[Ident, Item | None] = dict(seen)
    for one in running:
        one.resume(None)
    while waiting := [one for one in running if not one.is_over]:
        addresses = {
            address.ident: address for one in waiting for address in one.wanted if address.ident not in known
        }
        known.update(dict.fromkeys(addresses))
        known.update((yield from read_addresses(addresses.values(), context, cost)))
        for one in waiting:
            one.resume([known[address.ident] for address in one.wanted])
    return [one.result for one in running]


def read_addresses(addresses: Iterable[Address], context: Context, cost: ReadCost) -> Flow[dict[Ident, Item]]:
    """The items that exist at some addresses, by strongly consistent BatchGetItem calls, several at a time."""
    of_table: dict[str, tuple[Table, list[Item]]] = {}
    addresses = list(addresses)
    sought = yield from _search(addresses, context, cost)
    for address in addresses:
        if isinstance(address, Lookup):
            continue
        of_table.setdefault(address.table.name, (address.table, []))[1].append(address.key)
    batches = [
        (table, batch, ReadCost())
        for table, keys in of_table.values()
        for batch in windows(keys, BATCH_GET_LIMIT)
    ]
    read = yield from gather(
        [get_items(table, batch, context, cost=each) for table, batch, each in batches], CONCURRENCY
    )
    cost.take(each for _, _, each in batches)
    return {ident: item for ident, item in sought.items() if item is not None} | {
        ident_of(table, item): item
        for (table, _, _), items in zip(batches, read, strict=True)
        for item in items
    }


def _search(addresses: Iterable[Address], context: Context, cost: ReadCost) -> Flow[dict[Ident, Item | None]]:
    """The keys of the items that have to be searched for."""
    found: dict[Ident, Item | None] = {}
    for one in addresses:
        if isinstance(one, Lookup):
            found[one.ident] = yield from one.search(context, cost)
    return found


@record(frozen=False)
class _Snapshot:
    """The items read at one moment, and the addresses that a check asked for."""

    items: Mapping[Ident, Item | None]
    asked: dict[Ident, Address] = field(default_factory=dict)

    def answers(self, wanted: Sequence[Address]) -> list[Item | None] | None:
        """The items asked for; None if one of them was not read."""
        self.asked.update((address.ident, address) for address in wanted)
        if any(address.ident not in self.items for address in wanted):
            return None
        return [self.items[address.ident] for address in wanted]


def run_in_one_read(
    begin: Callable[[], StoredCheck[T]],
    context: Context,
    cost: ReadCost,
    instead: Mapping[Ident, Item | None] = MappingProxyType({}),
) -> Flow[T | None]:
    """The result of a check whose items were all read at one moment; None if they change all the time.

    One TransactGetItems reads everything that the check asked for. If the check then asks for more, it starts again.
    What has to be searched for is searched just before it. ``instead``: items that take the place of those read.
    """
    items: Mapping[Ident, Item | None] = {}
    for _ in range(_ROUNDS):
        snapshot = _Snapshot(items)
        running = _RunningCheck(begin())
        running.resume(None)
        while not running.is_over and (answers := snapshot.answers(running.wanted)) is not None:
            running.resume(answers)
        if running.is_over:
            result: T = running.result
            return result
        running.check.close()
        if len(snapshot.asked) > TRANSACT_GET_LIMIT:
            return None
        items = {**(yield from _read_at_once(snapshot.asked, context, cost)), **instead}
    return None


def _read_at_once(
    addresses: Mapping[Ident, Address], context: Context, cost: ReadCost
) -> Flow[dict[Ident, Item | None]]:
    sought = yield from _search(addresses.values(), context, cost)
    places = [one for one in addresses.values() if isinstance(one, ItemAddress)]
    items = yield from get_items_at_once([(one.table, one.key) for one in places], context, cost=cost)
    return {**sought, **dict(zip((one.ident for one in places), items, strict=True))}


# Read tables page by page in segments, each of which remembers its position, at a limited rate.
#
# A segment is one segment of a Scan, or the item collection of one partition key.

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
