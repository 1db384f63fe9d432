"""Find what the loaded declarations do not explain, and keep repairs from writing what depends on it.

Rule 1. An item of an unknown type may belong to a class that is counted in totals, and whose module is not loaded.
Rule 2. A newer declaration may have written an entity with attributes that its class does not declare. dynaorm gives
        every item that it writes a revision. So an item without one, in a table with revisions, was written by another
        program, and nothing follows from its attributes.
Rule 3. An item is a guard item only if it has the attributes of one, and no others.
Rule 4. A revision that is no text is kept by another library, whose lock a repair would break.
"""

from collections.abc import Iterable

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.table import Table
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import Diagnosis, Doubt
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.value import Item
from dynaorm.plan.image import other_revision
from dynaorm.record import replace


def doubtful(diagnosis: Diagnosis, doubt: str) -> Diagnosis:
    """The diagnosis without its repair, if there is a doubt."""
    if not doubt or not diagnosis.actions:
        return diagnosis
    return Diagnosis(replace(diagnosis.finding, mendable=False, doubt=doubt), diagnosis.again)


def not_ours(mapping: EntityMapping, item: Item, scope: Scope) -> str:
    """Why an entity must not be written: another library keeps its revision, or a newer declaration wrote it.

    Empty if it may be written.
    """
    if problem := other_revision(mapping, item):
        return f"{problem}; if another library keeps it, give the table another revision_attribute="
    return newer_than(mapping, item, scope)


def newer_than(mapping: EntityMapping, item: Item, scope: Scope) -> str:
    """Why an entity may have been written by a newer declaration of its class; empty if it was not."""
    table = mapping.table
    if table.revision_attribute is not None and table.revision_attribute not in item:
        return ""
    known = {*table.key_names, table.type_attribute, table.revision_attribute, *scope.foreign_attributes}
    for field in mapping.fields.values():
        known |= {field.attribute, *field.formerly}
    for index in mapping.indexes.values():
        known |= set(index.made_up)
    if mapping.versioning is not None:
        known |= {VERSION, VERSION_AT, DELETED}
    if unknown := sorted(item.keys() - known):
        return (
            f"{mapping.name} does not declare {_listed(unknown)}, which a newer declaration may have written; "
            "load that one, or name attributes of other programs as foreign"
        )
    return ""


def newer_at(address: ItemAddress, item: Item | None, scope: Scope) -> str:
    """``newer_than`` for the item at an address; empty if that is no entity."""
    found = classify(address.table, item) if item is not None else None
    return newer_than(found, item, scope) if item is not None and isinstance(found, EntityMapping) else ""


def doubt_about(table: Table, item: Item, scope: Scope) -> Doubt | None:
    """Why an item makes totals doubtful; None if it does not."""
    found = classify(table, item)
    if isinstance(found, EntityMapping):
        newer = newer_than(found, item, scope) if found.aggregates else ""
        return Doubt(found.name, newer) if newer else None
    if found is not NotAnEntity.UNKNOWN or not catalog_of(table).mappings:
        return None
    attribute = table.type_attribute
    if attribute is None:
        return Doubt(None, f"an item of {table.name} belongs to no loaded class; load every module of it")
    if attribute not in item:
        return None
    tag = next(iter(item[attribute].values()))
    return Doubt(None, f"no loaded class explains the type {shown(tag)} in {table.name}; load its module")


def uncounted(mapping: EntityMapping) -> Doubt:
    """The doubt about the totals that may count an entity that cannot be read."""
    reason = f"an item of {mapping.name} cannot be read, which may be counted; correct it or delete it"
    return Doubt(mapping.name, reason)


def more_than_a_guard(home: Table, item: Item) -> list[str]:
    """The attributes of an item that a guard item does not have."""
    return sorted(item.keys() - {*home.key_names, OWNER, home.ttl_attribute})


def not_a_guard(home: Table, item: Item) -> str:
    """Why an item must not be replaced or deleted as a guard item; empty if it is exactly one."""
    if extra := more_than_a_guard(home, item):
        return f"a guard item has no {_listed(extra)}; delete the item yourself if nothing needs it"
    return ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
