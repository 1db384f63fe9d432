"""Complete entities that were stored before their class declared a constraint, an index, versions or totals.

Rule 1. Deploy the new class to every writer first; what they write is complete. Each older entity is then completed by
        one transaction, which is refused if another writer changed the entity since it was read.
Rule 2. A unique value that another entity holds is reported; everything else of the entity is completed.
Rule 3. An entity whose class became versioned moves to its new key, as version 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.ident import Ident
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import VERSION, VERSION_AT, EntityMapping
from dynaorm.entity.table import Table
from dynaorm.entity.text.scalar import datetime_text
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import Diagnosis, Doubt, Finding, FindingKind, Judgement
from dynaorm.flow.integrity.judge_guard import (
    claim,
    constraint_in,
    expiry_in,
    holds,
    owner_address,
    owner_check,
    owner_doubt,
)
from dynaorm.flow.integrity.judge_item import Derived, Subject, derived, index_changes, unread
from dynaorm.flow.integrity.judge_values import judge_values
from dynaorm.flow.integrity.judge_version import newest_number
from dynaorm.flow.integrity.repair_actions import (
    as_deleted,
    as_inserted,
    check,
    update,
)
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import (
    doubt_about,
    doubtful,
    newer_at,
    newer_than,
    not_a_guard,
    not_ours,
)
from dynaorm.item.update import Change, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.kinds.derived import Image
from dynaorm.plan.kinds.guards import owner_of
from dynaorm.plan.kinds.totals import contributions
from dynaorm.plan.kinds.versions import put_version, version_key
from dynaorm.plan.planned import Planned
from dynaorm.plan.renewal import Renewal, renewal_of
from dynaorm.record import record, replace


def complete(address: ItemAddress, scope: Scope) -> StoredCheck[Judgement]:
    """What the entity at an address lacks: one diagnosis for all of it, and one for each value that is taken."""
    (item,) = yield [address]
    judgement = Judgement()
    subject = _subject_at(address.table, item, scope) if item is not None else None
    if subject is not None:
        if not subject.mapping.is_expired(subject.item, subject.unit.now):
            yield from _judge_stored(subject, address, scope, judgement)
    elif item is not None and scope.reads_everything:
        judgement.doubt = doubt_about(address.table, item, scope)
    return judgement


def _judge_stored(
    subject: "_Stored", address: ItemAddress, scope: Scope, judgement: Judgement
) -> StoredCheck[None]:
    mapping = subject.mapping
    if scope.covers_totals(mapping):
        judgement.target = address
    newer = newer_than(mapping, subject.item, scope)
    counted = scope.reads_everything and bool(mapping.aggregates)
    if counted and newer:
        judgement.doubt = Doubt(mapping.name, newer)
    try:
        renewal = renewal_of(mapping, subject.now.item)
        wanted = derived(renewal)
        if subject.is_moved:
            subject = replace(subject, now=replace(subject.now, item=renewal.image))
        if counted:
            judgement.contributions = list(contributions(mapping, subject.now.item))
    except DynaormError as problem:
        judgement.diagnoses, uncounted = unread(subject.now, problem, scope)
        judgement.doubt = judgement.doubt or uncounted
        return
    if scope.covers(mapping):
        found, doubt = yield from _found(subject, renewal, wanted, scope)
        judgement.diagnoses = [
            doubtful(Diagnosis(one.finding, _again(address, scope), one.actions), doubt) for one in found
        ]


def _found(
    subject: "_Stored", renewal: Renewal, wanted: Derived, scope: Scope
) -> StoredCheck[tuple[list[Diagnosis], str]]:
    """What an entity lacks, and why it must not be completed."""
    lacking = _Lacking(subject, wanted.index_keys)
    yield from _find_guards(lacking, wanted.guards, scope)
    if renewal.changes and not subject.is_moved:
        # To be stored as it loads gives it everything that it lacks.
        found = [*lacking.taken, *(yield from judge_values(renewal, scope))]
    else:
        yield from _find_versions(lacking)
        found = [*lacking.diagnoses()]
    return found, lacking.doubt or not_ours(subject.mapping, subject.item, scope)


def _again(address: ItemAddress, scope: Scope) -> Any:
    def again() -> StoredCheck[list[Diagnosis]]:
        return (yield from complete(address, scope)).diagnoses

    return again


# -- what is stored ----------------------------------------------------------------------------------------------------


@record
class _Stored:
    """An entity as it is stored, and as it is under the key that its class declares now.

    Attributes:
        item: the stored item.
        now: the same entity under its new key, as it loads.
        is_moved: the two keys differ.
    """

    item: Item
    now: Subject
    is_moved: bool = False

    @property
    def mapping(self) -> EntityMapping:
        return self.now.mapping

    @property
    def unit(self) -> Any:
        return self.now.unit


def _subject_at(table: Table, item: Item, scope: Scope) -> _Stored | None:
    unit = scope.new_unit()
    found = classify(table, item)
    if isinstance(found, EntityMapping):
        moved = _under_new_key(found, item)
        return _Stored(
            item, Subject(found, item if moved is None else moved, unit), is_moved=moved is not None
        )
    if found is NotAnEntity.UNKNOWN and (table.type_attribute is None or table.type_attribute not in item):
        for mapping in scope.mappings:
            moved = _under_new_key(mapping, item) if mapping.table is table else None
            if moved is not None:
                return _Stored(item, Subject(mapping, moved, unit), is_moved=True)
    return None


def _under_new_key(mapping: EntityMapping, item: Item) -> dict[str, AttributeValue] | None:
    """The item of a class that became versioned, under its new key; None if it is not stored under its former key."""
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


# -- what an entity lacks ----------------------------------------------------------------------------------------------


@record(frozen=False)
class _Lacking:
    """What an entity lacks; filled step by step.

    Attributes:
        subject: the entity.
        index_keys: the index keys that it must have.
        words: what it lacks, in words.
        guards: the actions that claim its values.
        checks: the checks on former owners of these values.
        taken: a diagnosis for each value that another entity holds.
        numbers: its first version number and time, if it has none.
        version: the number of the missing version item.
        is_stuck: it cannot be completed.
        doubt: why it must not be completed.
    """

    subject: _Stored
    index_keys: Mapping[str, AttributeValue]
    words: list[str] = field(default_factory=list)
    guards: list[Planned] = field(default_factory=list)
    checks: dict[Ident, Planned] = field(default_factory=dict)
    taken: list[Diagnosis] = field(default_factory=list)
    numbers: dict[str, AttributeValue] = field(default_factory=dict)
    version: int | None = None
    is_stuck: bool = False
    doubt: str = ""

    def diagnoses(self) -> Iterable[Diagnosis]:
        yield from self.taken
        if self.is_stuck:
            return
        subject, mapping = self.subject, self.subject.mapping
        changes = index_changes(mapping, subject.now.item, self.index_keys)
        if changes:
            self.words.append("index keys")
        if not self.words:
            return
        detail = f"it lacks {', '.join(self.words)}"
        key = mapping.key_of(subject.item)
        finding = Finding(
            FindingKind.INCOMPLETE, mapping.table.name, key, mapping.name, detail, mendable=True
        )
        yield Diagnosis(finding, actions=(*self._own(changes), *self.guards, *self.checks.values()))

    def _own(self, changes: tuple[Change, ...]) -> Iterable[Planned]:
        subject, mapping, unit = self.subject, self.subject.mapping, self.subject.unit
        item = {**subject.now.item, **self.numbers}
        revision = mapping.table.revision
        if revision is not None and (subject.is_moved or changes or self.numbers):
            item[revision.attribute] = revision.after(subject.item, unit.write_id)
        names = [str(change.path[0]) for change in changes]
        # The version item repeats the whole item, so all of it must be as it was read.
        also = names if self.version is None else [*names, *subject.item]
        if subject.is_moved:
            image = {name: value for name, value in item.items() if name not in names} | dict(self.index_keys)
            yield as_deleted(mapping, subject.item, unit)
            yield as_inserted(mapping, image, unit)
        elif changes or self.numbers:
            numbered = tuple(SetTo((name,), value) for name, value in self.numbers.items())
            yield update(mapping, subject.item, (*changes, *numbered), unit=unit, also=also)
        else:
            yield check(mapping, subject.item, subject.item, unit, also=also)
        if self.version is not None:
            yield put_version(Image(mapping, mapping.key_of(item), item), self.version, unit)


def _find_guards(lacking: _Lacking, guards: Mapping[str, ItemAddress], scope: Scope) -> StoredCheck[None]:
    stored = yield list(guards.values())
    for (constraint, guard), found in zip(guards.items(), stored, strict=True):
        is_missing = yield from _is_missing(lacking, guard, found, scope)
        if is_missing:
            _put_guard(lacking, constraint, guard, found)


def _is_missing(lacking: _Lacking, guard: ItemAddress, found: Item | None, scope: Scope) -> StoredCheck[bool]:
    """Whether the guard item is missing or must be replaced."""
    subject, mapping, unit = lacking.subject, lacking.subject.mapping, lacking.subject.unit
    mine = [owner_of(mapping, mapping.key_of(item)) for item in (subject.now.item, subject.item)]
    if found is not None and any(same(found.get(OWNER), one) for one in mine):
        is_right = mapping.expiry_of(subject.item) == expiry_in(guard.table, found)
        if is_right and same(found.get(OWNER), mine[0]):
            return False
    elif found is not None and OWNER in found:  # expired or not: its owner may live and hold the value
        owner = owner_address(guard, found)
        (item,) = (yield [owner]) if owner is not None else (None,)
        if owner is not None and holds(owner, item, guard, unit.now) is not False:
            lacking.taken.append(_taken(subject, guard, owner))
            return False
        if owner is not None:
            lacking.checks.update((one.ident, one) for one in owner_check(owner, item, unit))
            lacking.doubt = lacking.doubt or newer_at(owner, item, scope)
        lacking.doubt = lacking.doubt or owner_doubt(guard, found)
    if found is not None:
        lacking.doubt = lacking.doubt or not_a_guard(guard.table, found)
    return True


def _put_guard(lacking: _Lacking, constraint: str, guard: ItemAddress, found: Item | None) -> None:
    subject, mapping, unit = lacking.subject, lacking.subject.mapping, lacking.subject.unit
    lacking.words.append(f"the guard of {constraint}")
    lacking.guards.append(claim((mapping, subject.now.item), guard, found, unit))


def _taken(subject: _Stored, guard: ItemAddress, owner: ItemAddress) -> Diagnosis:
    mapping = subject.mapping
    owners = owner.key, mapping.key_of(subject.item)
    detail = "another live entity holds it; change it in one of them"
    return Diagnosis(
        Finding(
            FindingKind.DUPLICATE,
            guard.table.name,
            mapping.secrets.hiding_guard(constraint_in(guard), guard.key),
            mapping.name,
            detail,
            mendable=False,
            owners=owners,
        )
    )


def _find_versions(lacking: _Lacking) -> StoredCheck[None]:
    subject, mapping = lacking.subject, lacking.subject.mapping
    if mapping.versioning is None:
        return
    number = mapping.version_of(subject.item) or None  # dynaorm numbers versions from 1
    key = mapping.key_of(subject.now.item)
    newest = 0 if number is not None else (yield from newest_number(mapping, key))
    latest, version = yield [
        ItemAddress(mapping.table, key),
        ItemAddress(mapping.table, version_key(mapping, key, number or newest + 1)),
    ]
    if subject.is_moved and (latest is not None or version is not None or newest):
        lacking.taken = [_key_taken(subject, key)]
        lacking.is_stuck = True
        return
    if number is None:
        at = datetime_text(subject.unit.now)
        lacking.numbers = {VERSION: {"N": str(newest + 1)}, VERSION_AT: {"S": at}}
    elif version is None and (yield from newest_number(mapping, key)) > number:
        return  # which of the two is the newest is for people to decide: verify reports it
    if version is None:
        lacking.version = number or newest + 1
        lacking.words.append(f"version {lacking.version}")


def _key_taken(subject: _Stored, key: Item) -> Diagnosis:
    mapping = subject.mapping
    detail = "it is stored under its former key and under its new one; delete one of them"
    owners = key, mapping.key_of(subject.item)
    return Diagnosis(
        Finding(
            FindingKind.DUPLICATE,
            mapping.table.name,
            key,
            mapping.name,
            detail,
            mendable=False,
            owners=owners,
        )
    )
