"""``save_many`` and ``delete_many``: one plan for each entity, several at a time.

They are not atomic: every entity is attempted, and a ``BulkError`` reports those that failed.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from dynaorm.entity.key import Key
from dynaorm.flow.bulk.limits import CONCURRENCY, Progress, Tally, check_many, windows
from dynaorm.flow.commit import commit
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.together import outcomes
from dynaorm.plan.intent import Deletion, Intent, Save

E = TypeVar("E")

# A window ends when its slowest plan does. The more plans a window has, the less this matters.
_PLANS_PER_PLACE: Final = 16


def save_many(
    entities: Iterable[E],
    context: Context,
    *,
    concurrency: int = CONCURRENCY,
    progress: Progress | None = None,
) -> Flow[list[E]]:
    """Save each entity by a plan of its own, and return the entities in order.

    Raises:
        BulkError: some entities failed; the others are saved.
    """
    check_many(entities, concurrency)
    saved: list[E] = []

    def given() -> Iterable[E]:
        for entity in entities:
            saved.append(entity)
            yield entity

    yield from _each(given(), Save, context, concurrency=concurrency, tally=Tally(entities, progress))
    return saved


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
        distinct = list({_identity(one): one for one in window}.values())
        ended = yield from outcomes([commit([intent_of(one)], context) for one in distinct], concurrency)
        for one, outcome in zip(distinct, ended, strict=True):
            tally.add(one, outcome)
        tally.advance(len(window))
    tally.end()


def _identity(subject: object) -> object:
    """Return what makes two subjects the same: equal keys, or one object. Two objects with one key stay two."""
    return subject if isinstance(subject, Key) else id(subject)
