"""Which guard items a unit of work claims, passes on and releases: one action per guard, by the final state.

Rule 1. A claim succeeds if nothing is stored, or the guard is already the claimer's, or it expired a minute ago.
Rule 2. A release succeeds if the guard is the releaser's, or has no owner (as AWS's published examples write them), or
        is missing. A guard that belongs to another entity is not touched.
Rule 3. A value that stays with its entity needs no action.
Rule 4. Two entities that end up with one value are refused here, unless both had it already: then one of them is stale,
        and DynamoDB finds out which.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from dynaorm.entity.codec.expiry import expired
from dynaorm.entity.ident import ident_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE, GuardKey
from dynaorm.entity.mapping.derive import Claim, claims
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import UniqueViolation, Violation
from dynaorm.item.action import Delete, Pattern, Put
from dynaorm.item.condition import Attr, Compare, Condition, Or, missing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.item_change import ItemChange, ItemCheck, ItemInsert, ItemUpdate
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.reads import Reads
from dynaorm.plan.unit_of_work import UnitOfWork

# How long a guard stays claimed after its entity's expiry, for clocks that differ between writers.
CLAIM_MARGIN = 60


class Holder(NamedTuple):
    """An entity that holds guards, before or after: its change, its class, its guards' table and their content."""

    change: ItemChange
    mapping: EntityMapping
    home: Table
    owner: AttributeValue
    expiry: int | None


class Guard(NamedTuple):
    """One guard item that the unit of work may touch.

    Attributes:
        constraint: the name of the constraint.
        key: the key of the guard item.
        value: the unique value, as a person would name it.
        old: the entity that holds it before the unit of work.
        new: the entity that holds it afterwards.
        stays: the new holder is the one that held it before.
    """

    constraint: str
    key: GuardKey
    value: Any = None
    old: Holder | None = None
    new: Holder | None = None
    stays: bool = False


_Guards: TypeAlias = dict[tuple[str, GuardKey], Guard]
"""The guards met so far, by table and key."""


def guard_actions(changes: Sequence[ItemChange], reads: Reads, unit: UnitOfWork) -> list[list[Planned]]:
    """For each change the actions on the guards that it is the first to hold, in the order of the constraints.

    Raises:
        UniqueViolation: two entities of the unit of work end up with one value, which not both had.
    """
    if not any(map(_may_hold, changes)):
        return [[] for _ in changes]
    if len(changes) == 1 and isinstance(changes[0], ItemInsert) and changes[0].before is None:
        return [_claims_of_insert(changes[0], unit)]
    actions: list[list[Planned]] = []
    for change, guards in zip(changes, _collect_guards(changes), strict=True):
        if change.before is not None and len(guards) > 1:
            order = list(change.mapping.constraints)
            guards.sort(key=lambda guard: order.index(guard.constraint) if guard.constraint in order else 0)
        found = (_guard_action(guard, reads, unit) for guard in guards)
        actions.append([action for action in found if action is not None])
    return actions


def _may_hold(change: ItemChange) -> bool:
    """Whether the class of an item has unique values, or the one that it had before."""
    before = change.before
    return bool(change.mapping.constraints or (before is not None and before.mapping.constraints))


def _collect_guards(changes: Sequence[ItemChange]) -> list[list[Guard]]:
    """For each change the guards that it is the first to hold, before or after. Raises UniqueViolation."""
    guards: _Guards = {}
    clashes: list[tuple[ItemChange, Violation]] = []
    ends = [0]
    for change in changes:
        _add_old(change, guards)
        _add_new(change, guards, clashes)
        ends.append(len(guards))
    if clashes:
        entity = clashes[0][0].mapping.entity.__name__
        raise UniqueViolation(entity=entity, violations=tuple(clash for _, clash in clashes))
    found = [*guards.values()]
    return [found[start:end] for start, end in pairwise(ends)]


def _add_old(change: ItemChange, guards: _Guards) -> None:
    before = change.before
    if before is None or isinstance(change, ItemCheck):
        return
    claims = _claims(before.mapping, before.item)
    if not claims:
        return
    holder = _holder(change, before.mapping, before.item)
    home = before.mapping.table.guards.name
    for name, key, value in claims:
        known = guards.get((home, key))
        if known is None or known.new is None:
            guards[home, key] = Guard(name, key, value, holder)
        else:
            guards[home, key] = Guard(name, key, known.value, holder, known.new, known.stays)


def _add_new(change: ItemChange, guards: _Guards, clashes: list[tuple[ItemChange, Violation]]) -> None:
    if not isinstance(change, (ItemInsert, ItemUpdate)):
        return
    mapping, values = change.mapping, change.values if isinstance(change, ItemInsert) else None
    claims = _claims(mapping, change.image, values)
    if not claims:
        return
    holder = _holder(change, mapping, change.image)
    home = mapping.table.guards.name
    for name, key, value in claims:
        known = guards.get((home, key))
        old = None if known is None else known.old
        stays = old is not None and old.change is change
        if known is not None and known.new is not None and not (stays and known.stays):
            clashes.append((change, _clash(name, known.new, change, value)))
        guards[home, key] = Guard(name, key, value, old, holder, stays)


