"""Verify tables: read every item, and judge it together with the items that belong to it.

Rule 1. Only a few pages are held at a time; other items are read by key.
Rule 2. Writers may run. What looks wrong is confirmed by one TransactGetItems of everything concerned.
Rule 3. Nothing is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dynaorm.argument import check_count
from dynaorm.entity.table import Ident, Table
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import CheckResult, RepairableFinding, RepairResult, not_judged
from dynaorm.flow.integrity.judge_item import judge
from dynaorm.flow.integrity.kinds.judged import Run
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.ledger import MemoryFactStore, remember
from dynaorm.flow.integrity.scan import RateLimiter, ScannedPage, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.scope import Scope, scope_of
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck, run_batched
from dynaorm.flow.read import describe_table
from dynaorm.item.value import Item
from dynaorm.record import record


@record(frozen=False)
class Verification(Run):
    """One verification of some tables, step by step.

    Attributes:
        scan_segments: the segments to read, each with its position.
        judge: the judgement of each item.
        examined: how many items were read so far.
        is_part: others read the other segments. What needs all facts stays in the ledger.
    """

    scan_segments: list[ScanSegment] = field(default_factory=list)
    judge: Callable[[ItemAddress, Scope], StoredCheck[CheckResult]] = judge
    examined: int = 0
    is_part: bool = False
    _pages: list[ScannedPage] = field(default_factory=list)
    _judged: list[CheckResult] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        """Whether every item was read; what needs all facts is judged after that."""
        return all(one.is_over for one in self.scan_segments)

    def steps(self, after_pages: Callable[[], object] = bool) -> Iterator[Flow[list[RepairableFinding]]]:
        """The steps of the work, in order. Run each step before you ask for the next.

        ``after_pages`` is called when the diagnoses of some pages were dealt with, and the segments have moved on.
        """
        while not self.is_read:
            yield self._judge_pages()
            self._finish_pages()
            after_pages()
        if self.is_part:
            return
        for kind in KINDS:
            yield from kind.judge_left(self)
        yield self._unjudged()

    def _judge_pages(self) -> Flow[list[RepairableFinding]]:
        pages = yield from read_pages(self.scan_segments, self.limiter)
        self._pages = pages
        found = [(_address(page, item), item) for page in pages for item in page.items]
        return (
            yield from self._judge(
                [one for one, _ in found], {address.ident: item for address, item in found}
            )
        )

    def _judge(
        self, addresses: Sequence[ItemAddress], seen: Mapping[Ident, Item]
    ) -> Flow[list[RepairableFinding]]:
        """The diagnoses of the items at some addresses. ``seen``: those that were just read."""
        judged = yield from run_batched(
            [self.judge(address, self.scope) for address in addresses],
            seen,
            self.limiter.context,
            self.limiter.cost,
        )
        self._judged = judged
        wrong = [address for address, one in zip(addresses, judged, strict=True) if one.diagnoses]
        checks = [(one, _diagnoses_at(self.judge, one, self.scope)) for one in wrong]
        return (yield from self.confirmed(checks))

    def _finish_pages(self) -> None:
        for one in self._judged:
            remember(one, self.ledger)
        self.examined += len(self._judged)
        for page in self._pages:
            page.finish()
        self._judged, self._pages = [], []

    def _unjudged(self) -> Flow[list[RepairableFinding]]:
        """The items whose sums changed too often to be judged or repaired."""
        yield from ()
        detail = "its totals changed each time they were counted; try again when fewer writers run"
        return [not_judged(one, detail) for one in self.unstable]

    def rest(self) -> Iterator[RepairResult]:
        """What became of what was asked for and not judged; nothing where every item is."""
        return iter(())

    def judge_again(self, addresses: Sequence[ItemAddress]) -> Flow[list[RepairableFinding]]:
        """The diagnoses of items whose numbers were counted, counted again."""
        found = []
        for kind in KINDS:
            found += yield from kind.judge_again(addresses, self)
        return found


def _address(page: ScannedPage, item: Any) -> ItemAddress:
    table = page.segment.table
    return ItemAddress(table, {name: item[name] for name in table.key_names})


def _diagnoses_at(
    judge: Callable[[ItemAddress, Scope], StoredCheck[CheckResult]], address: ItemAddress, scope: Scope
) -> Callable[[], StoredCheck[list[RepairableFinding]]]:
    def begin() -> StoredCheck[list[RepairableFinding]]:
        return (yield from judge(address, scope)).diagnoses

    return begin


def verification(
    named: Sequence[Table | type[Any]],
    context: Context,
    *,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
    is_part: bool = False,
) -> Verification:
    """A verification of some tables and classes that has not begun.

    Args:
        named: the tables and classes.
        context: the session's settings.
        segments: into how many segments each table is divided.
        segment: the one to be read; None for all.
        rate: capacity units per second.
        is_part: the facts of all segments are judged together afterwards, so totals are, too.

    Raises:
        UsageError: the list is empty or names something else; the segment does not exist; the rate is not positive.
    """
    check_segments(segments, segment)
    everything = is_part or segment is None or segments == 1
    scope = scope_of(named, lambda: unit_of_work(context), reads_everything=everything)
    parts = scan_segments_of(scope.tables, segments, segment)
    limiter = RateLimiter(context, rate)
    return Verification(scope, limiter, segments, MemoryFactStore(), scan_segments=parts, is_part=is_part)


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
