"""A unit of work from intents to commit: settle pending writes, read, compile, send, and compile again if refused."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dynaorm.argument import check_flag
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import Loaded, PendingWrite, state_of, unsettled_of
from dynaorm.entity.table import ident_of
from dynaorm.errors import (
    Contention,
    DynaormError,
    OutcomeUnknown,
    StoreError,
    UsageError,
)
from dynaorm.flow.call import WINDOW_SECONDS, Context, Flow, waited
from dynaorm.flow.read import with_items
from dynaorm.flow.write import CannotRead, Observation, PlanExecution, look_at_token, resume, send
from dynaorm.flow.write_endings import Event, State
from dynaorm.item.action import ConditionCheck
from dynaorm.item.condition import all_of, exists, missing
from dynaorm.item.value import Item
from dynaorm.late import late
from dynaorm.plan.changes import ItemIntents, items_to_read, merge_intents
from dynaorm.plan.compiler import Committed, compile_plan
from dynaorm.plan.intent import (
    A_DAY,
    NEVER_EXPIRED,
    NOTHING_READ,
    Deletion,
    Intent,
    Reads,
    Save,
    UnitOfWork,
    target_of_intent,
)
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Effect, NeedsReplan, Plan, Planned
from dynaorm.plan.token import TokenMatch, compare, effects_of_repeat, revision_in, token_item_of
from dynaorm.record import replace

# A block that runs again under its token: whether an equal one was applied before.
#
# Rule 1. What the first block wrote or deleted may be what keeps the second from being planned. So a block that
#         cannot be planned is refused only if it was not applied before.
# Rule 2. The token item proves it, or else one item that carries the block's revision. Without either, only DynamoDB
#         knows whether the token was used.


def is_equal_block(plan: Plan, intents: Sequence[Intent], unit: UnitOfWork) -> bool:
    """Whether a plan under the caller's token is that of a block with these intents."""
    assert plan.token_item is not None
    try:
        ours = token_item_of(merge_intents(intents, NEVER_EXPIRED), unit)
    except DynaormError:
        return False  # The block cannot be planned from what the entities were: it is another one.
    return compare(ours, plan.token_item.after, NEVER_EXPIRED) is TokenMatch.SAME


def is_applied(merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork, context: Context) -> Flow[bool]:
    """Whether an equal block was applied before, which is why this one cannot be planned.

    The token item proves it. Saved entities become what is stored.

    Raises:
        TokenReused: the token item remembers another block.
        OutcomeUnknown: nobody knows which, or it cannot be read.
    """
    token_item = token_item_of(merged, unit)
    try:
        found = yield from look_at_token(token_item, context)
    except CannotRead as unread:
        found = Observation(Event.UNREAD, trouble=unread.__cause__)
    if found.event is Event.NOT_SHOWN:
        return False
    plan = Plan((_failing_check(merged[0], unit), token_item), unit.write_id, made_at=unit.now)
    PlanExecution(plan, context, State.SURE).outcome_of(found)  # raises, unless the block was applied
    revision = revision_in(found.item or {})
    assert revision is not None
    reads = yield from with_items(reads, ((one.mapping, one.key) for one in merged), context)
    for one in merged:
        for effect in effects_of_repeat(one, revision):
            effect.apply()
        item, write = reads.items[one.ident], one.stored
        if write is not None and item is not None and one.mapping.table.mark_of(item) == revision:
            fresh = dict.fromkeys([*one.mapping.maintained, *write.valid.altered]) or None
            Effect(write.intent.entity, Loaded(item), fresh).with_item(one.mapping, item).apply()
    return True


def _failing_check(one: ItemIntents, unit: UnitOfWork) -> Planned:
    """An action that always fails, so that its plan writes nothing."""
    table, pk = one.mapping.table, one.mapping.table.pk.name
    never = all_of(exists(pk), missing(pk))
    assert never is not None
    check = ConditionCheck(unit.table_name(table.name), one.key, never)
    return Planned(check, OWN_ITEM, ItemPurpose.CHECK, one.mapping, one.key)


if TYPE_CHECKING:
    import logging
else:
    late(globals(), logging="logging")


def are_unsettled(intents: Sequence[Intent]) -> bool:
    """Whether an earlier write of one of the entities has no known outcome; a loop, because every write asks."""
    for intent in intents:  # noqa: SIM110
        if _unsettled(intent) is not None:
            return True
    return False


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


