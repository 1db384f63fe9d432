"""``save_many`` and ``delete_many``: one plan for each entity, or for each block of entities; several at a time.

Rule 1. They are not atomic: every entity is attempted, and a ``BulkError`` reports those that failed.
Rule 2. A block that is refused because of one of its entities is divided in two halves, and each is sent by itself,
        until the failed entities are alone. So the entities that fail are those that would fail without blocks.
Rule 3. Blocks that may add to one total are sent one after the other: DynamoDB refuses transactions that meet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import (
    Contention,
    DynaormError,
    OutcomeUnknown,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.flow.bulk.limits import CONCURRENCY, Failure, Progress, Tally, check_many, windows
from dynaorm.flow.commit import commit
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.together import outcomes
from dynaorm.item.size import ACTION_LIMIT
from dynaorm.plan.intent import Deletion, Intent, Save

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
    check_many(entities, concurrency)
    if type(per_transaction) is not int or not 1 <= per_transaction <= ACTION_LIMIT:
        raise UsageError(
            problem=f"per_transaction={per_transaction!r}", remedy=f"give a number from 1 to {ACTION_LIMIT}"
        )
    saved: list[E] = []

    def given() -> Iterable[E]:
        for entity in entities:
            saved.append(entity)
            yield entity

    tally = Tally(entities, progress)
    if per_transaction == 1:
        yield from _each(given(), Save, context, concurrency=concurrency, tally=tally)
    else:
        size = per_transaction * concurrency * _BLOCKS_PER_PLACE
        for window in windows(given(), size):
            blocks = windows(_distinct(window), per_transaction)
            ended = yield from outcomes([_one_by_one(some, context) for some in _apart(blocks)], concurrency)
            for outcome in ended:
                tally.add_all(outcome)
            tally.advance(len(window))
        tally.end()
    return saved


def _one_by_one(blocks: Sequence[Sequence[Any]], context: Context) -> Flow[list[Failure]]:
    failures: list[Failure] = []
    for block in blocks:
        failures += yield from _block(block, context)
    return failures


def _block(entities: Sequence[Any], context: Context) -> Flow[list[Failure]]:
    """Save entities in one transaction: those that failed."""
    try:
        yield from commit([Save(one) for one in entities], context)
    except DynaormError as problem:
        if len(entities) == 1 or not _is_of_an_entity(problem):
            return [(one, problem) for one in entities]
        middle = len(entities) // 2
        first = yield from _block(entities[:middle], context)
        second = yield from _block(entities[middle:], context)
        return first + second
    return []


def _is_of_an_entity(problem: DynaormError) -> bool:
    """Whether one of several entities was refused, or they are too many for one transaction."""
    if isinstance(problem, UnexpectedRefusal):
        return bool(problem.reasons)
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


def _targets(entity: Any) -> Iterator[object]:
    """The items with totals that saving an entity may write: those that it names now, and its own."""
    try:
        mapping = mapping_of(type(entity))
    except DynaormError:  # saving it says so
        return
    named = [(one.target, one.key) for one in mapping.aggregates.values()]
    if mapping.maintained:
        named.append((mapping.entity, {name: name for name in mapping.key_fields}))
    for target, key in named:
        values = _values(mapping, entity, key.values())
        yield target, *(repr(values.get(key[name])) for name in sorted(key))


def _values(mapping: EntityMapping, entity: Any, names: Iterable[str]) -> Mapping[str, Any]:
    values: Mapping[str, Any] = vars(entity)
    try:
        return mapping.with_computed(values, names)
    except KeyValueError:  # saving it says so
        return values


def delete_many(
    targets: Iterable[Any],
    context: Context,
    *,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[None]:
    """Delete each loaded entity, or the entity with each key, by a plan of its own. Raises as ``save_many``."""
    check_many(targets, concurrency)
    yield from _each(targets, Deletion, context, concurrency=concurrency, tally=Tally(targets, progress))


def _each(
    subjects: Iterable[Any],
    intent_of: Callable[[Any], Intent],
    context: Context,
    *,
    concurrency: int,
    tally: Tally,
) -> Flow[None]:
    for window in windows(subjects, concurrency * _PLANS_PER_PLACE):
        distinct = _distinct(window)
        ended = yield from outcomes([commit([intent_of(one)], context) for one in distinct], concurrency)
        for one, outcome in zip(distinct, ended, strict=True):
            tally.add(one, outcome)
        tally.advance(len(window))
    tally.end()


def _distinct(window: Iterable[Any]) -> list[Any]:
    return list({_identity(one): one for one in window}.values())


def _identity(subject: object) -> object:
    """Return what makes two subjects the same: equal keys, or one object. Two objects with one key stay two."""
    return subject if isinstance(subject, Key) else id(subject)
