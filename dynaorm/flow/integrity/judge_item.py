"""One stored item judged: what must be stored beside it, and whether it is.

Rule 1. What must be stored follows from the stored image, exactly as a save derives it.
Rule 2. One thing that is wrong is found once, at one of the items concerned: a guard item that is missing or names
        somebody else is judged later, by ``verify_guard``, when everybody who holds its value is known.
Rule 3. An expired entity, and an expired guard item, are absent, as they are to every read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Judgement, Kind, SuspectGuard
from dynaorm.flow.integrity.judge_guard import constraint_in, expiry_in, guard_expired, holds, owner_place
from dynaorm.flow.integrity.judge_version import judge_latest, judge_tombstone, judge_version, latest_place
from dynaorm.flow.integrity.repairs import check, owner_of, put_guard, update
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.aggregates import contributions
from dynaorm.plan.image import subject_of
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


def judge(address: ItemAddress, scope: Scope) -> StoredCheck[Judgement]:
    """What is wrong with the item in a place, alone and together with those that belong to it."""
    (item,) = yield [address]
    judgement = Judgement()
    if item is None:
        return judgement
    setting = scope.new_setting()
    found = classify(address.table, item)
    if isinstance(found, EntityMapping):
        if not found.is_expired(item, setting.now):
            yield from _entity(Subject(found, item, setting), scope, judgement)
    elif found is NotAnEntity.GUARD:
        yield from _guard(address, item, scope, judgement)
    elif found is NotAnEntity.UNKNOWN:
        if address.table in scope.whole:
            judgement.diagnoses.append(_unknown(address, item))
    else:
        diagnoses = yield from _versions(found, address, item, scope)
        if diagnoses is None and address.table in scope.whole:
            diagnoses = [_unknown(address, item)]
        judgement.diagnoses += diagnoses or []
    again = _again(address, scope)
    judgement.diagnoses = [Diagnosis(one.finding, again, one.actions) for one in judgement.diagnoses]
    return judgement


def _again(address: ItemAddress, scope: Scope) -> Any:
    def again() -> StoredCheck[list[Diagnosis]]:
        judgement = yield from judge(address, scope)
        return judgement.diagnoses

    return again


def _unknown(address: ItemAddress, item: Item) -> Diagnosis:
    attribute = address.table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    named = f", which says it is a {next(iter(tag.values()))!r}" if tag is not None else ""
    detail = f"no class of the table understands this item{named}"
    key = {name: item[name] for name in address.table.key_names}
    return Diagnosis(Finding(Kind.UNKNOWN_ITEM, address.table.name, key, None, detail, mendable=False))


# -- entities ----------------------------------------------------------------------------------------------------------


@record
class Subject:
    """A live entity as it is stored."""

    mapping: EntityMapping
    item: Item
    setting: UnitOfWork

    @property
    def key(self) -> Item:
        return self.mapping.key_of(self.item)


def _entity(subject: Subject, scope: Scope, judgement: Judgement) -> StoredCheck[None]:
    mapping, item = subject.mapping, subject.item
    if scope.covers_totals(mapping):
        judgement.target = ItemAddress(mapping.table, subject.key)
    covered, counted = scope.covers(mapping), scope.with_totals and bool(mapping.aggregates)
    if not covered and not counted:
        return
    try:
        wanted = derived(subject)
        if counted:
            judgement.contributions = list(contributions(mapping, item))
    except DynaormError as problem:
        judgement.unsound = mapping if counted else None
        if covered:
            judgement.diagnoses.append(unreadable(subject, problem))
        return
    if covered:
        yield from _belongings(subject, wanted, judgement)


@record
class Derived:
    """What follows from an entity: its index keys, and the guard of each of its unique values."""

    index_keys: dict[str, AttributeValue]
    guards: dict[str, ItemAddress]


def derived(subject: Subject) -> Derived:
    """Raises DecodeError, InvalidValue for an entity that does not fit its class."""
    mapping, item = subject.mapping, subject.item
    mapping.hydrate(item)
    guards: dict[str, ItemAddress] = {}
    if mapping.constraints:
        home = mapping.table.guards
        claims = mapping.claims(mapping.subject(item), lambda: subject_of(mapping, item))
        guards = {name: guard_place(home, key) for name, key, _ in claims}
    return Derived(mapping.index_keys(mapping.subject(item)), guards)


def unreadable(subject: Subject, problem: Exception) -> Diagnosis:
    mapping = subject.mapping
    problems = "; ".join(problem.problems) if isinstance(problem, DecodeError) else str(problem)
    return Diagnosis(
        Finding(Kind.UNREADABLE, mapping.table.name, subject.key, mapping.name, problems, mendable=False)
    )


def guard_place(home: Table, text: str) -> ItemAddress:
    """Where the guard item with this key is."""
    return ItemAddress(home, {key.name: {"S": text} for key in home.keys})


def _belongings(subject: Subject, wanted: Derived, judgement: Judgement) -> StoredCheck[None]:
    mapping, item = subject.mapping, subject.item
    if changes := index_changes(mapping, item, wanted.index_keys):
        judgement.diagnoses.append(_index_fault(subject, changes))
    stored = yield list(wanted.guards.values())
    for (constraint, guard), found in zip(wanted.guards.items(), stored, strict=True):
        if found is not None and same(found.get(OWNER), owner_of(mapping, item)):
            if mapping.expiry_of(item) != expiry_in(guard.table, found):
                judgement.diagnoses.append(_expiry_fault(subject, constraint, guard, found))
            continue
        is_there = found is not None and not guard_expired(guard.table, found, subject.setting.now)
        unsigned = is_there and found is not None and OWNER not in found
        judgement.suspects.append(SuspectGuard(guard, ItemAddress(mapping.table, subject.key), unsigned))
    if mapping.versioning is not None:
        judgement.diagnoses += yield from judge_latest(mapping, item, subject.setting)


def _expiry_fault(subject: Subject, constraint: str, guard: ItemAddress, stored: Item) -> Diagnosis:
    mapping, item, setting = subject.mapping, subject.item, subject.setting
    wanted, found = mapping.expiry_of(item), expiry_in(guard.table, stored)
    detail = f"it expires at {found or 'no time'}, and its owner at {wanted or 'no time'}"
    finding = Finding(
        Kind.GUARD_EXPIRY,
        guard.table.name,
        guard.key,
        mapping.name,
        detail,
        mendable=True,
        owners=(subject.key,),
    )
    actions = (
        check(mapping, item, item, setting),
        put_guard(mapping, item, guard, stored, constraint=constraint, setting=setting),
    )
    return Diagnosis(finding, actions=actions)


def index_changes(
    mapping: EntityMapping, item: Item, wanted: Mapping[str, AttributeValue]
) -> tuple[Change, ...]:
    """The changes that give an item its index keys; attributes that are no index key of its class stay."""
    names = dict.fromkeys(name for index in mapping.indexes.values() for name in index.made_up)
    return tuple(
        SetTo((name,), wanted[name]) if name in wanted else Remove((name,))
        for name in names
        if not same(item.get(name), wanted.get(name))
    )


def _index_fault(subject: Subject, changes: Sequence[Change]) -> Diagnosis:
    mapping, item = subject.mapping, subject.item
    names = [str(change.path[0]) for change in changes]
    words = [
        f"{name} is {_shown(item.get(name))} and should be {_shown(getattr(change, 'value', None))}"
        for name, change in zip(names, changes, strict=True)
    ]
    finding = Finding(
        Kind.INDEX_KEYS, mapping.table.name, subject.key, mapping.name, "; ".join(words), mendable=True
    )
    return Diagnosis(finding, actions=(update(mapping, item, changes, setting=subject.setting, also=names),))


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))


# -- items that belong to entities -------------------------------------------------------------------------------------


def _guard(address: ItemAddress, item: Item, scope: Scope, judgement: Judgement) -> StoredCheck[None]:
    """A guard item, seen from its own side: does its owner hold the value?"""
    constraint = constraint_in(address)
    now = scope.new_setting().now
    if not scope.covers_guards(address.table, constraint):
        return
    if OWNER not in item or guard_expired(address.table, item, now):
        return
    owner = owner_place(address.table, item)
    if owner is not None:
        (stored,) = yield [owner]
        if holds(owner, stored, address, now) is not False:
            return
    judgement.suspects.append(SuspectGuard(address))


def _versions(
    found: NotAnEntity, address: ItemAddress, item: Item, scope: Scope
) -> StoredCheck[list[Diagnosis] | None]:
    """A version item or a tombstone. None where it turns out to be neither."""
    if found is NotAnEntity.TOMBSTONE:
        return (yield from judge_tombstone(address, item, scope))
    latest = latest_place(address)
    if latest is None:
        return None
    mapping, key = latest
    if not scope.covers(mapping):
        return []
    return (yield from judge_version(mapping, item, key))
