"""A model of each operation, without dynaorm: the state after it, or the statement that it is impossible.

A state is the set of the followed entities: for each the operation that wrote it, its values, and the number of its
versions. Totals are no effects of an operation. They follow from the memberships, as they should in the table.
"""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from tests.torture.entities import EXPIRING, VERSIONED, claims, created_by_key, fields_of, kind_of, name_of
from tests.torture.journal import ACKNOWLEDGED, UNKNOWN, Effect, Observed, Record, Result, operation_of

Values: TypeAlias = frozenset[tuple[str, Any]]


class Kept(NamedTuple):
    """One entity: its last writer, its values (None if it is absent), and the number of its last version."""

    writer: str | None
    values: Values | None
    version: int = 0


ABSENT: Final = Kept(None, None)
WALL: Final = time.time_ns() - time.monotonic_ns()
"""What the clock of a machine adds to the times in its journals."""
SLACK: Final = 50_000_000
"""Nanoseconds by which the two clocks may differ in a run."""
World: TypeAlias = frozenset[tuple[str, Kept]]
EMPTY: Final[World] = frozenset()
Writing: TypeAlias = tuple[str, str]
"""The name of an entity, and the operation that wrote it last."""

UNSEEN: Final = "somebody"

_TOTALS: Final = ("members", "hours")


class Impossible(Exception):
    """The operation cannot have happened in this state."""


@dataclass(frozen=True, slots=True)
class Step:
    """The effects of one operation on the followed entities.

    Attributes:
        record: the operation.
        follows: whether an entity is followed.
        together: all entities that could be counted, or claim the same values, are followed.
        again: it is the repetition of a plain insert, after somebody deleted what the first attempt inserted.
        writer: who has written what it writes: the operation, or ``UNSEEN`` if nobody saw its revision. What nobody
            can tell apart is one state, so that a search looks at it once.
    """

    record: Record
    follows: Callable[[str], bool]
    together: bool = False
    again: bool = False
    writer: str = UNSEEN

    @property
    def concerned(self) -> bool:
        """Whether the operation writes, returns or observes any of them."""
        return bool(self._effects() or self._observed())

    @property
    def writes(self) -> bool:
        return self.record.may_have_written and any(effect.writes for effect in self._effects())

    @property
    def alike(self) -> Hashable:
        """Equal for steps that nobody saw and that do the same in every state; None if this one is like no other.

        What is done to what expires depends on the time.
        """
        effects = self._effects()
        if self.record.outcome != UNKNOWN or self.writer != UNSEEN or EXPIRING in map(_kind, effects):
            return None
        return repr(effects)

    @property
    def needs(self) -> frozenset[Writing]:
        """The writes whose outcome it saw or wrote over: it can only happen while they are the last of their entities.

        Fewer than ``apply`` demands are no fault, and only make a search longer.
        """
        record, effects = self.record, self._effects()
        found = {(one.on, operation_of(one.value)) for one in self._observed() if one.what == "revision"}
        results = (
            [one for one in record.results if self.follows(one.on)] if effects and not self.again else []
        )
        found |= {
            (one.on, operation_of(one.revision))
            for one in results
            if one.revision is not None and one.values is not None and not one.partial
        }
        if not _sent_nothing(record, effects, {one.on: one for one in results}):
            bases = {one.on: one.base for one in effects if _demands_base(one, record)}
            found |= {(name, operation_of(base)) for name, base in bases.items() if base is not None}
        return frozenset(one for one in found if one[1] != record.id)

    def apply(self, world: World) -> World | None:
        """The state after the operation; None if it cannot have happened."""
        before = dict(world)
        try:
            if self.record.outcome not in (ACKNOWLEDGED, UNKNOWN):
                for one in self._observed():
                    _observe(one, before.get(one.on, ABSENT), self._where(one.on), self.record)
                return world
            after = self._after(before)
        except Impossible:
            return None
        return world if after == before else frozenset(after.items())

    def _effects(self) -> tuple[Effect, ...]:
        if self.record.outcome not in (ACKNOWLEDGED, UNKNOWN):
            return ()
        effects = self.record.effects
        if self.again:
            effects = tuple(one for one in effects if self.record.may_insert_again(one))
        return tuple(one for one in effects if self._follows(one))

    def _follows(self, effect: Effect) -> bool:
        if effect.do == "read version":
            return False
        if effect.do != "find":
            return self.follows(effect.on)
        return any(
            self.follows(one.on) for one in self.record.results if one.values is not None or self.together
        )

    def _observed(self) -> tuple[Observed, ...]:
        return tuple(one for one in self.record.observed if self.follows(one.on))

    def _where(self, name: str) -> Mapping[str, Any]:
        """Check the condition under which an entity was to be written."""
        return next((one.where for one in self.record.effects if one.on == name), {})

    def _after(self, before: dict[str, Kept]) -> dict[str, Kept]:
        record, effects = self.record, self._effects()
        results = {} if self.again else {one.on: one for one in record.results}
        after = dict(before)
        if not _sent_nothing(record, effects, results):
            for effect in effects:
                _do(effect, self, before, after)
            if self.together:
                _count(before, after, self.writer)
                _check_claims(after)
        for effect in effects:
            if effect.do != "find" and effect.on in results:
                found = before if effect.do == "delete" else after
                _match(results[effect.on], found.get(effect.on, ABSENT), self)
        return {name: kept for name, kept in after.items() if kept != ABSENT}


