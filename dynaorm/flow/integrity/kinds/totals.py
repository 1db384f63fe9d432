"""Totals as they are verified: what a target holds against the sum over the entities that name it.

Rule 1. While writers run, no scan shows one moment. A total is reported only if two counts in a row found the same
        entities, and the target was the same before the first and after the second.
Rule 2. If the partition keys of the entities that name a target follow from its key, only those item collections are
        read. Otherwise the tables are scanned, once for all targets that look wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, Final

from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.key import found_key, stored_key
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Ident, Table
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.failure import shown
from dynaorm.flow.call import Flow, gather
from dynaorm.flow.integrity.finding import (
    Amount,
    Fact,
    FactStore,
    FindingKind,
    RepairableFinding,
    Sums,
    Uncertainty,
    add_up,
    finding_of,
)
from dynaorm.flow.integrity.kinds.judged import WINDOW, Checker, Run, Subject
from dynaorm.flow.integrity.reads import (
    ItemAddress,
    RateLimiter,
    ScanSegment,
    StoredCheck,
    read_addresses,
    read_pages,
    scan_segments_of,
)
from dynaorm.flow.integrity.repair_actions import (
    reason_not_to_write,
    renewed,
    without_repair,
    written_by_newer_code,
)
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.windows import CONCURRENCY
from dynaorm.item.condition import missing
from dynaorm.item.value import AttributeValue, Item, number_text, same_items
from dynaorm.plan.compiler import Renewal
from dynaorm.plan.derived import DerivedKind, EntitySide, Holding
from dynaorm.plan.derived_kinds import can_create_from_key
from dynaorm.plan.intent import Reads, UnitOfWork
from dynaorm.plan.plan import Operations, Planned
from dynaorm.plan.total_targets import addition
from dynaorm.plan.totals import (
    TOTALS,
    Contribution,
    TotalDelta,
    contributions,
    is_in_bounds,
    sources_of,
    targets_of,
)
from dynaorm.record import record, replace

# How many targets one more scan of the tables may count.
_TARGETS: Final = 10_000
# How often a target that changes meanwhile is counted again.
_ATTEMPTS: Final = 4


@record(frozen=False)
class _Count:
    """The sums over some entities, and a number that stands for the set of these entities."""

    totals: dict[str, Decimal] = field(default_factory=dict)
    mark: int = 0

    def add(self, source: Ident, delta: TotalDelta) -> None:
        add_up(self.totals, delta.totals)
        self.mark ^= hash((source, *sorted(delta.totals.items())))


@record
class Counting:
    """How totals are counted again.

    Attributes:
        scope: what is verified.
        limiter: the rate, and the consumption so far.
        segments: into how many segments each table is divided.
        doubts: why totals are doubtful. The counts run in parallel and must not use the ledger.
    """

    scope: Scope
    limiter: RateLimiter
    segments: int
    doubts: list[Uncertainty]

    def read(self, addresses: Iterable[ItemAddress]) -> Flow[dict[Ident, Item]]:
        """The items at some addresses."""
        return (yield from read_addresses(addresses, self.limiter.context, self.limiter.cost))


class JudgedTotals(Checker):
    """The totals of targets."""

    derived: DerivedKind[Any] = TOTALS
    counted = frozenset({FindingKind.TOTAL})

    def concerns(self, mapping: EntityMapping, scope: Scope) -> bool:
        return scope.reads_everything and TOTALS.follows_from(mapping)

    def facts_at(self, subject: Subject, scope: Scope) -> Iterable[Fact]:
        return [Amount(subject.address)] if _covers(subject.mapping, scope) else []

    def held(self, renewal: Renewal) -> Sequence[Holding[Contribution]]:
        return list(
            TOTALS.held_by(EntitySide(renewal.mapping, renewal.mapping.key_of(renewal.item), renewal.item))
        )

    def facts_of(self, subject: Subject, held: Sequence[Holding[Contribution]]) -> Sequence[Fact]:
        return [Amount(ItemAddress(*TOTALS.place(one)), one.label.delta.totals) for one in held]

    def doubt_about(
        self, found: EntityMapping | NotAnEntity, table: Table, item: Item, scope: Scope
    ) -> Uncertainty | None:
        if isinstance(found, EntityMapping):
            newer = written_by_newer_code(found, item, scope) if self.concerns(found, scope) else ""
            return Uncertainty(found.name, newer) if newer else None
        # An item of an unknown type may belong to a class that is counted, and whose module is not loaded.
        is_strange = found is NotAnEntity.UNKNOWN and scope.reads_everything
        if not is_strange or not catalog_of(table).mappings:
            return None
        attribute = table.type_attribute
        if attribute is None:
            return Uncertainty(
                None, f"an item of {table.name} belongs to no loaded class; load every module of it"
            )
        if attribute not in item:
            return None
        tag = next(iter(item[attribute].values()))
        return Uncertainty(
            None, f"no loaded class explains the type {shown(tag)} in {table.name}; load its module"
        )

    def doubt_of_unread(self, mapping: EntityMapping, scope: Scope) -> Uncertainty | None:
        if not any(_covers(target, scope) for target in targets_of(mapping)):
            return None
        reason = f"an item of {mapping.name} cannot be read, which may be counted; correct it or delete it"
        return Uncertainty(mapping.name, reason)

    def operations_of_verify(self, mapping: EntityMapping) -> Operations:
        own = [mapping] if mapping.maintained else []
        for target in (*own, *targets_of(mapping)):
            yield target.table, frozenset({"BatchGetItem"})
            if not mapping.rules.is_separate:  # stored values that validators change are counted otherwise
                yield target.table, frozenset({"GetItem"})
            counted = list(_counted_in(target))
            if all(_says_partition(source, one) for source, one in counted):
                yield from ((source.table, frozenset({"Query"})) for source, _ in counted)

    def operations_of_repair(self, mapping: EntityMapping) -> Operations:
        own = [mapping] if mapping.maintained else []
        # Without an answer, the item is read to find out whether the update was made.
        return [(one.table, frozenset({"UpdateItem", "GetItem"})) for one in (*own, *targets_of(mapping))]

    def left(self, ledger: FactStore, scope: Scope) -> Iterator[tuple[ItemAddress, Sums]]:
        if not scope.reads_everything:
            return
        verified = [
            one
            for table in scope.known_tables
            for one in catalog_of(table).mappings.values()
            if _covers(one, scope)
        ]
        # What is read for other reasons is counted in other targets, too.
        for address, sums in ledger.sums():
            if any(one.table is address.table and one.key_matches(address.key) for one in verified):
                yield address, sums

    def judge_facts(
        self, address: ItemAddress, facts: Sums, scope: Scope, doubts: Sequence[Uncertainty] = ()
    ) -> StoredCheck[list[RepairableFinding]]:
        (item,) = yield [address]
        return _judged((address, facts), item, scope, doubts)

    def judge_left(self, run: Run) -> Iterator[Flow[list[RepairableFinding]]]:
        left = self.left(run.ledger, run.scope)
        while window := list(islice(left, _TARGETS)):
            yield self._counted(window, run)

    def _counted(self, window: Sequence[tuple[ItemAddress, Sums]], run: Run) -> Flow[list[RepairableFinding]]:
        wrong: list[ItemAddress] = []
        for start in range(0, len(window), WINDOW * CONCURRENCY):
            portion = window[start : start + WINDOW * CONCURRENCY]
            items = yield from _counting(run).read([address for address, _ in portion])
            wrong += [one[0] for one in portion if _looks_wrong(one, items.get(one[0].ident), run.scope)]
            yield from run.limiter.wait()
        return (yield from self.judge_again(wrong, run)) if wrong else []

    def judge_again(self, addresses: Sequence[ItemAddress], run: Run) -> Flow[list[RepairableFinding]]:
        diagnoses, unstable = yield from _recount(addresses, _counting(run))
        run.unstable += unstable
        return diagnoses


JUDGED_TOTALS: Final = JudgedTotals()


def _counting(run: Run) -> Counting:
    return Counting(run.scope, run.limiter, run.segments, list(run.ledger.doubts()))


def _covers(mapping: EntityMapping, scope: Scope) -> bool:
    """Whether the totals kept in a class are verified: the class is, or one that is counted in it."""
    if not scope.reads_everything or not mapping.maintained:
        return False
    return scope.covers(mapping) or any(map(scope.covers, sources_of(mapping)))


# -- the target and the sums -------------------------------------------------------------------------------------------


class TargetState(Enum):
    """What is stored of a target of totals."""

    RIGHT = "it has the sums"
    OTHER = "it has another number"
    TO_BE_MADE = "it does not exist, and can be made of its key"


_WRONG: Final[Mapping[tuple[bool, TargetState], FindingKind]] = {
    (False, TargetState.OTHER): FindingKind.TOTAL,
    (True, TargetState.OTHER): FindingKind.TOTAL,
    (True, TargetState.TO_BE_MADE): FindingKind.TOTAL,
}
"""What is wrong, by whether anything is counted in a target and what is stored of it."""


def _wrong(mapping: EntityMapping, item: Item | None, sums: Sums) -> FindingKind | None:
    """What is wrong with the totals of a target, given the sums that were counted; None for nothing."""
    if item is None:
        state = TargetState.TO_BE_MADE
    else:
        state = TargetState.OTHER if _differing(mapping, item, sums) else TargetState.RIGHT
    return _WRONG.get((any(sums.values()), state))


def _looks_wrong(counted: tuple[ItemAddress, Sums], item: Item | None, scope: Scope) -> bool:
    """Whether a target does not hold what was counted."""
    mapping = _target(*counted, item, scope)
    return mapping is not None and _wrong(mapping, item, counted[1]) is not None


def _target(address: ItemAddress, sums: Sums, item: Item | None, scope: Scope) -> EntityMapping | None:
    """The class of a target that exists or can be created; None if no totals are kept in it, or verified."""
    if item is None:
        mapping = _class_to_make(address, sums) if scope.with_new_targets else None
        is_made = (
            mapping is not None and _covers(mapping, scope) and can_create_from_key(mapping, address.key)
        )
        return mapping if is_made else None
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping) or found.is_expired(item, scope.new_unit().now):
        return None
    return found if _covers(found, scope) else None


def _class_to_make(address: ItemAddress, sums: Sums) -> EntityMapping | None:
    """The class of a missing target that has all of some totals; None if no class has such a key."""
    known = catalog_of(address.table).mappings.items()
    keepers = {name: one for name, one in known if one.maintained and sums.keys() <= one.maintained.keys()}
    found = found_key(keepers, address.key)
    mapping = None if found.entity is None else mapping_of(found.entity)
    return mapping if mapping is not None and set(mapping.key_fields) <= found.fields.keys() else None


def _differing(mapping: EntityMapping, item: Item, sums: Sums) -> dict[str, tuple[Decimal, Decimal]]:
    """The totals that are wrong: the stored number, and the correct one."""
    found = {}
    for name in mapping.maintained:
        stored = item.get(mapping.fields[name].attribute, {}).get("N", "0")
        wanted = sums.get(name, Decimal(0))
        if Decimal(stored) != wanted:
            found[name] = Decimal(stored), wanted
    return found


# -- counting again ----------------------------------------------------------------------------------------------------


def _recount(
    addresses: Sequence[ItemAddress], counting: Counting
) -> Flow[tuple[list[RepairableFinding], list[ItemAddress]]]:
    """The diagnoses of some targets, and the targets that changed each time they were counted."""
    scope = counting.scope
    items = yield from counting.read(addresses)
    narrow: list[tuple[ItemAddress, list[ScanSegment]]] = []
    wide: list[ItemAddress] = []
    for address in addresses:
        collections = _collections(address, items.get(address.ident), scope)
        if collections is None:
            wide.append(address)
        else:
            narrow.append((address, collections))
    flows = [_count_twice([address], _again(found), counting) for address, found in narrow]
    if wide:
        everything = partial(scan_segments_of, scope.tables, counting.segments, None)
        flows.append(_count_twice(wide, everything, counting))
    ended = yield from gather(flows, CONCURRENCY)
    return [diagnosis for diagnoses, _ in ended for diagnosis in diagnoses], [
        one for _, left in ended for one in left
    ]


def _again(collections: Sequence[ScanSegment]) -> Callable[[], list[ScanSegment]]:
    return lambda: [ScanSegment(one.table, partition=one.partition) for one in collections]


def _collections(address: ItemAddress, item: Item | None, scope: Scope) -> list[ScanSegment] | None:
    """The item collections of every entity that can name a target; None if they do not follow from its key."""
    found: dict[Ident, ScanSegment] = {}
    for target in _possible_targets(address, item, scope):
        values = target.subject(item) if item is not None else stored_key(target, address.key).fields
        for source, one in _counted_in(target):
            own = {mine: values[name] for name, mine in one.key.items() if name in values}
            partition = _partition(source, own) if _says_partition(source, one) else None
            if partition is None:
                return None
            found[(source.table.name, *partition.items())] = ScanSegment(source.table, partition=partition)
    return list(found.values())


def _counted_in(target: EntityMapping) -> Iterator[tuple[EntityMapping, AggregateMapping]]:
    """The classes that are counted in the totals of a class, each with an ``Aggregate`` by which they are."""
    for source in sources_of(target):
        for one in source.aggregates.values():
            if is_of(target, mapping_of(one.target)):
                yield source, one


def _says_partition(source: EntityMapping, one: AggregateMapping) -> bool:
    """Whether the partition key of the entities that name a target follows from the target's key."""
    fields = source.partition.fields
    return bool(fields) and {*one.key.values()}.issuperset(fields)


