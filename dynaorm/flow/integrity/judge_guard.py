"""A guard item judged in the end, when every entity that holds its value is known.

Nobody holds it: it is an orphan. One does: it must be that one's. Several do: that is for people to decide.
"""

from collections.abc import Sequence

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.dispatch import classify
from dynaorm.entity.key import found_key
from dynaorm.entity.mapping.constraint import OWNER, TABLE
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Kind
from dynaorm.flow.integrity.repairs import check, delete_guard, owner_of, put_guard
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.item.value import Item, same
from dynaorm.plan.image import subject_of
from dynaorm.plan.planned import Planned
from dynaorm.plan.reads import ident_of
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


def constraint_in(guard: ItemAddress) -> str:
    """The constraint's name, from the key of a guard item."""
    return constraint_of(guard.table, guard.key)


def constraint_of(home: Table, key: Item) -> str:
    return str(key[home.pk.name]["S"]).partition("#")[0]


def expiry_in(table: Table, guard: Item) -> int | None:
    """When a guard item expires, in epoch seconds; None for never."""
    found = guard.get(table.ttl_attribute) if table.ttl_attribute is not None else None
    return int(found["N"]) if found is not None and "N" in found else None


def guard_expired(table: Table, guard: Item, now: float) -> bool:
    expiry = expiry_in(table, guard)
    return expiry is not None and expiry <= now


def owner_place(home: Table, guard: Item) -> ItemAddress | None:
    """Where the owner is that a guard item names; None where it names no key of any table."""
    owner = dict(guard[OWNER].get("M", {}))
    homes = [
        one.table
        for one in catalog_of(home).guarded.values()
        if constraint_of(home, guard) in one.constraints
    ]
    # Where guards have a table of their own, their owners say which table is theirs.
    named = owner.pop(TABLE, None) if home not in homes else None
    tables = homes if named is None else [one for one in homes if named == {"S": one.name}]
    table = next(iter(tables), None)
    if table is None or owner.keys() != set(table.key_names):
        return None
    if any(key.kind not in owner[key.name] for key in table.keys):
        return None
    return ItemAddress(table, owner)


def holds(address: ItemAddress, item: Item | None, guard: ItemAddress, now: float) -> bool | None:
    """Whether an item is a live entity that holds the value of a guard item; None where nobody can tell."""
    if item is None:
        return False
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping):
        return None if found.value == "unknown" else False
    if found.is_expired(item, now) or found.table.guards is not guard.table:
        return False
    try:
        found.hydrate(item)
        claims = found.claims(found.subject(item), lambda: subject_of(found, item))
    except DynaormError:
        return None
    wanted = constraint_in(guard), str(guard.key[guard.table.pk.name]["S"])
    return any((name, key) == wanted for name, key, _ in claims)


@record(frozen=False)
class _Case:
    """A guard item, who holds its value, and who is said to own it.

    Attributes:
        guard: where it is.
        stored: what is stored there.
        holders: the live entities that hold its value, each with its class and item.
        owner: where the owner it names is.
        owner_item: what is stored there.
        is_uncertain: whether somebody concerned holds the value cannot be told.
    """

    guard: ItemAddress
    stored: Item | None
    holders: list[tuple[EntityMapping, Item]]
    owner: ItemAddress | None = None
    owner_item: Item | None = None
    is_uncertain: bool = False


def judge_guard(
    guard: ItemAddress, claimants: Sequence[ItemAddress], scope: Scope
) -> StoredCheck[list[Diagnosis]]:
    """What is wrong with a guard item, given the entities that may hold its value."""
    setting = scope.new_setting()
    stored, *items = yield [guard, *claimants]
    case = _Case(guard, stored, [])
    for address, item in zip(claimants, items, strict=True):
        _count(case, address, item, setting.now)
    if stored is not None and OWNER in stored and not guard_expired(guard.table, stored, setting.now):
        case.owner = owner_place(guard.table, stored)
        if case.owner is not None:
            (case.owner_item,) = yield [case.owner]
            if case.owner.ident not in {address.ident for address in claimants}:
                _count(case, case.owner, case.owner_item, setting.now)

    def again() -> StoredCheck[list[Diagnosis]]:
        return judge_guard(guard, claimants, scope)

    return [Diagnosis(one.finding, again, one.actions) for one in _judged(case, setting)]


