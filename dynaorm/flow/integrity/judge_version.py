"""Judge versions: the latest copy against the newest version item, and every version item against its successor.

Versions are pruned from the oldest on, so each version item that exists needs every later one.
"""

from dynaorm.entity.declare.catalog import catalog_of, class_named, type_in, version_class
from dynaorm.entity.dispatch import classify
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.template.version import VERSION_TYPE, version_number
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.entity.version import version_of
from dynaorm.errors import DecodeError
from dynaorm.flow.integrity.finding import Diagnosis, Finding, FindingKind
from dynaorm.flow.integrity.repair_actions import check, put_version, update
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.item.update import SetTo
from dynaorm.item.value import Item, same
from dynaorm.plan.planned import Planned
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.plan.versions import version_key


def latest_address(version: ItemAddress) -> tuple[EntityMapping, Item] | None:
    """The class and the latest copy's key of a version item; None if the key is not that of a version."""
    for mapping in catalog_of(version.table).mappings.values():
        if mapping.versioning is None or mapping.sort is None:
            continue
        part, first = mapping.sort.attribute, mapping.partition
        latest = mapping.versioning.template.latest_of(version.key[part.name][part.kind])
        if (
            latest is not None
            and first.match(version.key[first.attribute.name][first.attribute.kind]) is not None
        ):
            return mapping, {**version.key, part.name: {part.kind: latest}}
    return None


def _number(item: Item) -> int | None:
    """The version number of a latest copy or tombstone; None if it has none."""
    try:
        return version_number(item[VERSION]) if VERSION in item else None
    except ValueError:
        return None


def _diagnosis(
    kind: FindingKind, mapping: EntityMapping, key: Item, detail: str, *actions: Planned
) -> Diagnosis:
    finding = Finding(kind, mapping.table.name, mapping.key_of(key), mapping.name, detail, bool(actions))
    return Diagnosis(finding, actions=actions)


# -- the latest copy ---------------------------------------------------------------------------------------------------


def judge_latest(mapping: EntityMapping, item: Item, unit: UnitOfWork) -> StoredCheck[list[Diagnosis]]:
    """The latest copy, and the version item that it repeats."""
    key, number = mapping.key_of(item), _number(item)
    address = ItemAddress(mapping.table, version_key(mapping, key, number or 1))
    (version,) = yield [address]
    if number is None:
        detail = "the latest copy has no version number"
        actions = _first_version(mapping, item, unit) if version is None else ()
        return [_diagnosis(FindingKind.VERSION_MISSING, mapping, key, detail, *actions)]
    if version is None:
        detail = f"the latest copy is version {number}, and that version item does not exist"
        actions = (check(mapping, key, item, unit, also=item), put_version(mapping, item, number, unit))
        return [_diagnosis(FindingKind.VERSION_MISSING, mapping, key, detail, *actions)]
    if names := differences(mapping, item, version):
        detail = f"the latest copy and version {number} differ in {', '.join(names)}"
        return [_diagnosis(FindingKind.VERSION_DIFFERS, mapping, key, detail)]
    return []


def _first_version(mapping: EntityMapping, item: Item, unit: UnitOfWork) -> tuple[Planned, ...]:
    numbered = {**item, VERSION: {"N": "1"}, VERSION_AT: {"S": datetime_text(unit.now)}}
    changes = [SetTo((name,), numbered[name]) for name in (VERSION, VERSION_AT)]
    return (
        update(mapping, item, changes, unit=unit, also=item),
        put_version(mapping, numbered, 1, unit),
    )


def differences(mapping: EntityMapping, item: Item, version: Item) -> list[str]:
    """The versioned fields in which a latest copy and a version item differ."""
    assert mapping.versioning is not None
    names = mapping.versioning.fields or mapping.fields
    found = [
        name
        for name, field in mapping.fields.items()
        if name in names and name not in mapping.maintained and not field.in_key
        and not same(field.stored_in(item), field.stored_in(version))
    ]  # fmt: skip
    return found + [name for name in (VERSION, VERSION_AT) if not same(item.get(name), version.get(name))]


# -- tombstones --------------------------------------------------------------------------------------------------------


