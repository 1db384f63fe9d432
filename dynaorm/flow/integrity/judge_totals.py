"""Judge totals: what a target holds against the sum over the entities that name it.

Rule 1. While writers run, no scan shows one moment. A total is reported only if two counts in a row found the same
        entities, and the target was the same before the first and after the second.
Rule 2. If the partition keys of the entities that name a target follow from its key, only those item collections are
        read. Otherwise the tables are scanned, once for all targets that look wrong.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.dispatch import classify
from dynaorm.entity.ident import Ident
from dynaorm.entity.key import found_key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import DecodeError, DynaormError
from dynaorm.flow.bulk.limits import CONCURRENCY
from dynaorm.flow.integrity.finding import Diagnosis, Doubt, Finding, FindingKind
from dynaorm.flow.integrity.ledger import Totals, add_up
from dynaorm.flow.integrity.repair_actions import update
from dynaorm.flow.integrity.scan import RateLimiter, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.scope import Scope, sources_of
from dynaorm.flow.integrity.stored_check import ItemAddress, read_addresses
from dynaorm.flow.integrity.unexplained import doubt_about, doubtful, not_ours, uncounted
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.together import gather
from dynaorm.item.condition import missing
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item, number_text, same
from dynaorm.plan.kinds.new_target import can_be_made
from dynaorm.plan.kinds.total_rules import is_in_bounds
from dynaorm.plan.kinds.totals import TotalDelta, addition, contributions
from dynaorm.plan.reads import NOTHING_READ
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record

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
    doubts: list[Doubt]

    def read(self, addresses: Iterable[ItemAddress]) -> Flow[dict[Ident, Item]]:
        """The items at some addresses."""
        return (yield from read_addresses(addresses, self.limiter.context, self.limiter.cost))


def suspect_totals(
    counted: Sequence[tuple[ItemAddress, Totals]], counting: Counting
) -> Flow[list[ItemAddress]]:
    """The targets that do not hold what was counted."""
    items = yield from counting.read([address for address, _ in counted])
    return [one[0] for one in counted if looks_wrong(one, items.get(one[0].ident), counting.scope)]


def looks_wrong(counted: tuple[ItemAddress, Totals], item: Item | None, scope: Scope) -> bool:
    """Whether a target does not hold what was counted."""
    address, totals = counted
    mapping = _target(address, item, scope)
    if mapping is None:
        return False
    return item is None or bool(_differing(mapping, item, totals))


def _with_totals(table: Table) -> Mapping[str, EntityMapping]:
    return {name: one for name, one in catalog_of(table).mappings.items() if one.maintained}


def _target(address: ItemAddress, item: Item | None, scope: Scope) -> EntityMapping | None:
    """The class of a target that exists or can be created; None if no totals are kept in it, or verified."""
    if item is None:
        entity = (
            found_key(_with_totals(address.table), address.key).entity if scope.with_new_targets else None
        )
        mapping = mapping_of(entity) if entity is not None else None
        return (
            mapping
            if mapping is not None and scope.covers_totals(mapping) and can_be_made(mapping, address.key)
            else None
        )
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping) or found.is_expired(item, scope.new_unit().now):
        return None
    return found if scope.covers_totals(found) else None


def _differing(mapping: EntityMapping, item: Item, totals: Totals) -> dict[str, tuple[Decimal, Decimal]]:
    """The totals that are wrong: the stored number, and the correct one."""
    found = {}
    for name in mapping.maintained:
        stored = item.get(mapping.fields[name].attribute, {}).get("N", "0")
        wanted = totals.get(name, Decimal(0))
        if Decimal(stored) != wanted:
            found[name] = Decimal(stored), wanted
    return found


# -- counting again ----------------------------------------------------------------------------------------------------


def recount(
    addresses: Sequence[ItemAddress], counting: Counting
) -> Flow[tuple[list[Diagnosis], list[ItemAddress]]]:
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
        everything = lambda: scan_segments_of(scope.tables, counting.segments, None)  # noqa: E731
        flows.append(_count_twice(wide, everything, counting))
    ended = yield from gather(flows, CONCURRENCY)
    return [diagnosis for diagnoses, _ in ended for diagnosis in diagnoses], [
        one for _, left in ended for one in left
    ]


def _again(collections: Sequence[ScanSegment]) -> Callable[[], list[ScanSegment]]:
    return lambda: [ScanSegment(one.table, partition=one.partition) for one in collections]


def _collections(address: ItemAddress, item: Item | None, scope: Scope) -> list[ScanSegment] | None:
    """The item collections of every entity that can name a target; None if they do not follow from its key."""
    target = _target(address, item, scope)
    if target is None:
        return []
    values = target.subject(item) if item is not None else stored_key(target, address.key).fields
    found: dict[Ident, ScanSegment] = {}
    for source in sources_of(target):
        for one in source.aggregates.values():
            if not is_of(target, mapping_of(one.target)):
                continue
            own = {mine: values[name] for name, mine in one.key.items() if name in values}
            partition = _partition(source, own)
            if partition is None:
                return None
            found[(source.table.name, *partition.items())] = ScanSegment(source.table, partition=partition)
    return list(found.values())


def _partition(source: EntityMapping, values: Mapping[str, Any]) -> AttributeValue | None:
    if not source.partition.fields or not set(source.partition.fields) <= values.keys():
        return None
    try:
        return source.partition.value(values)
    except (KeyValueError, DynaormError):
        return None


def _count_twice(
    addresses: Sequence[ItemAddress], segments: Callable[[], list[ScanSegment]], counting: Counting
) -> Flow[tuple[list[Diagnosis], list[ItemAddress]]]:
    diagnoses: list[Diagnosis] = []
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
            if not _is_same(then, now) or one.mark != other.mark or one.totals != other.totals:
                changing.append(address)
                continue
            diagnosis = judge_total((address, one.totals), now, counting.scope, counting.doubts)
            if diagnosis is not None:
                diagnoses.append(diagnosis)
        left = changing
        if not left:
            break
    return diagnoses, left


def _is_same(one: Item | None, other: Item | None) -> bool:
    return (one is None and other is None) or (
        one is not None and other is not None and same({"M": one}, {"M": other})
    )


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
    doubt = doubt_about(table, item, counting.scope)
    if doubt is not None and doubt not in counting.doubts:
        counting.doubts.append(doubt)
    mapping = classify(table, item)
    if not isinstance(mapping, EntityMapping) or not mapping.aggregates:
        return
    if mapping.is_expired(item, counting.limiter.context.clock.now()):
        return
    source = ItemAddress(table, mapping.key_of(item)).ident
    try:
        deltas = list(contributions(mapping, item))
    except DynaormError:
        if counting.scope.counts(mapping) and uncounted(mapping) not in counting.doubts:
            counting.doubts.append(uncounted(mapping))
        return
    for delta in deltas:
        count = counts.get(ItemAddress(delta.mapping.table, delta.key).ident)
        if count is not None:
            count.add(source, delta)


# -- what is wrong -----------------------------------------------------------------------------------------------------


def judge_total(
    counted: tuple[ItemAddress, Totals], item: Item | None, scope: Scope, doubts: Iterable[Doubt]
) -> Diagnosis | None:
    """What is wrong with the totals of a target, given the sums that were counted."""
    mapping = _target(counted[0], item, scope)
    if mapping is None:
        return None
    unit = scope.new_unit()
    diagnosis = (
        _new_target(counted, mapping, unit) if item is None else _wrong_totals(counted, mapping, item, unit)
    )
    if diagnosis is None:
        return None
    sources = {None, *(source.name for source in sources_of(mapping))}
    reasons = [doubt.reason for doubt in doubts if doubt.source in sources]
    if item is not None:
        reasons.append(not_ours(mapping, item, scope))
    return doubtful(diagnosis, next(filter(None, reasons), ""))


def _wrong_totals(
    counted: tuple[ItemAddress, Totals], mapping: EntityMapping, item: Item, unit: UnitOfWork
) -> Diagnosis | None:
    address, totals = counted
    wrong = _differing(mapping, item, totals)
    if not wrong:
        return None
    words = [f"{name} is {stored}, and should be {wanted}" for name, (stored, wanted) in wrong.items()]
    attributes = {mapping.fields[name].attribute: wanted for name, (_, wanted) in wrong.items()}
    try:
        right = {name: {"N": number_text(wanted)} for name, wanted in attributes.items()}
    except ValueError as problem:
        return Diagnosis(_finding(mapping, address, "; ".join(words), doubt=str(problem)))
    maintained = [mapping.fields[name].attribute for name in mapping.maintained]
    changes = [SetTo((name,), number) for name, number in right.items()]
    action = update(mapping, item, changes, unit=unit, also=maintained)
    diagnosis = Diagnosis(_finding(mapping, address, "; ".join(words)), actions=(action,))
    too_many = [name for name, (_, wanted) in wrong.items() if not is_in_bounds(mapping, name, wanted)]
    if too_many:
        return doubtful(diagnosis, f"{mapping.name} does not allow this {too_many[0]}")
    return doubtful(diagnosis, _unread(mapping, {**item, **right}))


def _unread(mapping: EntityMapping, item: Item) -> str:
    """Why a target cannot be read even with the right totals; empty if it can."""
    try:
        mapping.hydrate(item)
    except DecodeError:
        return f"the {mapping.name} itself cannot be read; correct it or delete it"
    return ""


def _finding(mapping: EntityMapping, address: ItemAddress, detail: str, *, doubt: str = "") -> Finding:
    key = mapping.key_of(address.key)
    return Finding(
        FindingKind.TOTAL, address.table.name, key, mapping.name, detail, mendable=not doubt, doubt=doubt
    )


def _new_target(
    counted: tuple[ItemAddress, Totals], mapping: EntityMapping, unit: UnitOfWork
) -> Diagnosis | None:
    """The diagnosis of a target that does not exist and can be created from its key."""
    address, totals = counted
    values = stored_key(mapping, address.key).fields
    if not any(totals.values()) or not set(mapping.key_fields) <= values.keys():
        return None
    delta = TotalDelta(mapping, address.key, values, dict(totals), joined=True)
    detail = "entities name it, and it does not exist"
    actions = []
    try:
        if (planned := addition(delta, NOTHING_READ, unit)) is not None:
            action: Any = planned.action
            bound = type(action)(action.table, action.key, action.changes, missing(address.table.pk.name))
            actions.append(planned._replace(action=bound))
    except DynaormError as problem:
        return Diagnosis(_finding(mapping, address, detail, doubt=str(problem)))
    return Diagnosis(_finding(mapping, address, detail), actions=tuple(actions))
