"""Judge a guard item, given the entities that hold its value.

If nobody holds the value, the guard is an orphan. If one entity does, the guard must name it. If several do, people
have to decide.
"""

from collections.abc import Sequence

from dynaorm.entity.codec.expiry import seconds_of
from dynaorm.entity.declare.catalog import catalog_of, constraint_at
from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.key import found_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Diagnosis, Finding, FindingKind
from dynaorm.flow.integrity.repair_actions import check, delete_guard, owner_of, put_guard
from dynaorm.flow.integrity.scope import Scope, constrained_by
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import doubtful, newer_at, newer_than, not_a_guard
from dynaorm.flow.lookup import guard_expired
from dynaorm.item.value import Item, same
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import ident_of
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
    """

    guard: ItemAddress
    stored: Item | None
    holders: list[tuple[EntityMapping, Item]]
    owner: ItemAddress | None = None
    owner_item: Item | None = None
    is_uncertain: bool = False
    doubt: str = ""


def judge_guard(
    guard: ItemAddress, claimants: Sequence[ItemAddress], scope: Scope
) -> StoredCheck[list[Diagnosis]]:
    """What is wrong with a guard item, given the entities that may hold its value."""
    unit = scope.new_unit()
    stored, *items = yield [guard, *claimants]
    case = _GuardHolders(guard, stored, [])
    for address, item in zip(claimants, items, strict=True):
        _add_holder(case, address, item, unit.now)
    if stored is not None and OWNER in stored and not guard_expired(guard.table, stored, unit.now):
        case.owner = owner_address(guard, stored)
        if case.owner is not None:
            (case.owner_item,) = yield [case.owner]
            if case.owner.ident not in {address.ident for address in claimants}:
                _add_holder(case, case.owner, case.owner_item, unit.now)
    case.doubt = _doubt(case, scope)

    def again() -> StoredCheck[list[Diagnosis]]:
        return judge_guard(guard, claimants, scope)

    return [Diagnosis(one.finding, again, one.actions) for one in _judged(case, unit, scope)]


def _add_holder(case: _GuardHolders, address: ItemAddress, item: Item | None, now: float) -> None:
    found = holds(address, item, case.guard, now)
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


def _judged(case: _GuardHolders, unit: UnitOfWork, scope: Scope) -> list[Diagnosis]:
    stored = case.stored
    if stored is not None and guard_expired(case.guard.table, stored, unit.now):
        stored = None
    if len(case.holders) > 1:
        detail = f"{len(case.holders)} live entities hold it; change it in all of them but one"
        return [_diagnosis(case, FindingKind.DUPLICATE, detail)]
    if not case.holders:
        return [] if stored is None or case.is_uncertain else _orphan(case, stored, unit, scope)
    ((mapping, item),) = case.holders
    if stored is None:
        detail = "no guard item protects the value"
        return [_diagnosis(case, FindingKind.MISSING_GUARD, detail, _claim(case, unit))]
    if OWNER not in stored or same(stored[OWNER], owner_of(mapping, item)):
        return []
    if case.is_uncertain:
        return [_diagnosis(case, FindingKind.WRONG_OWNER, "the owner it names cannot be read")]
    return [_diagnosis(case, FindingKind.WRONG_OWNER, _why_wrong(case), _claim(case, unit))]


def _orphan(case: _GuardHolders, stored: Item, unit: UnitOfWork, scope: Scope) -> list[Diagnosis]:
    if OWNER in stored:
        actions = _release(case, stored, unit)
        diagnosis = _diagnosis(case, FindingKind.ORPHAN_GUARD, _why_wrong(case), actions)
        unclear = "the owner it names is no key; delete the item yourself if nothing needs it"
        return [doubtful(diagnosis, "" if case.owner is not None else unclear)]
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


def _claim(case: _GuardHolders, unit: UnitOfWork) -> tuple[Planned, ...]:
    ((mapping, item),) = case.holders
    guard = put_guard(mapping, item, case.guard, case.stored, constraint=constraint_in(case.guard), unit=unit)
    return (check(mapping, item, item, unit), guard, *_owner_as_read(case, unit))


def _release(case: _GuardHolders, stored: Item, unit: UnitOfWork) -> tuple[Planned, ...]:
    constraint = constraint_in(case.guard)
    mapping = constrained_by(constraint, case.guard.table)[0]
    owner = case.owner.key if case.owner is not None else case.guard.key
    return (
        delete_guard(mapping, owner, case.guard, stored, constraint=constraint, unit=unit),
        *_owner_as_read(case, unit),
    )


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
    entity = found_key(catalog_of(owner.table).mappings, owner.key).entity
    if entity is not None:
        return mapping_of(entity)
    return next(iter(catalog_of(owner.table).mappings.values()), None)
