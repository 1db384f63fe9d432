"""Which guard items a unit of work claims, passes on and releases: one action per guard, judged on the final state.

Rule 1. A claim passes where nothing is stored, or the guard is already the claimer's, or it expired a minute ago.
Rule 2. A release passes where the guard is the releaser's, or has no owner (written by hand, as AWS published them), or
        is missing. Somebody else's guard is left alone.
Rule 3. A value that stays with its entity costs nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dynaorm.entity.constraint import OWNER, TABLE
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import UniqueViolation, Violation
from dynaorm.item.action import Delete, Put
from dynaorm.item.condition import Attr, Compare, Or, equals, missing
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.image import subject_of, values_of
from dynaorm.plan.known import Ident, Known, Setting, ident_of
from dynaorm.plan.net import Net, Write
from dynaorm.plan.planned import Planned, Purpose

# How long a guard stays claimed after its entity's expiry, for clocks that differ between writers.
CLAIM_MARGIN = 60


@dataclass(slots=True)
class Side:
    """Who holds a guard, before or after: the entity's net, its class, its image and when it expires."""

    net: Net
    mapping: EntityMapping
    owner: AttributeValue
    expiry: int | None
    value: Any


@dataclass(slots=True)
class Guard:
    """One guard item that the unit of work may touch; ``met`` is the first item that holds it, before or after."""

    constraint: str
    fields: tuple[str, ...]
    table: Table
    key: dict[str, AttributeValue]
    met: Net
    old: Side | None = None
    new: Side | None = None


def guards_of(nets: Iterable[Net]) -> list[Guard]:
    """Every guard held before or after, in the order first met.

    Raises:
        UniqueViolation: two entities of the unit of work end up with one value.
    """
    guards: dict[Ident, Guard] = {}
    clashes: list[tuple[Net, Violation]] = []
    for net in nets:
        if net.before is not None and net.before_mapping is not None and _may_release(net):
            for guard, side in _held(net, net.before_mapping, net.before, None):
                guards.setdefault(ident_of(guard.table, guard.key), guard).old = side
        if net.after is not None and net.write in (Write.PUT, Write.UPDATE):
            for guard, side in _held(net, net.mapping, net.after, net.values):
                found = guards.setdefault(ident_of(guard.table, guard.key), guard)
                if found.new is not None:
                    clashes.append(
                        (net, _violation(found, side, stored_key(found.new.mapping, found.new.net.key)))
                    )
                found.new = side
    if clashes:
        raise UniqueViolation(
            entity=clashes[0][0].mapping.entity.__name__, violations=tuple(clash for _, clash in clashes)
        )
    return list(guards.values())


def _may_release(net: Net) -> bool:
    assert net.before is not None and net.before_mapping is not None
    return net.write in (Write.PUT, Write.UPDATE, Write.DELETE) and not net.before_mapping.is_tombstone(
        net.before
    )


def _held(
    net: Net, mapping: EntityMapping, item: Item, values: Mapping[str, Any] | None
) -> Iterable[tuple[Guard, Side]]:
    if not mapping.constraints:
        return
    values = (
        values if values is not None else values_of(mapping, item, net.overrides if item is net.after else {})
    )
    home = mapping.table.guards
    owner: dict[str, AttributeValue] = mapping.key_of(item)
    if mapping.table.guard_table is not None:
        owner = {TABLE: {"S": mapping.table.name}, **owner}
    expiry = mapping.expiry_of(item)
    for name, text in mapping.guard_keys(values, lambda: _subject(mapping, item)).items():
        constraint = mapping.constraints[name]
        key: dict[str, AttributeValue] = {part.name: {"S": text} for part in home.keys}
        side = Side(net, mapping, {"M": owner}, expiry, constraint.value_of(values))
        yield Guard(name, constraint.fields, home, key, net), side


def _subject(mapping: EntityMapping, item: Item) -> object:
    # Only ``when=`` asks for it. The version item check is off: the image may not have its final key yet.
    return subject_of(mapping, item)


def _violation(guard: Guard, side: Side, owner: Any) -> Violation:
    return Violation(constraint=guard.constraint, fields=guard.fields, value=side.value, owner=owner)


def guard_action(guard: Guard, known: Known, setting: Setting) -> Planned | None:
    """The one action a guard needs, None where it stays as it is."""
    old, new = guard.old, guard.new
    physical = setting.table_name(guard.table.name)
    if new is None:
        assert old is not None
        if ident_of(guard.table, guard.key) in known.foreign:
            return None
        mine = Or((missing(OWNER), equals(OWNER, old.owner)))
        return _planned(Delete(physical, guard.key, mine), Purpose.RELEASE, guard, old)
    if old is not None and old.owner == new.owner and old.expiry == new.expiry:
        return None
    item = {**guard.key, OWNER: new.owner}
    expires = guard.table.ttl_attribute
    if new.expiry is not None and new.mapping.expires is not None:
        item[new.mapping.expires.attribute] = {"N": str(new.expiry)}
    free = [missing(guard.table.pk.name) if old is None else missing(OWNER), equals(OWNER, new.owner)]
    if old is not None and old.owner != new.owner:
        free.append(equals(OWNER, old.owner))
    if expires is not None:
        limit: AttributeValue = {"N": str(int(setting.now) - CLAIM_MARGIN)}
        free.append(Compare(Attr((expires,)), "<", limit))
    purpose = Purpose.CLAIM if old is None or old.owner == new.owner else Purpose.PASS_ON
    return _planned(Put(physical, item, Or(tuple(free))), purpose, guard, new)


def _planned(action: Put | Delete, purpose: Purpose, guard: Guard, side: Side) -> Planned:
    return Planned(
        action=action,
        purpose=purpose,
        mapping=side.mapping,
        entity_key=side.net.key,
        item_key=guard.key,
        before={**guard.key, OWNER: guard.old.owner} if guard.old is not None else None,
        after=action.item if isinstance(action, Put) else None,
        claim=_violation(guard, side, None),
    )
