"""A unit of work from intents to commit: settle pending writes, read, compile, send, and compile again if refused."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynaorm.argument import check_flag
from dynaorm.entity.declare.catalog import stored_class
from dynaorm.entity.ident import ident_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import Unsettled, state_of, unsettled_of
from dynaorm.errors import (
    Contention,
    DynaormError,
    OutcomeUnknown,
    StoreError,
    UsageError,
)
from dynaorm.flow.applied_before import check_token_is_unused, is_applied, is_equal_block
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import WINDOW_SECONDS, waited
from dynaorm.flow.read import with_items
from dynaorm.flow.target import target_of
from dynaorm.flow.write import resume, send
from dynaorm.item.value import Item
from dynaorm.late import late
from dynaorm.plan.changes import items_to_read
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import Deletion, Edit, Intent, Save, target_of_intent
from dynaorm.plan.merge_intents import ItemIntents, merge_intents
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import StaleKnowledge
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
    check_flag("exactly_once={}", exactly_once)
    return UnitOfWork(clock.now(), clock.new_id(), context.table_name, token, exactly_once, seconds)


def planned(saving: Save, context: Context) -> Plan:
    """The plan of a save that replaces nothing: it needs no reading. Raises as ``plan_of``."""
    _refuse_unsettled([saving])
    unit = unit_of_work(context)
    return compile_plan(merge_intents([saving], unit.now), NOTHING_READ, unit)


def plan_of(intents: Sequence[Intent], context: Context) -> Flow[Plan]:
    """The plan that ``commit`` would send first. What it depends on is read, and nothing is written.

    Raises:
        UsageError: it cannot be planned; the last write of one of the objects has no known outcome.
        StoreError: what was read already forbids it.
    """
    _refuse_unsettled(intents)
    unit = unit_of_work(context)
    merged = merge_intents(intents, unit.now)
    reads = yield from with_items(NOTHING_READ, items_to_read(merged), context)
    return compile_plan(merged, reads, unit)


def _refuse_unsettled(intents: Sequence[Intent]) -> None:
    """Raises UsageError where ``commit`` would first send an earlier write again, to learn its outcome."""
    for intent in intents:
        if _unsettled(intent) is not None:
            raise UsageError(
                problem=f"the last write of {target_of_intent(intent)!r} got no answer, and a plan depends on its "
                "outcome",
                remedy="find it out first: refresh() the object, or resume() the plan of the OutcomeUnknown",
            )


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
    if _are_unsettled(intents):
        done = yield from _settled_before(intents, unit, context)
        if done is not None:
            return done, None
        intents = yield from settle(intents, context)
    return (yield from _committed(intents, unit, reads, context))


def _committed(
    intents: Sequence[Intent], unit: UnitOfWork, reads: Reads, context: Context
) -> Flow[tuple[Plan, Item | None]]:
    """Compile and send until it is committed, because what it was compiled from may be out of date."""
    until = context.retry.until(context.clock)
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
            pauses = context.retry.pauses(context.clock, until)
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


def _settled_before(intents: Sequence[Intent], unit: UnitOfWork, context: Context) -> Flow[Plan | None]:
    """The plan whose outcome these entities wait for, if it is that of an equal block and turns out to be committed.

    After that, the entities are as the block left them, and running it again would do more.
    """
    if unit.token is None:
        return None
    for unsettled in (one for one in map(_unsettled, intents) if one is not None):
        plan = unsettled.plan
        if isinstance(plan, Plan) and plan.caller_token and plan.token == unit.token:
            if not is_equal_block(plan, intents, unit):
                return None
            if (yield from _is_committed(unsettled, context, read_only=False)):
                yield from settle(intents, context)
                return plan
    return None


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


def _are_unsettled(intents: Sequence[Intent]) -> bool:
    """Whether an earlier write of one of the entities has no known outcome; a loop, because every write asks."""
    for intent in intents:  # noqa: SIM110
        if _unsettled(intent) is not None:
            return True
    return False


def _unsettled(intent: Intent) -> Unsettled | None:
    entity = target_of_intent(intent)
    return None if isinstance(entity, Key) else unsettled_of(entity)


def _is_deleted(intent: Intent, unsettled: Unsettled, context: Context) -> Flow[bool]:
    """Settle one entity; whether the intent is its deletion, and it turned out to be deleted."""
    entity = target_of_intent(intent)
    if unsettled_of(entity) is unsettled:
        committed = yield from _is_committed(unsettled, context, read_only=_is_abandoned(entity, unsettled))
        if unsettled_of(entity) is unsettled:
            # A copy, made while the outcome was not known: the plan knows only the original.
            effect = unsettled.effect.for_object(entity)
            effect.apply() if committed else effect.settle_as_before()
    return isinstance(intent, Deletion) and unsettled.effect.state is None and state_of(entity) is None


def _is_abandoned(entity: Any, unsettled: Unsettled) -> bool:
    """Whether the entity was inserted, and has another key now: the insert must not be sent again."""
    if unsettled.state is not None or unsettled.effect.state is None:
        return False
    mapping, item = mapping_of(type(entity)), unsettled.effect.state.item
    return ident_of(mapping.table, mapping.key_of(item)) != ident_of(
        mapping.table, mapping.primary_key(vars(entity))
    )


def _is_committed(unsettled: Unsettled, context: Context, *, read_only: bool) -> Flow[bool]:
    try:
        return (yield from resume(unsettled.plan, context, WINDOW_SECONDS, read_only=read_only))
    except OutcomeUnknown:
        raise
    except StoreError:
        # Refused for good: nothing of it was written, and the entity is as it was before.
        logging.getLogger("dynaorm").info("a write without an answer turned out not to have been made")
        return False


def updated(
    edit: Edit, context: Context, *, exactly_once: bool | None = None
) -> Flow[tuple[EntityMapping, Item]]:
    """Make one partial update: the class and the item that it made.

    A transaction does not return the item. So an update by key that is sent as one is bound to the item that was read,
    which says what it makes.
    """
    if exactly_once is None:
        exactly_once = context.exactly_once
    plan, item = yield from commit(
        [replace(edit, read_first=exactly_once)], context, exactly_once=exactly_once
    )
    if not plan.actions:
        # Nothing would change: the item that was read or loaded is the stored one.
        state = None if isinstance(edit.target, Key) else state_of(edit.target)
        item = state.item if state is not None else item
        assert item is not None
        mapping = target_of(edit.target).mapping
        return stored_class(mapping, item) or mapping, item
    first = plan.actions[0]
    item = first.after if item is None else item
    assert item is not None  # an update without a known outcome is a plain one, which returns the item
    return stored_class(first.mapping, item) or first.mapping, item
