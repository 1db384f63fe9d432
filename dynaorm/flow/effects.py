"""What becomes of the caller's objects once a plan is committed, or turns out not to be."""

from collections.abc import Sequence

from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.write_events import revision_of_block, stored
from dynaorm.item.value import Item
from dynaorm.plan.effects import Effect, take_returned
from dynaorm.plan.plan import Plan


def awaited(plan: Plan) -> list[Effect]:
    """The effects on entities that are still unsettled: a copy may resume a plan after its original was settled."""
    return [effect for effect in plan.effects if effect.is_awaited(plan)]


def settle_as_before(plan: Plan) -> None:
    """Give the waiting entities back what they were: the plan is not in effect."""
    for effect in awaited(plan):
        effect.settle_as_before()


def take_item(effects: Sequence[Effect], plan: Plan, item: Item | None) -> None:
    """Give the object of a plain write what others wrote beside it; ``item`` is what the write left, if that is known.

    Raises:
        DecodeError: the item was written, and does not load.
    """
    if item is None or plan.is_transaction:
        return
    planned = plan.actions[0]
    for effect in effects:
        if effect.state is not None and effect.state.item is planned.after:
            take_returned(effect, planned.mapping, item)


def as_stored(effects: Sequence[Effect], plan: Plan, context: Context) -> Flow[list[Effect]]:
    """The effects of a plan that was committed from other bytes: entities become what is stored, if still theirs."""
    if not effects:
        return []
    found: list[Effect] = []
    revision = yield from revision_of_block(plan, context)
    for effect in effects:
        planned = next(
            (one for one in plan.actions if effect.state is not None and one.after is effect.state.item), None
        )
        if planned is None:
            found.append(effect)
            continue
        item = yield from stored(planned, context)
        if item is not None and planned.mapping.table.mark_of(item) == (revision or planned.revision):
            found.append(effect.with_item(planned.mapping, item))
        elif planned.revision is not None and revision is not None:
            found.append(effect.with_revision(planned.mapping, revision))
        else:
            found.append(effect)
    return found
