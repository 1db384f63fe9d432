"""A unit of work from intents to commit: settle pending writes, read, compile, send, and compile again if refused."""

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
from dynaorm.flow.target import target_of
from dynaorm.flow.write import resume, send
from dynaorm.item.value import Item
from dynaorm.plan.changes import items_to_read
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import Deletion, Edit, Intent, Move, Save, target_of_intent
from dynaorm.plan.merge_intents import ItemIntents, merge_intents
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Effect
from dynaorm.plan.reads import NOTHING_READ, Reads, ident_of
from dynaorm.plan.token import revision_under_token
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.plan.verdict import Committed, StaleKnowledge

_logger = logging.getLogger("dynaorm")
_TOKEN_LIMIT = 36


def unit_of_work(context: Context, token: str | None = None, *, exactly_once: bool = False) -> UnitOfWork:
    """The circumstances of a new unit of work. Raises UsageError for a token that DynamoDB would refuse."""
    if token is not None and not 1 <= len(token) <= _TOKEN_LIMIT:
        raise UsageError(
            problem=f"the token {token!r} has {len(token)} characters",
            remedy=f"use 1 to {_TOKEN_LIMIT} (ClientRequestToken, Amazon DynamoDB API Reference)",
        )
    return UnitOfWork(context.clock.now(), context.clock.new_id(), context.table_name, token, exactly_once)


def planned(intents: Sequence[Intent], context: Context) -> Plan:
    """The plan of a unit of work, made without reading. Raises UsageError if it depends on what is stored."""
    unit = unit_of_work(context)
    merged = merge_intents(intents, unit.now)
    if items_to_read(merged):
        raise UsageError(
            problem="this plan depends on what is stored, and a plan is made without reading",
            remedy="load the entity first and plan saving that",
        )
    return compile_plan(merged, NOTHING_READ, unit)


def commit(
    intents: Sequence[Intent],
    context: Context,
    token: str | None = None,
    *,
    exactly_once: bool = False,
    reads: Reads = NOTHING_READ,
) -> Flow[tuple[Plan, Item | None]]:
    """Commit a unit of work: the plan that was committed, and the item an update asked for.

    ``reads``: items that the caller has just read, consistently.

    Raises:
        UsageError: it cannot be planned; nothing was sent.
        StoreError: DynamoDB refused it; nothing was written and no entity changed.
        OutcomeUnknown: it may have been written.
    """
    intents = yield from settle(intents, context)
    unit = unit_of_work(context, token, exactly_once=exactly_once)
    pauses = context.retry.pauses(context.clock)
    is_repeated = False
    while True:
        merged = merge_intents(intents, unit.now)
        for mapping, key in items_to_read(merged):
            reads = yield from _with_item(reads, mapping, key, context)
        plan = yield from _compiled(merged, reads, unit, context)
        if not plan.actions:
            return plan, reads.items.get(merged[0].ident) if merged else None
        outcome = yield from send(plan, context)
        if isinstance(outcome, Committed):
            return plan, outcome.item
        reads = _with_refusal(reads, outcome)
        for unread in outcome.unread:
            reads = yield from _with_item(reads, unread.mapping, unread.item_key, context)
        pause = next(pauses, None)
        if pause is None:
            raise Contention(attempts=context.retry.attempts, code="ConditionalCheckFailed")
        if is_repeated:  # the first refusal (a tombstone, a guard of another entity) is no contention yet
            yield Pause(pause)
        is_repeated = True
        unit = unit_of_work(context, token, exactly_once=exactly_once)


def _compiled(merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork, context: Context) -> Flow[Plan]:
    """The plan of these intents; an empty one if an equal block under the same token was applied before."""
    try:
        return compile_plan(merged, reads, unit)
    except StoreError:
        if unit.token is None or not (yield from _is_applied(merged, reads, unit, context)):
            raise
        return Plan((), unit.token, made_at=unit.now, caller_token=True)


def _with_item(reads: Reads, mapping: EntityMapping, key: Item, context: Context) -> Flow[Reads]:
    """The reads with this item, which is read unless it has been."""
    if (ident := ident_of(mapping.table, key)) in reads.items:
        return reads
    item = yield from get_item(context.table_name(mapping.table.name), key, context, consistent=True)
    return reads.with_more({ident: item}, frozenset())


def _is_applied(
    merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork, context: Context
) -> Flow[bool]:
    """Whether an equal block was applied before: the items that it deleted are gone, so this one cannot be planned.

    One item that carries the block's revision proves it for all of the block. Saved entities become what is stored.
    """
    revision = revision_under_token(merged, unit)
    is_applied = False
    for one in merged:
        reads = yield from _with_item(reads, one.mapping, one.key, context)
        item = reads.items[one.ident]
        if item is None or one.mapping.revision_of(item) != revision:
            continue
        is_applied = True
        if one.write is not None and isinstance(one.write.intent, Save | Move):
            totals = dict.fromkeys(one.mapping.maintained) or None
            Effect(one.write.intent.entity, Loaded(item), totals).with_item(one.mapping, item).apply()
    return is_applied


def _with_refusal(reads: Reads, refusal: StaleKnowledge) -> Reads:
    for table, key, *_ in refusal.foreign_guards - reads.foreign_guards:
        # The value may be personal data: the log names only the constraint.
        constraint = str(key).partition("#")[0]
        _logger.warning(
            "a guard item %s#... in table %s belongs to another entity, and is left alone", constraint, table
        )
    return reads.with_more(refusal.items, refusal.foreign_guards)


def settle(intents: Sequence[Intent], context: Context) -> Flow[list[Intent]]:
    """Settle the entities whose last write has no known outcome, before they are written again; the remaining intents.

    A deletion that turns out to be committed already is dropped.

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
    entity = target_of_intent(intent)
    return None if isinstance(entity, Key) else unsettled_of(entity)


def _is_deleted(intent: Intent, unsettled: Unsettled, context: Context) -> Flow[bool]:
    """Settle one entity; whether the intent is its deletion, and it turned out to be deleted."""
    entity = target_of_intent(intent)
    if unsettled_of(entity) is unsettled:
        committed = yield from _is_committed(unsettled, context)
        if unsettled_of(entity) is unsettled:
            # A copy, made while the outcome was not known: the plan knows only the original.
            effect = unsettled.effect.for_object(entity)
            effect.apply() if committed else effect.settle_as_before()
    return isinstance(intent, Deletion) and unsettled.effect.state is None and state_of(entity) is None


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
        # Nothing would change: the item that was read or loaded is the stored one.
        state = None if isinstance(edit.target, Key) else state_of(edit.target)
        item = state.item if state is not None else item
        assert item is not None
        mapping = target_of(edit.target).mapping
        return stored_class(mapping, item) or mapping, item
    mapping = plan.actions[0].mapping
    if item is None:
        item = plan.actions[0].after
    if item is None:
        item = yield from _read_back(plan, context)
    return stored_class(mapping, item) or mapping, item


def _read_back(plan: Plan, context: Context) -> Flow[Item]:
    """The item that a transaction wrote and did not return. Raises OutcomeUnknown, though the update was made."""
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
