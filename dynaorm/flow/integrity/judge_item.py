"""Judge one stored item: what must be stored beside it, and whether it is.

Rule 1. What must be stored follows from the stored item, as a save would derive it.
Rule 2. Each problem is found once, at one of the items concerned. A guard item that is missing or names another owner
        is judged later, by ``judge_guard``, when every entity that holds its value is known.
Rule 3. Expired entities and expired guard items are absent, as they are to every read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import is_guard_of_others
from dynaorm.entity.dispatch import NotAnEntity, classify
from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.derive import index_keys, own_index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.stored_entity import shown_key
from dynaorm.entity.table import GlobalIndex
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import Diagnosis, Doubt, Finding, FindingKind, Judgement, Suspect
from dynaorm.flow.integrity.judge_guard import (
    GuardSays,
    constraint_in,
    guards_of,
    holds,
    owner_address,
    what_guard_says,
)
from dynaorm.flow.integrity.judge_values import judge_values
from dynaorm.flow.integrity.judge_version import judge_latest, judge_tombstone, judge_version, latest_address
from dynaorm.flow.integrity.repair_actions import update
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import doubt_about, doubtful, more_than_a_guard, not_ours, uncounted
from dynaorm.flow.lookup import guard_expired
from dynaorm.item.update import Change, Remove, SetTo
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.kinds.totals import contributions
from dynaorm.plan.renewal import Renewal, renewal_of
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


def judge(address: ItemAddress, scope: Scope) -> StoredCheck[Judgement]:
    """What is wrong with the item at an address, by itself and together with the items that belong to it."""
    (item,) = yield [address]
    judgement = Judgement()
    if item is None:
        return judgement
    yield from _judge_as(classify(address.table, item), address, item, judgement, scope=scope)
    if scope.reads_everything:
        judgement.doubt = judgement.doubt or doubt_about(address.table, item, scope)
    again = _again(address, scope)
    judgement.diagnoses = [Diagnosis(one.finding, again, one.actions) for one in judgement.diagnoses]
    return judgement


def _judge_as(
    found: EntityMapping | NotAnEntity,
    address: ItemAddress,
    item: Item,
    judgement: Judgement,
    *,
    scope: Scope,
) -> StoredCheck[None]:
    unit = scope.new_unit()
    if isinstance(found, EntityMapping):
        if not found.is_expired(item, unit.now):
            yield from _judge_entity(Subject(found, item, unit), scope, judgement)
    elif found is NotAnEntity.GUARD:
        yield from _judge_guard_item(address, item, scope, judgement)
    elif found is NotAnEntity.UNKNOWN:
        if address.table in scope.whole:
            judgement.diagnoses.append(_unknown(address, item))
    elif found is not NotAnEntity.TOKEN:
        diagnoses = yield from _judge_version_item(found, address, item, scope)
        if diagnoses is None and address.table in scope.whole:
            diagnoses = [_unknown(address, item)]
        judgement.diagnoses += diagnoses or []


def _again(address: ItemAddress, scope: Scope) -> Any:
    def again() -> StoredCheck[list[Diagnosis]]:
        judgement = yield from judge(address, scope)
        return judgement.diagnoses

    return again


def _unknown(address: ItemAddress, item: Item) -> Diagnosis:
    attribute = address.table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    named = "" if tag is None else f"; its {attribute} is {shown(next(iter(tag.values())))}"
    detail = f"it belongs to no class of the table{named}"
    key = shown_key(address.table, item)
    return Diagnosis(Finding(FindingKind.UNKNOWN_ITEM, address.table.name, key, None, detail, mendable=False))


# -- entities ----------------------------------------------------------------------------------------------------------


@record
class Subject:
    """A live entity as it is stored."""

    mapping: EntityMapping
    item: Item
    unit: UnitOfWork

    @property
    def key(self) -> Item:
        return self.mapping.key_of(self.item)

    def finding(self, kind: FindingKind, detail: str, *, mendable: bool) -> Finding:
        """A finding at the entity's own item."""
        return Finding(kind, self.mapping.table.name, self.key, self.mapping.name, detail, mendable)


def _judge_entity(subject: Subject, scope: Scope, judgement: Judgement) -> StoredCheck[None]:
    mapping, item = subject.mapping, subject.item
    if scope.covers_totals(mapping):
        judgement.target = ItemAddress(mapping.table, subject.key)
    covered, counted = scope.covers(mapping), scope.reads_everything and bool(mapping.aggregates)
    if not covered and not counted:
        return
    try:
        renewal = renewal_of(mapping, item)
        wanted = derived(renewal)
        if counted:
            judgement.contributions = list(contributions(mapping, item))
    except DynaormError as problem:
        judgement.diagnoses, judgement.doubt = unread(subject, problem, scope)
        return
    if covered:
        yield from _judge_belongings(subject, renewal, wanted, judgement)
        # A renewal is a new version, after which the one before could not be put.
        later = any(one.finding.kind is FindingKind.VERSION_MISSING for one in judgement.diagnoses)
        doubt = "its missing version comes first; repair again" if later else ""
        judgement.diagnoses += [doubtful(one, doubt) for one in (yield from judge_values(renewal, scope))]
        doubt = not_ours(mapping, item, scope)
        judgement.diagnoses = [doubtful(one, doubt) for one in judgement.diagnoses]


@record
class Derived:
    """What a save derives from an entity: its index keys, and the guard of each of its unique values."""

    index_keys: dict[str, AttributeValue]
    guards: dict[str, ItemAddress]


