"""The actions of repairs, each conditional on exactly what was read.

Rule 1. The condition on an entity compares its revision and every value that something is derived from, because what
        needs a repair was often written by a program that knows no revisions. If the item is copied, the condition
        compares all of it. An absent item must still be absent.
Rule 2. The condition on a guard item compares its owner and its expiry.
"""

from collections.abc import Iterable
from typing import Any

from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import Condition, all_of, equals, exists, missing
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import Item
from dynaorm.plan.kinds.own_item import OWN_ITEM
from dynaorm.plan.planned import Basis, Planned, Purpose
from dynaorm.plan.unit_of_work import UnitOfWork


def as_read(item: Item, names: Iterable[str]) -> Condition | None:
    """The condition that some attributes are as they were read."""
    return all_of(
        *(equals(name, item[name]) if name in item else missing(name) for name in dict.fromkeys(names))
    )


def unchanged(mapping: EntityMapping, item: Item, also: Iterable[str] = ()) -> Condition:
    """The condition that an entity or its tombstone is as it was read. ``also``: more attributes to compare."""
    table = mapping.table
    names = [] if table.revision_attribute is None else [table.revision_attribute]
    if table.type_attribute is not None:
        names.append(table.type_attribute)
    if mapping.versioning is not None:
        names += [VERSION, VERSION_AT, DELETED]
    fields = [mapping.fields[name] for name in sorted(mapping.derived_fields)]
    names += [name for one in fields if not one.in_key for name in (one.attribute, *one.formerly)]
    condition = as_read(item, [name for name in (*names, *also) if name not in table.key_names])
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
    return own_action(action, Purpose.CHECK, mapping, key, expected=item)


def update(
    mapping: EntityMapping,
    item: Item,
    changes: Iterable[Change],
    *,
    unit: UnitOfWork,
    also: Iterable[str] = (),
) -> Planned:
    """Change the item of an entity, under a new revision. ``also``: more attributes to compare.

    An item without a revision gets none: it says that another program wrote what no class declares. Its next repair
    must know that, too.
    """
    table = mapping.table
    changes = tuple(changes)
    is_revised = table.revision is not None and table.revision.attribute in item
    if table.revision is not None and is_revised:
        changes = (*changes, SetTo((table.revision.attribute,), table.revision.after(item, unit.write_id)))
    action = Update(
        unit.table_name(table.name), mapping.key_of(item), changes, unchanged(mapping, item, also)
    )
    revision = revision_written(mapping, unit) if is_revised else None
    return own_action(action, Purpose.UPDATE, mapping, item, expected=item, before=item, revision=revision)


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


def as_deleted(mapping: EntityMapping, item: Item, unit: UnitOfWork) -> Planned:
    """Delete the item of an entity, if all of it is as it was read."""
    table = mapping.table
    action = Delete(unit.table_name(table.name), mapping.key_of(item), unchanged(mapping, item, item))
    return own_action(action, Purpose.DELETE, mapping, item, expected=item, before=item)


def as_inserted(mapping: EntityMapping, image: Item, unit: UnitOfWork) -> Planned:
    """Put the item of an entity, with its new revision, if its key is free."""
    table = mapping.table
    image = dict(image)
    if table.type_attribute is not None:
        image[table.type_attribute] = {"S": mapping.name}
    action = Put(unit.table_name(table.name), image, missing(table.pk.name))
    return own_action(action, Purpose.INSERT, mapping, image, revision=revision_written(mapping, unit))
