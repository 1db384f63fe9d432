"""Merged intents become changes: what happens to each item, given what has been read of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dynaorm.entity.declare.catalog import has_expired, stored_class
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.key import Key, no_class, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.validate import Validated
from dynaorm.entity.resolve import resolve_condition
from dynaorm.entity.state import Loaded, state_of
from dynaorm.entity.table import Ident, ident_of
from dynaorm.errors import (
    ConditionFailed,
    EntityNotFound,
    InvalidValue,
    SameItemTwice,
    StaleEntity,
    UsageError,
)
from dynaorm.item.condition import Condition, all_of, exists, has_local_condition, holds, missing
from dynaorm.item.path import overlaps
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item, same_items
from dynaorm.plan.derived_kinds import DERIVED_KINDS, has_derived, reason_to_read
from dynaorm.plan.edit import changes_beside, created, created_if_valid, edited_image, validate_changes
from dynaorm.plan.intent import (
    NEVER_EXPIRED,
    UNREAD,
    AsRead,
    Check,
    Deletion,
    Edit,
    Intent,
    Move,
    Reads,
    Save,
    UnitOfWork,
    condition_of,
    target_of_intent,
)
from dynaorm.plan.stored import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    LoadedEntity,
    StoredItem,
    already_exists,
    loaded_key,
    standing,
    writable_state,
)
from dynaorm.plan.values import (
    apply_field_changes,
    changed_values,
    new_image,
    validated_for_overwrite,
    whole_values,
    with_current_names,
    with_unknown_attributes,
)
from dynaorm.plan.without_reading import edit_without_reading, upsert_without_reading
from dynaorm.record import record, replace

# Intents are resolved and merged: one ``ItemIntents`` per item.
#
# Rule 1. An item may be deleted and put back in one unit of work (delete and re-create, a swap of keys): this becomes
#         one Put under the condition of the deletion.
# Rule 2. One object saved twice is saved once. Edits of one item are combined if they change different attributes. A
#         check of an item that is also written becomes part of the write's condition.
# Rule 3. Any other pair of intents about one item is refused: the outcome would depend on the order of the calls.


T_co = TypeVar("T_co", covariant=True)
_NO_CHANGES: Mapping[str, AttributeValue | None] = {}
IntentT = TypeVar("IntentT", Save, Move)


@record(quick=True)
class ResolvedIntent(Generic[T_co]):
    """An intent, with the class and the loaded state of what it names: both are looked up here, once.

    Attributes:
        intent: what the caller asked for.
        mapping: the class of the entity or key that the intent names.
        state: what the entity was loaded as; None for a new entity, and for a key.
        valid: the values that are saved, moved or created; those of a loaded entity that did not change are not
            validated again.
        changes: the fields in which the values of a loaded entity differ from what is stored; none of one that is
            stored whole.
        blind: of a change by key, what happens to an item that is not read, or why it has to be read first.
    """

    intent: T_co
    mapping: EntityMapping
    state: Loaded | None
    valid: Validated = Validated({})
    changes: Mapping[str, AttributeValue | None] = _NO_CHANGES
    blind: ItemEdit | str = ""


@record(quick=True)
class ItemIntents:
    """All intents about one item.

    Intents about one item may name several classes of a family: the class of a loaded object, and its base class in a
    key.

    Attributes:
        mapping: the class of what is written; if nothing is, of what is deleted or checked.
        key: the primary key of the item.
        removal: the intent that deletes the item.
        write: the intent that writes it.
        checks: the intents that check it.
    """

    mapping: EntityMapping
    key: Item
    removal: ResolvedIntent[Deletion | Move] | None = None
    write: ResolvedIntent[Save | Edit | Move] | None = None
    checks: tuple[ResolvedIntent[Check], ...] = ()

    @property
    def ident(self) -> Ident:
        """The identity of the item."""
        return ident_of(self.mapping.table, self.key)

    @property
    def stored(self) -> ResolvedIntent[Save | Move] | None:
        """The write, if it stores all values of an entity."""
        write: Any = self.write
        return write if write is not None and isinstance(write.intent, Save | Move) else None

    @property
    def intents(self) -> tuple[ResolvedIntent[Intent], ...]:
        """The write, the removal, and the checks."""
        write = () if self.write is None else (self.write,)
        removal = () if self.removal is None else (self.removal,)
        return (*write, *removal, *self.checks)

    def refuse(self, problem: str) -> SameItemTwice:
        return SameItemTwice(key=stored_key(self.mapping, self.key), problem=problem)


def merge_intents(intents: Sequence[Intent], now: float) -> list[ItemIntents]:
    """One ``ItemIntents`` per item, in the order in which items are first named.

    Raises:
        SameItemTwice: two intents about one item have no single net effect.
        KeyChanged, StaleEntity, UsageError: an intent cannot be planned whatever is stored.
    """
    if len(intents) == 1:
        # Of the changes by key, which have one item; a move of two has none.
        first, *others = _resolved(intents[0], now)
        return [_with_blind_edit(first, now), *others]
    merged: dict[Ident, ItemIntents] = {}
    for intent in intents:
        for one in _resolved(intent, now):
            ident = one.ident
            merged[ident] = _merged(merged[ident], one) if ident in merged else one
    # Only now, because the order of the calls does not matter.
    for one in merged.values():
        _refuse_deleted_and_changed(one)
    return [_with_blind_edit(one, now) for one in merged.values()]


def _with_blind_edit(one: ItemIntents, now: float) -> ItemIntents:
    """The intents with the change that is made without reading, if they change by key an item that need not be read."""
    write = one.write
    if write is None or write.state is not None or type(write.intent) is not Edit:
        return one
    mapping, edit = one.mapping, write.intent
    # For its errors, too: they are raised whether the item is read or not.
    values = created_if_valid(mapping, edit.target, edit.changes, now) if edit.creates else None
    if edit.read_first or _is_judged(mapping, edit.condition):
        return one
    beside = changes_beside(mapping, now, creates=edit.creates) if edit.changes else ()
    changes = (*edit.changes, *validate_changes(mapping, beside))
    blind: ItemEdit | str
    if values is None:
        blind = edit_without_reading(mapping, one.key, changes)
    else:
        blind = upsert_without_reading(mapping, one.key, changes, values)
    return replace(one, write=replace(write, blind=blind))


def _resolved(intent: Intent, now: float) -> list[ItemIntents]:
    """What an intent is about, as if there were no other: one item; two for a move."""
    if type(intent) is Save:
        return [_resolved_save(intent, now)]
    if type(intent) is Move:
        return _resolved_move(intent, now)
    named = intent.target
    if isinstance(named, Key):
        if named.entity is None:
            raise no_class(named)
        mapping, state, key = mapping_of(named.entity), None, named.primary_key
    else:
        mapping = mapping_of(type(named))
        # An expired entity can be deleted.
        state = writable_state(mapping, state_of(named), NEVER_EXPIRED if type(intent) is Deletion else now)
        key = mapping.key_of(state.item)
    if type(intent) is Check:
        return [ItemIntents(mapping, key, checks=(ResolvedIntent(intent, mapping, state),))]
    if type(intent) is Deletion:
        return [ItemIntents(mapping, key, removal=ResolvedIntent(intent, mapping, state))]
    return [ItemIntents(mapping, key, write=ResolvedIntent(intent, mapping, state))]


def _resolved_save(intent: Save, now: float) -> ItemIntents:
    entity = intent.entity
    mapping, state = mapping_of(type(entity)), state_of(entity)
    if state is None or intent.overwrite:
        if state is not None:
            writable_state(mapping, state, NEVER_EXPIRED)
        valid = whole_values(mapping, entity, now, is_copy=intent.origin is not None)
        key = mapping.primary_key.of(valid.values)
        return ItemIntents(mapping, key, None, ResolvedIntent(intent, mapping, state, valid))
    writable_state(mapping, state, now)
    write = _of_loaded(intent, mapping, state, now)
    key = loaded_key(mapping, write.valid.values, state)
    return ItemIntents(mapping, key, None, write)


def _of_loaded(intent: IntentT, mapping: EntityMapping, state: Loaded, now: float) -> ResolvedIntent[IntentT]:
    """The intent to save or move a loaded entity, with its values validated if any changed."""
    valid, changes = changed_values(mapping, intent.entity, state, now)
    return ResolvedIntent(intent, mapping, state, valid, changes)


def _resolved_move(intent: Move, now: float) -> list[ItemIntents]:
    mapping = mapping_of(type(intent.entity))
    for kind in DERIVED_KINDS:
        if kind.is_permanent and kind.follows_from(mapping):
            raise UsageError(
                problem=f"{mapping.entity.__name__} keeps {kind.noun} under its key, so it is not moved",
                remedy="save detached(entity) as a new one, and delete the old one",
            )
    state = writable_state(mapping, state_of(intent.entity), now)
    write = _of_loaded(intent, mapping, state, now)
    old, new = mapping.key_of(state.item), mapping.primary_key.of(write.valid.values)
    if ident_of(mapping.table, old) == ident_of(mapping.table, new):
        # The key did not change, so there is nothing to move: it is a save.
        return [ItemIntents(mapping, old, write=_of_loaded(Save(intent.entity), mapping, state, now))]
    return [
        ItemIntents(mapping, old, removal=ResolvedIntent(intent, mapping, state)),
        ItemIntents(mapping, new, write=write),
    ]


def _merged(one: ItemIntents, other: ItemIntents) -> ItemIntents:
    """The intents of both about one item."""
    if other.removal is not None:
        mapping = other.mapping if one.write is None else one.mapping
        one = replace(one, removal=_merged_removal(one, other.removal), mapping=mapping)
    if other.write is not None:
        one = replace(one, mapping=other.mapping)
        one = replace(one, write=_merged_write(one, other.write))
    return replace(one, checks=one.checks + other.checks)


def _merged_removal(
    one: ItemIntents, removal: ResolvedIntent[Deletion | Move]
) -> ResolvedIntent[Deletion | Move]:
    if one.removal is None:
        return removal
    first, second = one.removal.intent, removal.intent
    if not _same_target(first, second):
        raise one.refuse("is deleted twice, by two different objects")
    if type(first) is Deletion and type(second) is Deletion:
        both = replace(second, condition=all_of(first.condition, second.condition))
        return replace(removal, intent=both)
    if type(first) is not type(second):
        raise one.refuse("is both deleted and moved")
    return removal


def _merged_write(
    one: ItemIntents, write: ResolvedIntent[Save | Edit | Move]
) -> ResolvedIntent[Save | Edit | Move]:
    if one.write is None:
        return write
    first, second = one.write.intent, write.intent
    if type(first) is Edit and type(second) is Edit and _same_target(first, second):
        if first.creates != second.creates:
            raise one.refuse("is both updated, which requires it, and upserted")
        changes = _combined(one, first.changes, second.changes)
        condition = all_of(first.condition, second.condition)
        edit = Edit(first.target, changes, condition, creates=first.creates)
        return replace(write, intent=replace(edit, touches=first.touches or second.touches))
    if type(first) is Save and type(second) is Save and first.entity is second.entity:
        if first.replacing is not second.replacing:
            raise one.refuse("is saved twice, with two conditions on what it replaces")
        condition = all_of(first.condition, second.condition)
        save = Save(second.entity, condition, first.overwrite or second.overwrite, second.replacing)
        # Only an overwrite has validated an entity that did not change.
        validating = one.write if first.overwrite else write
        return replace(write, intent=save, valid=validating.valid, changes=validating.changes)
    if type(first) is Move and type(second) is Move and first.entity is second.entity:
        return write
    raise one.refuse("is written twice, and the outcome would depend on the order")


def _combined(one: ItemIntents, first: tuple[Change, ...], second: tuple[Change, ...]) -> tuple[Change, ...]:
    for change in first:
        for other in second:
            if overlaps(change.path, other.path):
                raise one.refuse(f"has {'.'.join(map(str, other.path))} changed twice")
    return first + second


def _refuse_deleted_and_changed(one: ItemIntents) -> None:
    if one.removal is None or one.write is None:
        return
    write = one.write.intent
    inserts = type(write) is Move or (type(write) is Save and (one.write.state is None or write.overwrite))
    if not inserts or _same_target(one.removal.intent, write):
        raise one.refuse("is both deleted and changed")


def _same_target(left: Intent, right: Intent) -> bool:
    one, other = target_of_intent(left), target_of_intent(right)
    # Entities by identity: equal values say nothing of what each was loaded as.
    return one is other or (isinstance(one, Key) and one == other)


# Which items are read before intents can be planned, and why: all other writes are sent without reading.
#
# Rule 1. An overwrite and a deletion by key read the item that they remove if guards, versions or totals may follow
#         from it, because only the item tells which. An overwrite also reads it for a condition, for the time of its
#         creation, and for a revision that counts; a deletion also if the caller wants it read, or another entity
#         takes its place.
# Rule 2. An edit by key reads its item unless it was planned without (``without_reading.py``).
# Rule 3. A move reads the item that it deletes if no revision says that nobody wrote to it since it was loaded.


def items_to_read(merged: Iterable[ItemIntents]) -> list[tuple[EntityMapping, Item]]:
    """The items that must be read, consistently, before these intents can be planned."""
    found: list[tuple[EntityMapping, Item]] = []
    for one in merged:  # a loop, because every save asks
        if _needs_reading(one):
            found.append((one.mapping, one.key))  # noqa: PERF401 - see above
    return found


def _needs_reading(one: ItemIntents) -> bool:
    write, removal = one.write, one.removal
    if one.checks and any(_is_judged(check.mapping, check.intent.condition) for check in one.checks):
        return True
    if write is not None and removal is None and type(write.intent) is Save:
        # What is replaced may have guards, versions and totals, which only its item tells.
        return write.intent.overwrite and not _is_replaced_unread(write.mapping, write.intent)
    if write is not None and type(write.intent) is Edit and write.state is None:
        return type(write.blind) is not ItemEdit
    if removal is not None and type(removal.intent) is Deletion and removal.state is None:
        # The same for what a deletion by key releases. A Put in its place would require that nothing is stored.
        return (
            write is not None
            or removal.intent.read_first
            or has_derived(removal.mapping)
            or (
                removal.intent.condition is not None and _is_judged(removal.mapping, removal.intent.condition)
            )
        )
    if removal is not None and type(removal.intent) is Move:
        # Without a revision that names one write, no condition says that no attribute was added since the entity was
        # loaded. The move would leave it behind.
        return removal.state is not None and one.mapping.table.mark_of(removal.state.item) is None
    return False


def _is_replaced_unread(mapping: EntityMapping, save: Save) -> bool:
    """Whether an entity of the class is replaced by one PutItem: nothing depends on what it was."""
    return not (
        save.condition is not None
        or _is_judged(mapping, save.replacing)
        or reason_to_read(mapping, "a Put")
        or mapping.created
        # The next number follows from the one that is stored.
        or (mapping.table.revision is not None and mapping.table.revision.kind == "N")
    )


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
    first = one.removal if one.write is None else one.write
    has_two = one.write is not None and one.removal is not None
    # Most writes have neither conditions nor checks, and every save asks.
    if first is None or has_two or one.checks or condition_of(first.intent) is not None:
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
    condition = all_of(
        *(
            resolve_condition(part.mapping, given)
            for part in one.intents
            if (given := condition_of(part.intent)) is not None
            # The condition of an upsert was judged on nothing. An expired item or a tombstone may be stored.
            and not (type(change) is ItemInsert and type(part.intent) is Edit)
        )
    )
    if condition is None:
        return change
    return (
        _judged(change, condition) if has_local_condition(condition) else replace(change, condition=condition)
    )


def _is_judged(mapping: EntityMapping, condition: Condition | None) -> bool:
    """Whether DynamoDB cannot evaluate a condition. Then the item is read first."""
    return bool(
        condition is not None
        and mapping.judged
        and has_local_condition(resolve_condition(mapping, condition))
    )


def _judged(change: ItemChange, condition: Condition) -> ItemChange:
    """The change, on condition that the item is as it was when this condition held. It is refused if it did not."""
    before, table = change.before, change.mapping.table
    never = all_of(exists(table.pk.name), missing(table.pk.name))
    verdict = None if holds(condition, {} if before is None else before.item) else never
    if before is None or type(change) is ItemEdit:
        return replace(change, condition=verdict)
    return replace(change, condition=verdict, before=replace(before, as_loaded=True))


def _with_checks(one: ItemIntents, change: ItemChange) -> ItemChange:
    """The change, only if the item is as the objects that are checked were loaded."""
    for check in one.checks:
        if check.intent.condition is None:
            makes = type(change) is ItemInsert and change.before is None
            if makes or (type(change) is ItemEdit and change.creates):
                raise one.refuse("is inserted as new, and checked to be stored already")
            # An edit by key knows its item if there is such a check.
            if check.state is not None and type(change) is not ItemEdit:
                before = _as_loaded(one, change, check.mapping, check.state.item)
                change = replace(change, before=before)
    return change


def _as_loaded(
    one: ItemIntents,
    change: ItemInsert | ItemUpdate | ItemDelete | ItemCheck,
    mapping: EntityMapping,
    loaded: Item,
) -> StoredItem:
    """The stored item, to be as it was loaded. Raises StaleEntity if it is known to be otherwise."""
    before = change.before
    if before is None:
        # A deletion or a check. Without a revision, the condition of these compares all attributes anyway.
        return StoredItem(mapping, loaded)
    expected, found = mapping.revision_of(loaded), mapping.revision_of(before.item)
    if expected != found or (mapping.table.mark_of(loaded) is None and not same_items(loaded, before.item)):
        key = stored_key(mapping, change.key)
        objects = [check.state.item for check in one.checks if check.state is not None]
        if not before.from_read or any(item is before.item for item in objects):
            # One of two objects is stale. Nobody has read what is stored.
            raise StaleEntity(key=key, expected=expected, found=None)
        raise StaleEntity(
            key=key, expected=expected, found=found, stored=standing(before.mapping, before.item)
        )
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
    stored = _live(mapping, one.key, read, NEVER_EXPIRED)
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
        # Rule 1 of ``merge_intents``: what is stored is deleted: it does not stand in the way, whatever was read.
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
    replacing = None if intent.replacing is None else resolve_condition(one.mapping, intent.replacing)
    return replace(insert, replaces=True, replacing=replacing)


def _insert(one: ItemIntents, save: Save, write: ResolvedIntent[Any], valid: Validated) -> ItemInsert:
    """The insert of a saved entity, where nothing is known of what is stored."""
    mapping = one.mapping
    image = new_image(mapping, one.key, valid.values, valid.encoded)
    if save.origin is not None:
        image = with_unknown_attributes(mapping, image, save.origin)
    return ItemInsert(mapping, one.key, image, save.entity, valid.values, valid.altered, write.state)


def _insert_where_read(
    one: ItemIntents, save: Save, write: ResolvedIntent[Any], read: Item | None, *, now: float
) -> ItemInsert:
    """The insert of a saved entity where this was read. Raises AlreadyExists, ConditionFailed."""
    mapping, valid = one.mapping, write.valid
    # CreatedAt stays that of the entity that is replaced. What has expired is absent, so it has none.
    if read is not None and save.overwrite and not has_expired(mapping, read, now):
        stored = StoredItem(stored_class(mapping, read) or mapping, read)
        valid = validated_for_overwrite(mapping, valid, save.entity, stored)
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
    image = apply_field_changes(mapping, state.item, changes, write.valid.values)
    return ItemUpdate(mapping, one.key, before, image, frozenset(changes), loaded, altered=altered)


def _move(one: ItemIntents, entity: Any, write: ResolvedIntent[Any]) -> ItemInsert:
    mapping, valid, state = one.mapping, write.valid, write.state
    assert state is not None  # a move of a new entity has been refused
    # What depends on the whole entity is computed from an item under the new key.
    image = apply_field_changes(mapping, {**state.item, **one.key}, write.changes, valid.values)
    return ItemInsert(mapping, one.key, image, entity, valid.values, valid.altered, state)


def _edit(
    one: ItemIntents, edit: Edit, write: ResolvedIntent[Any], read: AsRead, *, now: float
) -> ItemInsert | ItemEdit | ItemUpdate | ItemCheck | None:
    mapping, state = one.mapping, write.state
    if state is not None:
        known, loaded = StoredItem(mapping, state.item), LoadedEntity(edit.target, state)
        return _edit_known(one, edit, known, loaded, now=now)
    if read is UNREAD:
        assert isinstance(write.blind, ItemEdit)  # otherwise the item has been read
        return write.blind
    try:
        before = _live(mapping, one.key, read, now)
    except EntityNotFound:
        if not edit.creates:
            raise
        return _creation(one, edit, read, now=now)
    # Who asked for the read takes what was read for what the update was made of.
    why_read = write.blind if isinstance(write.blind, str) else ""
    before = replace(before, as_loaded=edit.read_first, why_read=why_read)
    return _edit_known(one, edit, before, None, now=now)


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
        with_current_names(before.mapping, before.item), image
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
    return condition is None or holds(resolve_condition(before.mapping, condition), before.item)