def _count(case: _Case, address: ItemAddress, item: Item | None, now: float) -> None:
    found = holds(address, item, case.guard, now)
    if found is None:
        case.is_uncertain = True
    elif found and item is not None:
        mapping = classify(address.table, item)
        assert isinstance(mapping, EntityMapping)
        case.holders.append((mapping, item))


def _judged(case: _Case, setting: UnitOfWork) -> list[Diagnosis]:
    stored, table = case.stored, case.guard.table
    is_there = stored is not None and not guard_expired(table, stored, setting.now)
    if len(case.holders) > 1:
        detail = f"{len(case.holders)} live entities hold it; change it in all of them but one"
        return [_fault(case, Kind.DUPLICATE, detail)]
    if not case.holders:
        if stored is None or not is_there or OWNER not in stored or case.is_uncertain:
            return []
        return [_fault(case, Kind.ORPHAN_GUARD, _why_orphan(case), _release(case, stored, setting))]
    ((mapping, item),) = case.holders
    if stored is None or not is_there:
        return [_fault(case, Kind.MISSING_GUARD, "nothing guards the value", _claim(case, setting))]
    if OWNER not in stored or same(stored[OWNER], owner_of(mapping, item)):
        return []
    if case.is_uncertain:
        return [_fault(case, Kind.WRONG_OWNER, "the owner it names is an item that nobody can read")]
    return [_fault(case, Kind.WRONG_OWNER, _why_orphan(case), _claim(case, setting))]


def _why_orphan(case: _Case) -> str:
    if case.owner is None:
        return "the owner it names is no key of a table"
    return (
        "the owner it names is gone"
        if case.owner_item is None
        else "the owner it names does not hold the value"
    )


def _fault(case: _Case, kind: Kind, detail: str, actions: tuple[Planned, ...] = ()) -> Diagnosis:
    home = case.guard.table
    constraint = constraint_in(case.guard)
    named = [mapping.name for mapping, _ in case.holders] or [
        one.name for one in catalog_of(home).guarded.values() if constraint in one.constraints
    ]
    owners = tuple(mapping.key_of(item) for mapping, item in case.holders)
    finding = Finding(kind, home.name, case.guard.key, named[0], detail, bool(actions), owners)
    return Diagnosis(finding, actions=actions)


def _claim(case: _Case, setting: UnitOfWork) -> tuple[Planned, ...]:
    ((mapping, item),) = case.holders
    guard = put_guard(
        mapping, item, case.guard, case.stored, constraint=constraint_in(case.guard), setting=setting
    )
    return (check(mapping, item, item, setting), guard, *_owner_as_read(case, setting))


def _release(case: _Case, stored: Item, setting: UnitOfWork) -> tuple[Planned, ...]:
    constraint = constraint_in(case.guard)
    mapping = next(
        one for one in catalog_of(case.guard.table).guarded.values() if constraint in one.constraints
    )
    owner = case.owner.key if case.owner is not None else case.guard.key
    return (
        delete_guard(mapping, owner, case.guard, stored, constraint=constraint, setting=setting),
        *_owner_as_read(case, setting),
    )


def _owner_as_read(case: _Case, setting: UnitOfWork) -> tuple[Planned, ...]:
    """That the owner a guard item names still does not hold the value."""
    if case.owner is None or case.owner.ident in {ident_of(one.table, item) for one, item in case.holders}:
        return ()
    return owner_check(case.owner, case.owner_item, setting)


def owner_check(owner: ItemAddress, item: Item | None, setting: UnitOfWork) -> tuple[Planned, ...]:
    """That what is stored where a guard item's owner should be is as it was read."""
    mapping = _mapping_at(owner, item)
    return () if mapping is None else (check(mapping, owner.key, item, setting),)


def _mapping_at(owner: ItemAddress, item: Item | None) -> EntityMapping | None:
    found = classify(owner.table, item) if item is not None else None
    if isinstance(found, EntityMapping):
        return found
    entity = found_key(catalog_of(owner.table).mappings, owner.key).entity
    if entity is not None:
        return mapping_of(entity)
    return next(iter(catalog_of(owner.table).mappings.values()), None)
