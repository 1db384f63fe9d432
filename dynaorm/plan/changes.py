"""Merged intents become changes: what happens to each item, given what has been read of it."""

from typing import Any

from dynaorm.entity.declare.catalog import has_expired, stored_class
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import Validated
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import ConditionFailed, EntityNotFound, InvalidValue, StaleEntity
from dynaorm.item.condition import Condition, all_of
from dynaorm.item.evaluate import holds
from dynaorm.item.resolve import resolve
from dynaorm.item.value import Item, same_items
from dynaorm.plan.already_stored import already_exists, standing
from dynaorm.plan.creation import created
from dynaorm.plan.edit import changes_beside, edited_image
from dynaorm.plan.image import advance, new_image, over_origin, under_present_names
from dynaorm.plan.intent import Deletion, Edit, Move, Save, condition_of
from dynaorm.plan.item_change import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    LoadedEntity,
    StoredItem,
)
from dynaorm.plan.merge_intents import ItemIntents, ResolvedIntent
from dynaorm.plan.object_values import in_place_of
from dynaorm.plan.reads import UNREAD, AsRead, Reads
from dynaorm.plan.unit_of_work import EVER, UnitOfWork
from dynaorm.record import replace


def item_change_of(one: ItemIntents, reads: Reads, unit: UnitOfWork) -> ItemChange | None:
    """What happens to one item; None if nothing does.

    Raises:
        EntityNotFound, AlreadyExists, StaleEntity: what was read already forbids it.
        UsageError: the intent cannot be planned.
    """
    read: AsRead = reads.items.get(one.ident, UNREAD) if reads.items else UNREAD
    if read is UNREAD and one.checks:
        read = _as_checked(one)
    removed = _delete(one, one.removal, read) if one.removal is not None else None
    change: ItemChange | None = removed
    if one.write is not None:
        change = _write(one, one.write, removed, read, now=unit.now)
    elif removed is None:
        change = _check(one, read, unit.now)
    if change is None:
        return None
    # Most writes have neither conditions nor checks, and every save asks.
    if (
        one.write is None
        or one.removal is not None
        or one.checks
        or condition_of(one.write.intent) is not None
    ):
        change = _with_conditions(one, change)
    return _with_checks(one, change) if one.checks else change


def _as_checked(one: ItemIntents) -> AsRead:
    """The item that a check was loaded from, if the edit or deletion is by key: its class may be another one."""
    by_key = one.removal if one.write is None else one.write
    if by_key is not None and by_key.state is None and isinstance(by_key.intent, (Edit, Deletion)):
        for check in one.checks:
            if check.intent.condition is None and check.state is not None:
                return check.state.item
    return UNREAD


def _with_conditions(one: ItemIntents, change: ItemChange) -> ItemChange:
    conditions = [
        resolve(given, FieldResolver(resolved.mapping, revision=True))
        for resolved in one.intents
        if (given := condition_of(resolved.intent)) is not None
        # The condition of an upsert was judged on nothing. An expired item or a tombstone may be stored.
        and not (type(change) is ItemInsert and type(resolved.intent) is Edit)
    ]
    return replace(change, condition=all_of(*conditions)) if conditions else change


def _with_checks(one: ItemIntents, change: ItemChange) -> ItemChange:
    """The change, only if the item is as the objects that are checked were loaded."""
    for check in one.checks:
        if check.intent.condition is None:
            makes = type(change) is ItemInsert and change.before is None
            if makes or (type(change) is ItemEdit and change.creates):
                raise one.refuse("is inserted as new, and checked to be stored already")
            # An edit by key knows its item if there is such a check.
            if check.state is not None and type(change) is not ItemEdit:
                before = _as_loaded(change, check.mapping, check.state.item)
                change = replace(change, before=before)
    return change


def _as_loaded(
    change: ItemInsert | ItemUpdate | ItemDelete | ItemCheck, mapping: EntityMapping, loaded: Item
) -> StoredItem:
    """The stored item, to be as it was loaded. Raises StaleEntity if it is known to be otherwise."""
    before = change.before
    if before is None:
        # A deletion or a check. Without a revision, the condition of these compares all attributes anyway.
        return StoredItem(mapping, loaded)
    expected, found = mapping.revision_of(loaded), mapping.revision_of(before.item)
    if expected != found or (mapping.table.mark_of(loaded) is None and not same_items(loaded, before.item)):
        there = standing(before.mapping, before.item)
        raise StaleEntity(key=stored_key(mapping, change.key), expected=expected, found=found, stored=there)
    return replace(before, as_loaded=True)


