"""Verify tables: read every item, and judge it together with the items that belong to it.

Rule 1. Only a few pages are held at a time; other items are read by key.
Rule 2. Writers may run. What looks wrong is confirmed by one TransactGetItems of everything concerned.
Rule 3. Nothing is written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import Any, Final

from dynaorm.argument import check_amount, check_count
from dynaorm.entity.stored_entity import shown_key
from dynaorm.entity.table import Table
from dynaorm.flow.bulk.limits import CONCURRENCY
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import Diagnosis, Judgement, not_judged
from dynaorm.flow.integrity.judge_guard import judge_suspect
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.judge_totals import Counting, recount, suspect_totals
from dynaorm.flow.integrity.ledger import Ledger, MemoryLedger, remember
from dynaorm.flow.integrity.scan import RateLimiter, ScannedPage, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.scope import Scope, scope_of
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck, answer_all, answer_at_once
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.cost import ReadCost
from dynaorm.flow.protocol.together import gather
from dynaorm.flow.read import describe_table
from dynaorm.record import record

# How many suspect items, or targets, are judged together at the end.
_WINDOW: Final = 100
# How many targets one more scan of the tables may count.
_TARGETS: Final = 10_000


@record(frozen=False)
class Verification:
    """One verification of some tables, step by step.

    Attributes:
        scope: what is verified.
        limiter: the rate, and the consumption so far.
        segments: into how many segments each table is divided.
        scan_segments: the segments to read, each with its position.
        ledger: what is remembered until every item was read.
        judge: the judgement of each item.
        examined: how many items were read so far.
        unstable: the targets whose totals changed each time they were counted.
    """

    scope: Scope
    limiter: RateLimiter
    segments: int
    scan_segments: list[ScanSegment]
    ledger: Ledger
    judge: Callable[[ItemAddress, Scope], StoredCheck[Judgement]] = judge
    examined: int = 0
    unstable: list[ItemAddress] = field(default_factory=list)
    _pages: list[ScannedPage] = field(default_factory=list)
    _judged: list[Judgement] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        """Whether every item was read; suspect items and totals are judged after that."""
        return all(one.is_over for one in self.scan_segments)

    @property
    def counting(self) -> Counting:
        """How totals are counted again."""
        return Counting(self.scope, self.limiter, self.segments, list(self.ledger.doubts()))

    def steps(self, after_pages: Callable[[], object] = bool) -> Iterator[Flow[list[Diagnosis]]]:
        """The steps of the work, in order. Run each step before you ask for the next.

        ``after_pages`` is called when the diagnoses of some pages were dealt with, and the segments have moved on.
        """
        while not self.is_read:
            yield self._judge_pages()
            self._finish_pages()
            after_pages()
        yield from self._judge_suspects()
        yield from self._judge_totals()
        yield self._unjudged_totals()

    def _judge_pages(self) -> Flow[list[Diagnosis]]:
        pages = yield from read_pages(self.scan_segments, self.limiter)
        self._pages = pages
        found = [(_address(page, item), item) for page in pages for item in page.items]
        judged = yield from answer_all(
            [self.judge(address, self.scope) for address, _ in found],
            {address.ident: item for address, item in found},
            self.limiter.context,
            self.limiter.cost,
        )
        self._judged = judged
        suspects = [address for (address, _), one in zip(found, judged, strict=True) if one.diagnoses]
        checks = [(one, _diagnoses_at(self.judge, one, self.scope)) for one in suspects]
        return (yield from self._confirmed(checks))

    def _finish_pages(self) -> None:
        for one in self._judged:
            remember(one, self.ledger)
        self.examined += len(self._judged)
        for page in self._pages:
            page.finish()
        self._judged, self._pages = [], []

    def _judge_suspects(self) -> Iterator[Flow[list[Diagnosis]]]:
        left = self.ledger.suspects()
        while window := list(islice(left, _WINDOW)):
            checks = [(one, _suspect_diagnoses(one, some, self.scope)) for one, some in window]
            yield self._confirmed(checks)

    def _judge_totals(self) -> Iterator[Flow[list[Diagnosis]]]:
        left = self.ledger.targets() if self.scope.reads_everything else iter(())
        while window := list(islice(left, _TARGETS)):
            yield self._recounted(window)

    def _recounted(self, window: Sequence[Any]) -> Flow[list[Diagnosis]]:
        wrong: list[ItemAddress] = []
        for start in range(0, len(window), _WINDOW * CONCURRENCY):
            portion = window[start : start + _WINDOW * CONCURRENCY]
            wrong += yield from suspect_totals(portion, self.counting)
            yield from self.limiter.wait()
        if not wrong:
            return []
        diagnoses, left = yield from recount(wrong, self.counting)
        self.unstable += left
        return diagnoses

    def _unjudged_totals(self) -> Flow[list[Diagnosis]]:
        """The totals that changed too often to be judged or repaired."""
        yield from ()
        detail = "its totals changed each time they were counted; try again when fewer writers run"
        return [not_judged(one.table, shown_key(one.table, one.key), detail) for one in self.unstable]

    def _confirmed(
        self, checks: Sequence[tuple[ItemAddress, Callable[[], StoredCheck[list[Diagnosis]]]]]
    ) -> Flow[list[Diagnosis]]:
        """The diagnoses that remain when everything concerned is read at one moment."""
        # The checks run in several threads.
        costed = [(one, ReadCost()) for _, one in checks]
        flows = [answer_at_once(one, self.limiter.context, cost) for one, cost in costed]
        found = yield from gather(flows, CONCURRENCY)
        self.limiter.cost.take(cost for _, cost in costed)
        return [
            diagnosis
            for (address, _), diagnoses in zip(checks, found, strict=True)
            for diagnosis in (_changing(address) if diagnoses is None else diagnoses)
        ]


def _changing(address: ItemAddress) -> list[Diagnosis]:
    detail = "what belongs to it changed each time it was read; try again when fewer writers run"
    return [not_judged(address.table, shown_key(address.table, address.key), detail)]


def _address(page: ScannedPage, item: Any) -> ItemAddress:
    table = page.segment.table
    return ItemAddress(table, {name: item[name] for name in table.key_names})


def _diagnoses_at(
    judge: Callable[[ItemAddress, Scope], StoredCheck[Judgement]], address: ItemAddress, scope: Scope
) -> Callable[[], StoredCheck[list[Diagnosis]]]:
    def begin() -> StoredCheck[list[Diagnosis]]:
        return (yield from judge(address, scope)).diagnoses

    return begin


def _suspect_diagnoses(
    address: ItemAddress, claimants: tuple[ItemAddress, ...], scope: Scope
) -> Callable[[], StoredCheck[list[Diagnosis]]]:
    return lambda: judge_suspect(address, claimants, scope)


def verification(
    named: Sequence[Table | type[Any]],
    context: Context,
    *,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
) -> Verification:
    """A verification of some tables and classes that has not begun.

    Raises:
        UsageError: the list is empty or names something else; the segment does not exist; the rate is not positive.
    """
    check_segments(segments, segment)
    if rate is not None:
        check_amount("rate={}", rate)
    everything = segment is None or segments == 1
    scope = scope_of(named, lambda: unit_of_work(context), reads_everything=everything)
    parts = scan_segments_of(scope.tables, segments, segment)
    return Verification(scope, RateLimiter(context, rate), segments, parts, MemoryLedger())


def check_segments(segments: int, segment: int | None) -> None:
    """Raises UsageError for a number of segments that DynamoDB refuses, and for a segment that does not exist."""
    # TotalSegments: 1 to 1,000,000 (Amazon DynamoDB API Reference, "Scan").
    check_count("segments={}", segments, most=1_000_000)
    if segment is not None:
        check_count(f"segment={{}} of segments={segments}", segment, least=0, most=segments - 1)


def describe(tables: Sequence[Table], context: Context) -> Flow[list[dict[str, Any]]]:
    """The table descriptions that DescribeTable returns."""
    found = []
    for table in tables:
        description = yield from describe_table(context.table_name(table.name), context)
        found.append(dict(description))
    return found
