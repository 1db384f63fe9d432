"""Find what the loaded declarations do not explain, and keep repairs from writing what depends on it.

Rule 1. A newer declaration may have written an entity with attributes that its class does not declare. dynaorm gives
        every item that it writes a revision. So an item without one, in a table with revisions, was written by another
        program, and nothing follows from its attributes.
Rule 2. A revision that is no text is kept by another library, whose lock a repair would break.
"""

from collections.abc import Iterable

from dynaorm.entity.classify import classify
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.integrity.finding import RepairableFinding
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.value import Item
from dynaorm.plan.stored import other_revision
from dynaorm.record import replace


def without_repair(diagnosis: RepairableFinding, reason: str) -> RepairableFinding:
    """The diagnosis without its repair, if there is a reason."""
    if not reason or not diagnosis.actions:
        return diagnosis
    finding = replace(diagnosis.finding, repairable=False, uncertain_because=reason)
    return replace(diagnosis, finding=finding, actions=())


def reason_not_to_write(mapping: EntityMapping, item: Item, scope: Scope) -> str:
    """Why an entity must not be written: another library keeps its revision, or a newer declaration wrote it.

    Empty if it may be written.
    """
    if problem := other_revision(mapping, item):
        return f"{problem}; if another library keeps it, give the table another revision_attribute="
    return written_by_newer_code(mapping, item, scope)


def written_by_newer_code(mapping: EntityMapping, item: Item, scope: Scope) -> str:
    """Why an entity may have been written by a newer declaration of its class; empty if it was not."""
    table = mapping.table
    if table.revision is not None and table.revision.attribute not in item:
        return ""
    of_every_item = {*table.key_names, table.type_attribute, table.revision_attribute}
    if unknown := sorted(
        item.keys() - of_every_item - mapping.known_attributes - set(scope.foreign_attributes)
    ):
        return (
            f"{mapping.name} does not declare {listed(unknown)}, which a newer declaration may have written; "
            "load that one, or name what other programs write: "
            "--foreign-attribute, or RunOptions(foreign_attributes=...)"
        )
    return ""


def written_by_newer_code_at(address: ItemAddress, item: Item | None, scope: Scope) -> str:
    """``written_by_newer_code`` for the item at an address; empty if that is no entity."""
    found = classify(address.table, item) if item is not None else None
    return (
        written_by_newer_code(found, item, scope)
        if item is not None and isinstance(found, EntityMapping)
        else ""
    )


def listed(names: Iterable[str]) -> str:
    """Some names in a sentence."""
    return ", ".join(map(repr, names))
