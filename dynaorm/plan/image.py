"""Images: the item an entity becomes, and the item that follows from a stored one by some changed fields."""

from collections.abc import Mapping
from typing import Any, Final

from dynaorm.entity.codec.value import merge, restore
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.part import values_in
from dynaorm.entity.state import Loaded
from dynaorm.errors import DecodeError, InvalidValue, KeyChanged, StaleEntity, UsageError
from dynaorm.failure import shown
from dynaorm.item.value import AttributeValue, Item, same

# Stands for a value that cannot be stored. DynamoDB refuses it, so it is never taken for an absent or a stored one.
UNSTORABLE: Final[AttributeValue] = {}


def new_image(
    mapping: EntityMapping,
    key: Item,
    values: Mapping[str, Any],
    encoded: Mapping[str, AttributeValue] | None = None,
) -> dict[str, AttributeValue]:
    """The item of a new entity under this key: its type, fields, and what follows from these, from validated values.

    ``encoded``: the attributes of the values, if they are known.
    """
    image, kind = {**key}, mapping.type_value
    if kind is not None and mapping.table.type_attribute is not None:
        image[mapping.table.type_attribute] = kind
    image |= mapping.encode(values) if encoded is None else encoded
    if not mapping.places:
        return image
    return {**key, **index_keys(mapping, mapping.subject(image, values)), **image}


def changes_of(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded, *, renewed: frozenset[str] = frozenset()
) -> dict[str, AttributeValue | None]:
    """The fields that differ from what was loaded, with their new attribute values (None for absence).

    A field is compared with its stored value; if a validator changed that value, or absence meant a default, with the
    result. Of a nested value only what changed is new; the rest is as stored. Fields that are stored only in keys are
    compared as values, and come with None.

    A ``renewed`` field also differs if validation made its value of the stored one: keys and guards must be those of
    the values that load.

    Raises:
        InvalidValue: a field's value cannot be stored.
    """
    return _differing(mapping, values, state, mapping.encode(values), renewed=renewed)


def exact_changes(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded
) -> dict[str, AttributeValue | None] | None:
    """The same for values that were not validated, if they are valid as they are; None if their types do not tell."""
    encoded = mapping.encode_exact(values)
    return None if encoded is None else _differing(mapping, values, state, encoded)


def unvalidated_changes(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded
) -> dict[str, AttributeValue | None]:
    """The same for values that were not validated. A value that cannot be stored differs, as ``UNSTORABLE``."""
    encoded: dict[str, AttributeValue] = {}
    wrong: set[str] = set()
    try:
        encoded = mapping.encode(values)
    except InvalidValue:
        for name, field in mapping.fields.items():
            try:
                found = None if field.in_key else mapping.encode_field(field, values)
            except InvalidValue:
                wrong.add(name)
            else:
                _put(encoded, field.attribute, found)
    return {**_differing(mapping, values, state, encoded), **dict.fromkeys(wrong, UNSTORABLE)}


def _differing(
    mapping: EntityMapping,
    values: Mapping[str, Any],
    state: Loaded,
    encoded: Mapping[str, AttributeValue],
    *,
    renewed: frozenset[str] = frozenset(),
) -> dict[str, AttributeValue | None]:
    item = state.item
    in_key = [name for name, field in mapping.fields.items() if field.in_key]
    loaded_keys = mapping.subject(item) if in_key else {}
    found: dict[str, AttributeValue | None] = {
        name: None for name in in_key if loaded_keys[name] != values.get(name)
    }
    differing: dict[str, tuple[AttributeValue | None, AttributeValue | None]] = {}
    for name, field in mapping.fields.items():
        if field.in_key:
            continue
        now = encoded.get(field.attribute)
        stored = item.get(field.attribute) if not field.formerly else field.stored_in(item)
        # Most values are equal as they are spelled, and `same` costs a call.
        if now != stored and not same(now, stored):
            differing[name] = now, stored
    # Only what is left is decoded: most saves change a text.
    found |= _taken_texts(mapping, differing)
    known = [name for name, (_, stored) in differing.items() if stored is not None]
    loaded = dict(zip(known, values_in(mapping, item, known), strict=True)) if known else {}
    for name, (now, stored) in differing.items():
        field, is_renewed = mapping.fields[name], name in renewed
        if stored is None:
            # Its absence meant what a factory made of the fields that were loaded.
            is_made_anew = name in mapping.dependence.made and not mapping.dependence.looks_at[
                name
            ].isdisjoint(found)
            if is_made_anew or not _is_default(mapping, field, now, state, is_renewed=is_renewed):
                found[name] = now
        elif (new := over_stored(field, (stored, loaded[name], now), is_renewed=is_renewed)) is not stored:
            found[name] = new
    return found


