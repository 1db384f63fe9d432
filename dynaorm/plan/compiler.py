"""Merged intents become a plan: the table of contents of every write rule.

merge_intents (one ``ItemIntents`` per item) -> changes (what happens to each item) -> what others add to these items ->
own items, with their numbers and revisions -> what follows from them, kind by kind -> token item -> limits.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import state_of
from dynaorm.entity.table import Ident
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
from dynaorm.item.action import ConditionCheck, Update
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import ItemIntents, item_change_of
from dynaorm.plan.derived_kinds import derived_actions
from dynaorm.plan.intent import Deletion, Reads, UnitOfWork
from dynaorm.plan.own_item import final_item, own_action
from dynaorm.plan.plan import (
    FAILED,
    Effect,
    FailedAction,
    Judged,
    NeedsReplan,
    Plan,
    Planned,
    check_limits,
    effects_of,
)
from dynaorm.plan.stored import ItemChange, ItemUpdate, StoredItem
from dynaorm.plan.token import token_item_of
from dynaorm.plan.total_targets import additions, with_additions
from dynaorm.plan.values import apply_field_changes, changes_of
from dynaorm.record import record

TYPE_MISMATCH_MESSAGES: Final = (
    "document path",
    "incorrect data type",
    "Incorrect operand type",
    "Item size to update has exceeded",
)
"""What DynamoDB says of an update expression that does not fit the stored item, or makes it too large."""
# A refused plan becomes the error that names its cause, or the items that a new plan has to know.
#
# Rule 1. An item that carries the revision of this plan was written by this plan: it was committed, and the answer
#         lost.
# Rule 2. What the refusal of one action means is known to the kind of its item.
# Rule 3. StaleEntity comes before AlreadyExists and UniqueViolation, these before ConditionFailed; ``causes`` has
#         all.


# A validation error has one name as a reason and another as an error of its own.
_SAME = {"ValidationError": "ValidationException"}


@record(quick=True)
class Committed:
    """The plan was already committed; ``item`` is a written item as stored.

    ``elsewhere``: perhaps by an equal block with other bytes: what is stored for its entities has to be read.
    """

    item: Item | None
    elsewhere: bool = False


Verdict: TypeAlias = Committed | NeedsReplan | DynaormError


def verdict(failures: Sequence[FailedAction], now: float, request_id: str = "") -> Verdict:
    """What a refusal means. ``failures`` are the actions of the plan that failed, in order."""
    for one in failures:
        if one.planned.has_written(one.item):
            return Committed(one.item)
    invalid = next((failure for failure in failures if failure.code != FAILED), None)
    if unread := tuple(failure.planned for failure in failures if _is_unfit(failure)):
        return NeedsReplan(unread=unread)
    if invalid is not None:
        return UnexpectedRefusal(
            code=_SAME.get(invalid.code, invalid.code),
            message=invalid.message,
            request_id=request_id,
            reasons=tuple(failure.code for failure in failures),
            action=invalid.planned.reason,
        )
    others = [failure for failure in failures if not failure.planned.kind.is_permanent]
    return _of_conditions(others or failures[:1], now)


def _of_conditions(failures: Sequence[FailedAction], now: float) -> StoreError | NeedsReplan:
    """What it means that the conditions of some actions do not hold."""
    judged = [(failure.planned, failure.planned.kind.judged(failure, now)) for failure in failures]
    items: dict[Ident, Item | None] = {}
    foreign: frozenset[Ident] = frozenset()
    for _, outcome in judged:
        if isinstance(outcome, NeedsReplan):
            items.update(outcome.items)
            foreign |= outcome.foreign
    # A stale object stays stale, whatever is learned. Its old values may belong to other entities by now.
    if (items or foreign) and not any(isinstance(one, StaleEntity) for _, one in judged):
        return NeedsReplan(items, foreign)
    return _first(judged)


def _is_unfit(failed: FailedAction) -> bool:
    """Whether an update does not fit what is stored.

    A path leads nowhere, an attribute has another type, or the whole item would be too large.
    """
    is_invalid = _SAME.get(failed.code, failed.code) == "ValidationException"
    planned = failed.planned
    is_edit = planned.blind and planned.is_evidence and isinstance(planned.action, Update)
    return is_invalid and is_edit and any(text in failed.message for text in TYPE_MISMATCH_MESSAGES)


def _first(judged: Sequence[tuple[Planned, Judged]]) -> StoreError:
    violations = tuple(one for _, one in judged if isinstance(one, Violation))
    errors = [one for _, one in judged if isinstance(one, StoreError)]
    taken = next((error for error in errors if isinstance(error, AlreadyExists)), None)
    causes: list[StoreError] = [error for error in errors if error is not taken]
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


def compile_plan(merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork) -> Plan:
    """The plan of a unit of work, from its merged intents.

    Raises:
        UsageError (and its kinds): it cannot be planned.
        StoreError (and its kinds): what was read already forbids it.
    """
    changes: list[ItemChange] = []
    for one in merged:  # a loop, here and below, because every save takes this way
        if (change := item_change_of(one, reads, unit)) is not None:
            changes.append(change)  # noqa: PERF401 - see above
    actions, effects = planned_changes(changes, merged, reads, unit)
    if unit.token is not None and merged:
        actions.append(token_item_of(merged, unit))
    token = unit.write_id if _is_transaction(actions, unit) else None
    wants_item = _wants_item(actions) or _returns_deleted(merged)
    return check_limits(Plan(tuple(actions), token, tuple(effects), unit.now, wants_item))


def planned_changes(
    changes: list[ItemChange], merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork
) -> tuple[list[Planned], list[Effect]]:
    """All actions of some changes, and what becomes of the caller's objects."""
    changes, contributions = with_additions(changes, merged)
    finals: list[Item | None] = []
    own: list[Planned | None] = []
    untold: list[int] = []  # which own actions rely on the answer to say what others wrote beside them
    for change in changes:
        final = final_item(change, unit)
        finals.append(final)
        planned = own_action(change, final, unit)
        if planned is not None and planned.basis.expected_values is not None and _is_untold(change, changes):
            untold.append(len(own))
        own.append(planned)
    derived = derived_actions(changes, finals, reads, unit)
    added = additions(contributions, reads, unit) if contributions else []
    # Only now it is known whether all is one plain write: a transaction answers nothing, so these have to rely on more.
    if untold and _is_transaction([*filter(None, own), *chain(*derived), *added], unit):
        for at in untold:
            own[at] = own_action(changes[at], finals[at], unit, is_told=False)
    actions: list[Planned] = []
    effects: list[Effect] = []
    for change, planned, others in zip(changes, own, derived, strict=True):
        if planned is not None:
            actions.append(planned)
        actions += others
        effects += effects_of(change, None if planned is None else planned.after)
    return actions + added, effects


