"""A target of totals that is made of its key: an upsert makes the item that inserting it would make.

It has the type, the key fields, index keys and the values of default factories. Other defaults stay absent, because
absence means them. Only classes for which this item can be made without reading get an upsert.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping
from dynaorm.errors import DecodeError, UsageError
from dynaorm.item.known import KnownPart, Unread
from dynaorm.item.update import Change, SetIfMissing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.kept_times import times_of_new


def can_be_made(mapping: EntityMapping) -> bool:
    """Whether an item of the class can be made of its key fields alone, without a guard and without reading."""
    if mapping.computed_key:
        return False
    known = {*mapping.key_fields, *mapping.maintained, *mapping.kept}
    if any(field.required for name, field in mapping.fields.items() if name not in known):
        return False
    held = (frozenset(constraint.fields) for constraint in mapping.constraints.values())
    if not all(_has_none(mapping, fields) for fields in held):
        return False
    return all(
        place.fields <= known
        or _has_none(mapping, (name for part in place.parts for name in part.fields))
        or _is_kept_out(mapping, place)
        for place in mapping.indexes.values()
    )


def _has_none(mapping: EntityMapping, fields: Iterable[str]) -> bool:
    """Whether one of the fields is None in an entity made of its key alone. Computed ones depend on all fields."""
    return any(
        name in mapping.fields
        and name not in mapping.key_fields
        and mapping.fields[name].default is None
        and mapping.entity.model_fields[name].default_factory is None
        for name in fields
    )


def _is_kept_out(mapping: EntityMapping, place: IndexMapping) -> bool:
    """Whether the condition of a place does not hold for an entity made of its key alone, whatever the key is."""
    known = (field.attribute for field in mapping.fields.values() if field.name not in mapping.key_fields)
    try:
        return place.when is not None and not place.when.holds(mapping.subject(KnownPart({}, known)))
    except Unread:
        return False


def made_of_key(
    mapping: EntityMapping, key: Item, values: Mapping[str, Any], *, added: Collection[str], now: float
) -> tuple[Change, ...]:
    """The changes that make an item of its key, as far as it is not stored.

    ``values``: those of the key fields. ``added``: the totals to which numbers are added in any case.
    """
    item: dict[str, AttributeValue] = dict(key)
    if mapping.table.type_attribute is not None:
        item[mapping.table.type_attribute] = {"S": mapping.name}
    _store(mapping, item, mapping.key_fields, values)
    try:
        values = {**vars(mapping.hydrate(item)), **times_of_new(mapping, now)}
    except DecodeError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} cannot be made of its key: {'; '.join(problem.problems)}",
            remedy="correct the fields it is named by, or save it first",
        ) from problem
    _store(mapping, item, mapping.kept, values)
    item.update(index_keys(mapping, mapping.subject(item, values)))
    made = [name for name, info in mapping.entity.model_fields.items() if info.default_factory is not None]
    # Without a total that is an index key, the item would miss in the index.
    in_index = {name for index in mapping.indexes.values() for name in index.key_fields}
    begun = [name for name in mapping.maintained if name in in_index and name not in added]
    _store(mapping, item, (*made, *begun), values)
    return tuple(SetIfMissing((name,), value) for name, value in item.items() if name not in key)


def _store(
    mapping: EntityMapping, item: dict[str, AttributeValue], names: Iterable[str], values: Mapping[str, Any]
) -> None:
    for name in names:
        field = mapping.fields[name]
        if not field.in_key and (value := mapping.encode_field(field, values)) is not None:
            item.setdefault(field.attribute, value)
