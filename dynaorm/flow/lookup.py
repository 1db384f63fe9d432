"""Finding an entity by a unique value, through its guard item."""

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.codec.expiry import is_past
from dynaorm.entity.dispatch import live_class
from dynaorm.entity.mapping.constraint import OWNER, TABLE, Constraint, GuardKey
from dynaorm.entity.mapping.derive import Claim, claims, guard_key_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import InvalidValue, OwnerUnknown, UnknownField, UsageError
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import get_item
from dynaorm.item.value import Item


def get_by(mapping: EntityMapping, fields: Mapping[str, Any], context: Context) -> Flow[Any | None]:
    """The live entity that has a unique value; None if there is none.

    Two strongly consistent reads: the guard, then its owner. The owner may change between them, so its values are
    compared with the guard; if they differ, both are read once more.

    Raises:
        UnknownField: a keyword is no field.
        UsageError: no unique constraint is made of exactly these fields.
        InvalidValue: the constraint cannot normalise the value.
        OwnerUnknown: the guard has no owner, as guards written by hand may.
        DecodeError: the owner's item does not fit its class or its constraints.
    """
    constraint = constraint_of(mapping, fields)
    _check_types(mapping, fields)
    wanted = guard_key_of(mapping, constraint, fields)
    if wanted is None:
        return None
    for _ in range(2):
        guard = yield from _guard(mapping, wanted, context)
        if guard is None:
            return None
        if not _names_an_owner(mapping, guard):
            raise OwnerUnknown(constraint=constraint.name, value=constraint.value_of(fields))
        owner = _owner(mapping, guard)
        if owner is None:
            return None
        item = yield from get_item(mapping.table, owner, context)
        stored = live_class(mapping, item, context.clock.now())
        if stored is not None and item is not None:
            entity = stored.hydrate(item)
            if any((name, key) == (constraint.name, wanted) for name, key, _ in _claims(stored, item)):
                return entity
    return None


def _check_types(mapping: EntityMapping, fields: Mapping[str, Any]) -> None:
    """Check the types before ``normalize``, which may not accept others. Raises InvalidValue."""
    for name, value in fields.items():
        if value is None:
            continue
        if name in mapping.fields:
            mapping.encode_field(mapping.fields[name], {name: value})
            continue
        try:
            mapping.computed[name].scalar.to_text(value)
        except ValueError as problem:
            raise mapping.invalid(name, value, problem) from mapping.cause_of(name, problem)


def _claims(mapping: EntityMapping, item: Item) -> list[Claim]:
    """The unique values of a stored entity. Raises DecodeError if a constraint refuses a value."""
    try:
        return claims(mapping, mapping.subject(item))
    except InvalidValue as problem:
        raise mapping.unreadable(item, (str(problem),)) from problem


def _guard(mapping: EntityMapping, key: GuardKey, context: Context) -> Flow[Item | None]:
    home = mapping.table.guards
    guard = yield from get_item(home, key.in_table(home), context)
    if guard is None or guard_expired(home, guard, context.clock.now()):
        return None
    return guard


def _names_an_owner(mapping: EntityMapping, guard: Item) -> bool:
    """Whether a guard's ``owner`` is a primary key. A guard written by hand may have anything there, or nothing."""
    owner = guard.get(OWNER, {}).get("M", {})
    return all(owner.get(key.name, {}).get(key.kind) for key in mapping.table.keys)


def _owner(mapping: EntityMapping, guard: Item) -> Item | None:
    """The primary key a guard names; None if the owner is in another table."""
    owner = guard[OWNER]["M"]
    table = owner.get(TABLE) if mapping.table.guard_table is not None else None
    return mapping.key_of(owner) if table is None or table == {"S": mapping.table.name} else None


def guard_expired(home: Table, guard: Item, now: float) -> bool:
    """Whether a guard item is absent to every read, because it has expired."""
    return home.ttl_attribute is not None and is_past(guard.get(home.ttl_attribute, {}), now)


def constraint_of(mapping: EntityMapping, fields: Mapping[str, Any]) -> Constraint:
    """The unique constraint made of exactly these fields."""
    name = mapping.entity.__name__
    for field in fields:
        if field not in mapping.fields and field not in mapping.computed:
            raise UnknownField(entity=name, field=field, known=(*mapping.fields, *mapping.computed))
    for constraint in mapping.constraints.values():
        if set(constraint.fields) == set(fields):
            return constraint
    known = [f"({', '.join(one.fields)})" for one in mapping.constraints.values()]
    raise UsageError(
        problem=f"no unique constraint of {name} is made of ({', '.join(fields)})",
        remedy=f"use the fields of one that is: {', '.join(known)}" if known else "declare one with Unique()",
    )
