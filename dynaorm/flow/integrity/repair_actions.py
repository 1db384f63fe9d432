"""The actions of repairs: an entity is stored as it should be, on condition that everything is exactly as it was read.

Rule 1. A repair is a renewal. The entity's own item becomes ``image``, if that differs from what was read, and the
        entity takes the items that follow from it, each in place of what was read there.
Rule 2. The condition on an entity compares its revision and every value that something is derived from, because what
        needs a repair was often written by a program that knows no revisions. If the item is copied, the condition
        compares all of it. An absent item must still be absent.
Rule 3. The condition on any other item is that of its kind.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dynaorm.entity.classify import classify
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.flow.integrity.finding import RepairableFinding
from dynaorm.flow.integrity.reads import ItemAddress
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import Condition, all_of, as_in, exists, missing
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.derived import DerivedKind, EntitySide
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Basis, Planned, Purpose
from dynaorm.plan.stored import other_revision
from dynaorm.plan.values import difference
from dynaorm.record import replace


class ClaimedItem(NamedTuple):
    """An item that an entity takes in a repair.

    Attributes:
        kind: its kind.
        label: what the kind knows of it.
        stored: what was read there.
    """

    kind: DerivedKind[Any]
    label: Any
    stored: Item | None


def renewed(
    mapping: EntityMapping,
    item: Item,
    image: Item,
    taken: Sequence[ClaimedItem] = (),
    *,
    unit: UnitOfWork,
    also: Iterable[str] = (),
) -> tuple[Planned, ...]:
    """Store an entity as ``image``, and let it take items, if all of them are as they were read.

    A new revision is written if the item changes. Only an item that has a revision gets one: if it has none, another
    program wrote what no class declares. Its next repair must know that, too.

    Args:
        mapping: the class of the entity.
        item: its item as it was read.
        image: its item as it will be, but for the revision. Under another key, the item moves there.
        taken: the items that it takes.
        unit: the time and the new revision.
        also: attributes to compare besides those that something is derived from.
    """
    is_moved = mapping.key_of(item) != mapping.key_of(image)
    changes = difference(item, image)
    # What keeps a copy of an item needs all of it to be as it was read.
    compared = [*also, *(str(change.path[0]) for change in changes)]
    compared += item if any(one.kind.is_permanent for one in taken) else ()
    final, revision = dict(image), mapping.table.revision
    if revision is not None and (is_moved or (changes and revision.attribute in item)):
        final = revision.stamped(final, item, unit.write_id)
    holder = EntitySide(mapping, mapping.key_of(image), final)
    others = [one.kind.claim_if_unchanged(holder, one.label, one.stored, unit) for one in taken]
    if is_moved:
        own = (_as_deleted(mapping, item, unit), as_inserted(mapping, final, unit))
        return (*own, *others)
    if changes:
        return (update(mapping, item, changes, unit=unit, also=compared), *others)
    return (check(mapping, item, item, unit, also=compared), *others)


def unchanged(mapping: EntityMapping, item: Item, also: Iterable[str] = ()) -> Condition:
    """The condition that an entity or its tombstone is as it was read. ``also``: more attributes to compare."""
    table = mapping.table
    names = [] if table.revision_attribute is None else [table.revision_attribute]
    names += mapping.bookkeeping
    fields = [mapping.fields[name] for name in sorted(mapping.derived_fields)]
    names += [name for one in fields if not one.in_key for name in one.attributes]
    condition = as_in(item, [name for name in (*names, *also) if name not in table.key_names])
    found = all_of(exists(table.pk.name), condition)
    assert found is not None
    return found


def check(
    mapping: EntityMapping, key: Item, item: Item | None, unit: UnitOfWork, *, also: Iterable[str] = ()
) -> Planned:
    """The check that an entity is as it was read, or still absent. ``also``: more attributes to compare."""
    table = mapping.table
    condition = missing(table.pk.name) if item is None else unchanged(mapping, item, also)
    action = ConditionCheck(unit.table_name(table.name), mapping.key_of(key), condition)
    return own_action(action, ItemPurpose.CHECK, mapping, key, expected=item)


def update(
    mapping: EntityMapping,
    item: Item,
    changes: Iterable[Change],
    *,
    unit: UnitOfWork,
    also: Iterable[str] = (),
) -> Planned:
    """Change the item of an entity, under a new revision if it has one. ``also``: more attributes to compare."""
    table = mapping.table
    changes = tuple(changes)
    is_revised = table.revision is not None and table.revision.attribute in item
    if table.revision is not None and is_revised:
        changes += (SetTo(table.revision.path, table.revision.after(item, unit.write_id)),)
    action = Update(
        unit.table_name(table.name), mapping.key_of(item), changes, unchanged(mapping, item, also)
    )
    revision = revision_written(mapping, unit) if is_revised else None
    return own_action(
        action, ItemPurpose.UPDATE, mapping, item, expected=item, before=item, revision=revision
    )


def _revision(mapping: EntityMapping, item: Item | None) -> str | None:
    return mapping.table.mark_of(item) if item is not None else None


def revision_written(mapping: EntityMapping, unit: UnitOfWork) -> str | None:
    """The revision by which the action's own commit is recognised."""
    revision = mapping.table.revision
    return unit.write_id if revision is not None and revision.kind == "S" else None


def own_action(
    action: ConditionCheck | Delete | Put | Update,
    purpose: Purpose,
    mapping: EntityMapping,
    key: Item,
    *,
    expected: Item | None = None,
    **more: Any,
) -> Planned:
    """An action on an entity's own item. ``expected``: the item whose revision must be stored."""
    after = action.item if isinstance(action, Put) else None
    basis = Basis(_revision(mapping, expected))
    return Planned(action, OWN_ITEM, purpose, mapping, mapping.key_of(key), after=after, basis=basis, **more)


def _as_deleted(mapping: EntityMapping, item: Item, unit: UnitOfWork) -> Planned:
    """Delete the item of an entity, if all of it is as it was read."""
    table = mapping.table
    action = Delete(unit.table_name(table.name), mapping.key_of(item), unchanged(mapping, item, item))
    return own_action(action, ItemPurpose.DELETE, mapping, item, expected=item, before=item)


def as_inserted(mapping: EntityMapping, image: Item, unit: UnitOfWork) -> Planned:
    """Put the item of an entity, if its key is free."""
    table = mapping.table
    action = Put(unit.table_name(table.name), image, missing(table.pk.name))
    return own_action(action, ItemPurpose.INSERT, mapping, image, revision=revision_written(mapping, unit))


# Find what the loaded declarations do not explain, and keep repairs from writing what depends on it.
#
# Rule 1. A newer declaration may have written an entity with attributes that its class does not declare. dynaorm gives
#         every item that it writes a revision. So an item without one, in a table with revisions, was written by
#         another program, and nothing follows from its attributes.
# Rule 2. A revision that is no text is kept by another library, whose lock a repair would break.


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
