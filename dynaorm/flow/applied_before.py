"""A block that runs again under its token: whether an equal one was applied before.

Rule 1. What the first block wrote or deleted may be what keeps the second from being planned. So a block that cannot
        be planned is refused only if it was not applied before.
Rule 2. The token item proves it, or else one item that carries the block's revision. Without either, only DynamoDB
        knows whether the token was used.
"""

from collections.abc import Sequence

from dynaorm.entity.state import Loaded
from dynaorm.errors import ConditionFailed, DynaormError, OutcomeUnknown, StaleEntity, StoreError
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import with_items
from dynaorm.flow.write import Writing, send
from dynaorm.flow.write_endings import Event, State
from dynaorm.flow.write_events import CannotRead, Found, look_at_token
from dynaorm.item.action import ConditionCheck
from dynaorm.item.condition import all_of, exists, missing
from dynaorm.plan.effects import Effect
from dynaorm.plan.fingerprint import revision_under_token
from dynaorm.plan.intent import Intent
from dynaorm.plan.kinds.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.merge_intents import ItemIntents, merge_intents
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import Reads
from dynaorm.plan.same_block import effects_of_repeat, is_of_block, revision_in, token_item_of
from dynaorm.plan.unit_of_work import EVER, UnitOfWork
from dynaorm.plan.verdict import Committed


def is_equal_block(plan: Plan, intents: Sequence[Intent], unit: UnitOfWork) -> bool:
    """Whether a plan under the caller's token is that of a block with these intents."""
    try:
        return is_of_block(plan, merge_intents(intents, EVER), unit)
    except DynaormError:
        return False  # The block cannot be planned from what the entities were: it is another one.


def is_applied(merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork, context: Context) -> Flow[bool]:
    """Whether an equal block was applied before: the items that it deleted are gone, so this one cannot be planned.

    Its token item proves it, or else one item that carries its revision. Saved entities become what is stored.
    """
    if unit.remember is None:
        return (yield from _with_stored(merged, reads, revision_under_token(merged, unit), context))
    plan, token_item = _failing_check(merged[0], unit), token_item_of(merged, unit)
    revision = yield from _remembered_revision(plan, token_item, context)
    if revision is None:
        return False
    for one in merged:
        for effect in effects_of_repeat(one, revision):
            effect.apply()
    yield from _with_stored(merged, reads, revision, context)
    return True


def _with_stored(merged: Sequence[ItemIntents], reads: Reads, revision: str, context: Context) -> Flow[bool]:
    """Whether an item carries the revision of the block. Saved entities whose items do become what is stored."""
    is_found = False
    reads = yield from with_items(reads, ((one.mapping, one.key) for one in merged), context)
    for one in merged:
        item = reads.items[one.ident]
        if item is None or one.mapping.table.mark_of(item) != revision:
            continue
        is_found = True
        if (write := one.stored) is not None:
            fresh = dict.fromkeys([*one.mapping.maintained, *write.valid.altered]) or None
            Effect(write.intent.entity, Loaded(item), fresh).with_item(one.mapping, item).apply()
    return is_found


def _remembered_revision(plan: Plan, token_item: Planned, context: Context) -> Flow[str | None]:
    """The revision of an equal block that was applied before, of which this one cannot be planned; None if none was.

    ``plan``: one that writes nothing, under the block's token.

    Raises:
        TokenReused: the token item remembers another block.
        OutcomeUnknown: nobody knows which, or it cannot be read; the error has ``plan``.
    """
    try:
        found = yield from look_at_token(token_item, context)
    except CannotRead as unread:
        found = Found(Event.UNREAD, trouble=unread.__cause__)
    outcome = Writing(plan, context, State.UNPLANNED).outcome_of(found)
    return revision_in(found.item) if isinstance(outcome, Committed) and found.item is not None else None


def check_token_is_unused(one: ItemIntents, unit: UnitOfWork, context: Context) -> Flow[None]:
    """Raises OutcomeUnknown if the token was used: perhaps for this block, which then is what stands in its own way.

    Only DynamoDB knows. A check that always fails is sent under the token: it writes nothing, and uses up nothing.
    """
    plan = _failing_check(one, unit)
    try:
        yield from send(plan, context)
    except (ConditionFailed, StaleEntity):
        return
    except OutcomeUnknown:
        raise
    except StoreError as trouble:
        raise OutcomeUnknown(
            plan=plan, reason=f"whether the token was used is not known: {trouble}"
        ) from trouble


def _failing_check(one: ItemIntents, unit: UnitOfWork) -> Plan:
    """A plan that writes nothing: a check that always fails."""
    table, pk = one.mapping.table, one.mapping.table.pk.name
    never = all_of(exists(pk), missing(pk))
    assert never is not None
    check = ConditionCheck(unit.table_name(table.name), one.key, never)
    planned = Planned(check, OWN_ITEM, ItemPurpose.CHECK, one.mapping, one.key)
    return Plan((planned,), unit.token, made_at=unit.now, caller_token=True)
