"""Judge the items of a versioned entity together: its latest copy or tombstone, and its versions.

Versions are pruned from the oldest on, so each version item that exists needs every later one. What is wrong, and where
it is found:

=============================  ============================  ===========================================================
the latest copy                the versions                  finding
=============================  ============================  ===========================================================
live, version n                n is missing                  VERSION_MISSING at the copy: n repeats it
live, version n                n differs from it             VERSION_DIFFERS at the copy; people choose
live, version n                a later one exists            VERSION_DIFFERS at the copy; people choose
live, no number, or 0          none, or the newest is m      VERSION_MISSING at the copy: it becomes the next version
tombstone, version n           n is missing                  VERSION_MISSING at the tombstone; nothing can be done
tombstone, version n           a later one exists            VERSION_DIFFERS at the tombstone: it gets the newest number
tombstone without a number     any                           UNREADABLE at the tombstone
none                           the newest is m               NO_LATEST at m: a tombstone of m is put
any                            one below the newest missing  VERSION_GAP below it
any                            one does not fit its class    UNREADABLE at it
=============================  ============================  ===========================================================
"""

from collections.abc import Iterator

from dynaorm.entity.declare.catalog import catalog_of, class_named, type_in, version_class
from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.mapping.mapping import DELETED, VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.template.version import VERSION_TYPE, version_number
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.entity.version import version_of
from dynaorm.errors import DecodeError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import Diagnosis, Finding, FindingKind
from dynaorm.flow.integrity.repair_actions import as_read, check, own_action, revision_written, update
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, NewestAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import doubtful
from dynaorm.flow.newest_version import version_beside
from dynaorm.item.action import ConditionCheck, Put
from dynaorm.item.condition import all_of, exists, missing
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.image import other_revision
from dynaorm.plan.kinds.derived import Image
from dynaorm.plan.kinds.versions import put_version, version_key
from dynaorm.plan.planned import Planned, Purpose
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


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


# -- repairs -----------------------------------------------------------------------------------------------------------


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
            yield own_action(action, Purpose.CHECK, self.mapping, self.key)


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
    buried = own_action(action, Purpose.BURY, mapping, newest.key, revision=revision_written(mapping, unit))
    return (buried, *newest.as_read(unit))