def derived(renewal: Renewal) -> Derived:
    """What a save derives from the values that load. Raises InvalidValue."""
    mapping, image = renewal.mapping, renewal.image
    guards = guards_of(mapping, image) if mapping.constraints else {}
    return Derived(index_keys(mapping, mapping.subject(image)), guards)


def unread(subject: Subject, problem: Exception, scope: Scope) -> tuple[list[Diagnosis], Doubt | None]:
    """What to report of an entity that cannot be read, and the doubt about the totals that may count it.

    It is reported also if only these totals are verified: they are judged without it.
    """
    mapping = subject.mapping
    is_counted = scope.reads_everything and scope.counts(mapping)
    if not scope.covers(mapping) and not is_counted:
        return [], None
    problems = "; ".join(problem.problems) if isinstance(problem, DecodeError) else str(problem)
    finding = subject.finding(FindingKind.UNREADABLE, problems, mendable=False)
    return [Diagnosis(finding)], uncounted(mapping) if is_counted else None


def _judge_belongings(
    subject: Subject, renewal: Renewal, wanted: Derived, judgement: Judgement
) -> StoredCheck[None]:
    mapping, item = subject.mapping, subject.item
    if changes := index_changes(mapping, renewal.image, wanted.index_keys):
        judgement.diagnoses.append(_wrong_index_keys(subject, changes))
    if foreign := sorted(_foreign_index_keys(mapping) & item.keys()):
        detail = f"it has {', '.join(foreign)}, but {mapping.name} declares no such index"
        judgement.diagnoses.append(Diagnosis(subject.finding(FindingKind.INDEX_KEYS, detail, mendable=False)))
    stored = yield list(wanted.guards.values())
    for guard, found in zip(wanted.guards.values(), stored, strict=True):
        says = what_guard_says(guard.table, found, (mapping, item), subject.unit.now)
        if says is GuardSays.RIGHT or (says is GuardSays.OTHER_EXPIRY and renewal.image is not item):
            continue  # a renewal writes the guards of its values itself
        unsigned = says is GuardSays.NO_OWNER
        judgement.suspects.append(Suspect(guard, ItemAddress(mapping.table, subject.key), unsigned))
    if mapping.versioning is not None:
        judgement.diagnoses += yield from judge_latest(mapping, item, subject.unit)


def index_changes(
    mapping: EntityMapping, item: Item, wanted: Mapping[str, AttributeValue]
) -> tuple[Change, ...]:
    """The changes that give an item its index keys. Index keys that its class does not declare are not touched.

    Another program may have left out a field that is itself an index key: its default, or the value of a former name.
    """
    names = dict.fromkeys(name for index in mapping.places.values() for name in index.made_up)
    made_up = tuple(
        SetTo((name,), wanted[name]) if name in wanted else Remove((name,))
        for name in names
        if not same(item.get(name), wanted.get(name))
    )
    own = own_index_keys(mapping, mapping.subject(item))
    return (*made_up, *(SetTo((name,), key) for name, key in own.items() if name not in item))


def _foreign_index_keys(mapping: EntityMapping) -> set[str]:
    """The key attributes of indexes that a class does not declare, as far as they are none of its attributes."""
    table, known = mapping.table, {field.attribute for field in mapping.fields.values()}
    known |= mapping.made_up_keys
    keys = {
        key.name
        for index in table.indexes.values()
        for key in (*(index.pk if isinstance(index, GlobalIndex) else ()), *index.sk)
    }
    return keys - known - set(table.key_names)


def _wrong_index_keys(subject: Subject, changes: Sequence[Change]) -> Diagnosis:
    mapping, item = subject.mapping, subject.item
    names = [str(change.path[0]) for change in changes]
    words = [
        f"{name} does not hold the values of its fields"
        if name in mapping.secrets.keys
        else f"{name} is {_shown(item.get(name))} and should be {_shown(getattr(change, 'value', None))}"
        for name, change in zip(names, changes, strict=True)
    ]
    finding = subject.finding(FindingKind.INDEX_KEYS, "; ".join(words), mendable=True)
    return Diagnosis(finding, actions=(update(mapping, item, changes, unit=subject.unit, also=names),))


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))


# -- items that belong to entities -------------------------------------------------------------------------------------


def _judge_guard_item(
    address: ItemAddress, item: Item, scope: Scope, judgement: Judgement
) -> StoredCheck[None]:
    """A guard item that the scan met: does its owner hold the value?"""
    if not scope.covers_guards(address.table, constraint_in(address)):
        return
    extra = more_than_a_guard(address.table, item)
    # Another library may write more into the guard items of its own format.
    if extra and not is_guard_of_others(address.table, item):
        detail = f"a guard item has no {', '.join(extra)}"
        key = shown_key(address.table, item)
        finding = Finding(FindingKind.EXTRA_ATTRIBUTES, address.table.name, key, None, detail, mendable=False)
        judgement.diagnoses.append(Diagnosis(finding))
    now = scope.new_unit().now
    if guard_expired(address.table, item, now):
        return
    owner = owner_address(address, item) if OWNER in item else None
    if owner is not None:
        (stored,) = yield [owner]
        if holds(owner, stored, address, now):
            return
    judgement.suspects.append(Suspect(address, unsigned=OWNER not in item))


def _judge_version_item(
    found: NotAnEntity, address: ItemAddress, item: Item, scope: Scope
) -> StoredCheck[list[Diagnosis] | None]:
    """A version item or a tombstone. None if it turns out to be neither."""
    if found is NotAnEntity.TOMBSTONE:
        return (yield from judge_tombstone(address, item, scope))
    latest = latest_address(address)
    if latest is None:
        return None
    mapping, key = latest
    if not scope.covers(mapping):
        return []
    return (yield from judge_version(mapping, item, key, scope.new_unit()))
