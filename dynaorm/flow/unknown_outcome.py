"""Objects whose last write has no known outcome: it is found out before they are written again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynaorm.entity.ident import ident_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import Unsettled, state_of, unsettled_of
from dynaorm.errors import OutcomeUnknown, StoreError, UsageError
from dynaorm.flow.applied_before import is_equal_block
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.retry import WINDOW_SECONDS
from dynaorm.flow.write import resume
from dynaorm.late import late
from dynaorm.plan.intent import Deletion, Intent, target_of_intent
from dynaorm.plan.plan import Plan
from dynaorm.plan.unit_of_work import UnitOfWork

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
        if isinstance(plan, Plan) and plan.caller_token and plan.token == unit.token:
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
        mapping.table, mapping.primary_key.of(vars(entity))
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
