"""A refused plan becomes the error that names its cause, or the items that a new plan has to know.

Rule 1. An item that carries the revision of this plan was written by this plan: it was committed, and the answer lost.
Rule 2. What the refusal of one action means is known to the kind of its item.
Rule 3. StaleEntity comes before AlreadyExists and UniqueViolation, these before ConditionFailed; ``causes`` has all.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from dynaorm.entity.ident import Ident
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    ConstraintViolation,
    DynaormError,
    EntityNotFound,
    StaleEntity,
    StoreError,
    UnexpectedRefusal,
    Violation,
)
from dynaorm.item.action import Update
from dynaorm.item.value import Item
from dynaorm.plan.planned import FAILED, FailedAction, Judged, Planned, StaleKnowledge
from dynaorm.record import record

UNFIT: Final = (
    "document path",
    "incorrect data type",
    "Incorrect operand type",
    "Item size to update has exceeded",
)
"""What DynamoDB says of an update expression that does not fit the stored item, or makes it too large."""
# A validation error has one name as a reason and another as an error of its own.
_SAME = {"ValidationError": "ValidationException"}


@record(quick=True)
class Committed:
    """The plan was already committed; ``item`` is a written item as stored.

    ``elsewhere``: perhaps by an equal block with other bytes: what is stored for its entities has to be read.
    """

    item: Item | None
    elsewhere: bool = False


Verdict: TypeAlias = Committed | StaleKnowledge | DynaormError


def verdict(failures: Sequence[FailedAction], now: float, request_id: str = "") -> Verdict:
    """What a refusal means. ``failures`` are the actions of the plan that failed, in order."""
    for one in failures:
        if one.planned.has_written(one.item):
            return Committed(one.item)
    invalid = next((one for one in failures if one.code != FAILED), None)
    if unread := tuple(one.planned for one in failures if _is_unfit(one)):
        return StaleKnowledge(unread=unread)
    if invalid is not None:
        return UnexpectedRefusal(
            code=_SAME.get(invalid.code, invalid.code),
            message=invalid.message,
            request_id=request_id,
            reasons=tuple(one.code for one in failures),
            action=invalid.planned.reason,
        )
    others = [one for one in failures if not one.planned.kind.is_secondary]
    return _of_conditions(others or failures[:1], now)


def _of_conditions(failures: Sequence[FailedAction], now: float) -> StoreError | StaleKnowledge:
    """What it means that the conditions of some actions do not hold."""
    judged = [(one.planned, one.planned.kind.judged(one, now)) for one in failures]
    items: dict[Ident, Item | None] = {}
    foreign: frozenset[Ident] = frozenset()
    for _, outcome in judged:
        if isinstance(outcome, StaleKnowledge):
            items.update(outcome.items)
            foreign |= outcome.foreign
    # A stale object stays stale, whatever is learned. Its old values may belong to other entities by now.
    if (items or foreign) and not any(isinstance(one, StaleEntity) for _, one in judged):
        return StaleKnowledge(items, foreign)
    return _first(judged)


def _is_unfit(failed: FailedAction) -> bool:
    """Whether an update does not fit what is stored.

    A path leads nowhere, an attribute has another type, or the whole item would be too large.
    """
    is_invalid = _SAME.get(failed.code, failed.code) == "ValidationException"
    planned = failed.planned
    is_edit = planned.blind and planned.is_evidence and isinstance(planned.action, Update)
    return is_invalid and is_edit and any(text in failed.message for text in UNFIT)


def _first(judged: Sequence[tuple[Planned, Judged]]) -> StoreError:
    violations = tuple(one for _, one in judged if isinstance(one, Violation))
    errors = [one for _, one in judged if isinstance(one, StoreError)]
    taken = next((one for one in errors if isinstance(one, AlreadyExists)), None)
    causes: list[StoreError] = [one for one in errors if one is not taken]
    if taken is not None:
        found = AlreadyExists(
            key=taken.key,
            violations=violations,
            stored=taken.stored,
            problem=taken.problem,
            remedy=taken.remedy,
        )
        causes.insert(0, found)
    elif violations:
        planned = next(planned for planned, one in judged if isinstance(one, Violation))
        causes.append(planned.kind.refused(planned.mapping, violations))
    order = (StaleEntity, EntityNotFound, AlreadyExists, ConstraintViolation, ConditionFailed)
    causes.sort(key=lambda one: [isinstance(one, kind) for kind in order], reverse=True)
    causes[0].causes = tuple(causes)
    return causes[0]
