"""A net becomes actions: the main item's, and the version item's where one is due."""

from dynaorm.entity.mapping.mapping import DELETED, EntityMapping
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
from dynaorm.plan.known import Setting
from dynaorm.plan.net import ABSENT, CHECK, DELETE, EDIT, PUT, UNKNOWN, Net
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.stamp import version_item, version_key


def actions_of(net: Net, setting: Setting) -> list[Planned]:
    """The main item's action, then the version item's."""
    table = setting.table_name(net.mapping.table.name)
    expected, expected_values = _expectation(net)
    condition = _required(net, expected, expected_values, setting)
    if net.condition is not None:
        condition = all_of(condition, net.condition)
    action, purpose = _action(net, table, condition)
    main = Planned.__new__(
        Planned,
        action,
        purpose,
        net.mapping,
        net.key,
        net.key,
        net.before,
        net.after,
        None,
        None,
        expected,
        expected_values,
        net.revision,
        net.condition is not None,
        net.knowledge is UNKNOWN,
        net.from_read,
    )
    return [main] if net.version is None else [main, _version(net, table, net.version)]


def _version(net: Net, table: str, number: int) -> Planned:
    item = version_item(net)
    return Planned(
        action=Put(table, item, missing(net.mapping.table.pk.name)),
        purpose=Purpose.VERSION,
        mapping=net.mapping,
        entity_key=net.key,
        item_key=version_key(net.mapping, net.key, number),
        after=item,
        number=number,
    )


def _action(net: Net, table: str, condition: Condition | None) -> tuple[Action, Purpose]:
    if net.write is PUT:
        assert net.after is not None
        purpose = Purpose.INSERT if net.knowledge is ABSENT else Purpose.REPLACE
        return Put(table, net.after, condition), purpose
    if net.write is CHECK:
        assert condition is not None
        return ConditionCheck(table, net.key, condition), Purpose.CHECK
    if net.write is DELETE and net.after is None:
        return Delete(table, net.key, condition), Purpose.DELETE
    if net.write is EDIT:
        changes = net.edits
        if net.revision is not None and net.mapping.table.revision_attribute is not None:
            changes = (*changes, SetTo((net.mapping.table.revision_attribute,), {"S": net.revision}))
        return Update(table, net.key, changes, condition), Purpose.UPDATE
    assert net.after is not None
    if net.write is DELETE:
        return Put(table, net.after, condition), Purpose.BURY
    assert net.before is not None
    return Update(table, net.key, difference(net.before, net.after), condition), Purpose.UPDATE


def difference(before: Item, after: Item) -> tuple[Change, ...]:
    """The changes that lead from one image to another, attribute by attribute."""
    changes: list[Change] = [
        SetTo((name,), value)
        for name, value in after.items()
        if value != (stored := before.get(name)) and not same(value, stored)
    ]
    changes += [Remove((name,)) for name in before if name not in after]
    return tuple(changes)


def _expectation(net: Net) -> tuple[str | None, dict[str, AttributeValue | None] | None]:
    """The revision that must be stored; without one, the attribute values that must be."""
    if net.before is None or net.before_mapping is None:
        return None, None
    revision = net.before_mapping.revision_of(net.before)
    if revision is not None:
        return revision, None
    return None, {name: net.before.get(name) for name in _attributes_relied_on(net, net.before_mapping)}


def _attributes_relied_on(net: Net, mapping: EntityMapping) -> list[str]:
    """Without a revision: everything that changes, and everything a key, index, guard or version is made of."""
    assert net.before is not None
    if net.write is CHECK or net.as_loaded:
        found = {name for field in mapping.fields.values() for name in (field.attribute, *field.formerly)}
        found |= set(net.before)
    else:
        names = mapping.derived_fields | net.changed
        found = {mapping.fields[name].attribute for name in names if not mapping.fields[name].in_key}
        found |= {former for name in names for former in mapping.fields[name].formerly}
        found |= {name for index in mapping.indexes.values() for name in index.made_up}
        if net.write in (PUT, DELETE) and net.after is not None:
            found |= set(net.before)
    if mapping.table.type_attribute is not None:
        found.add(mapping.table.type_attribute)
    return sorted(found - {key.name for key in mapping.table.keys})


def _required(
    net: Net,
    expected: str | None,
    expected_values: dict[str, AttributeValue | None] | None,
    setting: Setting,
) -> Condition | None:
    mapping = net.before_mapping or net.mapping
    table = mapping.table
    expires = mapping.expires.attribute if mapping.expires is not None else None
    if net.knowledge is ABSENT:
        absent = missing(table.pk.name)
        return absent if expires is None else any_of_conditions(absent, _is(expires, "<=", setting))
    if expected is not None:
        assert table.revision_attribute is not None
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
        None if expires is None else any_of_conditions(missing(expires), _is(expires, ">", setting)),
    )


def _is(expires: str, operator: str, setting: Setting) -> Condition:
    return Compare(Attr((expires,)), operator, {"N": str(int(setting.now))})
