"""Find out by reading whether a plan, or an equal block under its token, was committed.

Rule 1. A token item, or else a revision that no other block writes, proves that the whole block was committed: a
        transaction is atomic.
Rule 2. What other plans write too is no evidence: guard items, totals, an item that is missing.
"""

from typing import Final

from dynaorm.errors import OutcomeUnknown, TokenReused, UsageError
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import get_item
from dynaorm.item.action import Put, Update
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import Item, same
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.remember import Match, compare, revision_in

OTHER_BYTES: Final = "the token was used in the last ten minutes, for this block or for another"
PERHAPS_APPLIED: Final = (
    "get the entities to see whether the block was applied, and decide again; "
    "give every other block its own token"
)
DELETES: Final = (Purpose.DELETE, Purpose.PURGE)

_PERHAPS_THIS: Final = (
    "the token is remembered for a block that differs in what it saves of loaded entities: this block, loaded from "
    "other items, or another one"
)
_FIND_OUT: Final = "call session.resume(error.plan), which finds out whether it was made"


def is_recognised(plan: Plan, context: Context) -> Flow[bool]:
    """Whether an item carries the plan's revision: the proof that an equal block was committed under its token."""
    for planned in plan.actions:
        if planned.revision is not None and planned.has_written((yield from stored(plan, planned, context))):
            return True
    return False


def is_committed(plan: Plan, context: Context) -> Flow[bool]:
    """Whether the items say that the plan was committed. One written by it is enough: a transaction is atomic.

    A missing item may have been deleted by another writer, so it is evidence only if the plan deletes it.
    """
    if plan.token_item is not None:
        match = yield from remembered(plan, plan.token_item, context)
        if match is Match.PERHAPS:
            raise perhaps_applied(plan)
        # While it would be remembered, it was committed only if it is.
        if match is Match.SAME or not _is_forgotten(plan.token_item, context):
            return match is Match.SAME
    missing: list[bool] = []
    for planned in plan.actions:
        if not planned.is_evidence:
            continue
        item = yield from stored(plan, planned, context)
        if planned.purpose not in DELETES and is_in_effect(planned, item):
            return True
        missing.append(planned.purpose in DELETES and item is None)
    if not missing and plan.caller_token:
        raise OutcomeUnknown(plan=plan, reason=OTHER_BYTES, remedy=PERHAPS_APPLIED)
    return bool(missing) and all(missing)


def remembered(plan: Plan, token_item: Planned, context: Context, found: Item | None = None) -> Flow[Match]:
    """What the stored token item says about the block of a plan. ``found``: the item, if a refusal returned it."""
    item = (yield from stored(plan, token_item, context)) if found is None else found
    return compare(token_item, item, context.clock.now())


def remembered_revision(plan: Plan, token_item: Planned, context: Context) -> Flow[str | None]:
    """The revision of the block that a token item remembers; None if the token is free.

    Raises:
        TokenReused: it remembers another block.
        OutcomeUnknown: nobody knows which, or it cannot be read; the error has ``plan``.
    """
    item = yield from stored(plan, token_item, context)
    match = compare(token_item, item, context.clock.now())
    if match is Match.OTHER:
        raise remembered_otherwise(str(plan.token))
    if match is Match.PERHAPS:
        raise perhaps_applied(plan)
    return revision_in(item) if match is Match.SAME and item is not None else None


def remembered_otherwise(token: str) -> TokenReused:
    """The error where a token item is that of another block."""
    return TokenReused(
        token=token, problem=f"the token {token!r} is remembered for another block; nothing was written"
    )


def perhaps_applied(plan: Plan) -> OutcomeUnknown:
    """The error where a token item may be that of the plan's block, or of another one."""
    return OutcomeUnknown(plan=plan, reason=_PERHAPS_THIS, remedy=PERHAPS_APPLIED)


def _is_forgotten(token_item: Planned, context: Context) -> bool:
    """Whether the token item would have expired by now, if the plan had put it."""
    return compare(token_item, token_item.after, context.clock.now()) is Match.FREE


def revision_of_block(plan: Plan, context: Context) -> Flow[str | None]:
    """The revision that the plan's block wrote when it was applied, if its token item says so."""
    if plan.token_item is None:
        return None
    item = yield from stored(plan, plan.token_item, context)
    return None if item is None else revision_in(item)


def stored(plan: Plan, planned: Planned, context: Context) -> Flow[Item | None]:
    """The item that an action writes, as it is stored now. Raises OutcomeUnknown if it cannot be read."""
    try:
        return (yield from get_item(planned.table, planned.item_key, context))
    except Exception as trouble:
        raise cannot_tell(plan, "the item could not be read back", trouble) from trouble


def cannot_tell(plan: Plan, why: str, trouble: Exception) -> OutcomeUnknown:
    """The error of a write that got no answer, if the next request fails, too: the credentials have expired."""
    if isinstance(trouble, UsageError):
        why, remedy = f"{why}: {trouble.problem}", f"{trouble.remedy}; then {_FIND_OUT}"
        return OutcomeUnknown(plan=plan, reason=why, remedy=remedy)
    return OutcomeUnknown(plan=plan, reason=why, remedy=_FIND_OUT)


def is_in_effect(planned: Planned, item: Item | None) -> bool:
    if item is None or planned.revision is not None:
        return planned.has_written(item)
    action = planned.action
    if isinstance(action, Put):
        return same({"M": item}, {"M": action.item})
    # Others may have changed the rest of the item since.
    return isinstance(action, Update) and all(_is_made(item, change) for change in action.changes)


def _is_made(item: Item, change: Change) -> bool:
    """Whether an item shows a change. A change that adds or appends cannot be seen in the item."""
    if isinstance(change, SetTo) and len(change.path) == 1:
        return same(item.get(str(change.path[0])), change.value)
    return isinstance(change, Remove) and len(change.path) == 1 and str(change.path[0]) not in item