def _live(mapping: EntityMapping, key: Item, read: Item | None, now: float) -> StoredItem:
    """The entity that was read by key. Raises EntityNotFound if no live one is there."""
    if (item := mapping.undeleted(read)) is not None:
        stored = stored_class(mapping, item)
        if (
            stored is not None
            and issubclass(stored.entity, mapping.entity)
            and not stored.is_expired(item, now)
        ):
            return StoredItem(stored, item, from_read=True)
    raise not_found(mapping, stored_key(mapping, key), read, now)


# -- checks and deletions ----------------------------------------------------------------------------------------------


def _check(one: ItemIntents, read: AsRead, now: float) -> ItemCheck:
    if read is UNREAD:
        return ItemCheck(one.mapping, one.key)
    stored = _live(one.mapping, one.key, read, now)
    return ItemCheck(stored.mapping, one.key, stored)


def _delete(one: ItemIntents, removal: ResolvedIntent[Deletion | Move], read: AsRead) -> ItemDelete:
    intent, mapping, state = removal.intent, removal.mapping, removal.state
    if state is not None:
        if type(intent) is Deletion:
            return ItemDelete(mapping, one.key, StoredItem(mapping, state.item), intent.target)
        if read is not UNREAD and not same_items(state.item, read):
            there = standing(mapping, read)
            raise StaleEntity(key=stored_key(mapping, one.key), expected=None, found=None, stored=there)
        # A moved entity is stored under its new key: the insert decides what the object becomes.
        return ItemDelete(mapping, one.key, StoredItem(mapping, state.item))
    if read is UNREAD:
        return ItemDelete(mapping, one.key)
    # What has expired can be deleted.
    stored = _live(mapping, one.key, read, EVER)
    return ItemDelete(stored.mapping, one.key, stored)


# -- writes ------------------------------------------------------------------------------------------------------------


def _write(
    one: ItemIntents,
    write: ResolvedIntent[Save | Edit | Move],
    removed: ItemDelete | None,
    read: AsRead,
    *,
    now: float,
) -> ItemChange | None:
    intent, state = write.intent, write.state
    if type(intent) is Edit:
        return _edit(one, intent, write, read, now=now)
    if type(intent) is Save and state is not None and not intent.overwrite:
        return _update(one, intent, write)
    if removed is not None:
        # Rule 1 of ``merge_intents``. What is stored is deleted: it does not stand in the way, whatever was read.
        insert = (
            _move(one, intent.entity, write)
            if type(intent) is Move
            else _insert(one, intent, write, write.valid)
        )
        return replace(insert, before=removed.before, deleted=removed.entity)
    if type(intent) is Move:
        return _move(one, intent.entity, write)
    if read is not UNREAD:
        return _insert_where_read(one, intent, write, read, now=now)
    insert = _insert(one, intent, write, write.valid)
    if not intent.overwrite:
        return insert
    return replace(insert, replaces=True, replacing=_resolved(intent.replacing, one.mapping))


def _insert(one: ItemIntents, save: Save, write: ResolvedIntent[Any], valid: Validated) -> ItemInsert:
    """The insert of a saved entity, where nothing is known of what is stored."""
    mapping = one.mapping
    image = new_image(mapping, one.key, valid.values, valid.encoded)
    if save.origin is not None:
        image = over_origin(mapping, image, save.origin)
    return ItemInsert(mapping, one.key, image, save.entity, valid.values, valid.altered, write.state)


def _insert_where_read(
    one: ItemIntents, save: Save, write: ResolvedIntent[Any], read: Item | None, *, now: float
) -> ItemInsert:
    """The insert of a saved entity where this was read. Raises AlreadyExists, ConditionFailed."""
    mapping, valid = one.mapping, write.valid
    # CreatedAt stays that of the entity that is replaced. What has expired is absent, so it has none.
    if read is not None and save.overwrite and not has_expired(mapping, read, now):
        stored = StoredItem(stored_class(mapping, read) or mapping, read)
        valid = in_place_of(mapping, valid, save.entity, stored)
    placed = _placed(_insert(one, save, write, valid), read, overwrite=save.overwrite, now=now)
    if placed.before is not None and mapping.undeleted(placed.before.item) is not None:
        _check_replaced(save.replacing, placed.before, one.key)
    return placed


def _placed(insert: ItemInsert, read: Item | None, *, overwrite: bool = False, now: float) -> ItemInsert:
    """The insert where this was read. Raises AlreadyExists if that stands in its way."""
    mapping = insert.mapping
    if read is None or has_expired(mapping, read, now):
        return replace(insert, found_nothing=overwrite)
    is_deleted = mapping.undeleted(read) is None
    stored = mapping if is_deleted else stored_class(mapping, read) if overwrite else None
    if stored is None:
        raise already_exists(mapping, insert.key, insert.image, read)
    return replace(insert, before=StoredItem(stored, read, from_read=True))


