"""Intents become a plan: the table of contents of every write rule.

fold (one slot per item) -> nets (what happens to each) -> totals -> stamps (revision, version) -> guards -> actions ->
limits.
"""

from collections.abc import Iterable
from typing import Any

from dynaorm.entity.state import Loaded, state_of
from dynaorm.plan.aggregate_action import total_actions
from dynaorm.plan.aggregates import settle_totals
from dynaorm.plan.emit import actions_of
from dynaorm.plan.fold import Slot
from dynaorm.plan.guards import claims_of, guard_action, guards_of
from dynaorm.plan.known import Known, Setting
from dynaorm.plan.net import CHECK, EDIT, PUT, UPDATE, Net
from dynaorm.plan.nets import net_of
from dynaorm.plan.plan import Plan, check_limits
from dynaorm.plan.planned import Effect, Planned
from dynaorm.plan.stamp import stamp
from dynaorm.plan.token import revision_under_token


def compile_plan(slots: Iterable[Slot], known: Known, setting: Setting) -> Plan:
    """The plan of a unit of work, from its folded intents.

    Raises:
        UsageError (and its kinds): it cannot be planned.
        StoreError (and its kinds): what is known already forbids it.
    """
    slots = tuple(slots)
    nets = [net for slot in slots if (net := net_of(slot, known, setting)) is not None]
    if setting.token is not None:
        setting = setting._replace(write_id=revision_under_token(slots, setting))
    dues = settle_totals(nets, slots) if _are_counted(nets) else ()
    stamp(nets, setting)
    actions = _ordered(nets, known, setting)
    if dues:
        actions += total_actions(dues, known, setting.write_id, setting)
    effects: list[Effect] = []
    for net in nets:
        effects += _effects(net)
    plan = Plan(
        tuple(actions),
        _token(nets, actions, setting),
        tuple(effects),
        setting.now,
        setting.token is not None,
        len(nets) == 1 and nets[0].write is EDIT,
    )
    return check_limits(plan)


def _are_counted(nets: list[Net]) -> bool:
    """Whether a total may depend on any of these; a loop, because every save asks."""
    for net in nets:  # noqa: SIM110
        if net.mapping.table.rules.is_counted:
            return True
    return False


def _ordered(nets: list[Net], known: Known, setting: Setting) -> list[Planned]:
    """Each item's own action, its version, and the guards first met with it: releases before claims as declared."""
    if len(nets) == 1 and nets[0].before is None and nets[0].write is PUT:
        return actions_of(nets[0], setting) + claims_of(nets[0], setting)
    actions: list[Planned] = []
    for net, met in zip(nets, guards_of(nets), strict=True):
        actions += actions_of(net, setting)
        if net.before is not None and len(met) > 1:
            order = list(net.mapping.constraints)
            met.sort(key=lambda guard: order.index(guard.constraint) if guard.constraint in order else 0)
        actions += [found for guard in met if (found := guard_action(guard, known, setting)) is not None]
    return actions


def _token(nets: list[Net], actions: list[Planned], setting: Setting) -> str | None:
    if setting.token is not None:
        return setting.token
    if not actions:
        return None
    if len(actions) > 1 or setting.exactly_once or nets[0].write is CHECK:
        return setting.write_id
    # Without a revision a write could not recognise its own commit after a lost answer: the token does it instead.
    has_revision = nets[0].mapping.table.revision_attribute is not None and actions[0].expected_values is None
    return None if has_revision else setting.write_id


def _effects(net: Net) -> list[Effect]:
    """What becomes of the caller's objects: the one that is written is loaded, one that is deleted is new again."""
    if not net.entities or net.write is CHECK:
        return []
    if net.write is not PUT and net.write is not UPDATE:
        return [Effect(entity, None) for entity in net.entities]
    written, deleted = net.entities[0], net.entities[1:]
    effects = [_effect(net, written)]
    if deleted:
        effects += [Effect(entity, None) for entity in deleted if entity is not written]
    return effects


def _effect(net: Net, entity: Any) -> Effect:
    assert net.after is not None
    values = None
    if net.is_edit or net.settled:
        fresh = vars(net.mapping.hydrate(net.after))
        values = {name: fresh[name] for name in (net.changed if net.is_edit else net.settled)}
    if net.write is PUT:
        return Effect(entity, Loaded(net.after), values)
    state = state_of(entity)
    assert state is not None
    absent = {name: value for name, value in state.defaults.items() if name not in net.after}
    return Effect(entity, Loaded(net.after, absent), values)
