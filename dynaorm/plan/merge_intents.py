"""Intents are resolved and merged: one ``ItemIntents`` per item.

Rule 1. An item may be deleted and put back in one unit of work (delete and re-create, a swap of keys): this becomes
        one Put under the condition of the deletion.
Rule 2. One object saved twice is saved once. Edits of one item are combined if they change different attributes. A
        check of an item that is also written becomes part of the write's condition.
Rule 3. Any other pair of intents about one item is refused: the outcome would depend on the order of the calls.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from dynaorm.entity.ident import Ident, ident_of
from dynaorm.entity.key import Key, no_class, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.validate import Validated
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import SameItemTwice, UsageError
from dynaorm.item.condition import all_of
from dynaorm.item.path import overlaps
from dynaorm.item.update import Change
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.creation import created_if_valid
from dynaorm.plan.edit import changes_beside
from dynaorm.plan.edit_values import valid_changes
from dynaorm.plan.intent import Check, Deletion, Edit, Intent, Move, Save, target_of_intent
from dynaorm.plan.item_change import ItemEdit
from dynaorm.plan.kinds.derived_kinds import DERIVED_KINDS
from dynaorm.plan.object_values import changed_values, whole_values
from dynaorm.plan.unit_of_work import EVER
from dynaorm.plan.without_reading import edit_without_reading, upsert_without_reading
from dynaorm.plan.writable import loaded_key, writable_state
from dynaorm.record import record, replace

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
        blind: of a change by key, what happens to an item that is not read; None if it has to be read first.
    """

    intent: T_co
    mapping: EntityMapping
    state: Loaded | None
    valid: Validated = Validated({})
    changes: Mapping[str, AttributeValue | None] = _NO_CHANGES
    blind: ItemEdit | None = None


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
    if edit.read_first:
        return one
    beside = changes_beside(mapping, now, creates=edit.creates) if edit.changes else ()
    changes = (*edit.changes, *valid_changes(mapping, beside))
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
        state = writable_state(mapping, state_of(named), EVER if type(intent) is Deletion else now)
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
            writable_state(mapping, state, EVER)
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
