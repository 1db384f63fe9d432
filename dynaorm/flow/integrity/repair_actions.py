"""The actions of repairs, each conditional on exactly what was read.

Rule 1. The condition on an entity compares its revision and every value that something is derived from, because what
        needs a repair was often written by a program that knows no revisions. If the item is copied, the condition
        compares all of it. An absent item must still be absent.
Rule 2. The condition on a guard item compares its owner and its expiry.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from dynaorm.entity.mapping.constraint import OWNER, GuardKey
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.mapping.secret import masked
from dynaorm.entity.table import Table
from dynaorm.entity.template.version import VERSION_TYPE
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.item.action import ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import Condition, all_of, equals, exists, missing
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.kinds.guards import GUARDS, owner_of
from dynaorm.plan.kinds.own_item import OWN_ITEM
from dynaorm.plan.kinds.versions import VERSIONS, version_item, version_key
from dynaorm.plan.planned import Basis, Planned, Purpose
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


def guard_item(mapping: EntityMapping, guard: ItemAddress, item: Item) -> dict[str, AttributeValue]:
    """The guard item that an entity must have."""
    found: dict[str, AttributeValue] = {**guard.key, OWNER: owner_of(mapping, mapping.key_of(item))}
    expiry = mapping.expiry_of(item)
    if expiry is not None and mapping.expires is not None:
        found[mapping.expires.attribute] = {"N": str(expiry)}
    return found


def as_read(item: Item, names: Iterable[str]) -> Condition | None:
    """The condition that some attributes are as they were read."""
    return all_of(
        *(equals(name, item[name]) if name in item else missing(name) for name in dict.fromkeys(names))
    )


def guard_as_read(table: Table, item: Item | None) -> Condition:
    """The condition that a guard item is as it was read."""
    if item is None:
        return missing(table.pk.name)
    names = [OWNER] if table.ttl_attribute is None else [OWNER, table.ttl_attribute]
    condition = as_read(item, names)
    found = all_of(exists(table.pk.name), condition)
    assert found is not None
    return found


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
    return _planned(action, Purpose.CHECK, mapping, key, expected=item)


def put_guard(
    mapping: EntityMapping,
    item: Item,
    guard: ItemAddress,
    stored: Item | None,
    *,
    constraint: str,
    unit: UnitOfWork,
) -> Planned:
    """Put the guard item of an entity in place of the one that was read."""
    action = Put(
        unit.table_name(guard.table.name),
        guard_item(mapping, guard, item),
        guard_as_read(guard.table, stored),
    )
    purpose = Purpose.CLAIM if stored is None else Purpose.PASS_ON
    value = mapping.constraints[constraint].value_of(mapping.subject(item))
    own = mapping.key_of(item)
    return Planned(
        action, GUARDS, purpose, mapping, own, after=action.item, label=(constraint, _guard_key(guard), value)
    )


def delete_guard(
    mapping: EntityMapping,
    owner: Item,
    guard: ItemAddress,
    stored: Item,
    *,
    constraint: str,
    unit: UnitOfWork,
) -> Planned:
    """Delete a guard item that has no owner."""
    action = Delete(unit.table_name(guard.table.name), guard.key, guard_as_read(guard.table, stored))
    found = str(guard.key[guard.table.pk.name]["S"]).partition("#")[2]
    value = masked(found) if constraint in mapping.secrets.constraints else found
    label = (constraint, _guard_key(guard), value)
    return Planned(action, GUARDS, Purpose.RELEASE, mapping, mapping.key_of(owner), label=label)


def _guard_key(guard: ItemAddress) -> GuardKey:
    partition, *sort = (guard.key[key.name]["S"] for key in guard.table.keys)
    return GuardKey(partition, *sort or [partition])


def put_version(mapping: EntityMapping, item: Item, number: int, unit: UnitOfWork) -> Planned:
    """Put the version item that a latest copy repeats."""
    table, key = mapping.table, mapping.key_of(item)
    image = version_item(mapping, key, item, number)
    put = Put(unit.table_name(table.name), image, missing(table.pk.name))
    return Planned(put, VERSIONS, Purpose.VERSION, mapping, key, after=image, label=number)


@record
class NewestVersion:
    """The newest version item of an entity.

    Attributes:
        mapping: the class.
        key: the primary key of the latest copy.
        item: the version item.
        number: its number.
    """

    mapping: EntityMapping
    key: Item
    item: Item
    number: int

    def as_read(self, unit: UnitOfWork) -> Iterator[Planned]:
        """The checks that the version is as it was read, and that no later one follows it."""
        table = self.mapping.table
        unchanged = all_of(exists(table.pk.name), as_read(self.item, (VERSION, VERSION_AT)))
        for number, condition in ((self.number, unchanged), (self.number + 1, missing(table.pk.name))):
            assert condition is not None
            own = version_key(self.mapping, self.key, number)
            action = ConditionCheck(unit.table_name(table.name), own, condition)
            yield _planned(action, Purpose.CHECK, self.mapping, self.key)


def put_tombstone(newest: NewestVersion, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Put the tombstone that a deletion would have left, if nothing is there."""
    mapping, table = newest.mapping, newest.mapping.table
    tombstone: dict[str, AttributeValue] = {
        **mapping.key_of(newest.key),
        VERSION: {"N": str(newest.number)},
        VERSION_AT: {"S": datetime_text(unit.now)},
        DELETED: {"BOOL": True},
    }
    if VERSION_TYPE in newest.item:
        tombstone[VERSION_TYPE] = newest.item[VERSION_TYPE]
    if table.revision is not None:
        tombstone[table.revision.attribute] = table.revision.after(None, unit.write_id)
    action = Put(unit.table_name(table.name), tombstone, missing(table.pk.name))
    buried = _planned(action, Purpose.BURY, mapping, newest.key, revision=_written(mapping, unit))
    return (buried, *newest.as_read(unit))


def count_newest(newest: NewestVersion, tombstone: Item, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Let a tombstone count the newest version. The time of a deletion before that version cannot be its own."""
    changes = [SetTo((VERSION,), {"N": str(newest.number)})]
    deleted, written = (item.get(VERSION_AT, {}).get("S", "") for item in (tombstone, newest.item))
    if deleted < written:
        changes.append(SetTo((VERSION_AT,), {"S": datetime_text(unit.now)}))
    return (update(newest.mapping, tombstone, changes, unit=unit), *newest.as_read(unit))


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
    revision = _written(mapping, unit) if is_revised else None
    return _planned(action, Purpose.UPDATE, mapping, item, expected=item, before=item, revision=revision)


def _revision(mapping: EntityMapping, item: Item | None) -> str | None:
    return mapping.table.mark_of(item) if item is not None else None


def _written(mapping: EntityMapping, unit: UnitOfWork) -> str | None:
    """The revision by which the action's own commit is recognised."""
    revision = mapping.table.revision
    return unit.write_id if revision is not None and revision.kind == "S" else None


def _planned(
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
    return _planned(action, Purpose.DELETE, mapping, item, expected=item, before=item)


def as_inserted(mapping: EntityMapping, image: Item, unit: UnitOfWork) -> Planned:
    """Put the item of an entity, with its new revision, if its key is free."""
    table = mapping.table
    image = dict(image)
    if table.type_attribute is not None:
        image[table.type_attribute] = {"S": mapping.name}
    action = Put(unit.table_name(table.name), image, missing(table.pk.name))
    return _planned(action, Purpose.INSERT, mapping, image, revision=_written(mapping, unit))
