"""Judge a guard item, given the entities that hold its value.

Rule 1. What is wrong follows from how many live entities hold the value, and from what the guard item says: see
        ``_WRONG``. It does not depend on which of these items a run meets, or on what else it finds.
Rule 2. A deletion releases the guards. So a guard item of a versioned entity that was deleted with its value, or whose
        latest copy is gone, is kept until people restore or purge the entity.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from dynaorm.entity.codec.expiry import seconds_of
from dynaorm.entity.declare.catalog import catalog_of, constraint_at, version_class
from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.ident import ident_of
from dynaorm.entity.key import found_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE, GuardKey
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.secret import masked
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Diagnosis, Finding, FindingKind
from dynaorm.flow.integrity.judge_version import newest_number
from dynaorm.flow.integrity.repair_actions import as_read, check
from dynaorm.flow.integrity.scope import Scope, constrained_by
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import doubtful, newer_at, newer_than, not_a_guard
from dynaorm.flow.lookup import guard_expired
from dynaorm.item.action import Delete
from dynaorm.item.condition import Condition, all_of, exists, missing
from dynaorm.item.value import Item, same
from dynaorm.plan.kinds.derived import Image
from dynaorm.plan.kinds.guards import GUARDS, claim_of, owner_of, says_of
from dynaorm.plan.kinds.versions import version_key
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.renewal import renewal_of
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


def constraint_in(guard: ItemAddress) -> str:
    """The name of the constraint, from the key of a guard item."""
    return constraint_at(guard.table, guard.key)


def expiry_in(table: Table, guard: Item) -> int | None:
    """When a guard item expires, in epoch seconds; None for never, as for what is no time."""
    found = guard.get(table.ttl_attribute) if table.ttl_attribute is not None else None
    try:
        return seconds_of(found) if found is not None else None
    except ValueError:
        return None


class GuardSays(Enum):
    """What a guard item says of one entity, or of nobody."""

    NOTHING = "there is none, or it has expired"
    NO_OWNER = "it names no owner"
    RIGHT = "it names the entity, and expires with it"
    OTHER_EXPIRY = "it names the entity, and expires at another time"
    OTHER_OWNER = "it names another owner"


def what_guard_says(
    home: Table, guard: Item | None, holder: tuple[EntityMapping, Item] | None, now: float
) -> GuardSays:
    """What is stored in the place of a guard item, about an entity: its class and item; None for nobody."""
    if guard is None:
        return GuardSays.NOTHING
    if holder is not None and same(guard.get(OWNER), owner_of(holder[0], holder[0].key_of(holder[1]))):
        mapping, item = holder
        is_right = mapping.expiry_of(item) == expiry_in(home, guard)
        return GuardSays.RIGHT if is_right else GuardSays.OTHER_EXPIRY
    if guard_expired(home, guard, now):
        return GuardSays.NOTHING
    return GuardSays.OTHER_OWNER if OWNER in guard else GuardSays.NO_OWNER


_WRONG: Final[Mapping[tuple[int, GuardSays], FindingKind]] = {
    (0, GuardSays.NO_OWNER): FindingKind.ORPHAN_GUARD,
    (0, GuardSays.OTHER_OWNER): FindingKind.ORPHAN_GUARD,
    (1, GuardSays.NOTHING): FindingKind.MISSING_GUARD,
    (1, GuardSays.OTHER_EXPIRY): FindingKind.GUARD_EXPIRY,
    (1, GuardSays.OTHER_OWNER): FindingKind.WRONG_OWNER,
    **{(2, says): FindingKind.DUPLICATE for says in GuardSays},
}
"""What is wrong, by the number of live entities that hold the value (2: several) and what the guard says of the one."""


def owner_address(guard: ItemAddress, item: Item) -> ItemAddress | None:
    """The address of the owner that a guard item names; None if it names no key of a loaded table."""
    owner = dict(item[OWNER].get("M", {}))
    table = _owner_table(guard, owner)
    if table is None:
        return None
    if table is not guard.table:
        del owner[TABLE]
    if owner.keys() != set(table.key_names) or any(key.kind not in owner[key.name] for key in table.keys):
        return None
    return ItemAddress(table, owner)


def _owner_table(guard: ItemAddress, owner: Item) -> Table | None:
    """The table of an owner; None if no loaded class there has the constraint."""
    tables = {one.table.name: one.table for one in constrained_by(constraint_in(guard), guard.table)}
    home = tables.get(guard.table.name)
    if home is not None and (TABLE not in owner or owner.keys() == set(home.key_names)):
        return home
    # In another table's guard table, each owner includes the name of its table.
    table = tables.get(owner.get(TABLE, {}).get("S", ""))
    return None if table is home else table


def owner_doubt(guard: ItemAddress, item: Item) -> str:
    """Why a guard item may belong to an entity that no loaded class explains; empty if it does not."""
    owner = item.get(OWNER, {}).get("M", {})
    if OWNER not in item or _owner_table(guard, owner) is not None:
        return ""
    named = (
        f"in the table {owner[TABLE].get('S')!r}" if TABLE in owner else "in a table that it does not name"
    )
    return f"its owner is {named}, where no loaded class has {constraint_in(guard)!r}; load that class"


def holds(address: ItemAddress, item: Item | None, guard: ItemAddress, now: float) -> bool | None:
    """Whether an item is a live entity that holds the value of a guard item; None if that cannot be known."""
    if item is None:
        return False
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping):
        return None if found is NotAnEntity.UNKNOWN else False
    if found.is_expired(item, now) or found.table.guards is not guard.table:
        return False
    constraint = constraint_in(guard)
    try:
        # It keeps the guards of its stored values until it is stored as it loads.
        held = [guards_of(found, one).get(constraint) for one in (item, renewal_of(found, item).image)]
    except DynaormError:
        return None
    return any(one is not None and one.ident == guard.ident for one in held)


def claim(
    holder: tuple[EntityMapping, Item], guard: ItemAddress, stored: Item | None, unit: UnitOfWork
) -> Planned:
    """Put a guard item of an entity, given with its class, in place of the one that was read."""
    mapping, item = holder
    image, constraint = Image(mapping, mapping.key_of(item), item), constraint_in(guard)
    # It may hold the value only as it loads, which is not yet as it is stored.
    value = mapping.constraints[constraint].value_of(mapping.subject(item))
    held = (constraint, _key(guard), value), says_of(image)
    put = claim_of(image, held, _as_read(guard.table, stored), unit)
    return put if stored is None else put._replace(purpose=Purpose.PASS_ON)


def _release(guard: ItemAddress, stored: Item, owner: Item, unit: UnitOfWork) -> Planned:
    """Delete a guard item whose owner does not hold the value. ``owner``: a key, to name it."""
    constraint = constraint_in(guard)
    mapping = constrained_by(constraint, guard.table)[0]
    action = Delete(unit.table_name(guard.table.name), guard.key, _as_read(guard.table, stored))
    key = _key(guard)
    found = key.partition.partition("#")[2]
    value = masked(found) if constraint in mapping.secrets.constraints else found
    label = (constraint, key, value)
    return Planned(action, GUARDS, Purpose.RELEASE, mapping, mapping.key_of(owner), label=label)


def _key(guard: ItemAddress) -> GuardKey:
    partition, *sort = (str(guard.key[key.name]["S"]) for key in guard.table.keys)
    return GuardKey(partition, *sort or [partition])


def _as_read(home: Table, item: Item | None) -> Condition:
    """The condition that a guard item is as it was read."""
    if item is None:
        return missing(home.pk.name)
    names = [OWNER] if home.ttl_attribute is None else [OWNER, home.ttl_attribute]
    found = all_of(exists(home.pk.name), as_read(item, names))
    assert found is not None
    return found


def guards_of(mapping: EntityMapping, item: Item) -> dict[str, ItemAddress]:
    """The guard items of an entity, by constraint. Raises DynaormError if the item does not fit its class."""
    home = mapping.table.guards
    found = claims(mapping, mapping.subject(item))
    return {name: ItemAddress(home, key.in_table(home)) for name, key, _ in found}


@record(frozen=False)
class _GuardHolders:
    """A guard item, the entities that hold its value, and the owner that it names.

    Attributes:
        guard: the address of the guard item.
        stored: the guard item, if it exists.
        holders: the live entities that hold its value, each with its class and item.
        owner: the address of the owner that it names.
        owner_item: the item at that address.
        is_uncertain: one of these items cannot be read, so it may hold the value.
        doubt: why the guard item must not be written.
        keeper: why it must not be deleted, though no live entity holds the value.
    """

    guard: ItemAddress
    stored: Item | None
    holders: list[tuple[EntityMapping, Item]]
    owner: ItemAddress | None = None
    owner_item: Item | None = None
    is_uncertain: bool = False
    doubt: str = ""
    keeper: str = ""


def judge_suspect(
    guard: ItemAddress, claimants: Sequence[ItemAddress], scope: Scope
) -> StoredCheck[list[Diagnosis]]:
    """What is wrong with a guard item, given the entities that may hold its value."""
    unit = scope.new_unit()
    stored, *items = yield [guard, *claimants]
    case = _GuardHolders(guard, stored, [])
    for address, item in zip(claimants, items, strict=True):
        _add_holder(case, address, item, scope)
    if stored is not None and OWNER in stored:
        case.owner = owner_address(guard, stored)
        if case.owner is not None:
            (case.owner_item,) = yield [case.owner]
            if case.owner.ident not in {address.ident for address in claimants}:
                _add_holder(case, case.owner, case.owner_item, scope)
    case.doubt = _doubt(case, scope)
    if not case.holders and stored is not None and not case.is_uncertain:
        case.keeper = yield from _keeper(case)

    def again() -> StoredCheck[list[Diagnosis]]:
        return judge_suspect(guard, claimants, scope)

    return [Diagnosis(one.finding, again, one.actions) for one in _judged(case, unit, scope)]


def _add_holder(case: _GuardHolders, address: ItemAddress, item: Item | None, scope: Scope) -> None:
    found = holds(address, item, case.guard, scope.new_unit().now)
    if found is None:
        case.is_uncertain = True
    elif found and item is not None:
        mapping = classify(address.table, item)
        assert isinstance(mapping, EntityMapping)
        case.holders.append((mapping, item))


def _doubt(case: _GuardHolders, scope: Scope) -> str:
    reasons = [newer_than(mapping, item, scope) for mapping, item in case.holders]
    if case.stored is not None:
        reasons += [not_a_guard(case.guard.table, case.stored), owner_doubt(case.guard, case.stored)]
    if case.owner is not None:
        reasons.append(newer_at(case.owner, case.owner_item, scope))
    return next(filter(None, reasons), "")


def _keeper(case: _GuardHolders) -> StoredCheck[str]:
    """Why a guard item belongs to an entity that may come back; empty if it does not."""
    owner, copy = case.owner, case.owner_item
    mapping = _class_of_key(owner) if owner is not None else None
    if owner is None or mapping is None or mapping.versioning is None:
        return ""
    if copy is not None and not mapping.is_tombstone(copy):
        return ""  # a live entity with another value
    newest = yield from newest_number(mapping, owner.key)
    if not newest:
        return ""
    if copy is None:
        return "its owner has versions and no latest copy; restore or purge that entity first"
    (version,) = yield [ItemAddress(owner.table, version_key(mapping, owner.key, newest))]
    if version is not None and _gave_up(mapping, owner, version, case.guard):
        return ""
    return f"its owner was deleted as version {newest}, which may be restored; if not, delete the guard item yourself"


def _gave_up(mapping: EntityMapping, owner: ItemAddress, version: Item, guard: ItemAddress) -> bool:
    """Whether the last version of a deleted entity shows that it did not hold the value of a guard item."""
    mapping = version_class(mapping, version) or mapping
    constraint, versioning = mapping.constraints.get(constraint_in(guard)), mapping.versioning
    if constraint is None or versioning is None:
        return constraint is None
    if versioning.fields is not None and not constraint.depends_on <= versioning.fields | set(
        mapping.key_fields
    ):
        return False  # the version does not have what the value is made of
    try:
        held = guards_of(mapping, {**version, **owner.key}).get(constraint.name)
    except DynaormError:
        return False
    return held is None or held.ident != guard.ident


def _judged(case: _GuardHolders, unit: UnitOfWork, scope: Scope) -> list[Diagnosis]:
    holder = case.holders[0] if len(case.holders) == 1 else None
    says = what_guard_says(case.guard.table, case.stored, holder, unit.now)
    kind = _WRONG.get((min(len(case.holders), 2), says))
    if kind is None:
        return []
    if kind is FindingKind.DUPLICATE:
        detail = f"{len(case.holders)} live entities hold it; change it in all of them but one"
        return [_diagnosis(case, kind, detail)]
    if kind is FindingKind.ORPHAN_GUARD:
        if case.is_uncertain:
            return [
                _diagnosis(case, FindingKind.NOT_JUDGED, "an item that may hold the value cannot be read")
            ]
        return _orphan(case, case.stored or {}, unit, scope)
    if kind is FindingKind.MISSING_GUARD:
        return [_diagnosis(case, kind, "no guard item protects the value", _claimed(case, unit))]
    if kind is FindingKind.GUARD_EXPIRY:
        ((mapping, item),) = case.holders
        found, wanted = expiry_in(case.guard.table, case.stored or {}), mapping.expiry_of(item)
        detail = f"it expires at {found or 'no time'}, and its owner at {wanted or 'no time'}"
        return [_diagnosis(case, kind, detail, _claimed(case, unit))]
    if case.is_uncertain:
        return [_diagnosis(case, kind, "the owner it names cannot be read")]
    return [_diagnosis(case, kind, _why_wrong(case), _claimed(case, unit))]


def _orphan(case: _GuardHolders, stored: Item, unit: UnitOfWork, scope: Scope) -> list[Diagnosis]:
    if OWNER in stored:
        owner = case.owner.key if case.owner is not None else case.guard.key
        actions = (_release(case.guard, stored, owner, unit), *_owner_as_read(case, unit))
        diagnosis = _diagnosis(case, FindingKind.ORPHAN_GUARD, _why_wrong(case), actions)
        unclear = "the owner it names is no key; delete the item yourself if nothing needs it"
        return [doubtful(diagnosis, case.keeper if case.owner is not None else unclear)]
    if not scope.sees_holders(case.guard.table, constraint_in(case.guard)):
        return []
    detail = "it names no owner, and no entity holds the value; delete it if nobody reserved the value"
    return [_diagnosis(case, FindingKind.ORPHAN_GUARD, detail)]


def _why_wrong(case: _GuardHolders) -> str:
    if case.owner is None:
        return "the owner it names is no key of a loaded table"
    if case.owner_item is None:
        return "the owner it names does not exist"
    return "the owner it names does not hold the value"


def _diagnosis(
    case: _GuardHolders, kind: FindingKind, detail: str, actions: tuple[Planned, ...] = ()
) -> Diagnosis:
    home = case.guard.table
    classes = [mapping for mapping, _ in case.holders] or constrained_by(constraint_in(case.guard), home)
    owners = tuple(mapping.key_of(item) for mapping, item in case.holders)
    key = classes[0].secrets.hiding_guard(constraint_in(case.guard), case.guard.key)
    finding = Finding(kind, home.name, key, classes[0].name, detail, bool(actions), owners)
    return doubtful(Diagnosis(finding, actions=actions), case.doubt)


def _claimed(case: _GuardHolders, unit: UnitOfWork) -> tuple[Planned, ...]:
    ((mapping, item),) = case.holders
    guard = claim((mapping, item), case.guard, case.stored, unit)
    return (check(mapping, item, item, unit), guard, *_owner_as_read(case, unit))


def _owner_as_read(case: _GuardHolders, unit: UnitOfWork) -> tuple[Planned, ...]:
    """The check that the owner named by a guard item still does not hold the value."""
    if case.owner is None or case.owner.ident in {ident_of(one.table, item) for one, item in case.holders}:
        return ()
    return owner_check(case.owner, case.owner_item, unit)


def owner_check(owner: ItemAddress, item: Item | None, unit: UnitOfWork) -> tuple[Planned, ...]:
    """The check that the item at the address of an owner is as it was read."""
    mapping = _mapping_at(owner, item)
    return () if mapping is None else (check(mapping, owner.key, item, unit),)


def _mapping_at(owner: ItemAddress, item: Item | None) -> EntityMapping | None:
    found = classify(owner.table, item) if item is not None else None
    if isinstance(found, EntityMapping):
        return found
    # Any class can check that nothing is under a key that no class has.
    return _class_of_key(owner) or next(iter(catalog_of(owner.table).mappings.values()), None)


def _class_of_key(owner: ItemAddress) -> EntityMapping | None:
    """The class that has keys like an owner's; None if no class has."""
    entity = found_key(catalog_of(owner.table).mappings, owner.key).entity
    return None if entity is None else mapping_of(entity)
