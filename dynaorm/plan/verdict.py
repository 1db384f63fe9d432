"""A refused plan becomes the error that names its cause, or the items that a new plan has to know.

Rule 1. An item that carries the revision of this plan was written by this plan: it was committed, and the answer lost.
Rule 2. If the refused action was compiled from a read of the session, or from the guess that a key was never used, the
        plan is compiled again. If it was compiled from the caller's entity, the caller gets an error.
Rule 3. StaleEntity comes before AlreadyExists and UniqueViolation, these before ConditionFailed; ``causes`` has all.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Final, TypeAlias

from dynaorm.entity.declare.catalog import catalog_of, stored_class
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.ident import Ident
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
from dynaorm.item.evaluate import holds
from dynaorm.item.value import Item, same
from dynaorm.plan.aggregate_action import is_target
from dynaorm.plan.explain import reason
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.restriction import still_counted
from dynaorm.plan.taken import already_exists
from dynaorm.record import record

FAILED: Final = "ConditionalCheckFailed"
UNFIT: Final = (
    "document path",
    "incorrect data type",
    "Incorrect operand type",
    "Item size to update has exceeded",
)
"""What DynamoDB says of an update expression that does not fit the stored item, or makes it too large."""
# A validation error has one name as a reason and another as an error of its own.
_SAME = {"ValidationError": "ValidationException"}


@record
class Committed:
    """The plan was already committed; ``item`` is a written item as stored.

    ``elsewhere``: perhaps by an equal block with other bytes: what is stored for its entities has to be read.
    """

    item: Item | None
    elsewhere: bool = False


@record
class StaleKnowledge:
    """The plan was compiled from knowledge that is out of date: compile it again with these items and guards.

    ``unread``: updates without a read whose items have to be read first.
    """

    items: dict[Ident, Item | None] = field(default_factory=dict)
    foreign_guards: frozenset[Ident] = frozenset()
    unread: tuple[Planned, ...] = ()


@record
class FailedAction:
    """One failed action: DynamoDB's code and message, and the item that its condition was evaluated on."""

    planned: Planned
    code: str
    message: str
    item: Item | None


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
            action=reason(invalid.planned),
        )
    # If anything else failed, a version number that is taken only says that another writer was first.
    others = [one for one in failures if one.planned.purpose is not Purpose.VERSION]
    return _of_conditions(others, now) if others else _version_taken(failures[0].planned)


def _of_conditions(failures: Sequence[FailedAction], now: float) -> StoreError | StaleKnowledge:
    """What it means that the conditions of some actions do not hold."""
    judged = [_judge(one, now) for one in failures]
    items: dict[Ident, Item | None] = {}
    foreign: frozenset[Ident] = frozenset()
    for outcome in judged:
        if isinstance(outcome, StaleKnowledge):
            items.update(outcome.items)
            foreign |= outcome.foreign_guards
    # A stale object stays stale, whatever is learned. Its old values may belong to other entities by now.
    if (items or foreign) and not any(isinstance(one, StaleEntity) for one in judged):
        return StaleKnowledge(items, foreign)
    return _first([outcome for outcome in judged if isinstance(outcome, (StoreError, Violation))], failures)


def _version_taken(planned: Planned) -> StoreError:
    """The error of a write whose version is stored already, though the latest copy is as expected.

    Another program has deleted the latest copy or the tombstone, or written an older one in its place.
    """
    name = planned.mapping.entity.__name__
    told = f"session.verify({name}) says what is wrong with its versions, and session.repair({name})"
    if planned.number == 1:
        return AlreadyExists(
            key=planned.subject,
            violations=(),
            problem=f"version 1 of {planned.subject!r} is stored, without a latest copy that counts it",
            remedy=f"{told} mends it; then save it again, or restore a version",
        )
    versioning = planned.mapping.versioning
    is_whole = versioning is not None and versioning.fields is None
    return UnexpectedRefusal(
        code=FAILED,
        message=f"version {planned.number} is already stored, though the latest copy says it is yet to come",
        request_id="",
        reasons=(),
        action=reason(planned),
        remedy=f"{told} lets the tombstone of a deleted {name} count it. Of a {name} that is not deleted, only you "
        "know whether the latest copy or that version is right: delete it, repair it, and "
        f"{'restore the right version' if is_whole else 'save it anew'}",
    )


def _is_unfit(failed: FailedAction) -> bool:
    """Whether an update does not fit what is stored.

    A path leads nowhere, an attribute has another type, or the whole item would be too large.
    """
    is_invalid = _SAME.get(failed.code, failed.code) == "ValidationException"
    is_edit = failed.planned.blind and failed.planned.purpose in (Purpose.UPDATE, Purpose.UPSERT)
    return is_invalid and is_edit and any(text in failed.message for text in UNFIT)