def _possible_targets(address: ItemAddress, item: Item | None, scope: Scope) -> Iterable[EntityMapping]:
    """The class of a target, or those that a missing one may have."""
    if item is not None:
        target = _target(address, {}, item, scope)
        return [] if target is None else [target]
    known = catalog_of(address.table).mappings.values() if scope.with_new_targets else ()
    return [one for one in known if one.maintained and one.key_matches(address.key)]


def _partition(source: EntityMapping, values: Mapping[str, Any]) -> AttributeValue | None:
    if not set(source.partition.fields) <= values.keys():
        return None
    try:
        return source.partition.value(values)
    except (KeyValueError, DynaormError):
        return None


def _count_twice(
    addresses: Sequence[ItemAddress], segments: Callable[[], list[ScanSegment]], counting: Counting
) -> Flow[tuple[list[RepairableFinding], list[ItemAddress]]]:
    diagnoses: list[RepairableFinding] = []
    left = list(addresses)
    for _ in range(_ATTEMPTS):
        before = yield from counting.read(left)
        first = yield from _count(left, segments(), counting)
        second = yield from _count(left, segments(), counting)
        after = yield from counting.read(left)
        changing = []
        for address in left:
            then, now = before.get(address.ident), after.get(address.ident)
            one, other = first[address.ident], second[address.ident]
            if not same_items(then, now) or one.mark != other.mark or one.totals != other.totals:
                changing.append(address)
                continue
            diagnoses += _judged((address, one.totals), now, counting.scope, counting.doubts)
        left = changing
        if not left:
            break
    return diagnoses, left


