"""What a write stores of an object: its values with the times that sessions keep, validated.

Rule 1. Times are set before validation, because validators may look at them. What an object has in these fields is
        ignored, and becomes what is stored.
Rule 2. A save that changes nothing else changes no time either, so it is no write.
Rule 3. The time of creation stays as long as the entity: over overwrites, moves and restorations.
"""

from collections.abc import Mapping
from typing import Any, Final

from dynaorm.entity.mapping.default import untouched_defaults
from dynaorm.entity.mapping.equal import is_equal
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import Validated, unchanged, validated
from dynaorm.entity.state import Loaded, state_of
from dynaorm.errors import UnknownField
from dynaorm.item.value import AttributeValue
from dynaorm.plan.changed_fields import UNSTORABLE, changes_of, exact_changes, unvalidated_changes
from dynaorm.plan.item_change import StoredItem
from dynaorm.plan.kept_times import as_loaded, times_of_changed, times_of_new

_NO_FIELDS: Final[frozenset[str]] = frozenset()
_NO_TIMES: Final[Mapping[str, Any]] = {}


def whole_values(mapping: EntityMapping, entity: Any, now: float, *, is_copy: bool = False) -> Validated:
    """The values of an object that is stored whole, as new or in place of what is stored.

    ``is_copy``: it was made of an item, and has the time of its creation.
    """
    values, spared = _values_of(mapping, entity), untouched_defaults(mapping, entity)
    if not mapping.kept:
        return validated(mapping, values, spared=spared)
    times, state = times_of_new(mapping, now), state_of(entity)
    if state is not None or is_copy:
        former = values if state is None else _stored_times(mapping, state)
        times |= {field.name: former.get(field.name) for field in mapping.created}
    return _validated_at(mapping, values, times, spared=spared)


def in_place_of(mapping: EntityMapping, valid: Validated, entity: Any, before: StoredItem) -> Validated:
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
    return _validated_at(mapping, vars(entity), times, spared=untouched_defaults(mapping, entity))


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
    spared = untouched_defaults(mapping, entity, state.item, kept)
    stamped = {**times, **times_of_changed(mapping, now)}
    valid = _validated_at(mapping, values, stamped, kept=kept, spared=spared)
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
    """The values that an object holds, among them those of cached properties.

    Raises:
        UnknownField: one is of no field, because ``model_copy(update=...)`` takes any name.
    """
    values: Mapping[str, Any] = vars(entity)
    if len(values) != len(mapping.fields):
        for name in values.keys() - mapping.fields.keys():
            if not name.startswith("_") and not hasattr(type(entity), name):
                raise UnknownField(entity=mapping.entity.__name__, field=name, known=tuple(mapping.fields))
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
    spared: frozenset[str] = _NO_FIELDS,
) -> Validated:
    """The values of an object as ``validated`` gives them, with these times in place of its own."""
    if not times:
        return validated(mapping, values, kept=kept, spared=spared)
    spared -= times.keys()
    return _with_times(validated(mapping, {**values, **times}, kept=kept, spared=spared), values, times)


def _with_times(valid: Validated, values: Mapping[str, Any], times: Mapping[str, Any]) -> Validated:
    """Validated values with these times; ``values`` are those of the object, which gets the times that it lacks."""
    if not times:
        return valid
    found = {**valid.values, **{name: times[name] for name in times if name not in valid.altered}}
    differing = {name: found[name] for name in times if not is_equal(found[name], values.get(name))}
    return Validated(found, {**valid.altered, **differing}, valid.encoded)
