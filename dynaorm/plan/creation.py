"""The entity that an upsert creates: what its key, the defaults and the changes make where nothing is stored.

Every field is absent there, and absence means the default: changes start from it, and the caller's condition is judged
on it. The outcome is validated as constructing the entity would.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.key import Key
from dynaorm.entity.mapping.default import with_made_values, with_stored_defaults
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.validate import validated
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.item.update import (
    Change,
    Discard,
    Remove,
    SetTo,
    resolve_changes,
)
from dynaorm.item.value import Item, same
from dynaorm.plan.edit import changes_beside, outcome_of, with_parents
from dynaorm.plan.edit_values import judged_with
from dynaorm.plan.unit_of_work import EVER

_NOTHING: Mapping[str, Any] = {}


def created(
    mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...], now: float = EVER
) -> Mapping[str, Any]:
    """The field values of the entity that an upsert creates at this time.

    Raises:
        InvalidValue: they break a rule of the class, or validation changes the key.
        UsageError: DynamoDB could not make the changes where nothing is stored.
    """
    given = {name: value for name, value in key.fields.items() if name in mapping.fields}
    # Nothing is stored, so what would be set where it is missing is set.
    beside = changes_beside(mapping, now, creates=True)
    changes = (*changes, *(SetTo(one.path, one.value) for one in beside))
    changes = judged_with(mapping, changes, lambda: {**_defaults(mapping), **given})
    others: list[Change] = []
    for change in changes:
        if isinstance(change, SetTo) and len(change.path) == 1:
            given[str(change.path[0])] = change.value
        else:
            others.append(change)
    if others:
        given |= _changed(mapping, others, given)
    # Values that a codec has decoded may be dicts in place of dataclasses.
    strict = False if others else None
    stored = with_stored_defaults(mapping, given)
    values = validated(mapping, stored, strict=strict).values
    if len(made := with_made_values(mapping, stored, values)) > len(stored):
        values = validated(mapping, made, strict=strict).values
    _check_key(mapping, key, values)
    return values


def created_if_valid(
    mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...], now: float
) -> Mapping[str, Any]:
    """The same; no values where an entity can be changed so, but not created."""
    try:
        return created(mapping, key, changes, now)
    except UsageError:
        return _NOTHING


def _changed(mapping: EntityMapping, changes: Sequence[Change], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields that changes make of nothing."""
    resolved = resolve_changes(changes, FieldResolver(mapping))
    start = with_parents(mapping, _NOTHING, changes, lambda name: _default(mapping, name, given))
    outcome = outcome_of(mapping, start, changes, resolved, refusal="is not stored, and cannot be created so")
    return _values(mapping, {str(change.path[0]) for change in changes}, outcome)


def _values(mapping: EntityMapping, names: set[str], item: Item) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        field = mapping.fields[name]
        stored = item.get(field.attribute) or field.implied
        if stored is None:
            continue
        try:
            found[name] = field.codec.decode(stored)
        except ValueError as problem:
            text = f"its new value {problem}"
            raise mapping.errors.invalid(name, None, text) from mapping.errors.cause_of(name, problem)
    return found


def _default(mapping: EntityMapping, name: str, given: Mapping[str, Any]) -> Any:
    """The value of a field of which nothing is given; None if there is none."""
    info = mapping.entity.model_fields[name]
    if info.default_factory is None:
        return mapping.fields[name].value_in({})
    return info.get_default(call_default_factory=True, validated_data={**_defaults(mapping), **given})


def _defaults(mapping: EntityMapping) -> Mapping[str, Any]:
    """The values of the fields of which nothing is given."""
    return {name: one.value_in({}) for name, one in mapping.fields.items() if not one.in_key}


def _check_key(mapping: EntityMapping, key: Key[Any], values: Mapping[str, Any]) -> None:
    rendered = mapping.primary_key.of(values)
    if all(same(rendered[name], key.primary_key.get(name)) for name in rendered):
        return
    values = mapping.with_computed(values, mapping.key_fields)
    name = next(one for one in mapping.key_fields if values[one] != key.fields.get(one))
    raise mapping.errors.invalid(
        name,
        key.fields.get(name),
        f"is part of the key, and validation makes {mapping.secrets.hiding(values)[name]!r} of it",
        "give the key the value that validation gives",
    )


def check_complete(mapping: EntityMapping, key: Key[Any], changes: tuple[Change, ...]) -> None:
    """Raises UsageError if an upsert could not create the entity, because nothing gives a required field a value."""
    given = {str(change.path[0]) for change in changes if not isinstance(change, Remove | Discard)}
    known = given.union(key.fields)
    missing = [name for name, field in mapping.fields.items() if field.required and name not in known]
    if not missing:
        return
    try:
        created(mapping, key, changes)  # a validator of the class may complete it
    except InvalidValue as problem:
        raise UsageError(
            problem=f"upsert() may have to create {key!r}, and nothing gives {', '.join(missing)} a value",
            remedy=f"{_completed(mapping, missing)}; to change only what is stored, call update()",
        ) from problem


def _completed(mapping: EntityMapping, missing: list[str]) -> str:
    """What gives fields a value. A change cannot, if they are in the key, and its text does not give them back."""
    name = mapping.entity.__name__
    in_key = [f"{one}=..." for one in missing if one in mapping.key_fields]
    others = [f"F.{one}.set(...)" for one in missing if one not in mapping.key_fields]
    texts = [f"name the key by all its fields: Key({name}, {', '.join(in_key)}, ...)"] if in_key else []
    texts += [f"give {' and '.join(others)}, or declare a default in {name}"] if others else []
    return "; ".join(texts)
