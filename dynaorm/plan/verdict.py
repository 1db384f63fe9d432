"""A refused plan becomes the error that names its cause, or what has to be learned before trying again.

Rule 1. An item that carries the revision this plan writes was written by this plan: the refusal is an echo of a commit
        whose answer was lost.
Rule 2. What was compiled from our own knowledge (a read, a guess that a key was never used) is learned and compiled
        anew; what the caller believed is answered with an error.
Rule 3. StaleEntity comes before AlreadyExists and UniqueViolation, those before ConditionFailed; ``causes`` has all.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, TypeAlias

from dynaorm.entity.declare.catalog import catalog_of, stored_class
from dynaorm.entity.key import found_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import (
    AlreadyExists,
    ConditionFailed,
    DynaormError,
    EntityNotFound,
    StaleEntity,
    StoreError,
    UnexpectedRefusal,
    UniqueViolation,
    Violation,
)
from dynaorm.item.value import Item, same
from dynaorm.plan.aggregate_action import is_target
from dynaorm.plan.explain import reason
from dynaorm.plan.known import Ident
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.record import record

_FAILED = "ConditionalCheckFailed"
# A validation error has one name as a reason and another as an error of its own.
_SAME = {"ValidationError": "ValidationException"}


@record
class Committed:
    """The plan was already committed; ``item`` is a written item as stored.

    ``elsewhere``: perhaps by an equal block, from other bytes: what it made of its entities has to be read.
    """

    item: Item | None
    elsewhere: bool = False


@record
class Learned:
    """The plan rested on something that is not so: compile it again with these items and foreign guards known."""

    items: dict[Ident, Item | None] = field(default_factory=dict)
    foreign: frozenset[Ident] = frozenset()


@record
class Found:
    """One failed action: DynamoDB's code and message, and the item its condition met."""

    planned: Planned
    code: str
    message: str
    item: Item | None


Verdict: TypeAlias = Committed | Learned | DynaormError


def verdict(failures: Sequence[Found], now: float, request_id: str = "") -> Verdict:
    """What a refusal means. ``failures`` are the actions of the plan that failed, in order."""
    for one in failures:
        if _is_own(one):
            return Committed(one.item)
    invalid = next((one for one in failures if one.code != _FAILED), None)
    if invalid is not None:
        return UnexpectedRefusal(
            code=_SAME.get(invalid.code, invalid.code),
            message=invalid.message,
            request_id=request_id,
            reasons=tuple(one.code for one in failures),
            action=reason(invalid.planned),
        )
    judged = [_judge(one, now) for one in failures]
    items: dict[Ident, Item | None] = {}
    foreign: frozenset[Ident] = frozenset()
    for outcome in judged:
        if isinstance(outcome, Learned):
            items.update(outcome.items)
            foreign |= outcome.foreign
    if items or foreign:
        return Learned(items, foreign)
    return _first([outcome for outcome in judged if isinstance(outcome, (StoreError, Violation))], failures)


def _is_own(found: Found) -> bool:
    planned, item = found.planned, found.item
    return (
        item is not None
        and planned.revision is not None
        and planned.mapping.revision_of(item) == planned.revision
    )


def _judge(found: Found, now: float) -> StoreError | Violation | Learned:
    planned, item = found.planned, found.item
    if planned.purpose in (Purpose.CLAIM, Purpose.PASS_ON):
        return _violation(planned, item)
    if planned.purpose is Purpose.RELEASE:
        return Learned(foreign=frozenset({planned.ident}))
    if planned.purpose is Purpose.VERSION:
        return UnexpectedRefusal(
            code=_FAILED,
            message=f"version {planned.number} is already stored, though the latest copy says it is yet to come",
            request_id="",
            reasons=(),
            action=reason(planned),
        )
    if planned.purpose is Purpose.INSERT:
        return _judge_insert(found)
    if planned.purpose is Purpose.AGGREGATE:
        return _judge_aggregate(found)
    return _judge_blind(found, now) if planned.blind else _judge_known(found)


