"""Judge stored items: what must be stored beside each, whether it is, and whether an entity is stored as it loads."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dynaorm.entity.classify import NotAnEntity, classify, shown_key
from dynaorm.entity.mapping.derive import index_keys, own_index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Ident, Table
from dynaorm.entity.text.scalar import ANY_SPELLING
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.failure import shown
from dynaorm.flow.call import Context, Flow, ReadCost
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import (
    CheckResult,
    FactStore,
    Finding,
    FindingKind,
    MemoryFactStore,
    RepairableFinding,
    Uncertainty,
    finding_at,
    finding_of,
    remember,
)
from dynaorm.flow.integrity.kinds.guards import GuardChecker
from dynaorm.flow.integrity.kinds.judged import Checker, Subject, first_doubt
from dynaorm.flow.integrity.kinds.totals import JUDGED_TOTALS
from dynaorm.flow.integrity.kinds.versions import JUDGED_VERSIONS
from dynaorm.flow.integrity.reads import ItemAddress, StoredCheck, answer_from, run_in_one_read
from dynaorm.flow.integrity.repair_actions import reason_not_to_write, renewed, unchanged, without_repair
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.action import Update
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.compiler import Renewal, renewal_actions, renewal_of
from dynaorm.plan.derived import EntitySide
from dynaorm.plan.intent import Reads, UnitOfWork
from dynaorm.plan.plan import Planned
from dynaorm.record import replace

# Every kind of items that follow from entities, in the order in which they are judged.

_OTHERS: Final[tuple[Checker, ...]] = (JUDGED_VERSIONS, JUDGED_TOTALS)

KINDS: Final[tuple[Checker, ...]] = (GuardChecker(_OTHERS), *_OTHERS)


# Judge the stored values of an entity: it must be stored as it loads.
#
# Rule 1. Validators run whenever an item is loaded. If they changed since the item was stored, other values load than
#         are stored, and its index keys and guards are not those of the entity. The repair stores it as it loads.
# Rule 2. An entity is not renewed while an item that it would take is another entity's: people have to decide.
# Rule 3. Version items are history: they stay as they are. Each is validated when it is loaded.


def judge_values(renewal: Renewal, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    """The values that validators change whenever the entity is loaded."""
    if not renewal.changes:
        return []
    if not renewal.is_stable:
        return [
            _diagnosis(
                renewal, doubt="its validators change what they return, so nothing loads as it is stored"
            )
        ]
    try:
        return [(yield from _renewed(renewal, scope))]
    except DynaormError as problem:
        return [_diagnosis(renewal, doubt=str(problem))]


def _renewed(renewal: Renewal, scope: Scope) -> StoredCheck[RepairableFinding]:
    mapping, unit = renewal.mapping, scope.new_unit()
    key = mapping.key_of(renewal.item)
    # Items that nobody gives up are new.
    kinds = [kind for kind in KINDS if not kind.derived.is_permanent]
    held = [
        (kind, one, image is renewal.image)
        for image in (renewal.item, renewal.image)
        for kind in kinds
        for one in kind.derived.held_by(EntitySide(mapping, key, image))
    ]
    addresses = [ItemAddress(*kind.derived.place(one)) for kind, one, _ in held]
    stored = yield from _read(addresses)
    found = [(*one, stored[address.ident]) for one, address in zip(held, addresses, strict=True)]
    obstacles = (kind.obstacle(one, item, unit.now, is_new=is_new) for kind, one, is_new, item in found)
    if doubt := next(filter(None, (reason_not_to_write(mapping, renewal.item, scope), *obstacles)), ""):
        return _diagnosis(renewal, doubt=doubt)
    not_given_up = {
        address.ident
        for address, (kind, one, _, item) in zip(addresses, found, strict=True)
        if not kind.derived.should_release(one, item)
    }
    planned = renewal_actions(renewal, Reads(stored, frozenset(not_given_up)), unit)
    return _diagnosis(renewal, actions=_as_read(renewal, planned))


def _read(addresses: Iterable[ItemAddress]) -> StoredCheck[Mapping[Ident, Item | None]]:
    wanted = {one.ident: one for one in addresses}
    items = yield list(wanted.values())
    return dict(zip(wanted, items, strict=True))


def _as_read(renewal: Renewal, planned: list[Planned]) -> tuple[Planned, ...]:
    """The actions, on condition that everything that changes is as it was read."""
    mapping, item, image = renewal.mapping, renewal.item, renewal.image
    own, *others = planned
    assert isinstance(own.action, Update)
    # What keeps a copy of an item needs all of it to be as it was read.
    also = item if any(one.kind.is_permanent for one in others) else {**item, **image}
    names = [name for name in also if also is item or not same(item.get(name), image.get(name))]
    action = Update(own.action.table, own.action.key, own.action.changes, unchanged(mapping, item, names))
    return (replace(own, action=action), *others)


def _diagnosis(renewal: Renewal, *, doubt: str = "", actions: tuple[Planned, ...] = ()) -> RepairableFinding:
    mapping = renewal.mapping
    key, words = mapping.key_of(renewal.item), "; ".join(_words(renewal))
    finding = finding_of(FindingKind.STORED_VALUES, mapping, key, words, repairable=bool(actions))
    return RepairableFinding(replace(finding, uncertain_because=doubt), actions=actions)


def _words(renewal: Renewal) -> Iterator[str]:
    mapping = renewal.mapping
    for name, value in renewal.changes.items():
        field = mapping.fields[name]
        if field.in_key or mapping.secrets.include(name):
            yield f"{name} loads as another value than is stored"
        else:
            yield f"{name} is {_value_text(field.stored_in(renewal.item))} and loads as {_value_text(value)}"


def _value_text(value: AttributeValue | None) -> str:
    return "absent" if value is None else shown(next(iter(value.values())))


# Judge one stored item: what must be stored beside it, and whether it is.
#
# Rule 1. What must be stored follows from the stored item, as a save would derive it.
# Rule 2. Each problem is found once, at one of the items concerned. What needs facts about other entities is judged
#         when every item was read.
# Rule 3. Expired items are absent, as they are to every read.


def judge(address: ItemAddress, scope: Scope) -> StoredCheck[CheckResult]:
    """What is wrong with the item at an address, by itself and together with the items that belong to it."""
    (item,) = yield [address]
    judgement = CheckResult()
    if item is None:
        return judgement
    found = classify(address.table, item)
    yield from _judge_as(found, address, item, judgement, scope=scope)
    doubts = (kind.doubt_about(found, address.table, item, scope) for kind in KINDS)
    judgement.doubt = judgement.doubt or first_doubt(doubts)
    again = _again(address, scope)
    judgement.diagnoses = [replace(one, again=again) for one in judgement.diagnoses]
    return judgement


def _judge_as(
    found: EntityMapping | NotAnEntity,
    address: ItemAddress,
    item: Item,
    judgement: CheckResult,
    *,
    scope: Scope,
) -> StoredCheck[None]:
    unit = scope.new_unit()
    if isinstance(found, EntityMapping):
        if not found.is_expired(item, unit.now):
            yield from _judge_entity(Subject(found, item, unit), scope, judgement)
        return
    for kind in KINDS:
        known = yield from kind.judge_item(found, address, item, scope)
        if known is not None:
            judgement.diagnoses += known.diagnoses
            judgement.facts += known.facts
            return
    if found is not NotAnEntity.TOKEN and address.table in scope.whole:
        judgement.diagnoses.append(_unknown(address, item))


def _again(address: ItemAddress, scope: Scope) -> Any:
    def again() -> StoredCheck[list[RepairableFinding]]:
        judgement = yield from judge(address, scope)
        return judgement.diagnoses

    return again


def _unknown(address: ItemAddress, item: Item) -> RepairableFinding:
    attribute = address.table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    named = "" if tag is None else f"; its {attribute} is {shown(next(iter(tag.values())))}"
    detail = f"it belongs to no class of the table{named}"
    key = shown_key(address.table, item)
    return RepairableFinding(finding_at(FindingKind.UNKNOWN_ITEM, ItemAddress(address.table, key), detail))


# -- entities ----------------------------------------------------------------------------------------------------------


def _judge_entity(subject: Subject, scope: Scope, judgement: CheckResult) -> StoredCheck[None]:
    mapping, item = subject.mapping, subject.item
    judgement.facts += [fact for kind in KINDS for fact in kind.facts_at(subject, scope)]
    kinds = [kind for kind in KINDS if kind.concerns(mapping, scope)]
    if not scope.covers(mapping) and not kinds:
        return
    try:
        renewal = renewal_of(mapping, item)
        wanted = wanted_index_keys(renewal)
        held = [kind.held(renewal) for kind in kinds]
    except DynaormError as problem:
        judgement.diagnoses, judgement.doubt = unread(subject, problem, scope)
        return
    if scope.covers(mapping):
        judgement.diagnoses += _judge_index_keys(subject, renewal, wanted)
    for kind, some in zip(kinds, held, strict=True):
        found = yield from kind.judge_entity(subject, renewal, some)
        judgement.diagnoses += found.diagnoses
        judgement.facts += found.facts if scope.covers(mapping) else kind.facts_beside(found.facts)
    if scope.covers(mapping):
        # A renewal is a new version, after which the one before could not be put.
        first = any(action.kind.is_permanent for one in judgement.diagnoses for action in one.actions)
        doubt = "its missing version comes first; repair again" if first else ""
        judgement.diagnoses += [
            without_repair(one, doubt) for one in (yield from judge_values(renewal, scope))
        ]
        doubt = reason_not_to_write(mapping, item, scope)
        judgement.diagnoses = [without_repair(one, doubt) for one in judgement.diagnoses]


def wanted_index_keys(renewal: Renewal) -> dict[str, AttributeValue]:
    """The index keys that a save derives from the values that load. Raises InvalidValue."""
    return index_keys(renewal.mapping, renewal.mapping.subject(renewal.image))


def unread(
    subject: Subject, problem: Exception, scope: Scope
) -> tuple[list[RepairableFinding], Uncertainty | None]:
    """What to report of an entity that cannot be read, and the doubt about the sums that may count it.

    It is reported also if only these sums are verified: they are judged without it.
    """
    mapping = subject.mapping
    doubt = first_doubt(kind.doubt_of_unread(mapping, scope) for kind in KINDS)
    if not scope.covers(mapping) and doubt is None:
        return [], None
    problems = "; ".join(problem.problems) if isinstance(problem, DecodeError) else str(problem)
    actions = _respelled(subject) if scope.covers(mapping) else ()
    finding = subject.finding(FindingKind.UNREADABLE, problems, repairable=bool(actions))
    reason = reason_not_to_write(mapping, subject.item, scope)
    return [without_repair(RepairableFinding(finding, actions=actions), reason)], doubt


def _respelled(subject: Subject) -> tuple[Planned, ...]:
    """The repair of an entity that cannot be read only because values are spelled otherwise; nothing for any other.

    Its item and index keys are written. What else follows from it is judged once it can be read. Copies of a version
    are not written, so one that is versioned is left to people.
    """
    mapping, item = subject.mapping, subject.item
    if mapping.versioning is not None:
        return ()
    allowed = ANY_SPELLING.set(True)
    try:
        encoded = mapping.encoder.encode(vars(mapping.loader.hydrate(item)))
    except DynaormError:
        return ()
    finally:
        ANY_SPELLING.reset(allowed)
    names = item.keys() & encoded.keys()
    fields = {one.attribute: one for one in mapping.fields.values() if one.attribute in names}
    image = {**item, **{name: one.codec.restore(item[name], encoded[name]) for name, one in fields.items()}}
    try:
        renewal = renewal_of(mapping, image)
        image = with_changes(image, index_changes(mapping, image, wanted_index_keys(renewal)))
    except DynaormError:
        return ()
    return renewed(mapping, item, image, unit=subject.unit)


def _judge_index_keys(
    subject: Subject, renewal: Renewal, wanted: Mapping[str, AttributeValue]
) -> Iterator[RepairableFinding]:
    mapping, item = subject.mapping, subject.item
    if changes := index_changes(mapping, renewal.image, wanted):
        yield _wrong_index_keys(subject, changes)
    if foreign := sorted(_foreign_index_keys(mapping) & item.keys()):
        detail = f"it has {', '.join(foreign)}, but {mapping.name} declares no such index"
        yield RepairableFinding(subject.finding(FindingKind.INDEX_KEYS, detail, repairable=False))


def index_changes(
    mapping: EntityMapping, item: Item, wanted: Mapping[str, AttributeValue]
) -> dict[str, AttributeValue | None]:
    """The index keys that an item must get, None for one that it must lose. Undeclared ones are not touched.

    Another program may have left out a field that is itself an index key: its default, or the value of a former name.
    """
    names = dict.fromkeys(name for index in mapping.places.values() for name in index.synthetic)
    found = {name: wanted.get(name) for name in names if not same(item.get(name), wanted.get(name))}
    own = own_index_keys(mapping, mapping.subject(item))
    return found | {name: key for name, key in own.items() if name not in item}


def with_changes(item: Item, changes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    """An item with other values of some attributes; None for absence."""
    found = {name: value for name, value in item.items() if name not in changes}
    return found | {name: value for name, value in changes.items() if value is not None}


def _foreign_index_keys(mapping: EntityMapping) -> set[str]:
    """The key attributes of indexes that a class does not declare, as far as they are none of its attributes."""
    table, known = mapping.table, {field.attribute for field in mapping.fields.values()}
    known |= mapping.synthetic
    keys = {key.name for index in table.indexes.values() for key in (*index.pk, *index.sk)}
    # The type that dynaorm writes may be the key of an index that other classes declare.
    return keys - known - {*table.key_names, table.type_attribute}


def _wrong_index_keys(subject: Subject, changes: Mapping[str, AttributeValue | None]) -> RepairableFinding:
    mapping, item = subject.mapping, subject.item
    words = [
        f"{name} does not hold the values of its fields"
        if name in mapping.secrets.keys
        else f"{name} is {_key_value_text(item.get(name))} and should be {_key_value_text(value)}"
        for name, value in changes.items()
    ]
    finding = subject.finding(FindingKind.INDEX_KEYS, "; ".join(words), repairable=True)
    image = with_changes(item, changes)
    return RepairableFinding(finding, actions=renewed(mapping, item, image, unit=subject.unit))


def _key_value_text(value: AttributeValue | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))


# Judge items without a run: all items of some tables in memory, or the item at one address.
#
# Either way the items are judged one by one, and then the addresses under which facts are left.


def judge_items(items: Mapping[Table, Iterable[Item]], now: float) -> list[Finding]:
    """Everything that is wrong with these items, in the order of the items; what needs every item comes last.

    Args:
        items: every item of each table. Tables that depend on each other must be given together.
        now: seconds since the Unix epoch; what has expired by then is absent.
    """
    scope = Scope(tuple(items), (), lambda: UnitOfWork(now, "", str))
    stored = {
        address.ident: (address, item)
        for table, found in items.items()
        for item in found
        for address in (ItemAddress(table, {name: item[name] for name in table.key_names}),)
    }
    return [diagnosis.finding for diagnosis in _diagnoses(stored, scope)]


def _diagnoses(stored: Mapping[Ident, tuple[ItemAddress, Item]], scope: Scope) -> Iterator[RepairableFinding]:
    items = {ident: item for ident, (_, item) in stored.items()}
    ledger = MemoryFactStore()
    for address, _ in stored.values():
        judgement = answer_from(judge(address, scope), items)
        yield from judgement.diagnoses
        remember(judgement, ledger)
    yield from answer_from(judge_left(ledger, scope), items)


def judge_address(address: ItemAddress, context: Context) -> Flow[list[Finding] | None]:
    """What is wrong with the item at an address, read as of one moment with the items that belong to it.

    Totals are not judged: they need every item that they count. None if the items change all the time.
    """
    scope = Scope((address.table,), (), lambda: unit_of_work(context), reads_everything=False)
    found = yield from run_in_one_read(lambda: _judged(address, scope), context, ReadCost())
    return None if found is None else [one.finding for one in found]


def _judged(address: ItemAddress, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    judgement = yield from judge(address, scope)
    ledger = MemoryFactStore()
    remember(judgement, ledger)
    return [*judgement.diagnoses, *(yield from judge_left(ledger, scope))]


def judge_left(ledger: FactStore, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    """What is wrong at the addresses of a ledger, one address after the other."""
    found: list[RepairableFinding] = []
    for kind in KINDS:
        for address, facts in kind.left(ledger, scope):
            found += yield from kind.judge_facts(address, facts, scope, ledger.doubts())
    return found