def _holder(change: ItemChange, mapping: EntityMapping, item: Item) -> Holder:
    """The holder of the guards of one image."""
    table, home = mapping.table, mapping.table.guards
    owner = change.key if home is table else {TABLE: {"S": table.name}, **change.key}
    return Holder(change, mapping, home, {"M": owner}, mapping.expiry_of(item))


def _claims(mapping: EntityMapping, item: Item, values: Mapping[str, Any] | None = None) -> list[Claim]:
    """The unique values of one image."""
    if not mapping.constraints or mapping.is_tombstone(item):
        return []
    return claims(mapping, mapping.subject(item, values))


def _clash(constraint: str, holder: Holder, change: ItemChange, value: Any) -> Violation:
    return Violation(
        constraint=constraint,
        fields=change.mapping.constraints[constraint].fields,
        value=value,
        owner=stored_key(holder.mapping, holder.change.key),
    )


def _claims_of_insert(insert: ItemInsert, unit: UnitOfWork) -> list[Planned]:
    """Fast path: the claims of a single insert where nothing is stored. All its guards are new and different."""
    claims = _claims(insert.mapping, insert.image, insert.values)
    if not claims:
        return []
    holder = _holder(insert, insert.mapping, insert.image)
    return _claim(holder, claims, _unclaimed(holder, unit), unit)


def _guard_action(guard: Guard, reads: Reads, unit: UnitOfWork) -> Planned | None:
    """The one action that a guard needs; None if it stays as it is."""
    old, new = guard.old, guard.new
    if new is None:
        return _release(guard, old, reads, unit) if old is not None else None
    claim = (guard.constraint, guard.key, guard.value)
    if old is None:
        return _claim(new, [claim], _unclaimed(new, unit), unit)[0]
    if old.owner == new.owner and old.expiry == new.expiry:
        return None
    (taken,) = _claim(new, [claim], _passed_on(old, new, unit), unit)
    purpose = Purpose.CLAIM if old.owner == new.owner else Purpose.PASS_ON
    return taken._replace(purpose=purpose, before={**taken.item_key, OWNER: old.owner})


def _claim(new: Holder, claims: list[Claim], free: Condition, unit: UnitOfWork) -> list[Planned]:
    change, mapping, home, owner, expiry = new
    table, content = unit.table_name(home.name), {OWNER: owner}
    if expiry is not None and mapping.expires is not None:
        content[mapping.expires.attribute] = {"N": str(expiry)}
    found = []
    for constraint, guard_key, value in claims:
        key = guard_key.in_table(home)
        item = {**key, **content}
        put = Put(table, item, free)
        found.append(Planned(put, Purpose.CLAIM, mapping, change.key, key, None, item, constraint, value))
    return found


def _release(guard: Guard, old: Holder, reads: Reads, unit: UnitOfWork) -> Planned | None:
    home, key = old.home, guard.key.in_table(old.home)
    if reads.foreign_guards and ident_of(home, key) in reads.foreign_guards:
        return None
    return Planned(
        Delete(unit.table_name(home.name), key, _RELEASES.of(old.owner)),
        Purpose.RELEASE,
        old.mapping,
        old.change.key,
        key,
        {**key, OWNER: old.owner},
        None,
        guard.constraint,
        guard.value,
    )


# -- conditions --------------------------------------------------------------------------------------------------------

_OWNER = Attr((OWNER,))
_UNOWNED = missing(OWNER)


def _unclaimed(new: Holder, unit: UnitOfWork) -> Condition:
    """Nothing is stored, or the guard is the claimer's already, or it has expired."""
    home = new.home
    if home.ttl_attribute is None:
        return _unclaimed_pattern(home.pk.name).of(new.owner)
    return Or((missing(home.pk.name), Compare(_OWNER, "=", new.owner), *_expired(home, unit)))


def _passed_on(old: Holder, new: Holder, unit: UnitOfWork) -> Condition:
    """The guard is the old or the new holder's, or has no owner, or has expired."""
    owners = [new.owner] if old.owner == new.owner else [new.owner, old.owner]
    mine = [Compare(_OWNER, "=", owner) for owner in owners]
    return Or((_UNOWNED, *mine, *_expired(new.home, unit)))


def _expired(home: Table, unit: UnitOfWork) -> tuple[Condition, ...]:
    if home.ttl_attribute is None:
        return ()
    return (expired(home.ttl_attribute, unit.now, CLAIM_MARGIN),)


@cache
def _unclaimed_pattern(pk: str) -> Pattern:
    absent = missing(pk)
    return Pattern(lambda owner: Or((absent, Compare(_OWNER, "=", owner))))


_RELEASES = Pattern(lambda owner: Or((_UNOWNED, Compare(_OWNER, "=", owner))))
