"""Partial updates: the fields that an edit changes, and the image that it makes of a known item."""

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.codec.of_type import Codec
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import UsageError
from dynaorm.item.update import (
    AddTo,
    Append,
    Change,
    Discard,
    Prepend,
    Remove,
    SetIfMissing,
    SetTo,
    apply_changes,
    resolve_changes,
)
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.aggregates import refuse_written_totals
from dynaorm.plan.image import advance, under_present_names


def touched(mapping: EntityMapping, changes: tuple[Change, ...]) -> dict[str, Change]:
    """The fields an edit touches, each with its (last) change.

    Raises:
        UnknownField, InvalidValue, UsageError: a change can never be made, whatever is stored.
    """
    resolver = FieldResolver(mapping)
    found: dict[str, Change] = {}
    for change in changes:
        field = resolver.field(change.path)
        if field.name in mapping.key_fields:
            raise UsageError(
                problem=f"{mapping.entity.__name__}.{field.name} is part of the primary key, which stays in an update",
                remedy="load the entity, change the field and session.move(entity)",
            )
        if len(change.path) == 1:
            _check_whole_field(mapping, field, change)
        if not field.in_key:
            _check_kind(mapping, resolver.codec(change.path), change)
        found[field.name] = change
    if mapping.maintained:
        refuse_written_totals(mapping, found)
    return found


def _check_whole_field(mapping: EntityMapping, field: FieldMapping, change: Change) -> None:
    if isinstance(change, SetTo | SetIfMissing):
        mapping.validate({field.name: change.value}, frozenset({field.name}))
    elif (
        isinstance(change, Remove) and field.required and not (field.none_is_absent or field.empty_is_absent)
    ):
        raise mapping.invalid(
            field.name,
            None,
            "cannot be removed, because the class requires it",
            f"set F.{field.name} to a value",
        )
    if field.in_key and not isinstance(change, SetTo):
        raise UsageError(
            problem=f"{mapping.entity.__name__}.{field.name} lives in an index key alone",
            remedy=f"set it to a value: F.{field.name}.set(...)",
        )


def _check_kind(mapping: EntityMapping, codec: Codec, change: Change) -> None:
    # DynamoDB would make a list of an absent attribute, whatever the class says it is.
    if isinstance(change, Append | Prepend) and (codec.is_set or "L" not in (codec.tags or "L")):
        wanted, remedy = "a list", "F.field.add({...}) for a set, F.field.set(...) for anything else"
    elif isinstance(change, Discard) and codec.tags and not codec.is_set:
        wanted, remedy = "a set", "F.field.set(...), or F.field[0].remove() for an element of a list"
    else:
        return
    raise UsageError(
        problem=f"{mapping.entity.__name__}.{'.'.join(map(str, change.path))} is not {wanted}",
        remedy=f"write {remedy}",
    )


def needs_reading(mapping: EntityMapping, changes: tuple[Change, ...]) -> bool:
    """Whether a key, guard, version or total depends on the changed fields and on more than the edit itself gives."""
    fields = touched(mapping, changes)
    fixed = {name for name, change in fields.items() if isinstance(change, SetTo) and len(change.path) == 1}
    for constraint in mapping.constraints.values():
        if constraint.when is not None or not fields.keys().isdisjoint(constraint.fields):
            return True
    if any(one.depends_on(frozenset(fields)) for one in mapping.aggregates.values()):
        return True
    # DynamoDB adds to and discards from what is stored, and a set with a default may be absent.
    if any(isinstance(change, AddTo | Discard) and _starts_from_a_set(mapping, change) for change in changes):
        return True
    # The value may be stored under a former name; an index key is made of what is stored, not of what was given.
    if any(mapping.fields[name].formerly for name in fields):
        return True
    if mapping.versioning is not None and not fields.keys().isdisjoint(
        mapping.versioning.fields or mapping.fields
    ):
        return True
    if mapping.expires is not None and mapping.expires.name in fields and mapping.constraints:
        return True
    return any(
        not index.fields.isdisjoint(fields)
        and not (index.fields <= fixed and all(mapping.fields[name].exact for name in index.fields))
        for index in mapping.indexes.values()
    )


def _starts_from_a_set(mapping: EntityMapping, change: Change) -> bool:
    start = FieldResolver(mapping).start(change.path)
    return start is not None and "N" not in start


def stored_changes(mapping: EntityMapping, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The changes in stored names and attribute values, with the index keys that follow from the edit alone."""
    plain: list[Change] = []
    fixed: dict[str, Any] = {}
    for change in changes:
        field = mapping.fields[str(change.path[0])]
        if len(change.path) == 1 and isinstance(change, SetTo):
            fixed[field.name] = change.value
            if field.in_key:
                continue
            if mapping.encode_field(field, fixed) is None:
                plain.append(Remove(change.path))
                continue
        plain.append(change)
    resolved = resolve_changes(plain, FieldResolver(mapping))
    return (*resolved, *_index_changes(mapping, fixed))


def _index_changes(mapping: EntityMapping, fixed: Mapping[str, Any]) -> list[Change]:
    found: list[Change] = []
    for index in mapping.indexes.values():
        if index.fields and index.fields <= fixed.keys():
            keys = mapping.index_keys_of(index, fixed)
            found += [
                SetTo((name,), keys[name]) if keys is not None else Remove((name,)) for name in index.made_up
            ]
    return found


def edited_image(
    mapping: EntityMapping, before: Item, changes: tuple[Change, ...]
) -> tuple[dict[str, AttributeValue], frozenset[str]]:
    """The image an edit makes of a stored one, and the fields that it names.

    Raises:
        InvalidValue: the outcome does not fit the class.
        UsageError: DynamoDB could not make the change (appending to a number, say).
    """
    plain = tuple(change for change in changes if not mapping.fields[str(change.path[0])].in_key)
    overrides = {
        str(change.path[0]): change.value
        for change in changes
        if isinstance(change, SetTo) and mapping.fields[str(change.path[0])].in_key
    }
    resolved = stored_changes(mapping, plain)
    names = frozenset(str(change.path[0]) for change in changes)
    start: Item = under_present_names(mapping, before)
    for change in plain:
        start = FieldResolver(mapping).with_parents(start, change.path)
    try:
        outcome = apply_changes(start, resolved)
    except ValueError as problem:
        raise UsageError(
            problem=f"{mapping.entity.__name__} cannot be changed so: {problem}", remedy="set the whole field"
        ) from problem
    changed = {
        name: outcome.get(mapping.fields[name].attribute) for name in names if not mapping.fields[name].in_key
    }
    after = advance(mapping, before, {**changed, **dict.fromkeys(overrides)}, overrides)
    mapping.validate({name: mapping.subject(after)[name] for name in changed}, frozenset(changed))
    return after, names
