"""Judge again what an earlier verification has found: the items at the keys of its findings, and nothing else.

Rule 1. A finding is a hint. What is repaired follows from the items as they are now, read at one moment.
Rule 2. A finding that an item no longer shows is gone. One that needs a choice is left, and is not judged.
Rule 3. What only a whole run can know is taken from the findings: the entities that hold one value, and that no
        other item makes a sum doubtful.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from dynaorm.argument import all_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import MASK
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import (
    Finding,
    FindingKind,
    Outcome,
    RepairableFinding,
    RepairResult,
    left,
)
from dynaorm.flow.integrity.kinds.judged import Run
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.ledger import MemoryFactStore
from dynaorm.flow.integrity.scan import RateLimiter
from dynaorm.flow.integrity.scope import scope_of
from dynaorm.flow.integrity.stored_check import ItemAddress, run_batched
from dynaorm.flow.integrity.verify import Verification
from dynaorm.flow.windows import windows
from dynaorm.record import record, replace

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