def judge_tombstone(address: ItemAddress, item: Item, scope: Scope) -> StoredCheck[list[Diagnosis] | None]:
    """A tombstone holds the number of the newest version, whose item must exist. None if it is no tombstone."""
    mapping = _class_of(address, item)
    if mapping is None:
        return None
    if not scope.covers(mapping):
        return []
    if not mapping.key_matches(item):
        detail = f"the tombstone's key is not one that {mapping.name} renders"
        return [_diagnosis(FindingKind.UNREADABLE, mapping, item, detail)]
    number = _number(item)
    if number is None or VERSION_AT not in item:
        detail = "the tombstone has no version number, or no time"
        return [_diagnosis(FindingKind.UNREADABLE, mapping, item, detail)]
    found = []
    table = mapping.table
    allowed = {*table.key_names, VERSION, VERSION_AT, VERSION_TYPE, DELETED}
    allowed |= {str(table.revision_attribute), str(table.type_attribute)}
    if extra := sorted(item.keys() - allowed):
        detail = f"a tombstone has no {', '.join(extra)}"
        found.append(_diagnosis(FindingKind.EXTRA_ATTRIBUTES, mapping, item, detail))
    newest = version_key(mapping, mapping.key_of(item), number)
    (version,) = yield [ItemAddress(mapping.table, newest)]
    if version is None and number > 0:
        detail = f"the entity was deleted as version {number}, and that version item does not exist"
        found.append(_diagnosis(FindingKind.VERSION_MISSING, mapping, item, detail))
    return found


def _class_of(address: ItemAddress, item: Item) -> EntityMapping | None:
    tag = type_in(address.table, item)
    if tag is not None:
        return class_named(address.table, tag.get("S"))
    classes = catalog_of(address.table).mappings.values()
    return next((one for one in classes if one.versioning is not None and one.key_matches(item)), None)


# -- version items -----------------------------------------------------------------------------------------------------


def judge_version(mapping: EntityMapping, item: Item, latest: Item) -> StoredCheck[list[Diagnosis]]:
    """A version item, its successor and the latest copy."""
    number = _number_in_key(mapping, item)
    successor = ItemAddress(mapping.table, version_key(mapping, latest, number + 1))
    copy, following = yield [ItemAddress(mapping.table, latest), successor]
    stored = classify(mapping.table, copy) if copy is not None else None
    if isinstance(stored, EntityMapping):
        mapping = stored
    found = []
    if extra := sorted(mapping.made_up_keys & item.keys()):
        detail = f"a version item has no {', '.join(extra)}"
        found.append(_diagnosis(FindingKind.EXTRA_ATTRIBUTES, mapping, item, detail))
    is_newest = copy is not None and isinstance(stored, EntityMapping) and number == _number(copy)
    if copy is not None and is_newest and differences(mapping, copy, item):
        return found  # reported at the latest copy
    if problem := _unreadable(mapping, item, latest, number):
        return [*found, _diagnosis(FindingKind.UNREADABLE, mapping, item, problem)]
    if following is not None:
        return found
    if copy is None:
        detail = f"version {number} exists, and no latest copy"
        return [*found, _diagnosis(FindingKind.NO_LATEST, mapping, item, detail)]
    return found + (yield from _judge_number(mapping, item, copy, number))


def _judge_number(
    mapping: EntityMapping, item: Item, copy: Item, number: int
) -> StoredCheck[list[Diagnosis]]:
    """A version item without a successor, against the number of the latest copy."""
    newest = _number(copy)
    if newest is None or newest - number in (0, 1):
        return []  # correct, or reported at the latest copy
    if number < newest:
        detail = f"version {number + 1} is missing, and the newest is {newest}"
        return [_diagnosis(FindingKind.VERSION_GAP, mapping, item, detail)]
    latest = mapping.key_of(copy)
    (own,) = yield [ItemAddress(mapping.table, version_key(mapping, latest, newest))]
    if own is None or (not mapping.is_tombstone(copy) and differences(mapping, copy, own)):
        return []  # reported at the latest copy
    detail = f"the latest copy is version {newest}, and version {number} exists"
    return [_diagnosis(FindingKind.VERSION_DIFFERS, mapping, latest, detail)]


def _number_in_key(mapping: EntityMapping, item: Item) -> int:
    assert mapping.versioning is not None and mapping.sort is not None
    part = mapping.sort.attribute
    number = mapping.versioning.template.number_in(item[part.name][part.kind])
    assert number is not None
    return number


def _unreadable(mapping: EntityMapping, item: Item, latest: Item, number: int) -> str:
    try:
        version_of(version_class(mapping, item) or mapping, latest, number, item)
    except DecodeError as problem:
        return "; ".join(problem.problems)
    return ""