def _kind(effect: Effect) -> str:
    return kind_of(effect.on)


def writings_ended(before: World, after: World) -> Iterable[Writing]:
    """The writes that are the last of their entities before, and not afterwards."""
    writers = {name: kept.writer for name, kept in after - before}
    for name, kept in before - after:
        if kept.writer is not None and writers.get(name) != kept.writer:
            yield name, kept.writer


def _demands_base(effect: Effect, record: Record) -> bool:
    """Whether an effect is impossible unless its base is stored."""
    # A deletion without an answer is done if it finds nothing.
    is_spared = effect.do == "delete" and record.unanswered
    return effect.base is not None and effect.do in ("save", "delete", "check", "change") and not is_spared


def _sent_nothing(record: Record, effects: Sequence[Effect], results: Mapping[str, Result]) -> bool:
    """Whether a change changed nothing, so that it returned what it read."""
    if not all(effect.do in ("change", "restore") and effect.on in results for effect in effects):
        return False
    revisions = [results[effect.on].revision for effect in effects]
    return bool(effects) and all(one is not None and operation_of(one) != record.id for one in revisions)


def _do(effect: Effect, step: Step, before: Mapping[str, Kept], after: dict[str, Kept]) -> None:
    if effect.do == "find":
        _find(effect, step, before)
        return
    kept = _written(effect, before.get(effect.on, ABSENT), step)
    if effect.writes:
        after[effect.on] = kept


def _written(effect: Effect, kept: Kept, step: Step) -> Kept:
    """The entity after an effect. Raises Impossible."""
    record = step.record
    present = kept.values is not None
    if effect.do == "delete" and record.unanswered and record.outcome == ACKNOWLEDGED and not present:
        # A plain delete that finds nothing, after an attempt without an answer, is done.
        return kept
    _check_possible(effect, kept, record)
    if effect.do == "purge":
        return ABSENT
    if not effect.writes:
        return kept
    versions = kept.version + 1 if kind_of(effect.on) == VERSIONED else 0
    if effect.do == "delete":
        return Kept(step.writer, None, kept.version) if versions else ABSENT
    return Kept(step.writer, frozenset(_new_values(effect, kept).items()), versions)


def _check_possible(effect: Effect, kept: Kept, record: Record) -> None:
    """Raises Impossible if what is stored does not allow for an effect."""
    is_as_asked = _holds(kept, effect.where)
    if effect.do == "take":
        _require(is_as_asked or _may_be_absent(kept, record))
        return
    _require(is_as_asked or not effect.writes)
    if effect.do == "insert":
        _require(_may_be_absent(kept, record))
    elif effect.do in ("save", "delete", "check", "change"):
        # What has expired can be deleted.
        _require(kept.values is not None if effect.do == "delete" else _may_be_live(kept, record))
        _require(effect.base in (None, _revision_by(effect, kept)))
    elif effect.do == "purge":
        _require(kept.values is None and kept.version > 0)
    elif effect.do == "restore":
        _require(kept.version >= effect.number)


def _revision_by(effect: Effect, kept: Kept) -> str | None:
    """Check that the base of an effect is what the last writer wrote."""
    return effect.base if effect.base is not None and operation_of(effect.base) == kept.writer else ""


def _new_values(effect: Effect, kept: Kept) -> dict[str, Any]:
    old = dict(kept.values or ())
    if effect.do == "upsert" and kept.values is None:
        old = created_by_key(effect.on)
    if effect.do not in ("change", "upsert"):
        values = dict(effect.values)
        if kind_of(effect.on) == "Group":
            values |= {name: old.get(name, 0) for name in _TOTALS}
        return values
    return {**old, **effect.values, **{name: old[name] + more for name, more in effect.add.items()}}


def _holds(kept: Kept, where: Mapping[str, Any]) -> bool:
    return where.items() <= dict(kept.values or ()).items()


