"""The invariants of blocks under tokens of the caller's own: each token is applied once, and no verdict is false."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from tests.torture.checker import Violation
from tests.torture.history import Run
from tests.torture.journal import ACKNOWLEDGED, REFUSED, UNKNOWN, Record, operation_of

TRANSIENT: Final = frozenset({"Contention", "Throttled", "Unreachable"})
"""The refusals that say nothing about the block: it can be run again."""

Payments: TypeAlias = Mapping[str, Sequence[Record]]
Invariant: TypeAlias = Callable[[Run, Payments], Iterator[Violation]]


def a_token_is_applied_once(run: Run, payments: Payments) -> Iterator[Violation]:
    """The till of a token has the amount of one of its blocks, once, or nothing."""
    for token, (runs, item) in run.table.tills.items():
        if runs not in {0, *(record.amount for record in payments.get(token, ()))}:
            yield Violation("a token is applied once", token, str(item))


def acknowledged_blocks_were_applied(run: Run, payments: Payments) -> Iterator[Violation]:
    """If a block was acknowledged, it is the one that was applied."""
    for token, records in payments.items():
        for record in records:
            if record.outcome == ACKNOWLEDGED and _runs(run, token) != record.amount:
                said = f"the till has {_runs(run, token)}"
                yield Violation("acknowledged blocks were applied", str(record), said)


def refused_blocks_were_not_applied(run: Run, payments: Payments) -> Iterator[Violation]:
    """A block that was applied was sent by an operation that was not refused."""
    for token, records in payments.items():
        applied = [record for record in records if record.amount == _runs(run, token)]
        if applied and all(record.outcome == REFUSED for record in applied):
            yield Violation("refused blocks were not applied", token, "; ".join(map(str, applied)))


def repeats_are_recognised(run: Run, payments: Payments) -> Iterator[Violation]:
    """A block that runs again after it was acknowledged is not refused. Unless an answer was lost, it is recognised."""
    for token, records in payments.items():
        for record in records:
            if not _is_repeat(record, records) or record.error in TRANSIENT:
                continue
            unknown = record.outcome == UNKNOWN and record.error and not record.unanswered
            if record.outcome == REFUSED or unknown:
                yield Violation("repeats are recognised", str(record), f"the till has {_runs(run, token)}")


def reuse_is_noticed(run: Run, payments: Payments) -> Iterator[Violation]:
    """TokenReused is the verdict on another block than one that may have been applied."""
    for records in payments.values():
        for record in records:
            others = (one for one in records if one.amount != record.amount and one.outcome != REFUSED)
            if record.error == "TokenReused" and not any(others):
                yield Violation("reuse is noticed", str(record), "no other block ran under the token")


def purses_add_up(run: Run, payments: Payments) -> Iterator[Violation]:
    """A block is applied as a whole: a purse has the sum of the tills of its blocks."""
    sums: defaultdict[str, int] = defaultdict(int)
    for token, records in payments.items():
        sums[records[0].effects[0].text] += _runs(run, token)
    for purse, (total, item) in run.table.purses.items():
        if total != sums[purse]:
            yield Violation("purses add up", purse, f"{item} should have {sums[purse]}")


def what_is_remembered_was_applied(run: Run, payments: Payments) -> Iterator[Violation]:
    """A token item is stored for each token whose block was applied, and for no other."""
    wanted = {token for token in payments if _runs(run, token)}
    for token in sorted(wanted ^ run.table.tokens.keys()):
        said = f"the till has {_runs(run, token)}, stored is {run.table.tokens.get(token)}"
        yield Violation("what is remembered was applied", token, said)
    for token in sorted(wanted & run.table.tokens.keys()):
        writer = run.by_id.get(operation_of(run.table.tokens[token]["_revision"]["S"]))
        if writer not in payments[token]:
            yield Violation("what is remembered was applied", token, f"written by {writer}")


INVARIANTS: Final[tuple[Invariant, ...]] = (
    a_token_is_applied_once,
    acknowledged_blocks_were_applied,
    refused_blocks_were_not_applied,
    repeats_are_recognised,
    reuse_is_noticed,
    purses_add_up,
    what_is_remembered_was_applied,
)


def check_tokens(run: Run) -> list[Violation]:
    """Every violation of every invariant."""
    payments: defaultdict[str, list[Record]] = defaultdict(list)
    for record in run.records:
        if record.amount:
            payments[record.effects[0].on].append(record)
    return [violation for invariant in INVARIANTS for violation in invariant(run, payments)]


def _runs(run: Run, token: str) -> int:
    return run.table.tills[token][0] if token in run.table.tills else 0


def _is_repeat(record: Record, records: Sequence[Record]) -> bool:
    """Whether an equal block had been acknowledged before an operation began."""
    return any(
        one.outcome == ACKNOWLEDGED and one.amount == record.amount and (one.end or 0) < record.begin
        for one in records
    )
