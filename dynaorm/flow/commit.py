"""A unit of work from intents to commit: settle what is unsettled, read what must be read, compile, send, learn."""

import logging
from collections.abc import Sequence

from dynaorm.entity.declare.catalog import stored_class
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.state import Loaded, Unsettled, state_of, unsettled_of
from dynaorm.errors import Contention, OutcomeUnknown, StoreError, UsageError
from dynaorm.flow.protocol.call import Flow, Pause
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import WINDOW_SECONDS
from dynaorm.flow.read import get_item
from dynaorm.flow.write import resume, send
from dynaorm.item.value import Item
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.fold import Slot, class_of, fold, target
from dynaorm.plan.intent import Edit, Intent, Move, Remove, Save
from dynaorm.plan.known import NOTHING_KNOWN, Known, Setting, ident_of
from dynaorm.plan.nets import reads_of
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Effect
from dynaorm.plan.token import revision_under_token
from dynaorm.plan.verdict import Committed, Learned

_logger = logging.getLogger("dynaorm")
_TOKEN_LIMIT = 36


def setting_of(context: Context, token: str | None = None, *, exactly_once: bool = False) -> Setting:
    """The circumstances of one unit of work. Raises UsageError for a token DynamoDB would refuse."""
    if token is not None and not 1 <= len(token) <= _TOKEN_LIMIT:
        raise UsageError(
            problem=f"the token {token!r} has {len(token)} characters",
            remedy=f"use 1 to {_TOKEN_LIMIT} (ClientRequestToken, Amazon DynamoDB API Reference)",
        )
    return Setting(context.clock.now(), context.clock.new_id(), context.table_name, token, exactly_once)


def planned(intents: Sequence[Intent], context: Context) -> Plan:
    """The plan of a unit of work as far as it can be known without reading. Raises UsageError where it cannot."""
    setting = setting_of(context)
    slots = fold(intents, setting.now)
    if reads_of(slots):
        raise UsageError(
            problem="this plan depends on what is stored, and a plan is made without reading",
            remedy="load the entity first and plan saving that",
        )
    return compile_plan(slots, NOTHING_KNOWN, setting)


def commit(
    intents: Sequence[Intent],
    context: Context,
    token: str | None = None,
    *,
    exactly_once: bool = False,
    known: Known = NOTHING_KNOWN,
) -> Flow[tuple[Plan, Item | None]]:
    """Commit a unit of work: the plan that was committed, and the item an update asked for.

    ``known``: items the caller has just read, consistently.

    Raises:
        UsageError: it cannot be planned; nothing was sent.
        StoreError: DynamoDB refused it; nothing was written and no entity changed.
        OutcomeUnknown: it may have been written.
    """
    intents = yield from settle(intents, context)
    setting = setting_of(context, token, exactly_once=exactly_once)
    pauses = context.retry.pauses(context.clock)
    learned = False
    while True:
        slots = fold(intents, setting.now)
        for mapping, key in reads_of(slots):
            known = yield from _with_item(known, mapping, key, context)
        plan = yield from _compiled(slots, known, setting, context)
        if not plan.actions:
            reads = (known.items.get(ident_of(slot.mapping.table, slot.key)) for slot in slots)
            return plan, next(reads, None)
        outcome = yield from send(plan, context)
        if isinstance(outcome, Committed):
            return plan, outcome.item
        known = _learn(known, outcome)
        pause = next(pauses, None)
        if pause is None:
            raise Contention(attempts=context.retry.attempts, code="ConditionalCheckFailed")
        if learned:  # what is learned first (a tombstone, a guard of somebody else's) is no contention yet
            yield Pause(pause)
        learned = True
        setting = setting_of(context, token, exactly_once=exactly_once)


def _compiled(slots: Sequence[Slot], known: Known, setting: Setting, context: Context) -> Flow[Plan]:
    """The plan of these slots; one of nothing, where an equal block under the same token was applied before."""
    try:
        return compile_plan(slots, known, setting)
    except StoreError:
        if setting.token is None or not (yield from _is_applied(slots, known, setting, context)):
            raise
        return Plan((), setting.token, made_at=setting.now, caller_token=True)


def _with_item(known: Known, mapping: EntityMapping, key: Item, context: Context) -> Flow[Known]:
    """What is known, with this item read if it is not."""
    if (ident := ident_of(mapping.table, key)) in known.items:
        return known
    item = yield from get_item(context.table_name(mapping.table.name), key, context, consistent=True)
    return known.learned({ident: item}, frozenset())


