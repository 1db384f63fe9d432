"""Totals judged: what a target holds against what the entities that name it add up to.

Rule 1. While writers run, no reading of many items is one moment. A total is found wrong only if two countings in a row
        found the very same entities, and the target had the same revision before the first and after the second: every
        write that changes a total changes that.
Rule 2. Where the entities that name a target share a partition key that follows from it, only these are read;
        otherwise all of the tables are, once for all targets that look wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.dispatch import classify
from dynaorm.entity.key import found_key, stored_key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import DynaormError
from dynaorm.flow.bulk.limits import CONCURRENCY
from dynaorm.flow.integrity.finding import Diagnosis, Finding, Kind
from dynaorm.flow.integrity.ledger import Ledger, Totals, add_up
from dynaorm.flow.integrity.repairs import update
from dynaorm.flow.integrity.scan import RateLimiter, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.scope import Scope, sources_of
from dynaorm.flow.integrity.stored_check import ItemAddress, read_addresses
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.together import gather
from dynaorm.item.condition import missing
from dynaorm.item.update import SetTo
from dynaorm.item.value import AttributeValue, Item, number_text, same
from dynaorm.plan.aggregate_action import can_be_made, total_actions
from dynaorm.plan.aggregates import TotalDelta, contributions
from dynaorm.plan.reads import NOTHING_READ, Ident
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record

# How often a target is counted again that changes meanwhile.
_ATTEMPTS: Final = 4


@record(frozen=False)
class _Count:
    """What entities add up to, and a number that says which entities these were."""

    totals: dict[str, Decimal] = field(default_factory=dict)
    mark: int = 0

    def add(self, source: Ident, due: TotalDelta) -> None:
        add_up(self.totals, due.totals)
        self.mark ^= hash((source, *sorted(due.totals.items())))


def look_wrong(
    counted: Sequence[tuple[ItemAddress, Totals]], scope: Scope, limiter: RateLimiter, ledger: Ledger
) -> Flow[list[ItemAddress]]:
    """Of some targets those that do not hold what was counted."""
    items = yield from read_addresses([address for address, _ in counted], limiter.context, limiter.cost)
    found = []
    for address, totals in counted:
        item = items.get(address.ident)
        mapping = _target(address, item, scope)
        if mapping is None or any(map(ledger.is_doubtful, sources_of(mapping))):
            continue
        if item is None or _differing(mapping, item, totals):
            found.append(address)
    return found


def _target(address: ItemAddress, item: Item | None, scope: Scope) -> EntityMapping | None:
    """The class of a target, or of one that is to be made; None where no totals are kept, or verified."""
    if item is None:
        entity = (
            found_key(catalog_of(address.table).mappings, address.key).entity
            if scope.with_new_targets
            else None
        )
        mapping = mapping_of(entity) if entity is not None else None
        return (
            mapping if mapping is not None and scope.covers_totals(mapping) and can_be_made(mapping) else None
        )
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping) or found.is_expired(item, scope.new_setting().now):
        return None
    return found if scope.covers_totals(found) else None


def _differing(mapping: EntityMapping, item: Item, totals: Totals) -> dict[str, tuple[Decimal, Decimal]]:
    """The totals that are wrong: what is stored, and what it should be."""
    found = {}
    for name in mapping.maintained:
        stored = item.get(mapping.fields[name].attribute, {}).get("N", "0")
        wanted = totals.get(name, Decimal(0))
        if Decimal(stored) != wanted:
            found[name] = Decimal(stored), wanted
    return found


def recount(
    addresses: Sequence[ItemAddress], scope: Scope, limiter: RateLimiter, segments: int
) -> Flow[tuple[list[Diagnosis], list[ItemAddress]]]:
    """The faults of some targets, and those that changed too often to tell."""
    items = yield from read_addresses(addresses, limiter.context, limiter.cost)
    narrow: list[tuple[ItemAddress, list[ScanSegment]]] = []
    wide: list[ItemAddress] = []
    for address in addresses:
        strips = _own_strips(address, items.get(address.ident), scope)
        if strips is None:
            wide.append(address)
        else:
            narrow.append((address, strips))
    flows = [_settled([address], _renewed(strips), scope, limiter) for address, strips in narrow]
    if wide:
        flows.append(_settled(wide, lambda: scan_segments_of(scope.tables, segments, None), scope, limiter))
    ended = yield from gather(flows, CONCURRENCY)
    return [diagnosis for diagnoses, _ in ended for diagnosis in diagnoses], [
        one for _, left in ended for one in left
    ]


def _renewed(strips: Sequence[ScanSegment]) -> Callable[[], list[ScanSegment]]:
    return lambda: [ScanSegment(one.table, partition=one.partition) for one in strips]


def _own_strips(address: ItemAddress, item: Item | None, scope: Scope) -> list[ScanSegment] | None:
    """The item collections of everything that can name a target; None where they do not follow from its key."""
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


def _settled(
    addresses: Sequence[ItemAddress],
    strips: Callable[[], list[ScanSegment]],
    scope: Scope,
    limiter: RateLimiter,
) -> Flow[tuple[list[Diagnosis], list[ItemAddress]]]:
    diagnoses: list[Diagnosis] = []
    left = list(addresses)
    for _ in range(_ATTEMPTS):
        before = yield from read_addresses(left, limiter.context, limiter.cost)
        first = yield from _count(left, strips(), limiter)
        second = yield from _count(left, strips(), limiter)
        after = yield from read_addresses(left, limiter.context, limiter.cost)
        moving = []
        for address in left:
            then, now = before.get(address.ident), after.get(address.ident)
            one, other = first[address.ident], second[address.ident]
            if not _is_same(then, now) or one.mark != other.mark or one.totals != other.totals:
                moving.append(address)
            elif (diagnosis := _fault(address, now, one.totals, scope)) is not None:
                diagnoses.append(diagnosis)
        left = moving
        if not left:
            break
    return diagnoses, left


def _is_same(one: Item | None, other: Item | None) -> bool:
    return (one is None and other is None) or (
        one is not None and other is not None and same({"M": one}, {"M": other})
    )


def _count(
    addresses: Sequence[ItemAddress], strips: list[ScanSegment], limiter: RateLimiter
) -> Flow[dict[Ident, _Count]]:
    counts = {address.ident: _Count() for address in addresses}
    while any(not strip.is_over for strip in strips):
        for page in (yield from read_pages(strips, limiter)):
            for item in page.items:
                _count_one(page.strip, item, counts, limiter)
            page.turn()
    return counts


def _count_one(strip: ScanSegment, item: Item, counts: dict[Ident, _Count], limiter: RateLimiter) -> None:
    mapping = classify(strip.table, item)
    if not isinstance(mapping, EntityMapping) or not mapping.aggregates:
        return
    if mapping.is_expired(item, limiter.context.clock.now()):
        return
    source = ItemAddress(strip.table, mapping.key_of(item)).ident
    try:
        dues = list(contributions(mapping, item))
    except DynaormError:
        # It makes every total it may belong to doubtful, and was reported before.
        return
    for due in dues:
        count = counts.get(ItemAddress(due.mapping.table, due.key).ident)
        if count is not None:
            count.add(source, due)


def _fault(address: ItemAddress, item: Item | None, totals: Totals, scope: Scope) -> Diagnosis | None:
    mapping = _target(address, item, scope)
    if mapping is None:
        return None
    setting = scope.new_setting()
    if item is None:
        return _made(address, mapping, totals, setting)
    wrong = _differing(mapping, item, totals)
    if not wrong:
        return None
    words = [f"{name} is {stored}, and should be {wanted}" for name, (stored, wanted) in wrong.items()]
    attributes = {mapping.fields[name].attribute: wanted for name, (_, wanted) in wrong.items()}
    changes = [SetTo((name,), {"N": number_text(wanted)}) for name, wanted in attributes.items()]
    kept = [mapping.fields[name].attribute for name in mapping.maintained]
    action = update(mapping, item, changes, setting=setting, also=kept)
    return Diagnosis(_finding(mapping, address, "; ".join(words)), actions=(action,))


def _finding(mapping: EntityMapping, address: ItemAddress, detail: str) -> Finding:
    return Finding(Kind.TOTAL, address.table.name, address.key, mapping.name, detail, mendable=True)


def _made(
    address: ItemAddress, mapping: EntityMapping, totals: Totals, setting: UnitOfWork
) -> Diagnosis | None:
    """The fault of a target that is not there, and can be made of its key."""
    values = stored_key(mapping, address.key).fields
    if not any(totals.values()) or not set(mapping.key_fields) <= values.keys():
        return None
    due = TotalDelta(mapping, address.key, values, dict(totals), joined=True)
    actions = []
    for planned in total_actions([due], NOTHING_READ, setting):
        action: Any = planned.action
        bound = type(action)(action.table, action.key, action.changes, missing(address.table.pk.name))
        actions.append(planned._replace(action=bound))
    return Diagnosis(_finding(mapping, address, "it is named, and not there"), actions=tuple(actions))
