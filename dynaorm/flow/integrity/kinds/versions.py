"""The items of a versioned entity as they are verified together: its latest copy or tombstone, and its versions.

Rule 1. What is wrong follows from what stands in place of the latest copy, and from what is stored of a version: see
        ``_WRONG``. Each problem is reported once, by the judgement of the latest copy or by that of a version item.
Rule 2. Versions are pruned from the oldest on, so each version item that exists needs every later one.
Rule 3. History stays. A repair puts a version that never existed, or a tombstone. Of a version item it takes away only
        index keys, which are not part of a version: an old writer copies those of an index that it does not know.
Rule 4. All items that a judgement asks for belong to one entity, whose key each of them names. So nothing has to wait
        for the end of a run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, Final

from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.declare.catalog import catalog_of, class_named, type_in, version_class
from dynaorm.entity.key import stored_key
from dynaorm.entity.key_part import DELETED, VERSION, VERSION_AT, VERSION_TYPE, version_number
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Ident, Table, ident_of
from dynaorm.entity.version import version_of
from dynaorm.errors import DecodeError
from dynaorm.failure import shown
from dynaorm.flow.call import Context, Flow, ReadCost
from dynaorm.flow.history import newest_version, version_beside
from dynaorm.flow.integrity.finding import CheckResult, FindingKind, RepairableFinding, finding_of
from dynaorm.flow.integrity.kinds.judged import Checker, Holds, MissingParts, Subject
from dynaorm.flow.integrity.reads import ItemAddress, Lookup, StoredCheck
from dynaorm.flow.integrity.repair_actions import (
    ClaimedItem,
    as_inserted,
    own_action,
    renewed,
    without_repair,
)
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.action import ConditionCheck, Update
from dynaorm.item.condition import all_of, as_in, exists, missing
from dynaorm.item.update import Remove
from dynaorm.item.value import Item
from dynaorm.plan.compiler import Renewal
from dynaorm.plan.derived import DerivedKind, Holding
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.plan import Operations, Planned
from dynaorm.plan.stored import other_revision
from dynaorm.plan.versions import VERSIONS, differences, stamp, tombstone_of, version_key
from dynaorm.record import record, replace


class CopyState(Enum):
    """What stands in place of the latest copy."""

    LIVE = "a latest copy with the number of a version"
    UNNUMBERED = "a latest copy without a number, or with 0: dynaorm numbers versions from 1"
    TOMBSTONE = "a tombstone with the number of a version"
    NOTHING = "nothing"


class VersionState(Enum):
    """What is stored of a version."""

    RIGHT = "it repeats the latest copy that counts it"
    OTHER = "it differs from the latest copy that counts it"
    MISSING = "it is counted, and does not exist"
    SURPASSED = "it is counted, and does not exist, but a later one does"
    UNCOUNTED = "it is the newest, and no latest copy counts it"
    BEFORE_GAP = "the next one does not exist, but a later one does"


_WRONG: Final[Mapping[tuple[CopyState, VersionState], FindingKind]] = {
    (CopyState.LIVE, VersionState.OTHER): FindingKind.VERSION_DIFFERS,
    (CopyState.LIVE, VersionState.MISSING): FindingKind.VERSION_MISSING,
    (CopyState.LIVE, VersionState.SURPASSED): FindingKind.VERSION_DIFFERS,
    (CopyState.LIVE, VersionState.UNCOUNTED): FindingKind.VERSION_DIFFERS,
    (CopyState.UNNUMBERED, VersionState.MISSING): FindingKind.VERSION_MISSING,
    # One that surpasses a tombstone is uncounted, and one that surpasses a copy without a number is counted from.
    (CopyState.TOMBSTONE, VersionState.MISSING): FindingKind.VERSION_MISSING,
    (CopyState.TOMBSTONE, VersionState.UNCOUNTED): FindingKind.VERSION_DIFFERS,
    (CopyState.NOTHING, VersionState.UNCOUNTED): FindingKind.NO_LATEST,
    **{(copy, VersionState.BEFORE_GAP): FindingKind.VERSION_GAP for copy in CopyState},
}
"""What is wrong, by what stands in place of the latest copy and what is stored of a version."""


@record
class _NewestVersion(Lookup):
    """Asks for the newest version item of an entity. ``key``: that of its latest copy, which need not exist."""

    mapping: EntityMapping
    key: Item

    @property
    def ident(self) -> Ident:
        return "newest version", *ident_of(self.mapping.table, self.key)

    @property
    def table(self) -> Table:
        return self.mapping.table

    def among(self, items: Iterable[Item]) -> Item | None:
        found = max(items, key=self._number, default=None)
        return found if found is not None and self._number(found) else None

    def _number(self, item: Item) -> int:
        return version_beside(self.mapping, self.key, item)

    def search(self, context: Context, cost: ReadCost) -> Flow[Item | None]:
        number = yield from newest_version(self.mapping, self.key, context, cost)
        return version_key(self.mapping, self.key, number) if number else None


def newest_number(mapping: EntityMapping, key: Item) -> StoredCheck[int]:
    """The number of the newest version that is stored of an entity, by the key of its latest copy; 0 for none."""
    (found,) = yield [_NewestVersion(mapping, key)]
    return 0 if found is None else version_beside(mapping, key, found)


class JudgedVersions(Checker):
    """The version items, latest copies and tombstones of versioned entities."""

    derived: DerivedKind[Any] = VERSIONS

    def searches_for(self, address: ItemAddress) -> Iterable[Lookup]:
        return (_NewestVersion(*latest) for latest in _latest_addresses(address))

    def operations_of_verify(self, mapping: EntityMapping) -> Operations:
        if mapping.versioning is not None:
            yield mapping.table, frozenset({"BatchGetItem"})
            yield from self.operations_of_return(mapping)

    def operations_of_return(self, mapping: EntityMapping) -> Operations:
        # Where a latest copy is missing or wrong, the newest version is searched for.
        return [(mapping.table, frozenset({"Query"}))] if mapping.versioning is not None else []

    def operations_of_repair(self, mapping: EntityMapping) -> Operations:
        # An entity may move to the key that its class has with versions.
        return OWN_ITEM.operations_of_writes(mapping) if mapping.versioning is not None else []

    def judged_with(self, address: ItemAddress, owners: Sequence[Item]) -> StoredCheck[Sequence[ItemAddress]]:
        if (found := _latest_address(address) or _at_latest(address)) is None:
            return ()
        latest = ItemAddress(address.table, found[1])
        # A version that nothing counts is found by its own item.
        (newest,) = yield [_NewestVersion(*found)]
        if newest is None:
            return (latest,)
        return latest, ItemAddress(address.table, {name: newest[name] for name in address.key})

    def judge_entity(
        self, subject: Subject, renewal: Renewal, held: Sequence[Holding[int]]
    ) -> StoredCheck[CheckResult]:
        return CheckResult((yield from _judge_latest(subject.mapping, subject.item, subject.unit)))

    def judge_item(
        self, found: NotAnEntity, address: ItemAddress, item: Item, scope: Scope
    ) -> StoredCheck[CheckResult | None]:
        if found is NotAnEntity.TOMBSTONE:
            diagnoses = yield from _judge_tombstone(address, item, scope)
            return None if diagnoses is None else CheckResult(diagnoses)
        latest = _latest_address(address) if found is NotAnEntity.VERSION else None
        if latest is None:
            return None
        mapping, key = latest
        mapping = version_class(mapping, item) or mapping
        if not scope.covers(mapping):
            return CheckResult()
        return CheckResult((yield from _judge_version(mapping, item, key, scope.new_unit())))

    def may_return(
        self, mapping: EntityMapping, key: Item, stored: Item | None, holds: Holds
    ) -> StoredCheck[str]:
        if mapping.versioning is None or (stored is not None and not mapping.is_tombstone(stored)):
            return ""
        newest = yield from newest_number(mapping, key)
        if not newest:
            return ""
        if stored is None:
            return "its owner has versions and no latest copy; restore or purge that entity first"
        (version,) = yield [ItemAddress(mapping.table, version_key(mapping, key, newest))]
        if version is not None:
            named = version_class(mapping, version) or mapping
            if not holds(named, {**version, **key}, _repeated_fields(named)):
                return ""
        return f"its owner was deleted as version {newest}, which may be restored; if not, delete the item yourself"

    def under_new_key(self, mapping: EntityMapping, item: Item) -> Item | None:
        if mapping.versioning is None or mapping.sort is None:
            return None
        sort, first = mapping.sort.attribute, mapping.partition
        stored = item[sort.name].get(sort.kind)
        template = mapping.versioning.template
        if stored is None or template.match(stored) is not None or template.number_in(stored) is not None:
            return None
        if first.match(item[first.attribute.name][first.attribute.kind]) is None:
            return None
        latest = template.latest_around(stored)
        return None if latest is None else {**item, sort.name: {sort.kind: latest}}

    def complete(
        self, lacking: MissingParts, held: Sequence[Holding[int]], scope: Scope
    ) -> StoredCheck[None]:
        mapping, key = lacking.now.mapping, lacking.now.key
        number = mapping.loader.version_of(lacking.stored) or None  # dynaorm numbers versions from 1
        newest = 0 if number is not None else (yield from newest_number(mapping, key))
        wanted = number or newest + 1
        latest, version = yield [
            ItemAddress(mapping.table, key),
            ItemAddress(mapping.table, version_key(mapping, key, wanted)),
        ]
        if lacking.is_moved and (latest is not None or version is not None or newest):
            lacking.left = [_key_taken(lacking)]
            lacking.is_stuck = True
            return
        if number is None:
            lacking.attributes |= stamp(wanted, lacking.now.unit)
        elif version is None and (yield from newest_number(mapping, key)) > number:
            return  # which of the two is the newest is for people to decide: verify reports it
        if version is None:
            lacking.taken.append(ClaimedItem(VERSIONS, wanted, None))
            lacking.words.append(f"version {wanted}")


JUDGED_VERSIONS: Final = JudgedVersions()


def _key_taken(lacking: MissingParts) -> RepairableFinding:
    mapping, key = lacking.now.mapping, lacking.now.key
    detail = "it is stored under its former key and under its new one; delete one of them"
    owners = [stored_key(mapping, one) for one in (key, lacking.former_key)]
    finding = finding_of(FindingKind.DUPLICATE, mapping, key, detail, repairable=False)
    return RepairableFinding(replace(finding, owners=tuple(owners)))


# -- keys and numbers --------------------------------------------------------------------------------------------------


def _latest_addresses(version: ItemAddress) -> Iterator[tuple[EntityMapping, Item]]:
    """The classes and the latest copies' keys that a key may be of a version of; none if it is that of no version."""
    for mapping in catalog_of(version.table).mappings.values():
        if (latest := _latest_key(mapping, version.key)) is not None:
            yield mapping, latest


