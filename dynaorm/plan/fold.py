"""Intents become net changes: at most one per item.

Rule 1. An item may be removed and put back in one unit of work (delete and re-create, a swap of keys): one Put under
        the condition of the removal.
Rule 2. One object saved twice is saved once; edits of one item add up if they touch different attributes; a check of
        an item that is also written becomes part of the write's condition.
Rule 3. Anything else that names an item twice is refused: it would depend on the order of the calls.
"""

from collections.abc import Sequence
from typing import Any

from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import SameItemTwice, UsageError
from dynaorm.item.condition import all_of
from dynaorm.item.path import overlaps
from dynaorm.item.update import Change
from dynaorm.item.value import Item
from dynaorm.plan.image import check_key_unchanged, writable_state
from dynaorm.plan.intent import Check, Edit, Intent, Move, Remove, Save
from dynaorm.plan.known import Ident, ident_of
from dynaorm.record import record


@record(frozen=False)
class Slot:
    """All intents about one item.

    ``mapping`` is the class of what is written; of what is removed or checked, where nothing is. Several classes of a
    family may be named for one item: what was loaded, and the key of its base class. ``state`` is what the object that
    is written was loaded as, None for one that is new or overwrites.
    """

    mapping: EntityMapping
    key: Item
    removal: Remove | Move | None = None
    write: Save | Edit | Move | None = None
    state: Loaded | None = None
    checks: tuple[Check, ...] = ()

    def refuse(self, problem: str) -> SameItemTwice:
        return SameItemTwice(key=stored_key(self.mapping, self.key), problem=problem)


def fold(intents: Sequence[Intent], now: float) -> list[Slot]:
    """One slot per item, in the order items are first named.

    Raises:
        SameItemTwice: two intents about one item have no single net effect.
        KeyChanged, StaleEntity, UsageError: an intent cannot be planned whatever is stored.
    """
    if len(intents) == 1:
        return _slots_of(intents[0], now)
    slots: dict[Ident, Slot] = {}
    for intent in intents:
        for slot in _slots_of(intent, now):
            first = slots.setdefault(ident_of(slot.mapping.table, slot.key), slot)
            if first is not slot:
                _add(first, slot)
    return [_legal(slot) for slot in slots.values()]


def _slots_of(intent: Intent, now: float) -> list[Slot]:
    """What an intent is about, as if there were no other: one item; two for a move."""
    if isinstance(intent, Save):
        return [_slot_of_save(intent, now)]
    if isinstance(intent, Move):
        return _slots_of_move(intent, now)
    named = intent.target
    if isinstance(named, Key):
        slot = Slot(_mapping_of_key(named), named.primary_key)
    else:
        mapping = mapping_of(type(named))
        state = writable_state(mapping, state_of(named), now)
        slot = Slot(mapping, mapping.key_of(state.item), state=state)
    if isinstance(intent, Check):
        slot.checks = (intent,)
    elif isinstance(intent, Remove):
        slot.removal = intent
    else:
        slot.write = intent
    return [slot]


def _slot_of_save(intent: Save, now: float) -> Slot:
    entity = intent.entity
    mapping, state = mapping_of(type(entity)), state_of(entity)
    if state is None or intent.overwrite:
        return Slot(mapping, mapping.primary_key(vars(entity)), write=intent)
    state = writable_state(mapping, state, now)
    check_key_unchanged(mapping, vars(entity), state)
    return Slot(mapping, mapping.key_of(state.item), None, intent, state)


def _slots_of_move(intent: Move, now: float) -> list[Slot]:
    mapping = mapping_of(type(intent.entity))
    if mapping.versioning is not None:
        raise UsageError(
            problem=f"{mapping.entity.__name__} keeps versions under its key, so it is not moved",
            remedy="save detached(entity) as a new one, and delete the old one",
        )
    state = writable_state(mapping, state_of(intent.entity), now)
    old, new = mapping.key_of(state.item), mapping.primary_key(vars(intent.entity))
    if ident_of(mapping.table, old) == ident_of(mapping.table, new):
        return [Slot(mapping, old, write=Save(intent.entity), state=state)]
    return [Slot(mapping, old, removal=intent), Slot(mapping, new, write=intent, state=state)]


def class_of(intent: Intent) -> EntityMapping:
    """The class an intent names. Raises UsageError for the key of no class."""
    named = target(intent)
    return _mapping_of_key(named) if isinstance(named, Key) else mapping_of(type(named))


def _mapping_of_key(key: Key[Any]) -> EntityMapping:
    if key.entity is None:
        raise UsageError(
            problem=f"{key!r} is the key of no mapped class", remedy="name the class: Key(Class, ...)"
        )
    return mapping_of(key.entity)


def _add(slot: Slot, other: Slot) -> None:
    """Add what another intent says of the same item."""
    if other.removal is not None:
        _add_removal(slot, other.removal, other.mapping)
    if other.write is not None:
        slot.mapping, slot.state = other.mapping, other.state
        _add_write(slot, other.write)
    slot.checks += other.checks


def _add_removal(slot: Slot, removal: Remove | Move, mapping: EntityMapping) -> None:
    before = slot.removal
    if before is not None and not _same_target(before, removal):
        raise slot.refuse("is deleted twice, by two different objects")
    if isinstance(before, Remove) and isinstance(removal, Remove):
        removal = Remove(before.target, all_of(before.condition, removal.condition))
    elif before is not None and type(before) is not type(removal):
        raise slot.refuse("is both deleted and moved")
    slot.removal = removal
    if slot.write is None:
        slot.mapping = mapping


def _add_write(slot: Slot, write: Save | Edit | Move) -> None:
    before = slot.write
    if before is None:
        slot.write = write
    elif isinstance(before, Edit) and isinstance(write, Edit) and _same_target(before, write):
        slot.write = Edit(
            before.target,
            _added(slot, before.changes, write.changes),
            all_of(before.condition, write.condition),
        )
    elif isinstance(before, Save) and isinstance(write, Save) and before.entity is write.entity:
        slot.write = Save(
            write.entity, all_of(before.condition, write.condition), before.overwrite or write.overwrite
        )
    elif isinstance(before, Move) and isinstance(write, Move) and before.entity is write.entity:
        slot.write = write
    else:
        raise slot.refuse("is written twice, and the outcome would depend on the order")


def _added(slot: Slot, first: tuple[Change, ...], second: tuple[Change, ...]) -> tuple[Change, ...]:
    for one in first:
        for other in second:
            if overlaps(one.path, other.path):
                raise slot.refuse(f"has {'.'.join(map(str, other.path))} changed twice")
    return first + second


def _legal(slot: Slot) -> Slot:
    if slot.removal is None or slot.write is None:
        return slot
    inserted = isinstance(slot.write, Move) or (
        isinstance(slot.write, Save) and (state_of(slot.write.entity) is None or slot.write.overwrite)
    )
    if not inserted or _same_target(slot.removal, slot.write):
        raise slot.refuse("is both deleted and changed")
    return slot


def _same_target(left: Save | Edit | Remove | Move, right: Save | Edit | Remove | Move) -> bool:
    one, other = target(left), target(right)
    return one is other or (isinstance(one, Key) and one == other)


def target(intent: Intent) -> Any:
    """The entity object or key an intent names."""
    return intent.entity if isinstance(intent, (Save, Move)) else intent.target
