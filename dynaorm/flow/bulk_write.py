"""``save_many`` and ``delete_many``: one plan for each entity, or for each block of entities; several at a time.

Rule 1. They are not atomic: every entity is attempted, and a ``BulkError`` reports those that failed.
Rule 2. A block that is refused because of one of its entities is divided in two halves, and each is sent by itself,
        until the failed entities are alone. So the entities that fail are those that would fail without blocks.
Rule 3. Blocks that may add to one total are sent one after the other: DynamoDB refuses transactions that meet.
Rule 4. Without blocks, entities of a window are sent after those that they change: a total that is added to first makes
        an entity of its key alone, which would be in the way of the one that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel

from dynaorm.argument import check_count
from dynaorm.entity.key import Key, identity
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import (
    Contention,
    DynaormError,
    OutcomeUnknown,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
)
from dynaorm.flow.call import Context, Flow, outcomes
from dynaorm.flow.commit import commit
from dynaorm.flow.windows import (
    CODES_OF_AN_ITEM,
    CONCURRENCY,
    BulkProgress,
    Failure,
    Progress,
    check_many,
    windows,
)
from dynaorm.item.size import ACTION_LIMIT
from dynaorm.plan.intent import Deletion, Intent, Save
from dynaorm.plan.kinds.derived_kinds import levels_of
from dynaorm.plan.kinds.totals import contended
from dynaorm.record import record

E = TypeVar("E")

# A window ends when its slowest plan does. The more plans a window has, the less this matters.
_PLANS_PER_PLACE: Final = 16
_BLOCKS_PER_PLACE: Final = 4
_OF_ALL: Final = (OutcomeUnknown, Throttled, Contention, Unreachable, TableNotFound)
"""The errors of a block that are not the fault of an entity: smaller blocks would not help."""


def save_many(
    entities: Iterable[E],
    context: Context,
    *,
    per_transaction: int = 1,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[list[E]]:
    """Save the entities, ``per_transaction`` of them by one plan, and return them in order.

    Raises:
        BulkError: some entities failed; the others are saved.
        UsageError: ``per_transaction`` is not 1 to 100.
    """
    saved: list[E] = []

    def given() -> Iterable[E]:
        for entity in entities:
            # An iterator can be read only once, and the caller gets back what it gave.
            saved.append(entity)
            yield entity

    check_many(entities, concurrency)
    blocks = _Blocks(Save, context, per_transaction, concurrency, BulkProgress(entities, progress))
    yield from blocks.write(given())
    return saved


def delete_many(
    targets: Iterable[Any],
    context: Context,
    *,
    per_transaction: int = 1,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[None]:
    """Delete the loaded entities and those with the keys, ``per_transaction`` of them by one plan.

    Raises as ``save_many``.
    """
    check_many(targets, concurrency)
    blocks = _Blocks(
        Deletion, context, per_transaction, concurrency, BulkProgress(targets, progress), _Seen()
    )
    yield from blocks.write(targets)


def write_each(
    entities: Sequence[Any], intent_of: Callable[[Any], Intent], context: Context, concurrency: int
) -> Flow[list[Failure]]:
    """Write some entities, each by one plan. Returns those that failed.

    Raises what is no ``DynaormError``, after all have ended.
    """
    tally = BulkProgress(entities, None)
    blocks = _Blocks(intent_of, context, 1, concurrency, tally)
    # Rule 3.
    some = _apart([one] for one in entities)
    for outcome in (yield from outcomes([blocks._one_by_one(one) for one in some], concurrency)):
        tally.add_all(outcome)
    return tally.failures


class _Seen:
    """What was given to be deleted, in any window: when it is given again, it is deleted already."""

    def __init__(self) -> None:
        # Little of each, because there may be millions: of a key a digest; an entity that the caller does not keep
        # cannot be given again.
        self._keys = set[bytes]()
        self._entities = WeakValueDictionary[int, Any]()

    def is_new(self, subject: object) -> bool:
        """Whether a key or an entity is given for the first time. Nothing is remembered of what is neither."""
        if isinstance(subject, Key):
            told = repr((id(subject.entity), identity(subject.primary_key)))
            digest = blake2b(told.encode(errors="surrogatepass"), digest_size=16).digest()
            is_new = digest not in self._keys
            self._keys.add(digest)
            return is_new
        if not isinstance(subject, BaseModel):
            return True
        is_new = self._entities.get(id(subject)) is not subject
        self._entities[id(subject)] = subject
        return is_new


@record
class _Blocks:
    """How entities and keys are written: what each means, and how many at a time."""

    intent_of: Callable[[Any], Intent]
    context: Context
    size: int
    concurrency: int
    tally: BulkProgress
    seen: _Seen | None = None

    def write(self, subjects: Iterable[Any]) -> Flow[None]:
        """Raises BulkError, UsageError."""
        check_count("per_transaction={}", self.size, most=ACTION_LIMIT)
        if self.size == 1:
            yield from self._each(subjects)
            return
        for window in windows(subjects, self.size * self.concurrency * _BLOCKS_PER_PLACE):
            blocks = windows(_distinct(window, self.seen), self.size)
            # Rule 3.
            ended = yield from outcomes([self._one_by_one(some) for some in _apart(blocks)], self.concurrency)
            for outcome in ended:
                self.tally.add_all(outcome)
            self.tally.advance(len(window))
        self.tally.end()

    def _each(self, subjects: Iterable[Any]) -> Flow[None]:
        for window in windows(subjects, self.concurrency * _PLANS_PER_PLACE):
            for some in _by_level(_distinct(window, self.seen)):
                flows = [commit([self.intent_of(one)], self.context) for one in some]
                ended = yield from outcomes(flows, self.concurrency)
                for one, outcome in zip(some, ended, strict=True):
                    self.tally.add(one, outcome)
            self.tally.advance(len(window))
        self.tally.end()

    def _one_by_one(self, blocks: Sequence[Sequence[Any]]) -> Flow[list[Failure]]:
        failures: list[Failure] = []
        for block in blocks:
            failures += yield from self._block(block)
        return failures

    def _block(self, subjects: Sequence[Any]) -> Flow[list[Failure]]:
        """Write subjects in one transaction: those that failed."""
        try:
            yield from commit([self.intent_of(one) for one in subjects], self.context)
        except DynaormError as problem:
            if len(subjects) == 1 or not _is_of_an_entity(problem):
                return [(one, problem) for one in subjects]
            # Rule 2.
            middle = len(subjects) // 2
            first = yield from self._block(subjects[:middle])
            second = yield from self._block(subjects[middle:])
            return first + second
        return []


def _is_of_an_entity(problem: DynaormError) -> bool:
    """Whether one of several entities was refused, or they are too many for one transaction."""
    # With reasons, one action was refused, such as an item that is too large; without, the whole request, as for want
    # of a permission.
    if isinstance(problem, UnexpectedRefusal):
        return bool(problem.reasons) or problem.code in CODES_OF_AN_ITEM
    return not isinstance(problem, _OF_ALL)


def _apart(blocks: Iterable[list[Any]]) -> list[list[list[Any]]]:
    """The blocks in lists, such that blocks of different lists add to different totals."""
    found: list[tuple[set[object], list[list[Any]]]] = []
    for block in blocks:
        targets = {target for entity in block for target in _targets(entity)}
        together = [one for one in found if not one[0].isdisjoint(targets)]
        merged = targets.union(*(one[0] for one in together))
        found = [one for one in found if one not in together]
        found.append((merged, [*(earlier for one in together for earlier in one[1]), block]))
    return [some for _, some in found]


def _by_level(subjects: Sequence[Any]) -> list[list[Any]]:
    """Entities and keys in lists, such that no entity changes one of a later list. Keys are in the first."""
    known = {kind: mapping for kind in {type(one) for one in subjects} if (mapping := _mapping(kind))}
    levels = levels_of(known.values())
    found: dict[int, list[Any]] = {}
    for one in subjects:
        mapping = known.get(type(one))
        found.setdefault(0 if mapping is None else levels[mapping], []).append(one)
    return [found[level] for level in sorted(found)]


def _mapping(kind: type[Any]) -> EntityMapping | None:
    try:
        return mapping_of(kind)
    except DynaormError:  # writing it says so
        return None


def _targets(subject: Any) -> Iterator[object]:
    """The items in which the write of a subject may meet others: those that it names now, and its own.

    The fields of a key may not name them. All keys that do not are taken to name one and the same.
    """
    is_key = isinstance(subject, Key)
    mapping = _mapping(subject.entity if is_key else type(subject))
    if mapping is None:
        return
    given = subject.fields if is_key else vars(subject)
    for target, key in contended(mapping):
        values = _values(mapping, given, key.values())
        # A text, because a value need not be hashable. Two spellings of one target only mean a conflict, which is
        # repeated.
        yield target, *(repr(values.get(key[name])) for name in sorted(key))


def _values(mapping: EntityMapping, given: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    try:
        return mapping.with_computed(given, [name for name in names if name not in given])
    except KeyValueError:  # a key has too few fields; for an entity, saving it says so
        return given


def _distinct(window: Iterable[Any], seen: _Seen | None = None) -> list[Any]:
    if seen is not None:
        window = [one for one in window if seen.is_new(one)]
    return list({_identity(one): one for one in window}.values())


def _identity(subject: object) -> object:
    """Return what makes two subjects the same: equal keys, or one object. Two objects with one key stay two."""
    return subject if isinstance(subject, Key) else id(subject)
