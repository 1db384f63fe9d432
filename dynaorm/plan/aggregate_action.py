"""The action that changes the totals of a target that is not written itself: an ADD, or an upsert.

An upsert makes the item that inserting the target with its key fields alone would make: type, key fields, index keys
and the values of default factories. Other defaults stay absent, because absence means them. Only classes for which
this item can be made without reading get an upsert.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of, of_type, stored_class
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.mapping.derive import index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping
from dynaorm.errors import DecodeError, UsageError
from dynaorm.item.action import Update
from dynaorm.item.condition import (
    Condition,
    all_of,
    any_of_conditions,
    exists,
    missing,
)
from dynaorm.item.known import KnownPart, Unread
from dynaorm.item.update import Change, SetIfMissing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.aggregates import TotalDelta
from dynaorm.plan.image import refuse_other_revision
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.reads import Reads
from dynaorm.plan.times import times_of_new
from dynaorm.plan.total_bounds import check_totals, total_bounds
from dynaorm.plan.unit_of_work import UnitOfWork

_UNREAD: Any = object()


def total_actions(deltas: Iterable[TotalDelta], reads: Reads, unit: UnitOfWork) -> Iterator[Planned]:
    """One action for every target whose totals change, unless the target is gone and no entity joins it."""
    for delta in deltas:
        read = reads.items.get(delta.ident, _UNREAD)
        if delta.joined or read is _UNREAD or is_target(delta.mapping, read):
            yield _action(delta, read, unit)


def is_target(mapping: EntityMapping, item: Item | None) -> bool:
    """Whether an item under a target's key is such a target."""
    stored = stored_class(mapping, item) if item is not None else None
    return stored is not None and is_of(stored, mapping)


def _action(delta: TotalDelta, read: Any, unit: UnitOfWork) -> Planned:
    mapping, table = delta.mapping, delta.mapping.table
    if read is not _UNREAD and read is not None:
        refuse_other_revision(mapping, read)
    there, kind = (
        exists(table.pk.name),
        all_of(_is_of_kind(mapping, read), None if table.revision is None else table.revision.own),
    )
    makes = delta.joined and can_be_made(mapping)
    condition = all_of(there, kind)
    if makes and not _is_untyped(mapping, read):
        condition = any_of_conditions(missing(table.pk.name), kind) if kind is not None else None
    if read is not _UNREAD and (read is None or is_target(mapping, read)):
        check_totals(mapping, read, delta.totals)
    condition = all_of(condition, total_bounds(mapping, delta.totals))
    changes = (*(_made(delta, unit) if makes else ()), *delta.additions)
    if table.revision is not None:
        changes = (*changes, table.revision.change(unit.write_id))
    return Planned(
        action=Update(unit.table_name(table.name), delta.key, changes, condition),
        purpose=Purpose.AGGREGATE,
        mapping=mapping,
        entity_key=delta.key,
        item_key=delta.key,
        blind=not makes,
        from_read=not delta.joined,
    )


def _is_of_kind(mapping: EntityMapping, read: Any) -> Condition | None:
    """The condition on a target's type: its class's, or that of a class derived from it."""
    attribute = mapping.table.type_attribute
    if attribute is None:
        return None
    if _is_untyped(mapping, read):
        return missing(attribute)
    classes = [one for one in catalog_of(mapping.table).mappings.values() if is_of(one, mapping)]
    return of_type(classes, attribute)


def _is_untyped(mapping: EntityMapping, read: Any) -> bool:
    """Whether an item was read that lacks its type: its key alone says that it is a target."""
    attribute = mapping.table.type_attribute
    return attribute is not None and read is not _UNREAD and read is not None and attribute not in read


# -- targets that are made ---------------------------------------------------------------------------------------------


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


def _made(delta: TotalDelta, unit: UnitOfWork) -> tuple[Change, ...]:
    mapping = delta.mapping
    item: dict[str, AttributeValue] = dict(delta.key)
    if mapping.table.type_attribute is not None:
        item[mapping.table.type_attribute] = {"S": mapping.name}
    _store(mapping, item, mapping.key_fields, delta.values)
    try:
        values = {**vars(mapping.hydrate(item)), **times_of_new(mapping, unit.now)}
    except DecodeError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} cannot be made of its key: {'; '.join(problem.problems)}",
            remedy="correct the fields it is named by, or save it first",
        ) from problem
    _store(mapping, item, mapping.kept, values)
    item.update(index_keys(mapping, mapping.subject(item, values)))
    made = [name for name, info in mapping.entity.model_fields.items() if info.default_factory is not None]
    _store(mapping, item, (*made, *_index_totals(delta)), values)
    return tuple(SetIfMissing((name,), value) for name, value in item.items() if name not in delta.key)


def _store(
    mapping: EntityMapping, item: dict[str, AttributeValue], names: Iterable[str], values: Mapping[str, Any]
) -> None:
    for name in names:
        field = mapping.fields[name]
        if not field.in_key and (value := mapping.encode_field(field, values)) is not None:
            item.setdefault(field.attribute, value)


def _index_totals(delta: TotalDelta) -> list[str]:
    """The totals that are index keys, and to which nothing is added: without them the item would miss in the index."""
    mapping = delta.mapping
    in_index = {name for index in mapping.indexes.values() for name in index.key_fields}
    return [name for name in mapping.maintained if name in in_index and name not in delta.totals]