def _count(
    addresses: Sequence[ItemAddress], segments: list[ScanSegment], counting: Counting
) -> Flow[dict[Ident, _Count]]:
    counts = {address.ident: _Count() for address in addresses}
    while any(not segment.is_over for segment in segments):
        for page in (yield from read_pages(segments, counting.limiter)):
            for item in page.items:
                _count_one(page.segment.table, item, counts, counting)
            page.finish()
    return counts


def _count_one(table: Table, item: Item, counts: dict[Ident, _Count], counting: Counting) -> None:
    # It may have been written since the items were judged.
    mapping = classify(table, item)
    _note(JUDGED_TOTALS.doubt_about(mapping, table, item, counting.scope), counting)
    if not isinstance(mapping, EntityMapping) or not mapping.aggregates:
        return
    if mapping.is_expired(item, counting.limiter.context.clock.now()):
        return
    source = ItemAddress(table, mapping.key_of(item)).ident
    try:
        deltas = list(contributions(mapping, item))
    except DynaormError:
        _note(JUDGED_TOTALS.doubt_of_unread(mapping, counting.scope), counting)
        return
    for delta in deltas:
        count = counts.get(ItemAddress(delta.mapping.table, delta.key).ident)
        if count is not None:
            count.add(source, delta)


def _note(doubt: Uncertainty | None, counting: Counting) -> None:
    if doubt is not None and doubt not in counting.doubts:
        counting.doubts.append(doubt)


