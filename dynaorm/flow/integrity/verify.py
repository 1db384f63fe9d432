"""Verify tables: read every item, and judge it together with the items that belong to it.

Rule 1. Only a few pages are held at a time; other items are read by key.
Rule 2. Writers may run. What looks wrong is confirmed by one TransactGetItems of everything concerned.
Rule 3. Nothing is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dynaorm.argument import all_of, check_count
from dynaorm.entity.table import Ident, Table
from dynaorm.errors import UsageError
from dynaorm.failure import MASK
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import (
    CheckResult,
    Finding,
    FindingKind,
    MemoryFactStore,
    Outcome,
    RepairableFinding,
    RepairResult,
    left,
    not_judged,
    remember,
)
from dynaorm.flow.integrity.judge import KINDS, judge
from dynaorm.flow.integrity.kinds.judged import Run
from dynaorm.flow.integrity.reads import (
    ItemAddress,
    RateLimiter,
    ScannedPage,
    ScanSegment,
    StoredCheck,
    read_pages,
    run_batched,
    scan_segments_of,
)
from dynaorm.flow.integrity.scope import Scope, scope_of
from dynaorm.flow.read import describe_table
from dynaorm.flow.windows import windows
from dynaorm.item.value import Item
from dynaorm.record import record, replace


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


# Judge again what an earlier verification has found: the items at the keys of its findings, and nothing else.
#
# Rule 1. A finding is a hint. What is repaired follows from the items as they are now, read at one moment.
# Rule 2. A finding that an item no longer shows is gone. One that needs a choice is left, and is not judged.
# Rule 3. What only a whole run can know is taken from the findings: the entities that hold one value, and that no
#         other item makes a sum doubtful.

# How many items are judged in one step.
_STEP = 500


@record(frozen=False)
class Recheck(Verification):
    """A verification of the items that some findings name.

    Attributes:
        found: the findings, each once.
        addresses: the items that are left to be judged.
        met: the findings that the items still show.
    """

    found: Sequence[Finding] = ()
    addresses: list[ItemAddress] = field(default_factory=list)
    met: list[Finding] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        return not self.addresses

    def steps(self, after_pages: Callable[[], object] = bool) -> Iterator[Flow[list[RepairableFinding]]]:
        tables = {table.name: table for table in self.scope.known_tables}
        repairable = [
            (one, ItemAddress(tables[one.table], one.item_key)) for one in self.found if one.repairable
        ]
        counted = frozenset[FindingKind]().union(*(kind.counted for kind in KINDS))
        for some in windows([at for one, at in repairable if one.kind in counted], _STEP):
            yield self._noting(self.judge_again(some))
        yield self._begin([(one, at) for one, at in repairable if one.kind not in counted])
        for step in Verification.steps(self, after_pages):
            yield self._noting(step)

    def _begin(self, found: Sequence[tuple[Finding, ItemAddress]]) -> Flow[list[RepairableFinding]]:
        """Find the items to be judged, and remember what is known of them."""
        asked = [(kind, at, [key.primary_key for key in one.owners]) for one, at in found for kind in KINDS]
        checks = [kind.judged_with(at, owners) for kind, at, owners in asked]
        beside = yield from run_batched(checks, {}, self.limiter.context, self.limiter.cost)
        addresses = [*(at for _, at in found), *(one for some in beside for one in some)]
        self.addresses = [*{one.ident: one for one in addresses}.values()]
        for kind, at, owners in asked:
            for fact in kind.facts_named(at, owners):
                self.ledger.add(fact)
        return []

    def judge_again(self, addresses: Sequence[ItemAddress]) -> Flow[list[RepairableFinding]]:
        # A sum is counted from all that is counted in it.
        whole = replace(self.scope, reads_everything=True)
        run, found = (
            Run(whole, self.limiter, self.segments, self.ledger, self.unstable),
            list[RepairableFinding](),
        )
        for kind in KINDS:
            found += yield from kind.judge_again(addresses, run)
        return found

    def _noting(self, step: Flow[list[RepairableFinding]]) -> Flow[list[RepairableFinding]]:
        found = yield from step
        self.met += [one.finding for one in found]
        return found

    def _judge_pages(self) -> Flow[list[RepairableFinding]]:
        yield from self.limiter.wait()
        return (yield from self._judge(self.addresses[:_STEP], {}))

    def _finish_pages(self) -> None:
        Verification._finish_pages(self)
        del self.addresses[:_STEP]

    def rest(self) -> Iterator[RepairResult]:
        """What became of the findings that no item showed again: left if they need a choice, otherwise gone."""
        met = {one.identity for one in self.met}
        open_at = {one.identity[1:] for one in self.met if not one.repairable}
        for one in self.found:
            if not one.repairable:
                yield left(one)
            # What is wrong there now is reported in its place.
            elif one.identity not in met and one.identity[1:] not in open_at:
                yield RepairResult(one, Outcome.RESOLVED)


def recheck(
    named: Sequence[Table | type[Any]],
    findings: Iterable[Finding],
    context: Context,
    *,
    rate: float | None = None,
) -> Recheck:
    """A verification of what some findings name, in these tables and classes. It has not begun.

    Raises:
        UsageError: something is no finding, or is in another table, or has a masked key; the rate is not positive.
    """
    # Sums and owners that only a whole run knows are those of the findings.
    scope = scope_of(named, lambda: unit_of_work(context), reads_everything=False)
    tables = {table.name: table for table in scope.known_tables}
    distinct = {one.identity: one for one in _checked(findings, tables)}
    return Recheck(scope, RateLimiter(context, rate), 1, MemoryFactStore(), found=[*distinct.values()])


def _checked(findings: Iterable[Finding], tables: Mapping[str, Table]) -> Iterator[Finding]:
    for one in all_of("findings={}", findings, Finding, "a finding", remedy="give those that verify yields"):
        if one.table not in tables:
            raise UsageError(
                problem=f"a finding is in the table {one.table!r}, which belongs to none that is named",
                remedy="name its Table, too",
            )
        if any(MASK in value.values() for key in one.stored_keys for value in key.values()):
            raise UsageError(
                problem=f"a finding in {one.table!r} has a masked key, as terminals and logs show it",
                remedy="write the findings to a private file: dynaorm verify --findings FILE",
            )
        yield one