def _latest_key(mapping: EntityMapping, key: Item) -> Item | None:
    """The key of the latest copy of a version item of a class; None if the key is not that of a version."""
    if mapping.versioning is None or mapping.sort is None:
        return None
    part, first = mapping.sort.attribute, mapping.partition
    latest = mapping.versioning.template.latest_of(key[part.name][part.kind])
    is_partition = first.match(key[first.attribute.name][first.attribute.kind]) is not None
    return {**key, part.name: {part.kind: latest}} if latest is not None and is_partition else None


def _latest_address(version: ItemAddress) -> tuple[EntityMapping, Item] | None:
    """The class and the latest copy's key of a version item; None if the key is not that of a version."""
    return next(_latest_addresses(version), None)


def _at_latest(address: ItemAddress) -> tuple[EntityMapping, Item] | None:
    """The class and the key of a latest copy or tombstone, which need not exist; None for any other key."""
    for mapping in catalog_of(address.table).mappings.values():
        if mapping.versioning is not None and mapping.key_matches(address.key):
            return mapping, address.key
    return None


def _repeated_fields(mapping: EntityMapping) -> AbstractSet[str] | None:
    """The fields of an entity that its version items repeat; None for all."""
    if mapping.versioning is None:
        return frozenset()
    fields = mapping.versioning.fields
    return None if fields is None else fields | {*mapping.key_fields}