# -- what is wrong -----------------------------------------------------------------------------------------------------


def _judged(
    counted: tuple[ItemAddress, Sums], item: Item | None, scope: Scope, doubts: Iterable[Uncertainty]
) -> list[RepairableFinding]:
    """What is wrong with the totals of a target, given the sums that were counted."""
    mapping = _target(*counted, item, scope)
    if mapping is None or _wrong(mapping, item, counted[1]) is None:
        return []
    unit = scope.new_unit()
    sources = {None, *(source.name for source in sources_of(mapping))}
    reasons = [doubt.reason for doubt in doubts if doubt.source in sources]
    if item is None:
        diagnosis = _new_target(counted, mapping, unit)
    else:
        diagnosis = _wrong_totals(counted, mapping, item, unit)
        reasons.append(reason_not_to_write(mapping, item, scope))
    return [without_repair(diagnosis, next(filter(None, reasons), ""))]


def _wrong_totals(
    counted: tuple[ItemAddress, Sums], mapping: EntityMapping, item: Item, unit: UnitOfWork
) -> RepairableFinding:
    address, totals = counted
    wrong = _differing(mapping, item, totals)
    words = [f"{name} is {stored}, and should be {wanted}" for name, (stored, wanted) in wrong.items()]
    attributes = {mapping.fields[name].attribute: wanted for name, (_, wanted) in wrong.items()}
    try:
        right = {name: {"N": number_text(wanted)} for name, wanted in attributes.items()}
    except ValueError as problem:
        return _diagnosis(mapping, address, "; ".join(words), doubt=str(problem))
    image = {**item, **right}
    maintained = [mapping.fields[name].attribute for name in mapping.maintained]
    actions = renewed(mapping, item, image, unit=unit, also=maintained)
    diagnosis = _diagnosis(mapping, address, "; ".join(words), *actions)
    too_many = [name for name, (_, wanted) in wrong.items() if not is_in_bounds(mapping, name, wanted)]
    if too_many:
        return without_repair(diagnosis, f"{mapping.name} does not allow this {too_many[0]}")
    return without_repair(diagnosis, _unread(mapping, image))


