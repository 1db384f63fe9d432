"""Verification: tables are read from one end to the other, and every item is held against those that belong to it.

Rule 1. No more than some pages are held at a time: what is needed of other items is read by key.
Rule 2. What looks wrong is read again, everything concerned at one moment, before it is found: writers may be at work.
Rule 3. Nothing is written.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, Final

from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.flow.bulk.limits import CONCURRENCY
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import Diagnosis, Judgement
from dynaorm.flow.integrity.judge_guard import judge_guard
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.judge_totals import look_wrong, recount
from dynaorm.flow.integrity.ledger import Ledger, MemoryLedger
from dynaorm.flow.integrity.scan import RateLimiter, ScannedPage, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.scope import Scope, scope_of
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck, answer_all, answer_at_once
from dynaorm.flow.protocol.call import Call, Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import repeat
from dynaorm.record import record

# How many guard items, or targets, are judged together at the end.
_WINDOW: Final = 100
# Targets that look wrong, and are counted again by one more reading of the tables.
_TARGETS: Final = 10_000


@record(frozen=False)
class Verification:
    """One reading of some tables, step by step.

    Attributes:
        scope: what is verified.
        pace: how fast, and what it has cost.
        segments: into how many parts each table is divided.
        strips: what is read, and how far.
        ledger: what has to be remembered until the end.
        judge: what is asked of every item.
        examined: how many items were read so far.
        unsettled: totals that changed too often to be judged.
    """

    scope: Scope
    limiter: RateLimiter
    segments: int
    strips: list[ScanSegment]
    ledger: Ledger
    judge: Callable[[ItemAddress, Scope], StoredCheck[Judgement]] = judge
    examined: int = 0
    unsettled: list[ItemAddress] = field(default_factory=list)
    _pages: list[ScannedPage] = field(default_factory=list)
    _judged: list[Judgement] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        """Whether every item was read; what was put off is judged after that."""
        return all(strip.is_over for strip in self.strips)

    def steps(self, keep: Callable[[], object] = bool) -> Iterator[Flow[list[Diagnosis]]]:
        """All there is to do, in order: each step is run before the next is asked for.

        ``keep``: called where all that was read is behind us.
        """
        while not self.is_read:
            yield self.read_on()
            self.turn()
            keep()
        yield from self.guards()
        yield from self.totals()

    def read_on(self) -> Flow[list[Diagnosis]]:
        """Judge the next pages. They are not behind us before ``turn`` says so."""
        pages = yield from read_pages(self.strips, self.limiter)
        self._pages = pages
        addresses = [ItemAddress(page.strip.table, _key(page, item)) for page in pages for item in page.items]
        seen = {
            address.ident: item
            for address, item in zip(addresses, (item for page in pages for item in page.items), strict=True)
        }
        judged = yield from answer_all(
            [self.judge(address, self.scope) for address in addresses],
            seen,
            self.limiter.context,
            self.limiter.cost,
        )
        suspects = [address for address, one in zip(addresses, judged, strict=True) if one.diagnoses]
        self._judged = judged
        return (yield from self._sure([_faults_of(self.judge, address, self.scope) for address in suspects]))

    def turn(self) -> None:
        """Remember what has to be, and go on behind the pages just judged."""
        for one in self._judged:
            for suspect in one.suspects:
                self.ledger.suspect(suspect)
            if one.contributions:
                self.ledger.add(one.contributions)
            if one.target is not None:
                self.ledger.target(one.target)
            if one.unsound is not None:
                self.ledger.doubt(one.unsound)
        self.examined += len(self._judged)
        for page in self._pages:
            page.turn()
        self._judged, self._pages = [], []

    def guards(self) -> Iterator[Flow[list[Diagnosis]]]:
        """What was put off: the guard items that are suspect, some at a time."""
        left = self.ledger.suspects()
        while window := list(islice(left, _WINDOW)):
            yield self._sure([_guard_faults(guard, claimants, self.scope) for guard, claimants in window])

    def totals(self) -> Iterator[Flow[list[Diagnosis]]]:
        """What was put off: the totals, as many at a time as one more reading is worth."""
        left = self.ledger.targets() if self.scope.with_totals else iter(())
        while window := list(islice(left, _TARGETS)):
            yield self._totals(window)

    def _totals(self, window: Sequence[Any]) -> Flow[list[Diagnosis]]:
        wrong: list[ItemAddress] = []
        for start in range(0, len(window), _WINDOW * CONCURRENCY):
            portion = window[start : start + _WINDOW * CONCURRENCY]
            wrong += yield from look_wrong(portion, self.scope, self.limiter, self.ledger)
            yield from self.limiter.keep()
        if not wrong:
            return []
        diagnoses, left = yield from recount(wrong, self.scope, self.limiter, self.segments)
        self.unsettled += left
        return diagnoses

    def _sure(self, begins: Iterable[Callable[[], StoredCheck[list[Diagnosis]]]]) -> Flow[list[Diagnosis]]:
        """The faults that are there when everything concerned is read at one moment."""
        context, cost = self.limiter.context, self.limiter.cost
        found = yield from gather([answer_at_once(one, context, cost) for one in begins], CONCURRENCY)
        return [diagnosis for diagnoses in found for diagnosis in diagnoses or ()]


def _key(page: ScannedPage, item: Any) -> Any:
    return {name: item[name] for name in page.strip.table.key_names}


def _faults_of(
    judge: Callable[[ItemAddress, Scope], StoredCheck[Judgement]], address: ItemAddress, scope: Scope
) -> Callable[[], StoredCheck[list[Diagnosis]]]:
    def begin() -> StoredCheck[list[Diagnosis]]:
        return (yield from judge(address, scope)).diagnoses

    return begin


def _guard_faults(
    guard: ItemAddress, claimants: tuple[ItemAddress, ...], scope: Scope
) -> Callable[[], StoredCheck[list[Diagnosis]]]:
    return lambda: judge_guard(guard, claimants, scope)


def verification(
    named: Sequence[Table | type[Any]],
    context: Context,
    *,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
    ledger: Ledger | None = None,
) -> Verification:
    """A verification of some tables and classes, not begun yet.

    Raises:
        UsageError: nothing, or something else was named; there is no such segment; the rate is no number of units.
    """
    check_segments(segments, segment)
    if rate is not None and not rate > 0:
        raise UsageError(problem=f"rate={rate} lets nothing happen", remedy="give capacity units per second")
    whole = segment is None or segments == 1
    scope = scope_of(named, lambda: unit_of_work(context), with_totals=whole)
    strips = scan_segments_of(scope.tables, segments, segment)
    return Verification(scope, RateLimiter(context, rate), segments, strips, ledger or MemoryLedger())


def check_segments(segments: int, segment: int | None) -> None:
    """Raises UsageError for a division that DynamoDB does not know, and a segment that it does not have."""
    # TotalSegments: 1 to 1,000,000 (Amazon DynamoDB API Reference, "Scan").
    if not 1 <= segments <= 1_000_000 or (segment is not None and not 0 <= segment < segments):
        which = "" if segment is None else f"segment {segment} of "
        raise UsageError(
            problem=f"there is no {which}{segments} segments",
            remedy="give segments= from 1 on, and segment= from 0 to one less",
        )


def describe(tables: Sequence[Table], context: Context) -> Flow[list[dict[str, Any]]]:
    """What DynamoDB says of some tables: which they are, and about how many items they have."""
    found = []
    for table in tables:
        call = Call("DescribeTable", {"TableName": context.table_name(table.name)})
        reply = yield from repeat(call, context)
        found.append(dict(reply["Table"]))
    return found
