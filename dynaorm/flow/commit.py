"""A unit of work from intents to commit: settle pending writes, read, compile, send, and compile again if refused."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from dynaorm.argument import check_flag
from dynaorm.errors import (
    Contention,
    DynaormError,
    StoreError,
)
from dynaorm.flow.applied_before import check_token_is_unused, is_applied
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import waited
from dynaorm.flow.read import with_items
from dynaorm.flow.unknown_outcome import are_unsettled, refuse_unsettled, settle, settled_before
from dynaorm.flow.write import send
from dynaorm.item.value import Item
from dynaorm.late import late
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import Intent, Save
from dynaorm.plan.merge_intents import ItemIntents, merge_intents
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import StaleKnowledge
from dynaorm.plan.read_first import items_to_read
from dynaorm.plan.reads import NOTHING_READ, Reads
from dynaorm.plan.unit_of_work import EVER, UnitOfWork
from dynaorm.plan.verdict import Committed
from dynaorm.record import replace

if TYPE_CHECKING:
    import logging
else:
    late(globals(), logging="logging")


def unit_of_work(
    context: Context,
    token: str | None = None,
    duration: timedelta | None = None,
    *,
    exactly_once: bool | None = None,
) -> UnitOfWork:
    """The circumstances of a new unit of work. ``exactly_once``: None for the setting of the session."""
    clock, seconds = context.clock, None if duration is None else duration.total_seconds()
    if exactly_once is None:
        exactly_once = context.exactly_once
    else:
        check_flag("exactly_once={}", exactly_once)
    return UnitOfWork(clock.now(), clock.new_id(), context.table_name, token, exactly_once, seconds)


def planned(saving: Save, context: Context) -> Plan:
    """The plan of a save that replaces nothing: it needs no reading. Raises as ``plan_of``."""
    refuse_unsettled([saving])
    unit = unit_of_work(context)
    return compile_plan(merge_intents([saving], unit.now), NOTHING_READ, unit)


def plan_of(intents: Sequence[Intent], context: Context) -> Flow[Plan]:
    """The plan that ``commit`` would send first. What it depends on is read, and nothing is written.

    Raises:
        UsageError: it cannot be planned; the last write of one of the objects has no known outcome.
        StoreError: what was read already forbids it.
    """
    refuse_unsettled(intents)
    unit = unit_of_work(context)
    merged = merge_intents(intents, unit.now)
    reads = yield from with_items(NOTHING_READ, items_to_read(merged), context)
    return compile_plan(merged, reads, unit)


def commit(
    intents: Sequence[Intent],
    context: Context,
    token: str | None = None,
    remembered_for: timedelta | None = None,
    *,
    exactly_once: bool | None = None,
    reads: Reads = NOTHING_READ,
) -> Flow[tuple[Plan, Item | None]]:
    """Commit a unit of work: the plan that was committed, and the item an update asked for.

    ``remembered_for``: how long a token item remembers the token. ``reads``: items that the caller has just read,
    consistently.

    Raises:
        UsageError: it cannot be planned; nothing was sent.
        StoreError: DynamoDB refused it; nothing was written and no entity changed.
        OutcomeUnknown: it may have been written.
    """
    unit = unit_of_work(context, token, remembered_for, exactly_once=exactly_once)
    if are_unsettled(intents):
        done = yield from settled_before(intents, unit, context)
        if done is not None:
            return done, None
        intents = yield from settle(intents, context)
    return (yield from _committed(intents, unit, reads, context))


def _committed(
    intents: Sequence[Intent], unit: UnitOfWork, reads: Reads, context: Context
) -> Flow[tuple[Plan, Item | None]]:
    """Compile and send until it is committed, because what it was compiled from may be out of date."""
    began = context.clock.monotonic()
    pauses: Iterator[float] | None = None
    while True:
        merged, reads, plan = yield from _compiled(intents, reads, unit, context)
        if not plan.actions:
            for effect in plan.effects:
                effect.apply()
            return plan, reads.items.get(merged[0].ident) if merged else None
        outcome = yield from send(plan, context)
        if isinstance(outcome, Committed):
            return plan, outcome.item
        reads = yield from _with_unread(_with_refusal(reads, plan, outcome), outcome, context)
        if pauses is None:  # the first refusal (a tombstone, a guard of another entity) is no contention yet
            pauses = context.retry.pauses(context.clock, began)
            is_going_on = next(pauses, None) is not None
        elif is_going_on := (yield from waited(pauses)):
            # After a pause, the items of the refusal would be out of date again.
            reads = Reads({}, reads.foreign)
        if not is_going_on:
            raise Contention(attempts=context.retry.attempts, code="ConditionalCheckFailed")
        unit = replace(unit, now=context.clock.now(), write_id=context.clock.new_id())


def _compiled(
    intents: Sequence[Intent], reads: Reads, unit: UnitOfWork, context: Context
) -> Flow[tuple[list[ItemIntents], Reads, Plan]]:
    """The merged intents, what has been read for them, and their plan; an empty one if an equal block was applied."""
    try:
        merged = merge_intents(intents, unit.now)
    except StoreError:
        # An expired entity is refused only if its block was not applied before.
        if unit.token is None or not (
            yield from _is_applied(merge_intents(intents, EVER), NOTHING_READ, unit, context)
        ):
            raise
        merged = []
    if places := items_to_read(merged):
        reads = yield from with_items(reads, places, context)
    try:
        return merged, reads, compile_plan(merged, reads, unit)
    except DynaormError as refusal:
        # What is wrong with the block by itself, and not with what is stored, an applied block did not have.
        is_of_stored = isinstance(refusal, StoreError) or bool(reads.items)
        is_known = unit.token is None or not is_of_stored
        if is_known or not (yield from _is_applied(merged, reads, unit, context)):
            raise
        return merged, reads, Plan((), unit.token, made_at=unit.now, caller_token=True)


def _is_applied(
    merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork, context: Context
) -> Flow[bool]:
    """Whether an equal block under the same token was applied before. Raises TokenReused for another block."""
    if (yield from is_applied(merged, reads, unit, context)):
        return True
    if unit.remember is None:
        yield from check_token_is_unused(merged[0], unit, context)
    return False


def _with_unread(reads: Reads, refusal: StaleKnowledge, context: Context) -> Flow[Reads]:
    places = ((one.mapping, one.item_key) for one in refusal.unread)
    return (yield from with_items(reads, places, context))


def _with_refusal(reads: Reads, plan: Plan, refusal: StaleKnowledge) -> Reads:
    for planned in plan.actions:
        if planned.ident in refusal.foreign - reads.foreign:
            # The value may be personal data: the log names only the constraint.
            logging.getLogger("dynaorm").warning(
                "%s in table %s belongs to another entity, and is left alone",
                planned.kind.said(planned),
                planned.table.name,
            )
    return reads.with_more(refusal.items, refusal.foreign)