def _number(item: Item) -> int | None:
    """The version number of a latest copy or tombstone; None if it has none."""
    try:
        return version_number(item[VERSION]) if VERSION in item else None
    except ValueError:
        return None


def _diagnosis(
    kind: FindingKind, mapping: EntityMapping, key: Item, detail: str, *actions: Planned
) -> RepairableFinding:
    finding = finding_of(kind, mapping, mapping.key_of(key), detail, repairable=bool(actions))
    if (latest := _latest_key(mapping, finding.item_key)) is not None:
        finding = replace(finding, key=stored_key(mapping, latest))
    return RepairableFinding(finding, actions=actions)


# -- the latest copy ---------------------------------------------------------------------------------------------------


def _judge_latest(
    mapping: EntityMapping, item: Item, unit: UnitOfWork
) -> StoredCheck[list[RepairableFinding]]:
    """The latest copy, and the version item that it repeats."""
    key, number = mapping.key_of(item), _number(item)
    if not number:
        newest = yield from newest_number(mapping, key)
        detail = "the latest copy has no version number"
        detail += f", and version {newest} exists" if newest else ""
        kind = _WRONG[CopyState.UNNUMBERED, VersionState.MISSING]
        # It becomes the next version, which nobody has saved.
        image, taken = {**item, **stamp(newest + 1, unit)}, ClaimedItem(VERSIONS, newest + 1, None)
        return [_diagnosis(kind, mapping, key, detail, *renewed(mapping, item, image, [taken], unit=unit))]
    (version,) = yield [ItemAddress(mapping.table, version_key(mapping, key, number))]
    newest = (yield from newest_number(mapping, key)) if version is None else 0
    found = _WRONG.get((CopyState.LIVE, _version_state(mapping, item, version, later=newest > number)))
    if found is None:
        return []
    if version is not None:
        names = ", ".join(differences(mapping, item, version))
        return [_diagnosis(found, mapping, key, f"the latest copy and version {number} differ in {names}")]
    if newest > number:
        return [_diagnosis(found, mapping, key, _later(number, newest))]
    detail = f"the latest copy is version {number}, and that version item does not exist"
    taken = ClaimedItem(VERSIONS, number, None)
    return [_diagnosis(found, mapping, key, detail, *renewed(mapping, item, item, [taken], unit=unit))]


