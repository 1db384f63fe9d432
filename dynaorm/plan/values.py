"""The values that a write stores: fields of objects, times, images."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import Validated, unchanged, untouched_defaults, validated, values_in
from dynaorm.entity.mapping.validation_rules import is_equal
from dynaorm.entity.state import Loaded, drop_cached, state_of
from dynaorm.errors import InvalidValue, UnknownField
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.stored import StoredItem

# The times that sessions keep: when an entity was created (``CreatedAt``), and when it last changed (``UpdatedAt``).
#
# Rule 1. Only a write of the entity sets them, from the clock of the session.
# Rule 2. A unit of work has one time. It is no part of what the caller asked for.


def times_of_new(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times of an entity that is created now; None for a write that is only asked about."""
    return {field.name: _time(field, now) for field in mapping.kept.values()}


def times_of_changed(mapping: EntityMapping, now: float) -> dict[str, Any]:
    """The times that a change of an entity sets."""
    return {field.name: _time(field, now) for field in mapping.updated} if isfinite(now) else {}


def _time(field: FieldMapping, now: float) -> Any:
    return as_loaded(field, datetime.fromtimestamp(now, UTC)) if isfinite(now) else None


def as_loaded(field: FieldMapping, time: Any) -> Any:
    """A time as a field will load it, whose own encoding may store less than microseconds; None for none."""
    encoded = field.encode(time)
    return None if encoded is None else field.codec.decode(encoded)


# The fields in which an object differs from the item that it was loaded from, and what their attributes become.
#
# Rule 1. A field is compared with its stored value; if a validator changed that value, or absence meant a default,
#         with the result. What did not change stays as it is stored, in every spelling.
# Rule 2. Of a nested value only what changed is new; the rest is as stored.


# Stands for a value that cannot be stored. DynamoDB refuses it, so it is never taken for an absent or a stored one.
UNSTORABLE: Final[AttributeValue] = {}


def changes_of(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded, *, renewed: frozenset[str] = frozenset()
) -> dict[str, AttributeValue | None]:
    """The fields that differ from what was loaded, with their new attribute values (None for absence).

    Fields that are stored only in keys are compared as values, and come with None.

    A ``renewed`` field also differs if validation made its value of the stored one: keys and guards must be those of
    the values that load.

    Raises:
        InvalidValue: a field's value cannot be stored.
    """
    return _differing(mapping, values, state, mapping.encoder.encode(values), renewed=renewed)


def exact_changes(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded
) -> dict[str, AttributeValue | None] | None:
    """The same for values that were not validated, if they are valid as they are; None if their types do not tell."""
    encoded = mapping.encoder.encode_exact(values)
    return None if encoded is None else _differing(mapping, values, state, encoded)


def unvalidated_changes(
    mapping: EntityMapping, values: Mapping[str, Any], state: Loaded
) -> dict[str, AttributeValue | None]:
    """The same for values that were not validated. A value that cannot be stored differs, as ``UNSTORABLE``."""
    encoded: dict[str, AttributeValue] = {}
    wrong: set[str] = set()
    try:
        encoded = mapping.encoder.encode(values)
    except InvalidValue:
        for name, field in mapping.fields.items():
            try:
                found = None if field.in_key else mapping.encoder.encode_field(field, values)
            except InvalidValue:
                wrong.add(name)
                found = field.stored_in(state.item)  # nothing else is to be compared
            if found is not None:
                encoded[field.attribute] = found
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
        elif (
            new := over_stored(mapping, field, (stored, loaded[name], now), is_renewed=is_renewed)
        ) is not stored:
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
    mapping: EntityMapping,
    field: FieldMapping,
    value: tuple[AttributeValue, Any, AttributeValue | None],
    *,
    is_renewed: bool,
) -> AttributeValue | None:
    """What the attribute of a field becomes, ``value`` being the stored one, its loaded value and the one to store.

    It is the stored one itself if the field did not change; otherwise, what did not change in it is as stored.

    Raises:
        InvalidValue: the loaded value cannot be encoded.
    """
    stored, loaded, now = value
    was = mapping.encoder.encode_field(field, {field.name: loaded})
    if is_renewed:
        if was is None:
            return stored if now is None and _is_absence(field, stored) else now
        stored = field.codec.restore(stored, was)
    if same(now, was):
        return stored
    return now if was is None or now is None else field.codec.merge(stored, was, now)


