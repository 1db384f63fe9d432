"""Edits and upserts by key that are sent without reading the item first.

Rule 1. They are planned as the edit of an item of which only a part is known. What depends on the rest raises
        ``UnknownAttribute``, and then the item is read.
Rule 2. What follows from an edit is computed as for an item that was read: index keys of what is stored afterwards;
        guards, versions and totals of what is stored before and afterwards, which have to be the same.
Rule 3. One UpdateItem makes an entity or changes it, if it is decided without reading what either would be. Each
        attribute that the changes do not name is then stored by ``if_not_exists``.
Rule 4. So the read may be spared only if no such attribute can be absent from a stored entity and mean something else
        there: not for an index key that other values may have removed, and not where absence means None or empty.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.index_places import IndexPlaces
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.table import Ident
from dynaorm.entity.template import KeyValueError
from dynaorm.item.condition import (
    UnknownAttribute,
)
from dynaorm.item.update import Change, Remove, SetIfMissing, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.derived import DerivedKind, EntitySide
from dynaorm.plan.derived_kinds import DERIVED_KINDS, holds_derived
from dynaorm.plan.edit import in_their_indexes, stored_changes
from dynaorm.plan.rule_conditions import bounds_of
from dynaorm.plan.stored import ItemEdit, KnownEntity, check_in_every, known_by_key
from dynaorm.plan.values import new_image
from dynaorm.record import replace


def edit_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...], *, creates: bool = False
) -> ItemEdit | str:
    """An edit by key, with the index keys that follow from it, and the condition on which its outcome is valid.

    If the edit needs the stored item, why: for its rules, or for a key, guard, version or total.
    """
    changes = in_their_indexes(mapping, changes)
    try:
        bounds = bounds_of(mapping, changes, creates=creates)
        _check_nothing_follows(mapping, key, changes)
        keys = index_changes(mapping, key, changes)
    except UnknownAttribute as unread:
        return str(unread)
    return ItemEdit(mapping, key, (*stored_changes(mapping, changes), *keys), bounds, creates=creates)


def _check_nothing_follows(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> None:
    """Raises UnknownAttribute if an edit may change other values, or need another action than its own."""
    fields = {str(change.path[0]) for change in changes}
    # The bounds require what a factory would make of these fields to be stored.
    dependence = mapping.dependence.in_items
    changed = dependence.dependents(fields)
    if dependence.looking(changed):
        raise UnknownAttribute("validators may look at what changes")
    # The value may be stored under a former name, which only a write of the whole item renames.
    is_renamed = any(mapping.fields[name].formerly for name in fields)
    if is_renamed or not mapping.made_of.computed_key.isdisjoint(changed):
        raise UnknownAttribute("a key is computed of what changes, or a field has a former name")
    for kind in DERIVED_KINDS:
        if kind.follows_from(mapping) and kind.can_differ(mapping, changed):
            known = known_by_key(mapping, key)
            later = _known_after(mapping, known, changes)
            before = EntitySide(mapping, key, known.item, known.values, changed)
            after = EntitySide(mapping, key, later.item, later.values, changed, is_stored=False)
            if kind.is_permanent or _held(kind, before) != _held(kind, after):
                raise UnknownAttribute(f"{kind.noun} may follow from what changes")


def _held(kind: DerivedKind[Any], image: EntitySide) -> list[tuple[Ident, Any]]:
    return [(held.ident, held.label) for held in kind.held_by(image)]


def index_changes(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes of index keys that follow from an edit.

    Raises:
        InvalidValue: a value cannot be part of a key, or two places of one index hold the entity.
        UnknownAttribute: they depend on what is stored.
    """
    names = {str(change.path[0]) for change in changes}
    touched_indexes = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(names)]
    if not touched_indexes:
        return ()
    after = _known_after(mapping, known_by_key(mapping, key), changes)
    values = mapping.subject(after.item, after.values)
    written = [
        index for index in touched_indexes if not index.decided_by.isdisjoint(names) and index.synthetic
    ]
    for index in touched_indexes:
        if index not in written:
            _check_own_keys(mapping, index, values, names)
    wanted = index_keys(mapping, values, written)
    synthetic = dict.fromkeys(name for index in written for name in index.synthetic)
    return tuple(SetTo((name,), wanted[name]) if name in wanted else Remove((name,)) for name in synthetic)