def _version_state(mapping: EntityMapping, item: Item, version: Item | None, *, later: bool) -> VersionState:
    """What is stored of the version that a latest copy or tombstone counts. A tombstone does not repeat it."""
    if version is None:
        return VersionState.SURPASSED if later else VersionState.MISSING
    if not mapping.is_tombstone(item) and differences(mapping, item, version):
        return VersionState.OTHER
    return VersionState.RIGHT


def _later(number: int, newest: int) -> str:
    return f"the latest copy is version {number}, and version {newest} exists"


# -- tombstones --------------------------------------------------------------------------------------------------------


def _judge_tombstone(
    address: ItemAddress, item: Item, scope: Scope
) -> StoredCheck[list[RepairableFinding] | None]:
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
    if number == 0:
        return found  # an entity that never had a version was deleted
    key = mapping.key_of(item)
    (version,) = yield [ItemAddress(mapping.table, version_key(mapping, key, number))]
    newest = (yield from newest_number(mapping, key)) if version is None else 0
    state = _version_state(mapping, item, version, later=newest > number)
    if (kind := _WRONG.get((CopyState.TOMBSTONE, state))) is not None:
        detail = f"the entity was deleted as version {number}, and that version item does not exist"
        found.append(_diagnosis(kind, mapping, item, detail))
    return found


def _class_of(address: ItemAddress, item: Item) -> EntityMapping | None:
    tag = type_in(address.table, item)
    if tag is not None:
        return class_named(address.table, tag.get("S"))
    latest = _at_latest(address)
    return None if latest is None else version_class(latest[0], item) or latest[0]


# -- version items -----------------------------------------------------------------------------------------------------


@record
class _LastVersion:
    """A version item that no version item follows.

    Attributes:
        mapping: the class.
        key: the primary key of the latest copy.
        item: the version item.
        number: its number.
        copy: the latest copy or tombstone, if there is one.
        problem: why the version item cannot be read; empty if it can.
    """

    mapping: EntityMapping
    key: Item
    item: Item
    number: int
    copy: Item | None
    problem: str

    @property
    def state(self) -> CopyState:
        """What stands in place of the latest copy."""
        if self.copy is None:
            return CopyState.NOTHING
        if self.mapping.is_tombstone(self.copy):
            return CopyState.TOMBSTONE
        return CopyState.LIVE if _number(self.copy) else CopyState.UNNUMBERED

    def as_read(self, unit: UnitOfWork) -> Iterator[Planned]:
        """The checks that the version is as it was read, and that no later one follows it."""
        table = self.mapping.table
        unchanged = all_of(exists(table.pk.name), as_in(self.item, (VERSION, VERSION_AT)))
        for number, condition in ((self.number, unchanged), (self.number + 1, missing(table.pk.name))):
            assert condition is not None
            own = version_key(self.mapping, self.key, number)
            action = ConditionCheck(unit.table_name(table.name), own, condition)
            yield own_action(action, ItemPurpose.CHECK, self.mapping, self.key)


