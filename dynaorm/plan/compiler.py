"""Merged intents become a plan: the table of contents of every write rule.

merge_intents (one ``ItemIntents`` per item) -> changes (what happens to each item) -> what others add to these items ->
own items, with their numbers and revisions -> what follows from them, kind by kind -> token item -> limits.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from dynaorm.item.action import ConditionCheck, Update
from dynaorm.item.value import Item
from dynaorm.plan.changes import item_change_of
from dynaorm.plan.effects import Effect, effects_of
from dynaorm.plan.fingerprint import in_order, revision_under_token
from dynaorm.plan.intent import Deletion
from dynaorm.plan.item_change import ItemChange, ItemUpdate
from dynaorm.plan.kinds.derived import derived_actions
from dynaorm.plan.kinds.derived_kinds import DERIVED_KINDS
from dynaorm.plan.kinds.own_item import final_item, own_action
from dynaorm.plan.merge_intents import ItemIntents
from dynaorm.plan.plan import Plan, check_limits
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import Reads
from dynaorm.plan.same_block import token_item_of
from dynaorm.plan.targets import additions, with_additions
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import replace

# Sums are added to by all changes together.
_NUMBERED: Final = tuple(kind for kind in DERIVED_KINDS if kind.is_numbered)
_OF_ONE_CHANGE: Final = tuple(kind for kind in DERIVED_KINDS if not kind.is_summed)


def compile_plan(merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork) -> Plan:
    """The plan of a unit of work, from its merged intents.

    Raises:
        UsageError (and its kinds): it cannot be planned.
        StoreError (and its kinds): what was read already forbids it.
    """
    changes: list[ItemChange] = []
    for one in merged:  # a loop, here and below, because every save takes this way
        if (change := item_change_of(one, reads, unit)) is not None:
            changes.append(change)  # noqa: PERF401 - see above
    if unit.token is not None and unit.remember is None:
        # An equal block writes the same revision, and finds by it that it was applied before.
        unit = replace(unit, write_id=revision_under_token(merged, unit))
    actions, effects = planned_changes(changes, merged, reads, unit)
    if unit.remember is not None and merged:
        actions.append(token_item_of(merged, unit))
    if unit.token is not None:
        # DynamoDB takes a token with other bytes for another block.
        actions = [replace(one, action=in_order(one.action)) for one in actions]
    token = unit.token
    if token is None and _is_transaction(actions, unit):
        token = unit.write_id
    wants_item = _wants_item(actions) or _returns_deleted(merged)
    return check_limits(
        Plan(tuple(actions), token, tuple(effects), unit.now, unit.token is not None, wants_item)
    )


def planned_changes(
    changes: list[ItemChange], merged: Sequence[ItemIntents], reads: Reads, unit: UnitOfWork
) -> tuple[list[Planned], list[Effect]]:
    """All actions of some changes, and what becomes of the caller's objects."""
    changes, contributions = with_additions(changes, merged)
    finals: list[Item | None] = []
    own: list[Planned | None] = []
    untold: list[int] = []  # which own actions rely on the answer to say what others wrote beside them
    for change in changes:
        final = final_item(change, _NUMBERED, unit)
        finals.append(final)
        planned = own_action(change, final, unit)
        if planned is not None and planned.basis.expected_values is not None and _is_untold(change, changes):
            untold.append(len(own))
        own.append(planned)
    derived = derived_actions(changes, finals, _OF_ONE_CHANGE, reads=reads, unit=unit)
    added = additions(contributions, reads, unit) if contributions else []
    # Only now it is known whether all is one plain write: a transaction answers nothing, so these have to rely on more.
    if untold and _is_transaction([*filter(None, own), *chain(*derived), *added], unit):
        for at in untold:
            own[at] = own_action(changes[at], finals[at], unit, is_told=False)
    actions: list[Planned] = []
    effects: list[Effect] = []
    for change, planned, others in zip(changes, own, derived, strict=True):
        if planned is not None:
            actions.append(planned)
        actions += others
        effects += effects_of(change, None if planned is None else planned.after)
    return actions + added, effects


def _is_untold(change: ItemChange, changes: list[ItemChange]) -> bool:
    """Whether a change without a revision has an object, or an answer, that must be what is stored."""
    return type(change) is ItemUpdate and (change.loaded is not None or len(changes) == 1)


def _is_transaction(actions: list[Planned], unit: UnitOfWork) -> bool:
    """Whether these are sent as one; a plan that only checks always is."""
    if unit.token is not None:
        return True
    if len(actions) != 1:
        return bool(actions)
    return unit.exactly_once or type(actions[0].action) is ConditionCheck


def _wants_item(actions: list[Planned]) -> bool:
    """Whether what an update leaves of its item is not known before; it is if a revision names what is stored."""
    return len(actions) == 1 and type(actions[0].action) is Update and actions[0].expected is None


def _returns_deleted(merged: Sequence[ItemIntents]) -> bool:
    """Whether the caller asks for what is deleted; a loop, because every save asks."""
    for one in merged:
        if one.removal is not None and type(one.removal.intent) is Deletion:
            return one.removal.intent.returning
    return False
