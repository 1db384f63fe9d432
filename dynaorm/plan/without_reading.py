"""Edits and upserts by key that are sent without reading the item first.

Rule 1. They are planned as the edit of an item of which only a part is known. What depends on the rest raises
        ``Unread``, and then the item is read.
Rule 2. What follows from an edit is the question who looks at what changes (``Dependence``). Of what follows, only
        index keys are computed here; a guard, a version, a total or a computed key needs the item.
Rule 3. One UpdateItem makes an entity or changes it, if it is decided without reading what either would be. Each
        attribute that the changes do not name is then stored by ``if_not_exists``.
Rule 4. So the read may be spared only if no such attribute can be absent from a stored entity and mean something else
        there: not for an index key that other values may have removed, and not where absence means None or empty.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from dynaorm.entity.mapping.derive import claims, index_keys, placed_in
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexPlaces
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.template.template import KeyValueError
from dynaorm.item.known import KnownPart, Unread
from dynaorm.item.update import Change, Remove, SetIfMissing, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.bounds import bounds_of
from dynaorm.plan.edit import in_their_indexes, stored_changes, touched
from dynaorm.plan.image import new_image
from dynaorm.plan.item_change import ItemEdit


def edit_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...], *, creates: bool = False
) -> ItemEdit | None:
    """An edit by key, with the index keys that follow from it, and the condition on which its outcome is valid.

    None if the edit needs the stored item: for its rules, or for a key, guard, version or total.
    """
    changes = in_their_indexes(mapping, changes)
    try:
        bounds = bounds_of(mapping, changes, creates=creates)
        _check_nothing_follows(mapping, changes)
        keys = index_changes(mapping, key, changes)
    except Unread:
        return None
    return ItemEdit(mapping, key, (*stored_changes(mapping, changes), *keys), bounds, creates=creates)


def _check_nothing_follows(mapping: EntityMapping, changes: tuple[Change, ...]) -> None:
    """Raises Unread if something else than index keys follows from an edit."""
    fields = touched(mapping, changes)
    # The bounds require what a factory would make of these fields to be stored.
    dependence = mapping.dependence.in_items
    changed = dependence.dependents(fields)
    parts: list[AbstractSet[str]] = [mapping.computed_key]
    parts += [one.depends_on for one in mapping.constraints.values()]
    parts += [one.depends_on for one in mapping.aggregates.values()]
    if mapping.versioning is not None:
        parts.append(frozenset(mapping.versioning.fields or mapping.fields))
    if mapping.expires is not None and mapping.constraints:
        parts.append(frozenset({mapping.expires.name}))  # guards expire with their owner
    # The value may be stored under a former name; an index key is made of what is stored, not of what was given.
    is_renamed = any(mapping.fields[name].formerly for name in fields)
    if is_renamed or dependence.looking(changed) or not all(part.isdisjoint(changed) for part in parts):
        raise Unread("something follows from the stored item")


def index_changes(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes of index keys that follow from an edit.

    Raises:
        InvalidValue: a value cannot be part of a key, or two places of one index hold the entity.
        Unread: they depend on what is stored.
    """
    names = {str(change.path[0]) for change in changes}
    touched_indexes = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(names)]
    if not touched_indexes:
        return ()
    values = _values_after(mapping, key, changes)
    written = [index for index in touched_indexes if index.made_up]
    for index in touched_indexes:
        if not index.made_up:
            _check_own_keys(mapping, index, values, names)
    wanted = index_keys(mapping, values, written)
    made_up = dict.fromkeys(name for index in written for name in index.made_up)
    return tuple(SetTo((name,), wanted[name]) if name in wanted else Remove((name,)) for name in made_up)