def says(field: FieldMapping, stored: AttributeValue, now: AttributeValue) -> bool:
    """Whether a stored value is ``now``, in any spelling. Its maps may lack members, and have others."""
    return field.codec.restore(stored, now) is stored


def _is_absence(field: FieldMapping, stored: AttributeValue) -> bool:
    """Whether a stored value stands for the same as an absent one."""
    return field.absent_value is not None and same(stored, field.absent_value)


# What a write stores of an object: its values with the times that sessions keep, validated.
#
# Rule 1. Times are set before validation, because validators may look at them. What an object has in these fields is
#         ignored, and becomes what is stored.
# Rule 2. A save that changes nothing else changes no time either, so it is no write.
# Rule 3. The time of creation stays as long as the entity: over overwrites, moves and restorations.


_NO_FIELDS: Final[frozenset[str]] = frozenset()
_NO_TIMES: Final[Mapping[str, Any]] = {}


def whole_values(mapping: EntityMapping, entity: Any, now: float, *, is_copy: bool = False) -> Validated:
    """The values of an object that is stored whole, as new or in place of what is stored.

    ``is_copy``: it was made of an item, and has the time of its creation.
    """
    values, untouched = _values_of(mapping, entity), untouched_defaults(mapping, entity)
    if not mapping.kept:
        return validated(mapping, values, untouched=untouched)
    times, state = times_of_new(mapping, now), state_of(entity)
    if state is not None or is_copy:
        former = values if state is None else _stored_times(mapping, state)
        times |= {field.name: former.get(field.name) for field in mapping.created}
    return _validated_at(mapping, values, times, untouched=untouched)


def validated_for_overwrite(
    mapping: EntityMapping, valid: Validated, entity: Any, before: StoredItem
) -> Validated:
    """The same for an object that replaces a stored entity: with the time at which that was created."""
    former = before.mapping.created
    if not (mapping.created and former) or before.mapping.undeleted(before.item) is None:
        return valid
    stored, names = before.mapping.subject(before.item), {field.name for field in former}
    times = {name: valid.values[name] for name in mapping.kept}
    for field in mapping.created:
        # A class of another declaration may have stored the time under another name, or more exactly.
        name = field.name if field.name in names else former[0].name
        times[field.name] = as_loaded(field, stored[name])
    return _validated_at(mapping, vars(entity), times, untouched=untouched_defaults(mapping, entity))


def changed_values(
    mapping: EntityMapping, entity: Any, state: Loaded, now: float
) -> tuple[Validated, Mapping[str, AttributeValue | None]]:
    """The values of a loaded entity, validated if any changed, and the fields that differ from what is stored.

    Raises:
        InvalidValue: the values are not valid, or cannot be stored.
    """
    values, times = _values_of(mapping, entity), _stored_times(mapping, state)
    current = {**values, **times}
    changes = exact_changes(mapping, current, state)
    if changes is not None and not times:
        return Validated(current), changes
    if changes is None:
        changes = unvalidated_changes(mapping, current, state)
    if not changes:
        return _with_times(unchanged(mapping, current), values, times), changes
    kept = frozenset(mapping.fields.keys() - changes.keys())
    untouched = untouched_defaults(mapping, entity, state.item, kept)
    stamped = {**times, **times_of_changed(mapping, now)}
    valid = _validated_at(mapping, values, stamped, kept=kept, untouched=untouched)
    is_exact = mapping.rules.is_separate and mapping.is_exact
    if is_exact and not valid.altered and UNSTORABLE not in changes.values():
        return valid, changes
    # Validation or a codec may have changed more than the caller did.
    changes = changes_of(mapping, valid.values, state, renewed=mapping.derived_fields)
    if changes and mapping.kept.keys() >= changes.keys():  # Rule 2
        own = {name: value for name, value in valid.altered.items() if name not in times}
        return _with_times(Validated(valid.values, own), values, times), {}
    return valid, changes


