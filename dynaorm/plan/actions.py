"""A change becomes actions: the main item's, and the version item's if a version is due."""

from dynaorm.entity.mapping.mapping import DELETED
from dynaorm.item.action import Action, ConditionCheck, Delete, Put, Update
from dynaorm.item.condition import (
    Attr,
    Compare,
    Condition,
    all_of,
    any_of_conditions,
    equals,
    exists,
    missing,
)
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.item_change import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    StoredItem,
)
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.plan.versions import version_item, version_key


def build_actions(change: ItemChange, unit: UnitOfWork) -> list[Planned]:
    """The main item's action, then the version item's."""
    table, before = unit.table_name(change.mapping.table.name), change.before
    expected, expected_values = (None, None) if before is None else _expectation(change, before)
    condition = _required(change, expected, expected_values, unit)
    if change.condition is not None:
        condition = all_of(condition, change.condition)
    revision = _revision_written(change, unit)
    action, purpose, after = _action(change, table, condition, revision)
    main = Planned(
        action,
        purpose,
        change.mapping,
        change.key,
        change.key,
        None if before is None else before.item,
        after,
        expected=expected,
        expected_values=expected_values,
        revision=revision,
        has_condition=change.condition is not None,
        blind=before is None and not isinstance(change, ItemInsert),
        from_read=before.from_read
        if before is not None
        else isinstance(change, ItemInsert) and change.found_nothing,
    )
    if not isinstance(change, ItemInsert | ItemUpdate) or change.version is None:
        return [main]
    return [main, _version_action(change, change.version, table)]


def _revision_written(change: ItemChange, unit: UnitOfWork) -> str | None:
    if change.mapping.table.revision_attribute is None or isinstance(change, ItemCheck):
        return None
    return None if isinstance(change, ItemDelete) and change.tombstone is None else unit.write_id


def _version_action(change: ItemInsert | ItemUpdate, number: int, table: str) -> Planned:
    item = version_item(change.mapping, change.key, change.image, number)
    return Planned(
        action=Put(table, item, missing(change.mapping.table.pk.name)),
        purpose=Purpose.VERSION,
        mapping=change.mapping,
        entity_key=change.key,
        item_key=version_key(change.mapping, change.key, number),
        after=item,
        number=number,
    )


def _action(
    change: ItemChange, table: str, condition: Condition | None, revision: str | None
) -> tuple[Action, Purpose, Item | None]:
    """The action, its purpose, and the item that it leaves if that is known."""
    key = change.key
    if isinstance(change, ItemInsert):
        purpose = Purpose.INSERT if change.before is None else Purpose.REPLACE
        return Put(table, change.image, condition), purpose, change.image
    if isinstance(change, ItemUpdate):
        changes = difference(change.before.item, change.image)
        return Update(table, key, changes, condition), Purpose.UPDATE, change.image
    if isinstance(change, ItemEdit):
        changes, attribute = change.edits, change.mapping.table.revision_attribute
        if attribute is not None and revision is not None:
            changes = (*changes, SetTo((attribute,), {"S": revision}))
        return Update(table, key, changes, condition), Purpose.UPDATE, None
    if isinstance(change, ItemCheck):
        assert condition is not None  # a check requires at least that the item exists
        return ConditionCheck(table, key, condition), Purpose.CHECK, change.image
    if change.tombstone is not None:
        return Put(table, change.tombstone, condition), Purpose.BURY, change.tombstone
    return Delete(table, key, condition), Purpose.DELETE, None


def difference(before: Item, after: Item) -> tuple[Change, ...]:
    """The changes that lead from one image to another, attribute by attribute."""
    changes: list[Change] = [
        SetTo((name,), value)
        for name, value in after.items()
        if value != (stored := before.get(name)) and not same(value, stored)
    ]
    changes += [Remove((name,)) for name in before if name not in after]
    return tuple(changes)


def _expectation(
    change: ItemChange, before: StoredItem
) -> tuple[str | None, dict[str, AttributeValue | None] | None]:
    """The revision that must be stored; without one, the attribute values that must be."""
    revision = before.mapping.revision_of(before.item)
    if revision is not None:
        return revision, None
    return None, {name: before.item.get(name) for name in _attributes_relied_on(change, before)}


def _attributes_relied_on(change: ItemChange, before: StoredItem) -> list[str]:
    """Without a revision: everything that changes, and everything a key, index, guard or version is made of."""
    mapping = before.mapping
    if isinstance(change, ItemCheck) or before.as_loaded:
        found = {name for field in mapping.fields.values() for name in (field.attribute, *field.formerly)}
        found |= set(before.item)
    else:
        changed = change.changed if isinstance(change, ItemInsert | ItemUpdate) else frozenset()
        fields = [mapping.fields[name] for name in mapping.derived_fields | changed]
        found = {field.attribute for field in fields if not field.in_key}
        found |= {former for field in fields for former in field.formerly}
        found |= {name for index in mapping.indexes.values() for name in index.made_up}
        if isinstance(change, ItemInsert) or (
            isinstance(change, ItemDelete) and change.tombstone is not None
        ):
            found |= set(before.item)
    if mapping.table.type_attribute is not None:
        found.add(mapping.table.type_attribute)
    return sorted(found - {key.name for key in mapping.table.keys})


def _required(
    change: ItemChange,
    expected: str | None,
    expected_values: dict[str, AttributeValue | None] | None,
    unit: UnitOfWork,
) -> Condition | None:
    mapping = change.mapping if change.before is None else change.before.mapping
    table = mapping.table
    expires = mapping.expires.attribute if mapping.expires is not None else None
    if isinstance(change, ItemInsert) and change.before is None:
        absent = missing(table.pk.name)
        return absent if expires is None else any_of_conditions(absent, _is(expires, "<=", unit))
    if expected is not None and table.revision_attribute is not None:
        return equals(table.revision_attribute, {"S": expected})
    if expected_values is not None:
        return all_of(
            exists(table.pk.name),
            *(
                missing(name) if value is None else equals(name, value)
                for name, value in expected_values.items()
            ),
        )
    return all_of(
        exists(table.pk.name),
        equals(table.type_attribute, {"S": mapping.name}) if table.type_attribute is not None else None,
        missing(DELETED) if mapping.versioning is not None and table.type_attribute is None else None,
        None if expires is None else any_of_conditions(missing(expires), _is(expires, ">", unit)),
    )


def _is(expires: str, operator: str, unit: UnitOfWork) -> Condition:
    return Compare(Attr((expires,)), operator, {"N": str(int(unit.now))})
