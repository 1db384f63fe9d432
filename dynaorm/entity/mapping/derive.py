"""What follows from an entity besides its fields: its keys in indexes, and the unique values that it claims.

Both are computed from the stored values of an item, not from the values that validators turn them into, so that they
always agree with the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dynaorm.entity.mapping.constraint import Constraint, GuardKey
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.index_places import IndexMapping, IndexPlaces
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue

Claim: TypeAlias = tuple[str, GuardKey, Any]
"""A claimed unique value: the constraint's name, the guard's key, and the value for messages."""


def index_keys(
    mapping: EntityMapping, values: StoredValues, indexes: Iterable[IndexPlaces] | None = None
) -> dict[str, AttributeValue]:
    """The rendered key attributes of every index that an entity is in, or of some.

    Raises:
        InvalidValue: a value cannot be part of a key, or two places of one index hold the entity.
        DecodeError: the item cannot become an entity.
    """
    found: dict[str, AttributeValue] = {}
    for index in mapping.places.values() if indexes is None else indexes:
        if not index.is_plain and found:
            # A field may be stored in the key of another index alone.
            values, found = values.with_attributes(found), {**found}
        if (placed := placed_in(mapping, index, values)) is not None:
            found |= placed[1]
    return found


def keys_in(
    mapping: EntityMapping, place: IndexMapping, values: Mapping[str, Any]
) -> dict[str, AttributeValue] | None:
    """The keys of field values in a place, whatever its condition; None if one is None. Raises InvalidValue."""
    try:
        return place.keys(
            mapping.with_computed(values, (name for part in place.parts for name in part.fields))
        )
    except KeyValueError as problem:
        raise mapping.errors.invalid_key(problem) from mapping.errors.cause_of(problem.field, problem)


def placed_in(
    mapping: EntityMapping, index: IndexPlaces, values: StoredValues
) -> tuple[IndexMapping, dict[str, AttributeValue]] | None:
    """The place of an entity in an index, and its keys there; None if it has none. Raises as ``index_keys``."""
    try:
        found = index.holding(values)
    except KeyValueError as problem:
        raise mapping.errors.invalid_key(problem) from mapping.errors.cause_of(problem.field, problem)
    if len(found) > 1:
        raise _in_two_places(mapping, index, [place for place, _ in found], values)
    return found[0] if found else None


def _in_two_places(
    mapping: EntityMapping, index: IndexPlaces, places: list[IndexMapping], values: StoredValues
) -> InvalidValue:
    names = sorted(
        {name for place in places for name in (place.when or place).fields} & mapping.fields.keys()
    )
    given = tuple(values[name] for name in names)
    both = " and ".join(
        place.attribute_name + (f" ({text})" if text else "")
        for place in places
        for text in [place.when.text(mapping.secrets.fields) if place.when is not None else ""]
    )
    return mapping.errors.invalid(
        ", ".join(names),
        given[0] if len(given) == 1 else given,
        f"puts the entity into {both}, which are both in {index.name!r}, and an item has one place in an index",
        "write conditions (when=) that exclude each other",
    )


def is_index_key(mapping: EntityMapping, field: FieldMapping) -> bool:
    """Whether the attribute of a field is itself a key of an index: without it, the index has no entry of the item."""
    return not field.in_key and any(
        part.attribute.name == field.attribute for place in mapping.indexes.values() for part in place.parts
    )


def own_index_keys(mapping: EntityMapping, values: StoredValues) -> dict[str, AttributeValue]:
    """The attributes of fields that are themselves keys of an index that an entity is in. Raises as ``index_keys``."""
    found: dict[str, AttributeValue] = {}
    for index in mapping.places.values():
        if (placed := placed_in(mapping, index, values)) is None:
            continue
        for part in placed[0].parts:
            key = part.value(values) if not part.synthetic else None
            if key is not None:
                found[part.attribute.name] = key
    return found


def claims(
    mapping: EntityMapping, values: StoredValues, constraints: Mapping[str, Constraint] | None = None
) -> list[Claim]:
    """The unique values that an entity claims, of all constraints or of some. Raises InvalidValue, DecodeError."""
    found: list[Claim] = []
    for name, constraint in (mapping.constraints if constraints is None else constraints).items():
        if constraint.when is not None and not constraint.when.holds(values):
            continue
        if (key := guard_key_of(mapping, constraint, values)) is not None:
            found.append((name, key, constraint.value_of(values)))
    return found


def guard_key_of(mapping: EntityMapping, constraint: Constraint, values: Any) -> GuardKey | None:
    """The guard key of one constraint; None if nothing is claimed. Raises InvalidValue."""
    try:
        return constraint.guard_key(values)
    except KeyValueError as problem:
        raise mapping.errors.invalid_key(problem) from mapping.errors.cause_of(problem.field, problem)
    except ValueError as problem:
        fields, value = ", ".join(constraint.fields), constraint.value_of(values)
        raise mapping.errors.invalid(fields, value, problem) from mapping.errors.cause_of(fields, problem)
