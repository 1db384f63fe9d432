"""The invariants of table and journals together: acknowledged writes are there, and refused ones are not."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from tests.torture.checker import Violation
from tests.torture.entities import EXPIRING, VERSIONED, WITHOUT_REVISION, kind_of, name_of
from tests.torture.journal import ACKNOWLEDGED, REFUSED, Effect, Record, Result, operation_of
from tests.torture.linearizability import NEVER
from tests.torture.table import Snapshot, Stored

EXPECTED: Final = frozenset(
    {
        "StaleEntity", "AlreadyExists", "UniqueViolation", "EntityNotFound", "ConditionFailed", "Contention",
        "Throttled", "Unreachable", "NotInEffect", "NotDeleted",
    }
)  # fmt: skip
"""The errors that may refuse an operation of the torture test. Any other error is a violation."""

STOPPED: Final = frozenset({"Contention", "Throttled", "Unreachable"})
"""The errors that may end an operation of several requests after the first of them."""


@dataclass(frozen=True)
class Run:
    """Everything that is checked: the table at the end, and the journals.

    Attributes:
        table: when all processes have ended.
        records: every operation, in the order in which they began.
    """

    table: Snapshot
    records: Sequence[Record]

    @cached_property
    def by_id(self) -> Mapping[str, Record]:
        return {record.id: record for record in self.records}

    @cached_property
    def seen(self) -> Mapping[str, str]:
        """Every operation whose revision was seen, in the table or by another operation, and where first."""
        found: dict[str, str] = {}
        for revision, where in self._revisions():
            found.setdefault(operation_of(revision), where)
        return found

    def _revisions(self) -> Iterator[tuple[str, str]]:
        for stored in self.table.all_stored():
            yield stored.revision, f"in the table: {stored.item}"
        for record in self.records:
            for effect in record.effects:
                yield effect.base or "", f"the base of {record}"
            for result in record.results:
                if operation_of(result.revision or "") != record.id:
                    yield result.revision or "", f"returned by {record}: {result.values}"
            for one in record.observed:
                yield one.value if one.what == "revision" else "", f"met by {record}"

    @cached_property
    def writes(self) -> Mapping[str, Sequence[tuple[Record, Effect]]]:
        """For each entity the writes that were not refused, in the order in which they began."""
        found: defaultdict[str, list[tuple[Record, Effect]]] = defaultdict(list)
        for record in self.records:
            if record.may_have_written:
                for effect in record.written:
                    if record.sent(effect):
                        found[effect.on].append((record, effect))
        return found

    @cached_property
    def deletions_of_versions(self) -> Sequence[Record]:
        """The prunes and purges that may have deleted something. A refusal may come after their first request."""
        return [
            record
            for record in self.records
            if (record.outcome != REFUSED or record.error in STOPPED)
            and any(one.do in ("prune", "purge") for one in record.effects)
        ]

    def was_purged(self, name: str, since: int) -> bool:
        """Whether a document may have been purged at some time since."""
        return any(effect.do == "purge" for effect in self._deletions(name, since))

    def prunable(self, name: str, since: int) -> int:
        """The newest version that may have been pruned at some time since."""
        latest = self.table.entities.get(name) or self.table.tombstones.get(name)
        kept = [effect.number for effect in self._deletions(name, since) if effect.do == "prune"]
        return max(0, latest.version - min(kept)) if latest is not None and kept else 0

    def _deletions(self, name: str, since: int) -> Iterator[Effect]:
        for record in self.deletions_of_versions:
            if record.effects[0].on == name and (record.end or NEVER) >= since:
                yield record.effects[0]

    def happened(self, record: Record) -> bool:
        return record.outcome == ACKNOWLEDGED or record.id in self.seen


_REMOVES: Final = ("delete", "purge")

Invariant: TypeAlias = Callable[[Run], Iterator[Violation]]


def refusals_are_expected(run: Run) -> Iterator[Violation]:
    """No operation ends with an error that the run does not account for."""
    for record in run.records:
        expected = EXPECTED | {"TokenReused"} if record.amount else EXPECTED
        if record.outcome == REFUSED and record.error not in expected:
            yield Violation("refusals are expected", record.id, str(record))


def what_was_refused_left_no_trace(run: Run) -> Iterator[Violation]:
    """The revision of a refused operation was never stored or seen."""
    for record in run.records:
        if record.outcome == REFUSED and record.id in run.seen:
            yield Violation("what was refused left no trace", str(record), run.seen[record.id])


def every_item_has_its_writer(run: Run) -> Iterator[Violation]:
    """Every revision in the table belongs to an operation that was to write this entity, or to count in it."""
    for stored in run.table.all_stored():
        record = run.by_id.get(operation_of(stored.revision))
        if kind_of(stored.name) == WITHOUT_REVISION:
            continue
        if record is None or stored.name not in {*_written_by(record)}:
            yield Violation("every item has its writer", stored.name, f"{stored.item} written by {record}")


def what_was_acknowledged_is_there(run: Run) -> Iterator[Violation]:
    """An acknowledged write is in the table, unless another write of the entity may have come after it."""
    for record, effect in _lost(run):
        if record.outcome == ACKNOWLEDGED:
            said = _said(run, effect.on)
            yield Violation("what was acknowledged is there", f"{effect.on} of {record}", said)


def writes_are_whole(run: Run) -> Iterator[Violation]:
    """An operation of unknown outcome that was seen anywhere was done everywhere."""
    for record, effect in _lost(run):
        if record.outcome != ACKNOWLEDGED:
            said = f"{run.seen[record.id]}; {_said(run, effect.on)}"
            yield Violation("writes are whole", f"{effect.on} of {record}", said)


def no_revision_has_two_successors(run: Run) -> Iterator[Violation]:
    """Of all writes under one revision, at most one happened. A plain insert may have made its revision twice."""
    bases: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for name, writes in run.writes.items():
        for record, effect in writes:
            excused = effect.do == "delete" and record.unanswered
            if effect.base is not None and run.happened(record) and not excused:
                bases[name, effect.base].append(record)
    for (name, base), records in bases.items():
        writer = run.by_id.get(operation_of(base))
        came_back = writer is not None and any(map(writer.may_insert_again, writer.effects))
        if len(records) > 1 + came_back:
            said = " and ".join(str(record) for record in records)
            yield Violation("no revision has two successors", f"{name} at {base}", said)


def versions_are_the_history(run: Run) -> Iterator[Violation]:
    """Every version that an operation returned is stored as returned, or was pruned or purged. It never changes."""
    for record in run.records:
        for result in record.results:
            if kind_of(result.on) != VERSIONED or result.version is None or result.values is None:
                continue
            stored = run.table.versions.get((result.on, result.version))
            if run.was_purged(result.on, record.begin):
                continue
            if stored is None and result.version <= run.prunable(result.on, record.begin):
                continue
            if stored is None or not _is_as_said(result, stored):
                found = None if stored is None else stored.item
                yield Violation("versions are the history", f"{result} of {record}", f"stored is {found}")


def only_pruned_versions_are_missing(run: Run) -> Iterator[Violation]:
    """Old versions are missing only as far as a prune may have deleted them."""
    oldest: dict[str, int] = {}
    for name, number in run.table.versions:
        oldest[name] = min(number, oldest.get(name, number))
    for name, number in oldest.items():
        if number - 1 > (prunable := run.prunable(name, 0)):
            said = f"the oldest version is {number}, and at most {prunable} were pruned"
            yield Violation("only pruned versions are missing", name, said)


def what_was_pruned_is_gone(run: Run) -> Iterator[Violation]:
    """After an acknowledged prune, at most the versions that it keeps are left of those that had been stored."""
    for record in run.deletions_of_versions:
        (effect,) = record.effects
        if effect.do != "prune" or record.outcome != ACKNOWLEDGED or run.was_purged(effect.on, 0):
            continue
        known = [
            result.version or 0
            for other in run.records
            for result in other.results
            if result.on == effect.on and (other.end or 0) < record.begin
        ]
        left = range(1, max(known, default=0) - effect.number + 1)
        if found := [number for number in left if (effect.on, number) in run.table.versions]:
            yield Violation("what was pruned is gone", str(record), f"{found} are stored")


def what_was_purged_is_gone(run: Run) -> Iterator[Violation]:
    """After an acknowledged purge, nothing is stored of a document that no later write may have created again."""
    for record in run.deletions_of_versions:
        (effect,) = record.effects
        if effect.do != "purge" or record.outcome != ACKNOWLEDGED:
            continue
        later = [one for one, _ in run.writes[effect.on] if (one.end or NEVER) >= record.begin]
        stored = [one.item for one in run.table.all_stored() if one.name == effect.on]
        if stored and later == [record]:
            yield Violation("what was purged is gone", str(record), str(stored))


def no_write_made_two_versions(run: Run) -> Iterator[Violation]:
    """Every version of a document was written by a different operation."""
    writers: defaultdict[tuple[str, str], list[Stored]] = defaultdict(list)
    for (name, _), stored in run.table.versions.items():
        writers[name, operation_of(stored.revision)].append(stored)
    for (name, writer), found in writers.items():
        if len(found) > 1:
            said = ", ".join(str(one.item) for one in found)
            yield Violation("no write made two versions", f"{name} by {writer}", said)


def refusals_change_no_object(run: Run) -> Iterator[Violation]:
    """After a refusal, an entity object is what it was before."""
    for record in run.records:
        if record.changed:
            yield Violation("refusals change no object", str(record), ", ".join(record.changed))


INVARIANTS: Final[tuple[Invariant, ...]] = (
    refusals_are_expected,
    what_was_refused_left_no_trace,
    every_item_has_its_writer,
    what_was_acknowledged_is_there,
    writes_are_whole,
    no_revision_has_two_successors,
    versions_are_the_history,
    only_pruned_versions_are_missing,
    what_was_pruned_is_gone,
    what_was_purged_is_gone,
    no_write_made_two_versions,
    refusals_change_no_object,
)


def check_history(run: Run) -> list[Violation]:
    """Every violation of every invariant."""
    return [violation for invariant in INVARIANTS for violation in invariant(run)]


def _written_by(record: Record) -> Iterable[str]:
    for effect in record.written:
        yield effect.on
        if kind_of(effect.on) == "Membership":
            yield name_of("Group", {"group_id": effect.on.partition(" ")[2].partition("/")[0]})


def _lost(run: Run) -> Iterator[tuple[Record, Effect]]:
    """Writes that happened, of which nothing is left, although no other write came after them."""
    for name, writes in run.writes.items():
        if kind_of(name) == WITHOUT_REVISION:
            continue
        last = run.table.entities.get(name)
        if last is None and kind_of(name) == EXPIRING:
            continue  # DynamoDB deletes what has expired.
        holder = None if last is None else run.by_id.get(operation_of(last.revision))
        for record, effect in writes:
            if (
                run.happened(record)
                and not _is_left(record, effect, holder, last)
                and not _excused(record, effect)
            ):
                followers = [other for other in writes if _may_follow(other, record, effect)]
                if not _explains(followers, holder, last):
                    yield record, effect


def _is_left(record: Record, effect: Effect, holder: Record | None, last: Stored | None) -> bool:
    return last is None if effect.do in _REMOVES else holder is not None and holder.id == record.id


def _excused(record: Record, effect: Effect) -> bool:
    """Whether a plain delete that found nothing, after an attempt without an answer, did nothing."""
    return effect.do == "delete" and record.unanswered


def _may_follow(other: tuple[Record, Effect], record: Record, effect: Effect) -> bool:
    return other[0].id != record.id and (other[0].end is None or other[0].end >= record.begin)


def _explains(followers: Sequence[tuple[Record, Effect]], holder: Record | None, last: Stored | None) -> bool:
    """Whether the item that is stored at the end may come from a later write than this one."""
    if last is None:
        return any(effect.do in _REMOVES for _, effect in followers)
    if kind_of(last.name) == "Group":
        return bool(followers) or holder is not None
    return holder is not None and any(record.id == holder.id for record, _ in followers)


def _said(run: Run, name: str) -> str:
    last = run.table.entities.get(name)
    return f"stored is {None if last is None else dict(last.item)}"


def _is_as_said(result: Result, stored: Stored) -> bool:
    if stored.values != result.values:
        return False
    return result.revision is None or result.revision == stored.revision