def settled_before(intents: Sequence[Intent], unit: UnitOfWork, context: Context) -> Flow[Plan | None]:
    """The plan whose outcome these entities wait for, if it is that of an equal block and turns out to be committed.

    After that, the entities are as the block left them, and running it again would do more.
    """
    if unit.token is None:
        return None
    for unsettled in (one for one in map(_unsettled, intents) if one is not None):
        plan = unsettled.plan
        if isinstance(plan, Plan) and plan.token_item is not None and plan.token_item.label == unit.token:
            if not is_equal_block(plan, intents, unit):
                return None
            if (yield from _is_committed(unsettled, context, read_only=False)):
                yield from settle(intents, context)
                return plan
    return None


def refuse_unsettled(intents: Sequence[Intent]) -> None:
    """Raises UsageError where ``commit`` would first send an earlier write again, to learn its outcome."""
    for intent in intents:
        if _unsettled(intent) is not None:
            raise UsageError(
                problem=f"the last write of {target_of_intent(intent)!r} got no answer, and a plan depends on its "
                "outcome",
                remedy="find it out first: refresh() the object, or resume() the plan of the OutcomeUnknown",
            )


def _unsettled(intent: Intent) -> PendingWrite | None:
    entity = target_of_intent(intent)
    return None if isinstance(entity, Key) else unsettled_of(entity)


def _is_deleted(intent: Intent, unsettled: PendingWrite, context: Context) -> Flow[bool]:
    """Settle one entity; whether the intent is its deletion, and it turned out to be deleted."""
    entity = target_of_intent(intent)
    if unsettled_of(entity) is unsettled:
        committed = yield from _is_committed(unsettled, context, read_only=_is_abandoned(entity, unsettled))
        if unsettled_of(entity) is unsettled:
            # A copy, made while the outcome was not known: the plan knows only the original.
            effect = unsettled.effect.for_object(entity)
            effect.apply() if committed else effect.roll_back()
    return isinstance(intent, Deletion) and unsettled.effect.state is None and state_of(entity) is None


def _is_abandoned(entity: Any, unsettled: PendingWrite) -> bool:
    """Whether the entity was inserted, and has another key now: the insert must not be sent again."""
    if unsettled.state is not None or unsettled.effect.state is None:
        return False
    mapping, item = mapping_of(type(entity)), unsettled.effect.state.item
    return ident_of(mapping.table, mapping.key_of(item)) != ident_of(
        mapping.table, mapping.primary_key.of(vars(entity))
    )


def _is_committed(unsettled: PendingWrite, context: Context, *, read_only: bool) -> Flow[bool]:
    try:
        return (yield from resume(unsettled.plan, context, WINDOW_SECONDS, read_only=read_only))
    except OutcomeUnknown:
        raise
    except StoreError:
        # Refused for good: nothing of it was written, and the entity is as it was before.
        logging.getLogger("dynaorm").info("a write without an answer turned out not to have been made")
        return False


def unit_of_work(
    context: Context,
    token: str | None = None,
    duration: timedelta | None = None,
    *,
    exactly_once: bool | None = None,
) -> UnitOfWork:
    """The circumstances of a new unit of work. ``exactly_once``: None for the setting of the session."""
    clock, seconds = context.clock, A_DAY if duration is None else duration.total_seconds()
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
            yield from is_applied(merge_intents(intents, NEVER_EXPIRED), NOTHING_READ, unit, context)
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
        if is_known or not (yield from is_applied(merged, reads, unit, context)):
            raise
        return merged, reads, Plan((), None, made_at=unit.now)


def _with_unread(reads: Reads, refusal: NeedsReplan, context: Context) -> Flow[Reads]:
    places = ((one.mapping, one.item_key) for one in refusal.unread)
    return (yield from with_items(reads, places, context))


def _with_refusal(reads: Reads, plan: Plan, refusal: NeedsReplan) -> Reads:
    for planned in plan.actions:
        if planned.ident in refusal.foreign - reads.foreign:
            # The value may be personal data: the log names only the constraint.
            logging.getLogger("dynaorm").warning(
                "%s in table %s belongs to another entity, and is left alone",
                planned.kind.said(planned),
                planned.table.name,
            )
    return reads.with_more(refusal.items, refusal.foreign)