def _known_after(mapping: EntityMapping, before: KnownEntity, changes: tuple[Change, ...]) -> KnownEntity:
    """What is known of an entity after an edit: its key, and the fields that the edit sets as a whole."""
    present, absent, values = dict[str, AttributeValue](), set[str](), {**before.values}
    for change in changes:
        field = mapping.fields[str(change.path[0])]
        if len(change.path) > 1 or not isinstance(change, SetTo | Remove):
            continue  # what it makes depends on what is stored
        if isinstance(change, Remove):
            absent.update(field.attributes)
        elif field.in_key:
            values[field.name] = change.value
        elif (value := mapping.encoder.encode_field(field, {field.name: change.value})) is None:
            absent.update(field.attributes)
        else:
            present[field.attribute] = value
    return KnownEntity(before.item.plus(present, absent), values)


def _check_own_keys(
    mapping: EntityMapping, index: IndexPlaces, values: StoredValues, names: AbstractSet[str]
) -> None:
    """Check what an edit stores in fields that are themselves the key of an index.

    Raises InvalidValue, UnknownAttribute.
    """
    for part in (part for place in index.places for part in place.parts):
        # Whatever number the field may have can be a key; a text or binary may be too long, or empty.
        if names.isdisjoint(part.fields) or part.attribute.kind == "N":
            continue
        try:
            part.value(values)
        except KeyValueError as problem:
            raise mapping.errors.invalid_key(problem) from mapping.errors.cause_of(problem.field, problem)


def upsert_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...], values: Mapping[str, Any]
) -> ItemEdit | str:
    """The UpdateItem that makes the entity or changes it, or why what is stored has to be read.

    ``values`` are those of the entity that would be created; none if it cannot be.
    """
    one_for_all = "no UpdateItem is right both for a new entity and for every stored one"
    # DynamoDB refuses a nested path where nothing is stored.
    if not (changes and values) or any(len(change.path) > 1 for change in changes):
        return one_for_all
    edit = edit_without_reading(mapping, key, changes, creates=True)
    if isinstance(edit, str):
        return edit
    image = new_image(mapping, key, values)
    created = EntitySide(mapping, key, image, values, is_stored=False)
    if not _is_one_for_all(created, {str(change.path[0]) for change in changes}):
        return one_for_all
    # A total begins at 0, which its absence means: the same unit of work may add to it.
    own = {*key, *(mapping.fields[name].attribute for name in mapping.maintained)}
    own |= {str(one.path[0]) for one in edit.edits}
    # An item of the class that has its former name gets the present one.
    kind = None if mapping.type_value is None else mapping.table.type_attribute
    others = (
        SetTo((name,), value) if name == kind else SetIfMissing((name,), value)
        for name, value in image.items()
        if name not in own
    )
    return replace(edit, edits=(*edit.edits, *others))


def _is_one_for_all(created: EntitySide, changed: AbstractSet[str]) -> bool:
    """Whether one UpdateItem is right for every stored entity, and where nothing is stored and this one is created."""
    mapping, image = created.mapping, created.item
    untouched = (field for name, field in mapping.fields.items() if name not in changed)
    if holds_derived(created) or any(_is_ambiguous(mapping, field, image) for field in untouched):
        return False
    every = known_by_key(mapping, created.key, created.values)
    indexes = (place for place in mapping.places.values() if _is_filled_in(mapping, place, changed))
    try:
        check_in_every(mapping, every, mapping.subject(image, created.values), indexes)
    except UnknownAttribute:
        return False
    return True


def _is_filled_in(mapping: EntityMapping, index: IndexPlaces, changed: AbstractSet[str]) -> bool:
    """Whether an upsert of some fields stores keys of an index by ``if_not_exists``, or leaves one out."""
    # It leaves out the totals. Other attributes of an index are those of fields, or follow from the changes.
    return not index.fields.isdisjoint(mapping.maintained) or (
        bool(index.synthetic) and index.depends_on.isdisjoint(changed)
    )


def _is_ambiguous(mapping: EntityMapping, field: FieldMapping, image: Item) -> bool:
    """Whether a stored entity may lack the attribute, and mean something else by that than the one created."""
    differs = field.can_be_absent or bool(field.formerly) or field.name in mapping.rules.untouched
    return field.attribute in image and differs
