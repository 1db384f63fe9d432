"""Slots become nets: what each intent does to its item, given what is known of it."""

from collections.abc import Iterable
from typing import Any

from dynaorm.entity.declare.catalog import stored_class
from dynaorm.entity.key import Key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import AlreadyExists, ConditionFailed, EntityNotFound, StaleEntity
from dynaorm.item.condition import all_of, paths_of, resolve
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.edit import edited_image, needs_reading, stored_changes, touched
from dynaorm.plan.fold import Slot, class_of, target
from dynaorm.plan.image import advance, changes_of, new_image
from dynaorm.plan.intent import Check, Edit, Move, Remove, Save
from dynaorm.plan.known import Known, Setting, ident_of
from dynaorm.plan.net import ABSENT, CHECK, DELETE, EDIT, KNOWN, PUT, UNKNOWN, UPDATE, Net

_UNREAD: Any = object()


def reads_of(slots: Iterable[Slot]) -> list[tuple[EntityMapping, Item]]:
    """The items that must be read, consistently, before these slots can be planned."""
    return [(slot.mapping, slot.key) for slot in slots if _needs_reading(slot)]


def _needs_reading(slot: Slot) -> bool:
    mapping, write, removal = slot.mapping, slot.write, slot.removal
    if isinstance(write, Save) and removal is None:
        return write.overwrite
    if isinstance(write, Edit) and isinstance(write.target, Key):
        return needs_reading(mapping, write.changes) or _names_renamed(slot)
    if isinstance(removal, Remove) and isinstance(removal.target, Key):
        mapping = class_of(removal)
        derived = bool(mapping.constraints or mapping.aggregates) or mapping.versioning is not None
        return write is not None or derived or _names_renamed(slot)
    if write is None and removal is None:
        return all(isinstance(check.target, Key) for check in slot.checks) and _names_renamed(slot)
    if isinstance(removal, Move):
        state = state_of(removal.entity)
        return state is not None and mapping.revision_of(state.item) is None
    return False


def _names_renamed(slot: Slot) -> bool:
    """Whether a condition names a field that may be stored under a former name."""
    for one in (slot.write, slot.removal, *slot.checks):
        if isinstance(one, (Edit, Remove, Check)) and one.condition is not None:
            fields = class_of(one).fields
            if any(fields[str(path[0])].formerly for path in paths_of(one.condition) if path[0] in fields):
                return True
    return False


def net_of(slot: Slot, known: Known, setting: Setting) -> Net | None:
    """What happens to one item; None where nothing does.

    Raises:
        EntityNotFound, AlreadyExists, StaleEntity: what was read already forbids it.
        UsageError: the intent cannot be planned.
    """
    read = known.items.get(ident_of(slot.mapping.table, slot.key), _UNREAD) if known.items else _UNREAD
    if read is _UNREAD and slot.checks:
        read = _as_checked(slot)
    net: Net | None = None
    if slot.removal is not None:
        net = _removed(slot, read, setting)
    if slot.write is not None:
        net = _written(slot, net, read, setting)
    if net is None and slot.checks:
        net = _checked(slot, read, setting)
    if net is not None:
        _add_conditions(slot, net)
    return net


def _as_checked(slot: Slot) -> Any:
    """What a check says is stored where an edit or deletion by key does not: its class may be another one."""
    blind = slot.removal if slot.write is None else slot.write
    if isinstance(blind, Edit | Remove) and isinstance(blind.target, Key):
        for check in slot.checks:
            if check.condition is None and (state := state_of(check.target)) is not None:
                return state.item
    return _UNREAD


def _checked(slot: Slot, read: Any, setting: Setting) -> Net:
    if read is _UNREAD:
        return Net(slot.mapping, slot.key, UNKNOWN, CHECK)
    try:
        stored = _live(slot.mapping, slot.key, read, setting.now)
    except EntityNotFound as absent:
        raise ConditionFailed(key=absent.key) from absent
    return Net(stored, slot.key, KNOWN, CHECK, read, stored, from_read=True)


def _add_conditions(slot: Slot, net: Net) -> None:
    for one in (slot.write, slot.removal, *slot.checks):
        if one is not None and not isinstance(one, Move) and one.condition is not None:
            condition = resolve(one.condition, FieldResolver(class_of(one), net.before))
            net.condition = all_of(net.condition, condition)
    for check in slot.checks:
        if check.condition is None:
            if net.knowledge is ABSENT:
                raise slot.refuse("is inserted as new, and checked to be stored already")
            if (state := state_of(check.target)) is not None:
                _expect_unchanged(net, class_of(check), state.item)


def _expect_unchanged(net: Net, mapping: EntityMapping, loaded: Item) -> None:
    """Let an item be written only if it is as loaded. Raises StaleEntity where that is known to be otherwise."""
    net.as_loaded = True
    if net.before is None:
        net.knowledge, net.before, net.before_mapping = KNOWN, loaded, mapping
        return
    expected, found = mapping.revision_of(loaded), mapping.revision_of(net.before)
    if expected != found or (expected is None and not _is_same(loaded, net.before)):
        raise StaleEntity(key=stored_key(mapping, net.key), expected=expected, found=found)