def _check_replaced(replacing: Condition | None, before: StoredItem, key: Item) -> None:
    """Raises ConditionFailed if an entity that is stored is not to be replaced."""
    if not _holds(replacing, before):
        raise ConditionFailed(
            key=stored_key(before.mapping, key), stored=standing(before.mapping, before.item)
        )


def _update(one: ItemIntents, save: Save, write: ResolvedIntent[Any]) -> ItemUpdate | ItemCheck | None:
    mapping, altered, state, changes = one.mapping, write.valid.altered, write.state, write.changes
    assert state is not None  # a new entity is inserted
    is_asked = save.condition is not None or bool(one.checks)
    if not (changes or altered or is_asked):
        return None
    before, loaded = StoredItem(mapping, state.item), LoadedEntity(save.entity, state)
    if not changes:
        return ItemCheck(mapping, one.key, before, loaded, altered=altered, is_sent=is_asked)
    image = advance(mapping, state.item, changes, write.valid.values)
    return ItemUpdate(mapping, one.key, before, image, frozenset(changes), loaded, altered=altered)


def _move(one: ItemIntents, entity: Any, write: ResolvedIntent[Any]) -> ItemInsert:
    mapping, valid, state = one.mapping, write.valid, write.state
    assert state is not None  # a move of a new entity has been refused
    # What depends on the whole entity is computed from an item under the new key.
    image = advance(mapping, {**state.item, **one.key}, write.changes, valid.values)
    return ItemInsert(mapping, one.key, image, entity, valid.values, valid.altered, state)


def _edit(
    one: ItemIntents, edit: Edit, write: ResolvedIntent[Any], read: AsRead, *, now: float
) -> ItemInsert | ItemEdit | ItemUpdate | ItemCheck | None:
    mapping, state = one.mapping, write.state
    if state is not None:
        known, loaded = StoredItem(mapping, state.item), LoadedEntity(edit.target, state)
        return _edit_known(one, edit, known, loaded, now=now)
    if read is UNREAD:
        assert write.blind is not None  # otherwise the item has been read
        return write.blind
    try:
        before = _live(mapping, one.key, read, now)
    except EntityNotFound:
        if not edit.creates:
            raise
        return _creation(one, edit, read, now=now)
    # Who asked for the read takes what was read for what the update was made of.
    return _edit_known(one, edit, replace(before, as_loaded=edit.read_first), None, now=now)


def _edit_known(
    one: ItemIntents, edit: Edit, before: StoredItem, loaded: LoadedEntity | None, *, now: float
) -> ItemUpdate | ItemCheck | None:
    try:
        image, changed = edited_image(before.mapping, before.item, edit.changes)
        is_write = edit.touches or not _is_unchanged(before, image)
        # Only where something changes: an edit without effect sends nothing.
        beside = changes_beside(before.mapping, now) if is_write else ()
        if beside:
            image, changed = edited_image(before.mapping, before.item, (*edit.changes, *beside))
    except InvalidValue:
        # The caller's condition comes first: without a read, DynamoDB would have refused the write because of it.
        if before.from_read and not _holds(edit.condition, before):
            there = standing(before.mapping, before.item)
            raise ConditionFailed(key=stored_key(before.mapping, one.key), stored=there) from None
        raise
    if is_write:
        return ItemUpdate(before.mapping, one.key, before, image, changed, loaded, is_edit=True)
    if edit.condition is None and not one.checks:
        return None
    # Where only names would change, nothing is written, and the object keeps what is stored.
    image = image if same_items(before.item, image) else {**before.item}
    return ItemCheck(before.mapping, one.key, before, loaded, image, changed)


def _is_unchanged(before: StoredItem, image: Item) -> bool:
    """Whether an edit has no effect. To rename attributes and classes alone, nothing is written."""
    return same_items(before.item, image) or same_items(
        under_present_names(before.mapping, before.item), image
    )


def _creation(one: ItemIntents, edit: Edit, read: Item | None, *, now: float) -> ItemInsert:
    """The insert of an upsert that has found no live entity. Raises ConditionFailed, InvalidValue, AlreadyExists."""
    mapping = one.mapping
    # Nothing is stored, so every field has its default.
    if not _holds(edit.condition, StoredItem(mapping, {})):
        raise ConditionFailed(key=stored_key(mapping, one.key))
    values = created(mapping, edit.target, edit.changes, now)
    insert = ItemInsert(mapping, one.key, new_image(mapping, one.key, values), None, values)
    return replace(_placed(insert, read, now=now), found_nothing=True)


def _holds(condition: Condition | None, before: StoredItem) -> bool:
    resolved = _resolved(condition, before.mapping)
    return resolved is None or holds(resolved, before.item)


def _resolved(condition: Condition | None, mapping: EntityMapping) -> Condition | None:
    return None if condition is None else resolve(condition, FieldResolver(mapping, revision=True))