def _judge_insert(found: Found) -> StoreError | Learned:
    planned, item = found.planned, found.item
    if item is None:
        return ConditionFailed(key=planned.subject)
    if planned.from_read or planned.mapping.is_tombstone(item):
        return Learned({planned.ident: item})
    return AlreadyExists(key=planned.subject, violations=())


def _judge_aggregate(found: Found) -> StoreError | Learned:
    planned, item = found.planned, found.item
    # Nobody joins what is no target; who leaves it, or finds it without a type, goes on knowing what is there.
    if planned.from_read or is_target(planned.mapping, item):
        return Learned({planned.ident: item})
    return EntityNotFound(key=planned.subject)


def _judge_known(found: Found) -> StoreError | Learned:
    planned, item = found.planned, found.item
    mapping, key = planned.mapping, planned.subject
    if _is_as_expected(planned, item):
        return ConditionFailed(key=key)
    if planned.from_read:
        return Learned({planned.ident: item})
    gone = item is None or mapping.is_tombstone(item)
    current = None if gone or item is None else mapping.revision_of(item)
    return StaleEntity(key=key, expected=planned.expected, found=current)


def _judge_blind(found: Found, now: float) -> StoreError | Learned:
    planned, item = found.planned, found.item
    mapping, key = planned.mapping, planned.subject
    if item is None or mapping.is_tombstone(item) or mapping.is_expired(item, now):
        if planned.purpose is Purpose.CHECK:
            return ConditionFailed(key=key)
        return EntityNotFound(key=key)
    stored = stored_class(mapping, item)
    if stored is None or not issubclass(stored.entity, mapping.entity):
        return EntityNotFound(key=key)
    attribute = mapping.table.type_attribute
    if stored is not mapping or (attribute is not None and attribute not in item):
        return Learned({planned.ident: item})
    return ConditionFailed(key=key)


def _is_as_expected(planned: Planned, item: Item | None) -> bool:
    if item is None:
        return False
    if planned.expected is not None:
        return planned.mapping.revision_of(item) == planned.expected
    values = planned.expected_values or {}
    return all(same(item.get(name), value) for name, value in values.items())


def _violation(planned: Planned, guard: Item | None) -> Violation:
    assert planned.claim is not None
    claim = planned.claim
    owner = guard.get(OWNER, {}).get("M") if guard is not None else None
    return Violation(
        constraint=claim.constraint,
        fields=claim.fields,
        value=claim.value,
        owner=owner_key(planned.mapping, owner) if owner is not None else None,
    )


def owner_key(mapping: EntityMapping, owner: Item) -> Any:
    """The entity key that a guard's ``owner`` map names."""
    mappings = catalog_of(mapping.table).mappings
    return found_key(mappings, {name: value for name, value in owner.items() if name != TABLE})


def _first(outcomes: list[StoreError | Violation], failures: Sequence[Found]) -> StoreError:
    violations = tuple(one for one in outcomes if isinstance(one, Violation))
    errors = [one for one in outcomes if isinstance(one, StoreError)]
    taken = next((one for one in errors if isinstance(one, AlreadyExists)), None)
    causes: list[StoreError] = [one for one in errors if one is not taken]
    if taken is not None:
        causes.append(AlreadyExists(key=taken.key, violations=violations))
    elif violations:
        claimer = next(one.planned for one in failures if one.planned.claim is not None)
        causes.append(UniqueViolation(entity=claimer.mapping.entity.__name__, violations=violations))
    if any(not isinstance(one, UnexpectedRefusal) for one in causes):
        # A version number that is taken says no more than that somebody else wrote it first.
        causes = [one for one in causes if not isinstance(one, UnexpectedRefusal)]
    order = (StaleEntity, EntityNotFound, AlreadyExists, UniqueViolation, ConditionFailed, UnexpectedRefusal)
    causes.sort(key=lambda one: next(rank for rank, kind in enumerate(order) if isinstance(one, kind)))
    causes[0].causes = tuple(causes)
    return causes[0]