def _removed(slot: Slot, read: Any, setting: Setting) -> Net:
    assert slot.removal is not None
    mapping, named = class_of(slot.removal), target(slot.removal)
    if not isinstance(named, Key):
        state = state_of(named)
        assert state is not None
        if isinstance(slot.removal, Move) and read is not _UNREAD:
            _check_unchanged(mapping, slot.key, state.item, read)
        # A moved entity lives on under its new key: what becomes of the object is decided there.
        deleted = () if isinstance(slot.removal, Move) else (named,)
        return Net(mapping, slot.key, KNOWN, DELETE, state.item, mapping, entities=deleted)
    if read is _UNREAD:
        return Net(mapping, slot.key, UNKNOWN, DELETE)
    stored = _live(mapping, slot.key, read, setting.now)
    return Net(stored, slot.key, KNOWN, DELETE, read, stored, from_read=True)


def _check_unchanged(mapping: EntityMapping, key: Item, loaded: Item, read: Item | None) -> None:
    if read is None or not _is_same(loaded, read):
        raise StaleEntity(key=stored_key(mapping, key), expected=None, found=None)


def _is_same(left: Item, right: Item) -> bool:
    return all(same(left.get(name), right.get(name)) for name in {*left, *right})


def _live(mapping: EntityMapping, key: Item, read: Item | None, now: float) -> EntityMapping:
    """The class of an item that was read by key. Raises EntityNotFound where no live one is there."""
    if read is not None and not mapping.is_tombstone(read):
        stored = stored_class(mapping, read)
        if (
            stored is not None
            and issubclass(stored.entity, mapping.entity)
            and not stored.is_expired(read, now)
        ):
            return stored
    raise EntityNotFound(key=stored_key(mapping, key))


def _written(slot: Slot, removed: Net | None, read: Any, setting: Setting) -> Net | None:
    write = slot.write
    assert write is not None
    if isinstance(write, Edit):
        return _edited(slot, write, read, setting)
    if slot.state is not None and isinstance(write, Save) and not write.overwrite:
        return _updated(slot, write)
    if removed is not None:
        # What is stored goes with the removal, so it does not stand in the way.
        read = _UNREAD
    net = _moved(slot, write) if isinstance(write, Move) else _inserted(slot, write, read, setting)
    if removed is not None:
        net.knowledge, net.before, net.before_mapping = (
            removed.knowledge,
            removed.before,
            removed.before_mapping,
        )
        net.from_read = removed.from_read
        net.entities += removed.entities
    return net


def _inserted(slot: Slot, write: Save, read: Any, setting: Setting) -> Net:
    mapping, values = slot.mapping, vars(write.entity)
    mapping.validate(values)
    after = new_image(mapping, slot.key, values)
    net = Net(mapping, slot.key, ABSENT, PUT, after=after, entities=(write.entity,))
    net.values = values if mapping.is_exact else None
    if read is _UNREAD or read is None or mapping.is_expired(read, setting.now):
        net.from_read = write.overwrite
        return net
    if mapping.is_tombstone(read):
        stored: EntityMapping | None = mapping
    elif write.overwrite:
        stored = stored_class(mapping, read)
    else:
        stored = None
    if stored is None:
        raise AlreadyExists(key=stored_key(mapping, slot.key), violations=())
    net.knowledge, net.before, net.before_mapping, net.from_read = KNOWN, read, stored, True
    return net


def _updated(slot: Slot, write: Save) -> Net | None:
    mapping, values, state = slot.mapping, vars(write.entity), slot.state
    assert state is not None
    changes = changes_of(mapping, values, state)
    net = Net(mapping, slot.key, KNOWN, CHECK, state.item, mapping, entities=(write.entity,))
    if not changes:
        return net if write.condition is not None or slot.checks else None
    mapping.validate(values, frozenset(changes))
    net.write, net.changed = UPDATE, frozenset(changes)
    net.after = _advanced(mapping, values, state, changes)
    return net


def _moved(slot: Slot, move: Move) -> Net:
    mapping, values, state = slot.mapping, vars(move.entity), slot.state
    assert state is not None
    changes = changes_of(mapping, values, state)
    mapping.validate(values, frozenset(changes))
    after = {**_advanced(mapping, values, state, changes), **slot.key}
    return Net(mapping, slot.key, ABSENT, PUT, after=after, entities=(move.entity,))


def _advanced(
    mapping: EntityMapping, values: dict[str, Any], state: Loaded, changes: dict[str, AttributeValue | None]
) -> dict[str, AttributeValue]:
    in_keys = {name: values[name] for name in changes if mapping.fields[name].in_key}
    return advance(mapping, state.item, changes, in_keys)


def _edited(slot: Slot, edit: Edit, read: Any, setting: Setting) -> Net | None:
    mapping = slot.mapping
    touched(mapping, edit.changes)
    entities: tuple[Any, ...] = ()
    if isinstance(edit.target, Key) and read is _UNREAD:
        edits = stored_changes(mapping, edit.changes)
        return Net(mapping, slot.key, UNKNOWN, EDIT, edits=edits)
    if isinstance(edit.target, Key):
        stored, before = _live(mapping, slot.key, read, setting.now), read
    else:
        state = slot.state
        assert state is not None
        stored, before, entities = mapping, state.item, (edit.target,)
    after, changed = edited_image(stored, before, edit.changes)
    write = CHECK if _is_same(before, after) else UPDATE
    if write is CHECK and edit.condition is None and not slot.checks:
        return None
    return Net(
        stored, slot.key, KNOWN, write, before, stored, not entities, after,
        entities=entities, changed=changed, is_edit=True,
    )  # fmt: skip