def _unread(mapping: EntityMapping, item: Item) -> str:
    """Why a target cannot be read even with the right totals; empty if it can."""
    try:
        mapping.loader.hydrate(item)
    except DecodeError:
        return f"the {mapping.name} itself cannot be read; correct it or delete it"
    return ""


def _diagnosis(
    mapping: EntityMapping, address: ItemAddress, detail: str, *actions: Planned, doubt: str = ""
) -> RepairableFinding:
    key = mapping.key_of(address.key)
    finding = finding_of(FindingKind.TOTAL, mapping, key, detail, repairable=not doubt)
    return RepairableFinding(replace(finding, uncertain_because=doubt), actions=actions, counted=address)


def _new_target(
    counted: tuple[ItemAddress, Sums], mapping: EntityMapping, unit: UnitOfWork
) -> RepairableFinding:
    """The diagnosis of a target that does not exist and can be created from its key."""
    address, totals = counted
    values = stored_key(mapping, address.key).fields
    delta = TotalDelta(mapping, address.key, values, dict(totals), joined=True)
    detail = "entities name it, and it does not exist"
    actions = []
    try:
        if (planned := addition(delta, Reads({delta.ident: None}), unit)) is not None:
            action: Any = planned.action
            bound = type(action)(action.table, action.key, action.changes, missing(address.table.pk.name))
            actions.append(replace(planned, action=bound))
    except DynaormError as problem:
        return _diagnosis(mapping, address, detail, doubt=str(problem))
    return _diagnosis(mapping, address, detail, *actions)