def count_newest(newest: NewestVersion, tombstone: Item, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Let a tombstone count the newest version. The time of a deletion before that version cannot be its own."""
    changes = [SetTo((VERSION,), {"N": str(newest.number)})]
    deleted, written = (item.get(VERSION_AT, {}).get("S", "") for item in (tombstone, newest.item))
    if deleted < written:
        changes.append(SetTo((VERSION_AT,), {"S": datetime_text(unit.now)}))
    return (update(newest.mapping, tombstone, changes, unit=unit), *newest.as_read(unit))


# -- the latest copy ---------------------------------------------------------------------------------------------------


def judge_latest(mapping: EntityMapping, item: Item, unit: UnitOfWork) -> StoredCheck[list[Diagnosis]]:
    """The latest copy, and the version item that it repeats."""
    key, number = mapping.key_of(item), _number(item)
    if not number:  # dynaorm numbers versions from 1
        newest = yield from newest_number(mapping, key)
        detail = "the latest copy has no version number"
        detail += f", and version {newest} exists" if newest else ""
        actions = _numbered(mapping, item, newest + 1, unit)
        return [_diagnosis(FindingKind.VERSION_MISSING, mapping, key, detail, *actions)]
    (version,) = yield [ItemAddress(mapping.table, version_key(mapping, key, number))]
    if version is None:
        newest = yield from newest_number(mapping, key)
        if newest > number:
            return [_diagnosis(FindingKind.VERSION_DIFFERS, mapping, key, _later(number, newest))]
        detail = f"the latest copy is version {number}, and that version item does not exist"
        repeated = put_version(Image(mapping, key, item), number, unit)
        actions = (check(mapping, key, item, unit, also=item), repeated)
        return [_diagnosis(FindingKind.VERSION_MISSING, mapping, key, detail, *actions)]
    if names := differences(mapping, item, version):
        detail = f"the latest copy and version {number} differ in {', '.join(names)}"
        return [_diagnosis(FindingKind.VERSION_DIFFERS, mapping, key, detail)]
    return []


def newest_number(mapping: EntityMapping, key: Item) -> StoredCheck[int]:
    """The number of the newest version that is stored of an entity, by the key of its latest copy; 0 for none."""
    (found,) = yield [NewestAddress(mapping, key)]
    return 0 if found is None else version_beside(mapping, key, found)


def _later(number: int, newest: int) -> str:
    return f"the latest copy is version {number}, and version {newest} exists"


def _numbered(mapping: EntityMapping, item: Item, number: int, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Make a latest copy without a number the next version, which nobody has saved."""
    numbered = {**item, VERSION: {"N": str(number)}, VERSION_AT: {"S": datetime_text(unit.now)}}
    changes = [SetTo((name,), numbered[name]) for name in (VERSION, VERSION_AT)]
    return (
        update(mapping, item, changes, unit=unit, also=item),
        put_version(Image(mapping, mapping.key_of(item), numbered), number, unit),
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
    key = mapping.key_of(item)
    (version,) = yield [ItemAddress(mapping.table, version_key(mapping, key, number or 1))]
    is_missing = version is None and number > 0
    if is_missing and (yield from newest_number(mapping, key)) <= number:
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


def judge_version(
    mapping: EntityMapping, item: Item, latest: Item, unit: UnitOfWork
) -> StoredCheck[list[Diagnosis]]:
    """A version item, its successor and the latest copy."""
    number = _number_in_key(mapping, item)
    successor = ItemAddress(mapping.table, version_key(mapping, latest, number + 1))
    copy, following = yield [ItemAddress(mapping.table, latest), successor]
    stored = classify(mapping.table, copy) if copy is not None else None
    if copy is not None and isinstance(stored, EntityMapping):
        if stored.versioning is not None and stored.key_matches(copy):
            mapping = stored
        else:  # It is not their latest copy. What is wrong is reported at that item.
            stored = NotAnEntity.UNKNOWN
    found = []
    if extra := sorted(mapping.made_up_keys & item.keys()):
        detail = f"a version item has no {', '.join(extra)}"
        found.append(_diagnosis(FindingKind.EXTRA_ATTRIBUTES, mapping, item, detail))
    is_repeated = copy is not None and isinstance(stored, EntityMapping) and number == _number(copy)
    if copy is not None and is_repeated and differences(mapping, copy, item):
        return found  # reported at the latest copy
    problem = _unreadable(mapping, item, latest, number)
    if problem:
        found.append(_diagnosis(FindingKind.UNREADABLE, mapping, item, problem))
    is_versioned = mapping.versioning is not None and stored is not NotAnEntity.UNKNOWN
    if following is None and is_versioned and not (problem and copy is not None):
        found += yield from _judge_last(NewestVersion(mapping, latest, item, number), copy, unit, problem)
    return found


def _judge_last(
    last: NewestVersion, copy: Item | None, unit: UnitOfWork, problem: str
) -> StoredCheck[list[Diagnosis]]:
    """A version item without a successor, against the latest copy. ``problem``: why it cannot be read."""
    mapping, number = last.mapping, last.number
    counted = None if copy is None else _number(copy)
    if number == counted:
        return []
    newest = max(counted or 0, (yield from newest_number(mapping, last.key)))
    if number + 1 < newest:
        detail = f"version {number + 1} is missing, and the newest is {newest}"
        return [_diagnosis(FindingKind.VERSION_GAP, mapping, last.item, detail)]
    if number < newest:
        return []  # reported at the latest copy
    if copy is None:
        detail = f"version {number} exists, and no latest copy"
        actions = put_tombstone(last, unit)
        diagnosis = _diagnosis(FindingKind.NO_LATEST, mapping, last.item, detail, *actions)
        unread = "the version cannot be read; correct it or delete it first" if problem else ""
        return [doubtful(diagnosis, unread or _doubt_about(mapping, last.item))]
    return [] if counted is None else (yield from _judge_too_old(last, copy, counted, unit))


def _judge_too_old(
    newest: NewestVersion, copy: Item, counted: int, unit: UnitOfWork
) -> StoredCheck[list[Diagnosis]]:
    """A latest copy or tombstone that is older than the newest version. A tombstone only has to count it."""
    mapping = newest.mapping
    if mapping.is_tombstone(copy):
        actions = count_newest(newest, copy, unit)
        detail = f"the entity was deleted as version {counted}, and version {newest.number} exists"
        diagnosis = _diagnosis(FindingKind.VERSION_DIFFERS, mapping, newest.key, detail, *actions)
        return [doubtful(diagnosis, _doubt_about(mapping, newest.item) or other_revision(mapping, copy))]
    if counted == 0:
        return []  # reported at the latest copy
    (own,) = yield [ItemAddress(mapping.table, version_key(mapping, newest.key, counted))]
    if own is None or differences(mapping, copy, own):
        return []  # reported at the latest copy
    detail = _later(counted, newest.number)
    return [_diagnosis(FindingKind.VERSION_DIFFERS, mapping, newest.key, detail)]


def _doubt_about(mapping: EntityMapping, item: Item) -> str:
    """Why nothing must be made of a version; empty if it may be."""
    named = item.get(VERSION_TYPE)
    if named is not None and version_class(mapping, item) is None:
        return f"no loaded class is called {shown(next(iter(named.values())))}; load it"
    return other_revision(mapping, item)


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
