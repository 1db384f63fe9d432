"""What happened to a plan: which event of ``write_endings`` a refusal, a silence or the stored items are.

Nothing here decides how a write ends.
"""

from collections.abc import Collection
from typing import Final

from dynaorm.entity.received import received
from dynaorm.flow.protocol.call import Flow, NoAnswer, Refusal
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import is_retryable
from dynaorm.flow.read import get_item
from dynaorm.flow.write_endings import Event
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.path import value_at
from dynaorm.item.prefix import attribute_path
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item, same, same_items
from dynaorm.plan.fingerprint import is_fixed
from dynaorm.plan.kinds.required import is_as_expected
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import FAILED, FailedAction, Planned
from dynaorm.plan.same_block import TokenMatch, compare, revision_in
from dynaorm.plan.verdict import UNFIT
from dynaorm.record import record, replace

_MATCHES: Final = {
    TokenMatch.SAME: Event.SAME,
    TokenMatch.OTHER: Event.REMEMBERED,
    TokenMatch.PERHAPS: Event.PERHAPS,
    TokenMatch.FREE: Event.NOT_SHOWN,
}
_MISMATCH: Final = "IdempotentParameterMismatchException"


@record(quick=True)
class Found:
    """An event, and what it came with.

    Attributes:
        event: what happened.
        item: the item that shows it.
        trouble: the refusal, the silence, or what could not be done.
        failures: the actions that DynamoDB refused.
    """

    event: Event
    item: Item | None = None
    trouble: BaseException | None = None
    failures: tuple[FailedAction, ...] = ()


class CannotRead(Exception):
    """An item could not be read; the cause says why."""


def is_unbound(plan: Plan) -> bool:
    """Whether the plan is a plain write of a stored item that no revision and no token binds."""
    planned = plan.actions[0]
    return not plan.is_transaction and (planned.blind or planned.expected_values is not None)


# -- an attempt --------------------------------------------------------------------------------------------------------


def of_silence(plan: Plan, silence: NoAnswer) -> Found:
    """The event of an attempt that got no answer."""
    if not silence.sent:
        return Found(Event.UNSENT, trouble=silence)
    return Found(Event.UNBOUND if is_unbound(plan) else Event.SILENCE, trouble=silence)


def of_refusal(plan: Plan, refusal: Refusal, context: Context) -> Flow[Found]:
    """The event of an attempt that DynamoDB refused. Raises CannotRead."""
    if is_retryable(refusal):
        # An earlier attempt of ours, which may be committed yet.
        is_under_way = refusal.code == "TransactionInProgressException"
        return Found(Event.SILENCE if is_under_way else Event.BUSY, trouble=refusal)
    failures, token_item = _failures(plan, refusal), plan.token_item
    is_mismatch = refusal.code == _MISMATCH and plan.token is not None
    if is_mismatch and token_item is None:
        return Found((yield from _used_by(plan, context)), trouble=refusal)
    if token_item is not None and (failures or is_mismatch):
        # It is read even if nothing is wrong with it: what is in the block's way may be what the block itself wrote.
        met = next((one.item for one in failures if one.planned is token_item), None)
        seen = yield from look_at_token(token_item, context, met)
        if seen.event is not Event.NOT_SHOWN:
            return replace(seen, trouble=refusal)
        if is_mismatch:
            return Found(Event.FORGOTTEN, trouble=refusal)
        failures = tuple(one for one in failures if one.planned is not token_item or one.code != FAILED)
        if not failures:
            return Found(Event.LAPSED, trouble=refusal)
    own = next((one.item for one in failures if one.planned.has_written(one.item)), None)
    event = Event.OWN if own is not None else _of_failures(plan, failures)
    return Found(event, own, refusal, failures)


def _of_failures(plan: Plan, failures: tuple[FailedAction, ...]) -> Event:
    """The event of a refusal in which no item carries the plan's revision."""
    # Only a condition that failed says what is stored. An expression that does not fit says nothing of it.
    of_items = [one for one in failures if one.code == FAILED]
    if not plan.is_transaction:
        return _shown(of_items[0].planned, of_items[0].item) if of_items else Event.REFUSED
    bound = (one for one in of_items if one.planned.expected is not None)
    is_replaced = not all(is_as_expected(one.planned, one.item) for one in bound)
    return Event.REPLACED if is_replaced else Event.FAILED


def _failures(plan: Plan, refusal: Refusal) -> tuple[FailedAction, ...]:
    if refusal.code == "ConditionalCheckFailedException":
        return (_failed(plan.actions[0], FAILED, refusal.message, refusal.item),)
    if refusal.code == "ValidationException" and any(text in refusal.message for text in UNFIT):
        return tuple(FailedAction(one, refusal.code, refusal.message, None) for one in plan.actions)
    if refusal.code != "TransactionCanceledException":
        return ()
    return tuple(
        _failed(planned, reason.code, reason.message, reason.item)
        for planned, reason in zip(plan.actions, refusal.reasons, strict=False)
        if reason is not None and reason.code != "None"
    )


def _failed(planned: Planned, code: str, message: str, item: Item | None) -> FailedAction:
    return FailedAction(planned, code, message, received(planned.table, item))