def _find(effect: Effect, step: Step, before: Mapping[str, Kept]) -> None:
    """Check the result of a search by a unique value. Raises Impossible."""
    result = step.record.results[0]
    if result.values is not None:
        _require(effect.text in claims(kind_of(result.on), result.values).values())
        _match(result, before.get(result.on, ABSENT), step)
        return
    _require(not any(effect.text in _claimed(name, kept.values) for name, kept in before.items()))


def _match(result: Result, kept: Kept, step: Step) -> None:
    record = step.record
    shows_expired = record.effects[0].do == "scan"
    if result.values is None:
        # A deletion that got no answer does not know what it deleted.
        _require(_may_be_absent(kept, record) or (record.unanswered and record.effects[0].do == "delete"))
        return
    _require(shows_expired or record.written != () or _may_be_live(kept, record))
    if result.partial:
        _require(_holds(kept, result.values))
        return
    _require(kept.values == frozenset(result.values.items()))
    if result.revision is not None:
        writer = operation_of(result.revision)
        _require(kept.writer == (step.writer if writer == record.id else writer))
    _require(result.version is None or result.version == kept.version)


def _observe(one: Observed, kept: Kept, where: Mapping[str, Any], record: Record) -> None:
    """Check what a refusal proves about an entity. Raises Impossible."""
    present, may_be_absent = _may_be_live(kept, record), _may_be_absent(kept, record)
    if one.what == "absent":
        _require(may_be_absent)
    elif one.what == "revision":
        # What has expired shows its revision, too.
        _require(kept.values is not None and operation_of(one.value) == kept.writer)
    elif one.what == "not revision":
        _require(may_be_absent or operation_of(one.value) != kept.writer)
    elif one.what == "holds":
        _require(one.value in _claimed(one.on, kept.values))
    elif one.what == "not as":
        _require(may_be_absent or not _holds(kept, where))
    elif one.what == "not where":
        _require(present and not _holds(kept, where))
    else:
        # Of a take, that what is stored cannot be replaced, too.
        _require(present and not (where and _holds(kept, where)))


def _may_be_live(kept: Kept, record: Record) -> bool:
    """Whether reads may find an entity at some time of an operation: it is stored, and may not have expired."""
    expiry = _expiry(kept)
    return kept.values is not None and (expiry is None or record.begin <= expiry + SLACK)


def _may_be_absent(kept: Kept, record: Record) -> bool:
    """Whether reads may find nothing at some time of an operation."""
    expiry = _expiry(kept)
    return kept.values is None or (
        expiry is not None and (record.end is None or record.end >= expiry - SLACK)
    )


def _expiry(kept: Kept) -> int | None:
    """The time at which an entity expires, as journals count; None for never."""
    until = dict(kept.values or ()).get("until")
    return None if until is None else until * 10**9 - WALL


def _require(fact: bool) -> None:
    if not fact:
        raise Impossible


@lru_cache(maxsize=4096)
def _claimed(name: str, values: Values | None) -> frozenset[str]:
    """The keys of the guards that an entity claims."""
    return frozenset() if values is None else frozenset(claims(kind_of(name), dict(values)).values())


def _check_claims(world: Mapping[str, Kept]) -> None:
    texts = [text for name, kept in world.items() for text in _claimed(name, kept.values)]
    _require(len(set(texts)) == len(texts))


# -- totals ------------------------------------------------------------------------------------------------------------


def _count(before: Mapping[str, Kept], after: dict[str, Kept], writer: str) -> None:
    """Set the totals of the groups to the sums over their memberships."""
    dues: Counter[tuple[str, str]] = Counter()
    for world, sign in ((before, -1), (after, 1)):
        for name, kept in world.items():
            if before.get(name) is not after.get(name):
                for total, number in _contribution(name, kept.values):
                    dues[total] += sign * number
    for group in sorted({total[0] for total, due in dues.items() if due}):
        kept = after.get(group, ABSENT)
        values = dict(kept.values) if kept.values is not None else _new_group(group)
        for each in _TOTALS:
            values[each] += dues[group, each]
        after[group] = Kept(writer, frozenset(values.items()))


def _new_group(name: str) -> dict[str, Any]:
    return {**fields_of(name), "name": "", **dict.fromkeys(_TOTALS, 0)}


def _contribution(name: str, values: Values | None) -> Iterable[tuple[tuple[str, str], int]]:
    held = dict(values or ())
    if kind_of(name) != "Membership" or not held.get("active"):
        return
    group = name_of("Group", held)
    yield (group, "members"), 1
    yield (group, "hours"), held["hours"]