def _taken_texts(
    mapping: EntityMapping, differing: dict[str, tuple[AttributeValue | None, AttributeValue | None]]
) -> dict[str, AttributeValue | None]:
    """The new texts of fields that load as they are stored: they take the place of the stored ones."""
    names = [name for name in differing if name in mapping.plain_texts and "S" in (differing[name][1] or ())]
    return {name: differing.pop(name)[0] for name in names}


def _is_default(
    mapping: EntityMapping,
    field: FieldMapping,
    value: AttributeValue | None,
    state: Loaded,
    *,
    is_renewed: bool,
) -> bool:
    """Whether the absence of a field means this value; for a renewed one, without a validator that makes it."""
    if not same(value, state.defaults.get(field.attribute)):
        return False
    if not is_renewed:
        return True
    if mapping.entity.model_fields[field.name].default_factory is not None:
        return field.name not in mapping.dependence.made
    try:
        return same(value, field.encode(field.value_in({})))
    except ValueError:
        return False


def over_stored(
    field: FieldMapping, value: tuple[AttributeValue, Any, AttributeValue | None], *, is_renewed: bool
) -> AttributeValue | None:
    """What the attribute of a field becomes, ``value`` being the stored one, its loaded value and the one to store.

    It is the stored one itself if the field did not change; otherwise, what did not change in it is as stored.
    """
    stored, loaded, now = value
    was = field.encode(loaded)
    if is_renewed:
        if was is None:
            return stored if now is None and _is_absence(field, stored) else now
        stored = restore(field.codec, stored, was)
    if same(now, was):
        return stored
    return now if was is None or now is None else merge(field.codec, stored, was, now)


def says(field: FieldMapping, stored: AttributeValue, now: AttributeValue) -> bool:
    """Whether a stored value is ``now``, in any spelling. Its maps may lack members, and have others."""
    return restore(field.codec, stored, now) is stored


def _is_absence(field: FieldMapping, stored: AttributeValue) -> bool:
    """Whether a stored value stands for the same as an absent one."""
    return field.absent_value is not None and same(stored, field.absent_value)


def advance(
    mapping: EntityMapping,
    before: Item,
    changes: Mapping[str, AttributeValue | None],
    values: Mapping[str, Any],
) -> dict[str, AttributeValue]:
    """The image that follows from a stored one by some changed fields, index keys included.

    ``values`` has those of the changed fields that are stored in keys alone: they have no attribute.

    Attributes that the class does not know are preserved. Former attribute names are renamed. Only the keys of indexes
    that depend on a changed field are written.

    Raises:
        InvalidValue: an index key cannot hold a value.
    """
    after, in_keys = under_present_names(mapping, before), dict[str, Any]()
    for name, value in changes.items():
        field = mapping.fields[name]
        if field.in_key:
            in_keys[name] = values[name]
        else:
            _put(after, field.attribute, value)
    touched = [index for index in mapping.places.values() if not index.depends_on.isdisjoint(changes)]
    if touched:
        # All indexes that share a key attribute are among them: one that the entity leaves must not take it from the
        # others.
        wanted = index_keys(mapping, mapping.subject(after, in_keys), touched)
        for attribute in (attribute for index in touched for attribute in index.made_up):
            _put(after, attribute, wanted.get(attribute))
    return after


def _put(item: dict[str, AttributeValue], attribute: str, value: AttributeValue | None) -> None:
    if value is None:
        item.pop(attribute, None)
    else:
        item[attribute] = value