def _judge(failed: FailedAction, now: float) -> StoreError | Violation | StaleKnowledge:
    planned, item = failed.planned, failed.item
    if planned.purpose in (Purpose.CLAIM, Purpose.PASS_ON):
        return _violation(planned, item)
    if planned.purpose is Purpose.RELEASE:
        return StaleKnowledge(foreign_guards=frozenset({planned.ident}))
    if planned.purpose is Purpose.INSERT:
        return _judge_insert(failed)
    if planned.purpose is Purpose.AGGREGATE:
        return _judge_aggregate(failed, now)
    return _judge_blind(failed, now) if planned.blind else _judge_known(failed)


def _judge_insert(failed: FailedAction) -> StoreError | StaleKnowledge:
    planned, item = failed.planned, failed.item
    if item is None:
        return ConditionFailed(key=planned.subject)
    if planned.from_read or planned.mapping.is_tombstone(item):
        return StaleKnowledge({planned.ident: item})
    return already_exists(planned.mapping, planned.entity_key, planned.after or {}, item)


def _judge_aggregate(failed: FailedAction, now: float) -> StoreError | StaleKnowledge:
    planned, item = failed.planned, failed.item
    # Joining requires a target. A plan that leaves it, whose target has no type, or whose total would break a bound is
    # compiled again with the item.
    is_to_be_made = item is None and not planned.blind
    if planned.from_read or is_to_be_made or is_target(planned.mapping, item):
        return StaleKnowledge({planned.ident: item})
    return not_found(planned.mapping, planned.subject, item, now)


def _judge_known(failed: FailedAction) -> StoreError | StaleKnowledge:
    planned, item = failed.planned, failed.item
    mapping, key = planned.mapping, planned.subject
    if item is not None and is_as_expected(planned, item):
        return still_counted(planned, item) or ConditionFailed(key=key)
    if planned.from_read:
        return StaleKnowledge({planned.ident: item})
    gone = item is None or mapping.is_tombstone(item)
    current = None if gone or item is None else mapping.revision_of(item)
    expected = None if planned.before is None else mapping.revision_of(planned.before)
    return StaleEntity(key=key, expected=expected, found=current)


def _judge_blind(failed: FailedAction, now: float) -> StoreError | StaleKnowledge:
    planned, item = failed.planned, failed.item
    mapping, key = planned.mapping, planned.subject
    creates = planned.purpose is Purpose.UPSERT
    # An expired entity can be deleted.
    expired = item is not None and planned.purpose is not Purpose.DELETE and mapping.is_expired(item, now)
    if item is None or mapping.is_tombstone(item) or expired:
        if creates and item is not None:
            return StaleKnowledge({planned.ident: item})
        if creates or planned.purpose is Purpose.CHECK:
            return ConditionFailed(key=key)
        return EntityNotFound(key=key)
    stored = stored_class(mapping, item)
    if stored is None or not issubclass(stored.entity, mapping.entity):
        return StaleKnowledge({planned.ident: item}) if creates else not_found(mapping, key, item, now)
    attribute = mapping.table.type_attribute
    is_foreign = mapping.table.revision is not None and mapping.table.revision.is_foreign(item)
    if stored is not mapping or is_foreign or (attribute is not None and attribute not in item):
        return StaleKnowledge({planned.ident: item})
    if planned.bounds is not None and not holds(planned.bounds, item):
        # With the item, the rule itself can be checked, and the caller's condition as well.
        return StaleKnowledge({planned.ident: item})
    return still_counted(planned, item) or ConditionFailed(key=key)


def is_as_expected(planned: Planned, item: Item | None) -> bool:
    """Whether an item has the revision, or without one the values, that an action requires."""
    if item is None:
        return False
    if planned.expected is not None:
        return planned.mapping.table.mark_of(item) == planned.expected
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
    known = catalog_of(mapping.table).mappings
    # Of classes whose keys are alike, the owner is one with unique values.
    mappings = {name: one for name, one in known.items() if one.constraints}
    return found_key(mappings, {name: value for name, value in owner.items() if name != TABLE})


def _first(outcomes: list[StoreError | Violation], failures: Sequence[FailedAction]) -> StoreError:
    violations = tuple(one for one in outcomes if isinstance(one, Violation))
    errors = [one for one in outcomes if isinstance(one, StoreError)]
    taken = next((one for one in errors if isinstance(one, AlreadyExists)), None)
    causes: list[StoreError] = [one for one in errors if one is not taken]
    if taken is not None:
        found = AlreadyExists(
            key=taken.key, violations=violations, problem=taken.problem, remedy=taken.remedy
        )
        causes.append(found)
    elif violations:
        claimer = next(one.planned for one in failures if one.planned.claim is not None)
        causes.append(UniqueViolation(entity=claimer.mapping.entity.__name__, violations=violations))
    order = (StaleEntity, EntityNotFound, AlreadyExists, UniqueViolation, ConditionFailed)
    causes.sort(key=lambda one: next(rank for rank, kind in enumerate(order) if isinstance(one, kind)))
    causes[0].causes = tuple(causes)
    return causes[0]