def _values_after(mapping: EntityMapping, key: Item, changes: tuple[Change, ...]) -> StoredValues:
    """What is known of an entity after an edit: the fields that the edit sets as a whole, and those of its key."""
    present, absent, given = dict(key), set[str](), dict[str, Any]()
    for part in mapping.primary_parts:
        matched = part.match(key[part.attribute.name][part.attribute.kind]) or {}
        given |= {
            name: value
            for name, value in matched.items()
            if name in mapping.fields and mapping.fields[name].exact
        }
    for change in changes:
        field = mapping.fields[str(change.path[0])]
        if not isinstance(change, SetTo) or len(change.path) > 1:
            continue  # what it makes depends on what is stored
        if field.in_key:
            given[field.name] = change.value
        elif (value := mapping.encode_field(field, {field.name: change.value})) is None:
            absent |= {field.attribute, *field.formerly}
        else:
            present[field.attribute] = value
    return mapping.subject(KnownPart(present, absent), given)


def _check_own_keys(
    mapping: EntityMapping, index: IndexPlaces, values: StoredValues, names: AbstractSet[str]
) -> None:
    """Check what an edit stores in fields that are themselves the key of an index. Raises InvalidValue, Unread."""
    for part in (part for place in index.places for part in place.parts):
        # Whatever number the field may have can be a key; a text or binary may be too long, or empty.
        if names.isdisjoint(part.fields) or part.attribute.kind == "N":
            continue
        try:
            part.value(values)
        except KeyValueError as problem:
            raise mapping.invalid_key(problem) from mapping.cause_of(problem.field, problem)


def upsert_without_reading(
    mapping: EntityMapping, key: Item, changes: tuple[Change, ...], values: Mapping[str, Any]
) -> ItemEdit | None:
    """The UpdateItem that makes the entity or changes it; None if what is stored has to be read.

    ``values`` are those of the entity that would be created; none if it cannot be.
    """
    # DynamoDB refuses a nested path where nothing is stored.
    if not (changes and values) or any(len(change.path) > 1 for change in changes):
        return None
    if mapping.versioning is not None or mapping.aggregates:
        return None
    edit = edit_without_reading(mapping, key, changes, creates=True)
    if edit is None:
        return None
    image = new_image(mapping, key, values)
    if not _is_one_for_all(mapping, {str(change.path[0]) for change in changes}, image, values):
        return None
    # A total begins at 0, which its absence means: the same unit of work may add to it.
    own = {*key, *(mapping.fields[name].attribute for name in mapping.maintained)}
    own |= {str(one.path[0]) for one in edit.edits}
    # An item of the class that has its former name gets the present one.
    kind = mapping.table.type_attribute
    others = (
        SetTo((name,), value) if name == kind else SetIfMissing((name,), value)
        for name, value in image.items()
        if name not in own
    )
    return edit._replace(edits=(*edit.edits, *others))


def _is_one_for_all(
    mapping: EntityMapping, changed: AbstractSet[str], image: Item, values: Mapping[str, Any]
) -> bool:
    """Whether one UpdateItem is right for every stored entity, and where nothing is stored; ``image`` is then made."""
    subject = mapping.subject(image, values)
    if claims(mapping, subject):
        return False
    untouched = (field for name, field in mapping.fields.items() if name not in changed)
    return not any(_is_ambiguous(mapping, field, image) for field in untouched) and all(
        _is_decided(mapping, index, changed, subject) for index in mapping.places.values()
    )


def _is_ambiguous(mapping: EntityMapping, field: FieldMapping, image: Item) -> bool:
    """Whether a stored entity may lack the attribute, and mean something else by that than the one created."""
    differs = field.can_be_absent or bool(field.formerly) or field.name in mapping.rules.spared
    return field.attribute in image and differs


def _is_decided(
    mapping: EntityMapping, index: IndexPlaces, changed: AbstractSet[str], created: StoredValues
) -> bool:
    """Whether the keys of an index follow from the upsert alone, whatever is stored."""
    if not index.fields.isdisjoint(mapping.maintained):
        return False
    if not index.made_up or not index.fields.isdisjoint(changed):
        return True  # the changes decide them, otherwise the item has to be read anyway
    return index.fields <= {*mapping.key_fields} or placed_in(mapping, index, created) is None