def _judge_version(
    mapping: EntityMapping, item: Item, latest: Item, unit: UnitOfWork
) -> StoredCheck[list[RepairableFinding]]:
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
    if extra := sorted(mapping.synthetic_keys & item.keys()):
        detail = f"a version item has no {', '.join(extra)}"
        bare = _without(mapping, item, extra, unit)
        diagnosis = _diagnosis(FindingKind.EXTRA_ATTRIBUTES, mapping, item, detail, bare)
        found.append(without_repair(diagnosis, other_revision(mapping, item)))
    is_repeated = copy is not None and isinstance(stored, EntityMapping) and number == _number(copy)
    if copy is not None and is_repeated and differences(mapping, copy, item):
        return found  # reported at the latest copy
    problem = _unreadable(mapping, item, latest, number)
    if problem:
        found.append(_diagnosis(FindingKind.UNREADABLE, mapping, item, problem))
    is_versioned = mapping.versioning is not None and stored is not NotAnEntity.UNKNOWN
    if following is None and is_versioned and not (problem and copy is not None):
        found += yield from _judge_last(_LastVersion(mapping, latest, item, number, copy, problem), unit)
    return found


def _without(mapping: EntityMapping, item: Item, names: Iterable[str], unit: UnitOfWork) -> Planned:
    """Take attributes from a version item, if they and its time are as they were read."""
    table = mapping.table
    unchanged = all_of(exists(table.pk.name), as_in(item, (VERSION_AT, *names)))
    changes = tuple(Remove((name,)) for name in names)
    action = Update(unit.table_name(table.name), mapping.key_of(item), changes, unchanged)
    return own_action(action, ItemPurpose.UPDATE, mapping, item, before=item)


def _judge_last(last: _LastVersion, unit: UnitOfWork) -> StoredCheck[list[RepairableFinding]]:
    """A version item without a successor, against what stands in place of the latest copy."""
    mapping, number, copy = last.mapping, last.number, last.copy
    counted = None if copy is None else _number(copy)
    if number == counted:
        return []
    newest = max(counted or 0, (yield from newest_number(mapping, last.key)))
    if number < newest <= number + 1:
        return []  # reported at the latest copy
    state = VersionState.UNCOUNTED if number >= newest else VersionState.BEFORE_GAP
    if state is VersionState.UNCOUNTED and copy is not None and counted is None:
        return []  # reported at the latest copy
    kind = _WRONG.get((last.state, state))
    if kind is None:
        return []
    if state is VersionState.BEFORE_GAP:
        detail = f"version {number + 1} is missing, and the newest is {newest}"
        return [_diagnosis(kind, mapping, last.item, detail)]
    return (yield from _judge_uncounted(last, kind, counted or 0, unit))


def _judge_uncounted(
    last: _LastVersion, kind: FindingKind, counted: int, unit: UnitOfWork
) -> StoredCheck[list[RepairableFinding]]:
    """The newest version, which the latest copy or tombstone does not count, or which has none."""
    mapping, copy, number = last.mapping, last.copy, last.number
    if copy is None:
        unread = "the version cannot be read; correct it or delete it first" if last.problem else ""
        doubt = unread or _doubt_about(mapping, last.item)
        detail = f"version {number} exists, and no latest copy"
        return [without_repair(_diagnosis(kind, mapping, last.item, detail, *_buried(last, unit)), doubt)]
    if last.state is CopyState.TOMBSTONE:
        detail = f"the entity was deleted as version {counted}, and version {number} exists"
        doubt = _doubt_about(mapping, last.item) or other_revision(mapping, copy)
        return [
            without_repair(_diagnosis(kind, mapping, last.key, detail, *_counting(last, copy, unit)), doubt)
        ]
    (own,) = yield [ItemAddress(mapping.table, version_key(mapping, last.key, counted))]
    if own is None or differences(mapping, copy, own):
        return []  # reported at the latest copy
    return [_diagnosis(kind, mapping, last.key, _later(counted, number))]


def _buried(last: _LastVersion, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Put the tombstone that a deletion would have left, if nothing is there."""
    mapping, revision = last.mapping, last.mapping.table.revision
    kind = {name: value for name, value in last.item.items() if name == VERSION_TYPE}
    tombstone = tombstone_of(mapping.key_of(last.key), last.number, kind, unit)
    if revision is not None:
        tombstone = revision.stamped(tombstone, None, unit.write_id)
    return (
        replace(as_inserted(mapping, tombstone, unit), purpose=ItemPurpose.TOMBSTONE),
        *last.as_read(unit),
    )


def _counting(last: _LastVersion, tombstone: Item, unit: UnitOfWork) -> tuple[Planned, ...]:
    """Let a tombstone count the newest version. The time of a deletion before that version cannot be its own."""
    numbers = stamp(last.number, unit)
    deleted, written = (item.get(VERSION_AT, {}).get("S", "") for item in (tombstone, last.item))
    if deleted >= written:
        del numbers[VERSION_AT]
    image = {**tombstone, **numbers}
    return (*renewed(last.mapping, tombstone, image, unit=unit), *last.as_read(unit))


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
