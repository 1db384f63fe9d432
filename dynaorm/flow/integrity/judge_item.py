"""One stored item judged: what must be stored beside it, and whether it is.

Rule 1. What must be stored follows from the stored image, exactly as a save derives it.
Rule 2. One thing that is wrong is found once, at one of the items concerned: a guard item that is missing or names
        somebody else is judged later, by ``verify_guard``, when everybody who holds its value is known.
Rule 3. An expired entity, and an expired guard item, are absent, as they are to every read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.dispatch import Stray, classify
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.flow.integrity.finding import Fault, Finding, Judgement, Kind, Trouble
from dynaorm.flow.integrity.inquiry import Inquiry, Place
from dynaorm.flow.integrity.judge_guard import constraint_in, expiry_in, guard_expired, holds, owner_place
from dynaorm.flow.integrity.judge_version import judge_latest, judge_tombstone, judge_version, latest_place
from dynaorm.flow.integrity.repairs import check, owner_of, put_guard, update
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.aggregates import contributions
from dynaorm.plan.image import subject_of
from dynaorm.plan.known import Setting
from dynaorm.record import record


def judge(place: Place, scope: Scope) -> Inquiry[Judgement]:
    """What is wrong with the item in a place, alone and together with those that belong to it."""
    (item,) = yield [place]
    judgement = Judgement()
    if item is None:
        return judgement
    setting = scope.new_setting()
    found = classify(place.table, item)
    if isinstance(found, EntityMapping):
        if not found.is_expired(item, setting.now):
            yield from _entity(Subject(found, item, setting), scope, judgement)
    elif found is Stray.GUARD:
        yield from _guard(place, item, scope, judgement)
    elif found is Stray.UNKNOWN:
        if place.table in scope.whole:
            judgement.faults.append(_unknown(place, item))
    else:
        faults = yield from _versions(found, place, item, scope)
        if faults is None and place.table in scope.whole:
            faults = [_unknown(place, item)]
        judgement.faults += faults or []
    again = _again(place, scope)
    judgement.faults = [Fault(one.finding, again, one.actions) for one in judgement.faults]
    return judgement


def _again(place: Place, scope: Scope) -> Any:
    def again() -> Inquiry[list[Fault]]:
        judgement = yield from judge(place, scope)
        return judgement.faults

    return again


def _unknown(place: Place, item: Item) -> Fault:
    attribute = place.table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    named = f", which says it is a {next(iter(tag.values()))!r}" if tag is not None else ""
    detail = f"no class of the table understands this item{named}"
    key = {name: item[name] for name in place.table.key_names}
    return Fault(Finding(Kind.UNKNOWN_ITEM, place.table.name, key, None, detail, mendable=False))


# -- entities ----------------------------------------------------------------------------------------------------------


@record
class Subject:
    """A live entity as it is stored."""

    mapping: EntityMapping
    item: Item
    setting: Setting

    @property
    def key(self) -> Item:
        return self.mapping.key_of(self.item)


def _entity(subject: Subject, scope: Scope, judgement: Judgement) -> Inquiry[None]:
    mapping, item = subject.mapping, subject.item
    if scope.covers_totals(mapping):
        judgement.target = Place(mapping.table, subject.key)
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
            judgement.faults.append(unreadable(subject, problem))
        return
    if covered:
        yield from _belongings(subject, wanted, judgement)


@record
class Derived:
    """What follows from an entity: its index keys, and the guard of each of its unique values."""

    index_keys: dict[str, AttributeValue]
    guards: dict[str, Place]


def derived(subject: Subject) -> Derived:
    """Raises DecodeError, InvalidValue for an entity that does not fit its class."""
    mapping, item = subject.mapping, subject.item
    mapping.hydrate(item)
    guards: dict[str, Place] = {}
    if mapping.constraints:
        home = mapping.table.guards
        claims = mapping.claims(mapping.subject(item), lambda: subject_of(mapping, item))
        guards = {name: guard_place(home, key) for name, key, _ in claims}
    return Derived(mapping.index_keys(mapping.subject(item)), guards)


def unreadable(subject: Subject, problem: Exception) -> Fault:
    mapping = subject.mapping
    problems = "; ".join(problem.problems) if isinstance(problem, DecodeError) else str(problem)
    return Fault(
        Finding(Kind.UNREADABLE, mapping.table.name, subject.key, mapping.name, problems, mendable=False)
    )


def guard_place(home: Table, text: str) -> Place:
    """Where the guard item with this key is."""
    return Place(home, {key.name: {"S": text} for key in home.keys})


def _belongings(subject: Subject, wanted: Derived, judgement: Judgement) -> Inquiry[None]:
    mapping, item = subject.mapping, subject.item
    if changes := index_changes(mapping, item, wanted.index_keys):
        judgement.faults.append(_index_fault(subject, changes))
    stored = yield list(wanted.guards.values())
    for (constraint, guard), found in zip(wanted.guards.items(), stored, strict=True):
        if found is not None and same(found.get(OWNER), owner_of(mapping, item)):
            if mapping.expiry_of(item) != expiry_in(guard.table, found):
                judgement.faults.append(_expiry_fault(subject, constraint, guard, found))
            continue
        is_there = found is not None and not guard_expired(guard.table, found, subject.setting.now)
        unsigned = is_there and found is not None and OWNER not in found
        judgement.troubles.append(Trouble(guard, Place(mapping.table, subject.key), unsigned))
    if mapping.versioning is not None:
        judgement.faults += yield from judge_latest(mapping, item, subject.setting)


def _expiry_fault(subject: Subject, constraint: str, guard: Place, stored: Item) -> Fault:
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
    return Fault(finding, actions=actions)


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


def _index_fault(subject: Subject, changes: Sequence[Change]) -> Fault:
    mapping, item = subject.mapping, subject.item
    names = [str(change.path[0]) for change in changes]
    words = [
        f"{name} is {_shown(item.get(name))} and should be {_shown(getattr(change, 'value', None))}"
        for name, change in zip(names, changes, strict=True)
    ]
    finding = Finding(
        Kind.INDEX_KEYS, mapping.table.name, subject.key, mapping.name, "; ".join(words), mendable=True
    )
    return Fault(finding, actions=(update(mapping, item, changes, setting=subject.setting, also=names),))


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))


# -- items that belong to entities -------------------------------------------------------------------------------------


def _guard(place: Place, item: Item, scope: Scope, judgement: Judgement) -> Inquiry[None]:
    """A guard item, seen from its own side: does its owner hold the value?"""
    constraint = constraint_in(place)
    now = scope.new_setting().now
    if not scope.covers_guards(place.table, constraint):
        return
    if OWNER not in item or guard_expired(place.table, item, now):
        return
    owner = owner_place(place.table, item)
    if owner is not None:
        (stored,) = yield [owner]
        if holds(owner, stored, place, now) is not False:
            return
    judgement.troubles.append(Trouble(place))


def _versions(found: Stray, place: Place, item: Item, scope: Scope) -> Inquiry[list[Fault] | None]:
    """A version item or a tombstone. None where it turns out to be neither."""
    if found is Stray.TOMBSTONE:
        return (yield from judge_tombstone(place, item, scope))
    latest = latest_place(place)
    if latest is None:
        return None
    mapping, key = latest
    if not scope.covers(mapping):
        return []
    return (yield from judge_version(mapping, item, key))
