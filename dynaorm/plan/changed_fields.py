"""The fields in which an object differs from the item that it was loaded from, and what their attributes become.

Rule 1. A field is compared with its stored value; if a validator changed that value, or absence meant a default, with
        the result. What did not change stays as it is stored, in every spelling.
Rule 2. Of a nested value only what changed is new; the rest is as stored.
"""

from collections.abc import Mapping
from typing import Any, Final

from dynaorm.entity.codec.value import merge, restore
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.part import values_in
from dynaorm.entity.state import Loaded
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue, same

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
