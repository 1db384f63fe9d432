"""Getting one entity by its key, as it is or as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dynaorm.argument import check_flag
from dynaorm.entity.classify import live_class
from dynaorm.entity.internal_items import key_in, owner_in, says_another
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.constraint import Constraint, GuardKey
from dynaorm.entity.mapping.derive import Claim, claims, guard_key_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import Contention, EntityNotFound, InvalidValue, OwnerUnknown, UnknownField, UsageError
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.read import OPTIONS, Target, get_item, get_items_at_once, key_and_options, load, target_of
from dynaorm.item.value import Item
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.entity.mapping import validate
    from dynaorm.flow import history
    from dynaorm.plan import guards
else:
    late(
        globals(),
        validate="dynaorm.entity.mapping.validate",
        history="dynaorm.flow.history",
        guards="dynaorm.plan.guards",
    )


def get(
    named: Any,
    keywords: Mapping[str, Any],
    context: Context,
    unnamed: tuple[Any, ...] = (),
    *,
    required: bool = False,
) -> Flow[Any | None]:
    """The entity under a key, now or at a version or time; None if there is none, and it is not required."""
    key, options = key_and_options(named, keywords, unnamed)
    target = target_of(key)
    asked = key if required else None
    if options:
        return (yield from _get_with(target, options, context, asked))
    return (
        yield from load(target.mapping, target.key, context, consistent=context.consistent, required=asked)
    )


def _get_with(
    target: Target, options: Mapping[str, Any], context: Context, required: Key[Any] | None
) -> Flow[Any | None]:
    if unknown := [name for name in options if name not in OPTIONS]:
        raise UsageError(
            problem=f"get(Key(...)) has no option {unknown[0]!r}",
            remedy=f"use {', '.join(OPTIONS)}; fields go into the Key",
        )
    number, at, consistent = (options.get(name) for name in OPTIONS)
    consistent = context.consistent if consistent is None else consistent
    check_flag("consistent={}", consistent)
    if number is not None or at is not None:
        return (yield from history.entity_at(target, number, at, context))
    return (yield from load(target.mapping, target.key, context, consistent=consistent, required=required))


def get_one(
    named: Any, keywords: Mapping[str, Any], context: Context, unnamed: tuple[Any, ...] = ()
) -> Flow[Any]:
    """The entity under a key, as ``get`` does. Raises EntityNotFound if there is none."""
    found = yield from get(named, keywords, context, unnamed, required=True)
    if found is None:
        key, options = key_and_options(named, keywords)
        raise history.not_there(key, options) if options else EntityNotFound(key=key)
    return found


# Finding an entity by a unique value, through its guard item.

_LOOKS: Final = 12
"""How often the owner of a value may change while it is looked up."""


def get_by(mapping: EntityMapping, fields: Mapping[str, Any], context: Context) -> Flow[Any | None]:
    """The live entity that has a unique value; None if there is none.

    Two strongly consistent reads: the guard, then its owner. The value may change hands between them. So if the owner
    does not have it, both are read as of one moment, until the guard still names this owner.

    Raises:
        UnknownField: a keyword is no field.
        UsageError: no unique constraint is made of exactly these fields.
        InvalidValue: the constraint cannot normalise the value.
        OwnerUnknown: the guard has no owner, as guards written by hand may.
        DecodeError: the owner's item does not fit its class or its constraints.
        Contention: the value changed hands all the time.
    """
    constraint = constraint_of(mapping, fields)
    key, fields = validate.fit(mapping, lambda values: _key_of(mapping, constraint, values), fields)
    # A value of which a part is None is claimed by nobody.
    if key is None:
        return None
    sought = _Sought(mapping, constraint, key, fields, context)
    home = mapping.table.guards
    place = home, key.in_table(home)
    owner = sought.owner_of((yield from get_item(*place, context)))
    if owner is None:
        return None
    entity = sought.entity_in((yield from get_item(mapping.table, owner, context)))
    if entity is not None:
        return entity
    for _ in range(_LOOKS):
        guard, item = yield from get_items_at_once([place, (mapping.table, owner)], context)
        named = sought.owner_of(guard)
        if named is None or named == owner:
            return None if named is None else sought.entity_in(item)
        owner = named
    raise Contention(
        attempts=_LOOKS,
        code="",
        problem=f"{constraint.name} changed hands during each of {_LOOKS} reads",
        remedy="nothing was written; try again later",
    )


@record(quick=True)
class _Sought:
    """A unique value that is looked up."""

    mapping: EntityMapping
    constraint: Constraint
    key: GuardKey
    fields: Mapping[str, Any]
    context: Context

    def owner_of(self, guard: Item | None) -> Item | None:
        """The primary key that a guard item names; None if it has expired, or its owner is of another class.

        Raises:
            OwnerUnknown: it has no owner.
        """
        mapping, home = self.mapping, self.mapping.table.guards
        if guard is None or guard_expired(home, guard, self.context.clock.now()):
            return None
        named = owner_in(guard)
        owner = key_in(named, mapping.table)
        if owner is None:
            others = (one.table for one in guards.constrained_by(self.constraint.name, home))
            if says_another(named, mapping.table) or any(key_in(named, table) for table in others):
                return None
            raise OwnerUnknown(constraint=self.constraint.name, value=self.constraint.value_of(self.fields))
        # No entity is its own guard item.
        is_itself = home is mapping.table and owner == self.key.in_table(home)
        return None if is_itself or self._is_of_another(owner) else owner

    def _is_of_another(self, owner: Item) -> bool:
        """Whether only another class that shares the constraint has such a key. Its item may not say its class."""
        mapping = self.mapping
        if not self.constraint.shared or mapping.key_matches(owner):
            return False
        sharing = guards.constrained_by(self.constraint.name, mapping.table.guards)
        return any(one.table is mapping.table and one.key_matches(owner) for one in sharing)

    def entity_in(self, item: Item | None) -> Any | None:
        """The entity of an item if it is live and has the value."""
        stored = live_class(self.mapping, item, self.context.clock.now())
        if stored is None or item is None:
            return None
        entity = stored.loader.hydrate(item)
        # The owner may have given the value up since its guard was read.
        has_it = any(claim[:2] == (self.constraint.name, self.key) for claim in _claims(stored, item))
        return entity if has_it else None


def _key_of(mapping: EntityMapping, constraint: Constraint, values: Mapping[str, Any]) -> GuardKey | None:
    """The guard's key. ``normalize`` is only called with values of the right types. Raises InvalidValue."""
    for name, scalar in zip(constraint.fields, constraint.scalars, strict=True):
        try:
            if values[name] is not None:
                scalar.to_text(values[name])
        except ValueError as problem:
            raise mapping.errors.invalid(name, values[name], problem) from mapping.errors.cause_of(
                name, problem
            )
    return guard_key_of(mapping, constraint, values)


def _claims(mapping: EntityMapping, item: Item) -> list[Claim]:
    """The unique values of a stored entity. Raises DecodeError if a constraint refuses a value."""
    try:
        return claims(mapping, mapping.subject(item))
    except InvalidValue as problem:
        raise mapping.errors.unreadable(item, (str(problem),)) from problem


def guard_expired(home: Table, guard: Item, now: float) -> bool:
    """Whether a guard item is absent to every read, because it has expired."""
    return home.expiry is not None and home.expiry.is_over(guard, now)


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