def _used_by(plan: Plan, context: Context) -> Flow[Event]:
    """By which block the token was used for other bytes."""
    for planned in plan.actions:
        if planned.revision is not None and planned.has_written((yield from stored(planned, context))):
            return Event.SAME
    return Event.REUSED if is_fixed(plan) else Event.FORGOTTEN


# -- the items as they are stored now ----------------------------------------------------------------------------------


def look(plan: Plan, context: Context) -> Flow[Found]:
    """What the items show of a plan. Raises CannotRead."""
    if is_unbound(plan):
        item = yield from stored(plan.actions[0], context)
        return Found(_shown(plan.actions[0], item), item)
    if (token_item := plan.token_item) is not None:
        found = yield from look_at_token(token_item, context)
        # While it would be remembered, the block was applied only if it is.
        if found.event in (Event.SAME, Event.PERHAPS) or not _is_forgotten(token_item, context):
            return found
    return (yield from _look_at_items(plan, context))


def _look_at_items(plan: Plan, context: Context) -> Flow[Found]:
    seen: list[Event] = []
    is_unmade = plan.token_item is None
    for planned in plan.actions:
        if planned.is_evidence:
            item = yield from stored(planned, context)
            event = _shown(planned, item)
            # Nobody gives up a version, and no other plan writes one with the same time and values.
            if event is Event.OWN or (event is Event.ALIKE and planned.kind.is_permanent):
                return Found(event, item)
            is_unmade |= event is Event.AS_BEFORE and planned.expected is not None
            seen.append(Event.UNTOLD if event is not Event.ALIKE and _is_untold(planned, item) else event)
    if not seen and plan.caller_token:
        return Found(Event.FORGOTTEN)
    event = _of_all(seen)
    # Others may have written over the items since the token item expired. Only a revision that is still there proves
    # that the block was not applied: it does not come back.
    return Found(event if is_unmade or event is not Event.NOT_SHOWN else Event.OTHER)


def _of_all(seen: Collection[Event]) -> Event:
    """The event of a plan that no revision proves: what others may have done as well says nothing of the rest."""
    if not seen or not {Event.GONE, Event.ALIKE, Event.UNTOLD}.issuperset(seen):
        return Event.NOT_SHOWN
    return next(event for event in (Event.UNTOLD, Event.ALIKE, Event.GONE) if event in seen)


def look_at_token(token_item: Planned, context: Context, met: Item | None = None) -> Flow[Found]:
    """What the stored token item says about the block that puts its own. Raises CannotRead.

    ``met``: the stored one, if a refusal returned it.
    """
    item = (yield from stored(token_item, context)) if met is None else met
    return Found(_MATCHES[compare(token_item, item, context.clock.now())], item)


def _shown(planned: Planned, item: Item | None) -> Event:
    """What one item shows of the action that writes it."""
    if planned.has_written(item):
        return Event.OWN
    if isinstance(planned.action, Delete) and item is None:
        return Event.GONE
    if item is not None and planned.revision is None and _is_alike(planned, item):
        return Event.ALIKE
    is_as_before = not planned.blind and is_as_expected(planned, item)
    return Event.AS_BEFORE if is_as_before else Event.OTHER


def _is_alike(planned: Planned, item: Item) -> bool:
    """Whether an item is as an action makes it."""
    action = planned.action
    if isinstance(action, Put):
        return same_items(item, action.item)
    # Others may have changed the rest of the item since. A number that counts the writes does not say whose it is.
    revision = planned.table.revision
    return (
        isinstance(action, Update)
        and any(revision is None or change.path != revision.path for change in action.changes)
        and all(_is_made(item, change) is True for change in action.changes)
    )


def _is_untold(planned: Planned, item: Item | None) -> bool:
    """Whether an item without a revision cannot say if an update was made: it shows all that could be seen of it."""
    action = planned.action
    if item is None or planned.revision is not None or not isinstance(action, Update):
        return False
    return all(_is_made(item, change) is not False for change in action.changes)


def _is_made(item: Item, change: Change) -> bool | None:
    """Whether an item shows a change; None for one that cannot be seen in the item, because it adds or appends."""
    if len(attribute_path(change.path)) != 1:
        return None
    found = value_at(item, change.path)
    if isinstance(change, SetTo):
        return same(found, change.value)
    return found is None if isinstance(change, Remove) else None


def _is_forgotten(token_item: Planned, context: Context) -> bool:
    """Whether the token item would have expired by now, if the plan had put it."""
    return compare(token_item, token_item.after, context.clock.now()) is TokenMatch.FREE


def revision_of_block(plan: Plan, context: Context) -> Flow[str | None]:
    """The revision that the plan's block wrote when it was applied, if its token item says so. Raises CannotRead."""
    if plan.token_item is None:
        return None
    item = yield from stored(plan.token_item, context)
    return None if item is None else revision_in(item)


def stored(planned: Planned, context: Context) -> Flow[Item | None]:
    """The item that an action writes, as it is stored now. Raises CannotRead."""
    try:
        return (yield from get_item(planned.table, planned.item_key, context))
    except Exception as trouble:
        raise CannotRead from trouble