def _is_untold(change: ItemChange, changes: list[ItemChange]) -> bool:
    """Whether a change without a revision has an object, or an answer, that must be what is stored."""
    return type(change) is ItemUpdate and (change.loaded is not None or len(changes) == 1)


def _is_transaction(actions: list[Planned], unit: UnitOfWork) -> bool:
    """Whether these are sent as one; a plan that only checks always is."""
    if unit.token is not None:
        return True
    if len(actions) != 1:
        return bool(actions)
    return unit.exactly_once or type(actions[0].action) is ConditionCheck


def _wants_item(actions: list[Planned]) -> bool:
    """Whether what an update leaves of its item is not known before; it is if a revision names what is stored."""
    return len(actions) == 1 and type(actions[0].action) is Update and actions[0].expected is None


def _returns_deleted(merged: Sequence[ItemIntents]) -> bool:
    """Whether the caller asks for what is deleted; a loop, because every save asks."""
    for one in merged:
        if one.removal is not None and type(one.removal.intent) is Deletion:
            return one.removal.intent.returning
    return False


# Renewals: an entity whose validators changed since it was stored is stored as it loads.
#
# Rule 1. Validators run whenever an item is loaded. What is stored, its index keys, guards and totals must be those
#         of the values that load; a renewal writes all of them together, as a save would.
# Rule 2. A number that is only spelled differently, and what is absent and has its default, stays as it is.
# Rule 3. History does not change: version items stay as they are, and a renewal of versioned fields is a new version.


class Renewal(NamedTuple):
    """What a stored entity becomes if it is stored as it loads.

    Attributes:
        mapping: its class.
        item: the stored item.
        image: the item that loads as it is stored, with the index keys of its values; ``item`` if that does.
        changes: the fields that differ, with their new attribute values; None for absence, and for what lives in keys.
        is_stable: False if validators change their own results, so that no item loads as it is stored.
    """

    mapping: EntityMapping
    item: Item
    image: Item
    changes: dict[str, AttributeValue | None]
    is_stable: bool = True


def renewal_of(mapping: EntityMapping, item: Item) -> Renewal:
    """The renewal of an entity. Raises DecodeError, InvalidValue if the item does not fit its class."""
    changes = _changes(mapping, item)
    if not changes:
        return Renewal(mapping, item, item, changes)
    image = _advanced(mapping, item, changes)
    try:
        is_stable = not _changes(mapping, image)
    except DynaormError:
        is_stable = False
    return Renewal(mapping, item, image if is_stable else item, changes, is_stable)


def _changes(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue | None]:
    entity = mapping.loader.hydrate(item)
    if mapping.rules.is_separate:
        return {}
    state = state_of(entity)
    assert state is not None
    # Totals are no values of the entity: they are verified by counting.
    renewed = frozenset(mapping.fields.keys() - mapping.maintained.keys())
    return changes_of(mapping, vars(entity), state, renewed=renewed)


def _advanced(
    mapping: EntityMapping, item: Item, changes: dict[str, AttributeValue | None]
) -> dict[str, AttributeValue]:
    values = vars(mapping.loader.hydrate(item))
    in_keys = {name: values[name] for name in changes if mapping.fields[name].in_key}
    image = apply_field_changes(mapping, item, changes, in_keys)
    wanted = index_keys(mapping, mapping.subject(image, in_keys))
    return {name: value for name, value in image.items() if name not in mapping.synthetic} | wanted


def renewal_actions(renewal: Renewal, reads: Reads, unit: UnitOfWork) -> list[Planned]:
    """The actions of a renewal; the item's own is the first.

    Raises:
        DecodeError: its revision is no text.
        DynaormError: a total cannot be changed.
    """
    mapping, item = renewal.mapping, renewal.item
    before = StoredItem(mapping, item, from_read=True)
    change = ItemUpdate(mapping, mapping.key_of(item), before, {**renewal.image}, frozenset(renewal.changes))
    return planned_changes([change], (), reads, unit)[0]