def _is_applied(slots: Sequence[Slot], known: Known, setting: Setting, context: Context) -> Flow[bool]:
    """Whether an equal block was applied before: then what it deleted is not there, and this one cannot be planned.

    One item that carries its revision says so, for all of the block. What it saved is as it is stored then.
    """
    revision = revision_under_token(slots, setting)
    is_applied = False
    for slot in slots:
        known = yield from _with_item(known, slot.mapping, slot.key, context)
        item = known.items[ident_of(slot.mapping.table, slot.key)]
        if item is None or slot.mapping.revision_of(item) != revision:
            continue
        is_applied = True
        if isinstance(slot.write, Save | Move):
            totals = dict.fromkeys(slot.mapping.maintained) or None
            Effect(slot.write.entity, Loaded(item), totals).with_item(slot.mapping, item).apply()
    return is_applied


def _learn(known: Known, learned: Learned) -> Known:
    for table, key, *_ in learned.foreign - known.foreign:
        # The value itself may be personal data: the log names the constraint, not what was claimed.
        constraint = str(key).partition("#")[0]
        _logger.warning(
            "a guard item %s#... in table %s belongs to another entity, and is left alone", constraint, table
        )
    return known.learned(learned.items, learned.foreign)


def settle(intents: Sequence[Intent], context: Context) -> Flow[list[Intent]]:
    """Settle the entities whose last write has no known outcome, before they are written again; what is left to do.

    An entity that was to be deleted, and turns out to have been, is not deleted again.

    Raises:
        OutcomeUnknown: there is still no answer.
    """
    # All are looked up before the first is settled: several may share one plan.
    waiting = [_unsettled(intent) for intent in intents]
    left: list[Intent] = []
    for intent, unsettled in zip(intents, waiting, strict=True):
        if unsettled is None or not (yield from _is_deleted(intent, unsettled, context)):
            left.append(intent)
    return left


def _unsettled(intent: Intent) -> Unsettled | None:
    entity = target(intent)
    return None if isinstance(entity, Key) else unsettled_of(entity)


def _is_deleted(intent: Intent, unsettled: Unsettled, context: Context) -> Flow[bool]:
    """Settle one entity; whether it was deleted, as the intent wants it."""
    entity = target(intent)
    if unsettled_of(entity) is unsettled:
        committed = yield from _is_committed(unsettled, context)
        if unsettled_of(entity) is unsettled:
            # A copy, made while the outcome was not known: the plan knows only the original.
            effect = unsettled.effect._replace(entity=entity)
            effect.apply() if committed else effect.settle_as_before()
    return isinstance(intent, Remove) and unsettled.effect.state is None and state_of(entity) is None


def _is_committed(unsettled: Unsettled, context: Context) -> Flow[bool]:
    try:
        return (yield from resume(unsettled.plan, context, WINDOW_SECONDS))
    except OutcomeUnknown:
        raise
    except StoreError:
        # Refused for good: nothing of it was written, and the entity is as it was before.
        _logger.info("a write without an answer turned out not to have been made")
        return False


def updated(edit: Edit, context: Context, *, exactly_once: bool = False) -> Flow[tuple[EntityMapping, Item]]:
    """Make one partial update: the class and item as stored now."""
    plan, item = yield from commit([edit], context, exactly_once=exactly_once)
    if not plan.actions:
        # Nothing would change: what was read, or loaded, is what is stored.
        state = None if isinstance(edit.target, Key) else state_of(edit.target)
        item = state.item if state is not None else item
        assert item is not None
        mapping = class_of(edit)
        return stored_class(mapping, item) or mapping, item
    mapping = plan.actions[0].mapping
    if item is None:
        item = plan.actions[0].after
    if item is None:
        item = yield from _read_back(plan, context)
    return stored_class(mapping, item) or mapping, item


def _read_back(plan: Plan, context: Context) -> Flow[Item]:
    """What a transaction wrote, and does not return. Raises OutcomeUnknown: whatever it meets, the update was made."""
    first = plan.actions[0]
    try:
        item = yield from get_item(first.action.table, first.item_key, context, consistent=True)
    except StoreError as trouble:
        raise _unread(plan, trouble.problem) from trouble
    if item is None:
        raise _unread(plan, "it has been deleted since")
    return item


def _unread(plan: Plan, reason: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        plan=plan,
        reason=reason,
        problem=f"the update was made, but what is stored now cannot be returned ({reason})",
        remedy="get it to see what is stored; session.resume(error.plan) confirms the update",
    )
