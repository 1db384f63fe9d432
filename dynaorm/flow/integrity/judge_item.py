"""Judge one stored item: what must be stored beside it, and whether it is.

Rule 1. What must be stored follows from the stored item, as a save would derive it.
Rule 2. Each problem is found once, at one of the items concerned. What needs facts about other entities is judged when
        every item was read.
Rule 3. Expired items are absent, as they are to every read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.codec.value import restore
from dynaorm.entity.mapping.derive import index_keys, own_index_keys
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.stored_entity import shown_key
from dynaorm.entity.text.scalar import ANY_SPELLING
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.failure import shown
from dynaorm.flow.integrity.finding import (
    CheckResult,
    FindingKind,
    RepairableFinding,
    Uncertainty,
    finding_at,
)
from dynaorm.flow.integrity.judge_values import judge_values
from dynaorm.flow.integrity.kinds.judged import Subject, first_doubt
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.repair_actions import renewed
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import reason_not_to_write, without_repair
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.compiler import Renewal, renewal_of
from dynaorm.plan.plan import Planned
from dynaorm.record import replace


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
    image = {**item, **{name: restore(one.codec, item[name], encoded[name]) for name, one in fields.items()}}
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
    names = dict.fromkeys(name for index in mapping.places.values() for name in index.made_up)
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
    known |= mapping.made_up
    keys = {key.name for index in table.indexes.values() for key in (*index.pk, *index.sk)}
    # The type that dynaorm writes may be the key of an index that other classes declare.
    return keys - known - {*table.key_names, table.type_attribute}


def _wrong_index_keys(subject: Subject, changes: Mapping[str, AttributeValue | None]) -> RepairableFinding:
    mapping, item = subject.mapping, subject.item
    words = [
        f"{name} does not hold the values of its fields"
        if name in mapping.secrets.keys
        else f"{name} is {_shown(item.get(name))} and should be {_shown(value)}"
        for name, value in changes.items()
    ]
    finding = subject.finding(FindingKind.INDEX_KEYS, "; ".join(words), repairable=True)
    image = with_changes(item, changes)
    return RepairableFinding(finding, actions=renewed(mapping, item, image, unit=subject.unit))


def _shown(value: AttributeValue | None) -> str:
    return "absent" if value is None else repr(next(iter(value.values())))