def unsaved_changes(
    mapping: EntityMapping, entity: Any, state: Loaded
) -> Mapping[str, AttributeValue | None]:
    """The fields of a loaded entity that a save would change, if validation leaves them as they are."""
    return unvalidated_changes(mapping, {**vars(entity), **_stored_times(mapping, state)}, state)


def _values_of(mapping: EntityMapping, entity: Any) -> Mapping[str, Any]:
    """The values that an object holds. Its cached properties may be older, and are computed again when used.

    Raises:
        UnknownField: one is of no field, because ``model_copy(update=...)`` takes any name.
    """
    values: Mapping[str, Any] = vars(entity)
    if len(values) != len(mapping.fields):
        for name in values.keys() - mapping.fields.keys():
            if not name.startswith("_") and not hasattr(type(entity), name):
                raise UnknownField(entity=mapping.entity.__name__, field=name, known=tuple(mapping.fields))
        drop_cached(entity)
    return values


def _stored_times(mapping: EntityMapping, state: Loaded) -> Mapping[str, Any]:
    if not mapping.kept:
        return _NO_TIMES
    values = mapping.subject(state.item)
    return {name: values[name] for name in mapping.kept}


def _validated_at(
    mapping: EntityMapping,
    values: Mapping[str, Any],
    times: Mapping[str, Any],
    *,
    kept: frozenset[str] = _NO_FIELDS,
    untouched: frozenset[str] = _NO_FIELDS,
) -> Validated:
    """The values of an object as ``validated`` gives them, with these times in place of its own."""
    if not times:
        return validated(mapping, values, kept=kept, untouched=untouched)
    untouched -= times.keys()
    return _with_times(validated(mapping, {**values, **times}, kept=kept, untouched=untouched), values, times)


def _with_times(valid: Validated, values: Mapping[str, Any], times: Mapping[str, Any]) -> Validated:
    """Validated values with these times; ``values`` are those of the object, which gets the times that it lacks."""
    if not times:
        return valid
    found = {**valid.values, **{name: times[name] for name in times if name not in valid.altered}}
    differing = {name: found[name] for name in times if not is_equal(found[name], values.get(name))}
    return Validated(found, {**valid.altered, **differing}, valid.encoded)


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
    image |= mapping.encoder.encode(values) if encoded is None else encoded
    if not mapping.places:
        return image
    return {**key, **index_keys(mapping, mapping.subject(image, values)), **image}


def apply_field_changes(
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
    after, in_keys = with_current_names(mapping, before), dict[str, Any]()
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
        for attribute in (attribute for index in touched for attribute in index.synthetic):
            _put(after, attribute, wanted.get(attribute))
    return after


def _put(item: dict[str, AttributeValue], attribute: str, value: AttributeValue | None) -> None:
    if value is None:
        item.pop(attribute, None)
    else:
        item[attribute] = value


def with_current_names(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue]:
    """The item with every field under its present attribute name, and its class under its present name."""
    found = dict(item)
    kind = mapping.table.type_attribute
    if kind is not None and (item.get(kind) or {}).get("S") in mapping.formerly:
        found[kind] = {"S": mapping.name}
    for field in mapping.fields.values():
        if field.formerly:
            _put(found, field.attribute, field.stored_in(item))
            for former in field.formerly:
                found.pop(former, None)
    return found


def with_unknown_attributes(mapping: EntityMapping, image: Item, origin: Item) -> dict[str, AttributeValue]:
    """The item of a new entity: what no class knows, and the spelling of its values, as in the item it comes from."""
    origin = origin if mapping.table.revision is None else mapping.table.revision.without(origin)
    unknown = {name: value for name, value in origin.items() if name not in mapping.known_attributes}
    found = {**unknown, **image}
    for field in mapping.fields.values():
        stored, now = field.stored_in(origin), image.get(field.attribute)
        if not field.in_key and stored is not None and now is not None:
            found[field.attribute] = field.codec.restore(stored, now)
    return found


def difference(before: Item, after: Item) -> tuple[Change, ...]:
    """The changes that lead from one image to another, attribute by attribute."""
    changes: list[Change] = [
        SetTo((name,), value)
        for name, value in after.items()
        # Most values are the same objects.
        if value is not (stored := before.get(name)) and value != stored and not same(value, stored)
    ]
    changes += [Remove((name,)) for name in before if name not in after]
    return tuple(changes)