def under_present_names(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue]:
    """The item with every field under its present attribute name, and its class under its present name."""
    found = dict(item)
    kind = mapping.table.type_attribute
    if kind is not None and item.get(kind, {}).get("S") in mapping.formerly:
        found[kind] = {"S": mapping.name}
    for field in mapping.fields.values():
        if field.formerly:
            _put(found, field.attribute, field.stored_in(item))
            for former in field.formerly:
                found.pop(former, None)
    return found


def writable_state(mapping: EntityMapping, state: Loaded | None, now: float) -> Loaded:
    """The snapshot of a loaded entity that may be written.

    Raises:
        UsageError: it is new, or was read at a version.
        StaleEntity: it has expired since it was loaded.
    """
    name = mapping.entity.__name__
    if state is None:
        raise UsageError(
            problem=f"this {name} is new: no session has loaded or saved it",
            remedy=f"save it first, or name what is stored with Key({name}, ...)",
        )
    if state.read_only:
        raise UsageError(
            problem=f"this {name} was read at a version, and history is not rewritten",
            remedy=f"use session.restore(Key({name}, ...), version=...), or get the latest copy and change that",
        )
    if mapping.is_expired(state.item, now):
        key = stored_key(mapping, mapping.key_of(state.item))
        raise StaleEntity(
            key=key,
            expected=mapping.revision_of(state.item),
            found=None,
            problem=f"{key!r} has expired since it was loaded",
            remedy="insert it anew: session.save(detached(entity, ...)) with another expiry",
        )
    return state


def other_revision(mapping: EntityMapping, item: Item) -> str:
    """Why the revision of a stored item is not one that the table declares; empty if it is, or if there is none."""
    revision = mapping.table.revision
    if revision is None or not revision.is_foreign(item):
        return ""
    stored = revision.stored_in(item)
    if stored is None:
        (tag,) = item[revision.attribute]
        return f"{revision.name}: {revision.attribute} is stored as {tag}, not as a map"
    ((tag, content),) = stored.items()
    return f"{revision.name}: is stored as {tag} {shown(content)}, and {_REVISIONS[revision.kind]}"


def refuse_other_revision(mapping: EntityMapping, item: Item) -> None:
    """Raises DecodeError if the revision of a stored item is of another type than the table declares."""
    revision = mapping.table.revision
    if revision is not None and (problem := other_revision(mapping, item)):
        raise DecodeError(
            entity=mapping.entity.__name__,
            key=mapping.key_of(item),
            problems=(problem,),
            problem=f"Cannot write {mapping.entity.__name__}",
            remedy=_OTHER_REVISION[revision.kind],
        )


_REVISIONS: Final = {"S": "dynaorm's revisions are text", "N": "the table declares a whole number there"}
_OTHER_REVISION: Final = {
    "S": "If another library keeps a number there, write revision_attribute=NumberRevision(name), or use another name",
    "N": "Give the table another revision_attribute=",
}


def loaded_key(mapping: EntityMapping, values: Mapping[str, Any], state: Loaded) -> dict[str, AttributeValue]:
    """The primary key that an entity was loaded under. Raises KeyChanged if its fields render another one."""
    stored = mapping.key_of(state.item)
    rendered = mapping.primary_key(values)
    # The same number may be stored in another spelling: 1.0 is the key 1.
    if rendered != stored and not all(same(rendered[name], stored.get(name)) for name in rendered):
        old, now = mapping.subject(state.item), mapping.with_computed(values, mapping.key_fields)
        raise KeyChanged(
            entity=mapping.entity.__name__,
            before=stored_key(mapping, stored),
            after=stored_key(mapping, rendered),
            fields=tuple(name for name in mapping.key_fields if now[name] != old[name]),
        )
    return stored


def over_origin(mapping: EntityMapping, image: Item, origin: Item) -> dict[str, AttributeValue]:
    """The item of a new entity: what no class knows, and the spelling of its values, as in the item it comes from."""
    origin = origin if mapping.table.revision is None else mapping.table.revision.without(origin)
    unknown = {name: value for name, value in origin.items() if name not in mapping.known_attributes}
    found = {**unknown, **image}
    for field in mapping.fields.values():
        stored, now = field.stored_in(origin), image.get(field.attribute)
        if not field.in_key and stored is not None and now is not None:
            found[field.attribute] = restore(field.codec, stored, now)
    return found
