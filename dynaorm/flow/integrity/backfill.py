"""Complete entities that were stored before their class declared a constraint, an index, versions or totals.

Rule 1. Deploy the new class to every writer first; what they write is complete. Each older entity is then completed by
        one transaction, which is refused if another writer changed the entity since it was read.
Rule 2. An item that another entity holds is reported; everything else of the entity is completed.
Rule 3. An entity whose class became versioned moves to its new key, as version 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DynaormError
from dynaorm.flow.integrity.finding import CheckResult, FindingKind, RepairableFinding, finding_of
from dynaorm.flow.integrity.judge_item import index_changes, unread, wanted_index_keys, with_changes
from dynaorm.flow.integrity.judge_values import judge_values
from dynaorm.flow.integrity.kinds.judged import Checker, MissingParts, Subject, first_doubt
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.repair_actions import renewed
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.stored_check import ItemAddress, StoredCheck
from dynaorm.flow.integrity.unexplained import reason_not_to_write, without_repair
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.compiler import Renewal, renewal_of
from dynaorm.plan.kinds.derived import Holding
from dynaorm.record import record, replace


def complete(address: ItemAddress, scope: Scope) -> StoredCheck[CheckResult]:
    """What the entity at an address lacks: one diagnosis for all of it, and one for each item that is taken."""
    (item,) = yield [address]
    judgement = CheckResult()
    lacking = _entity_at(address.table, item, scope) if item is not None else None
    if lacking is not None:
        if not lacking.now.mapping.is_expired(lacking.stored, lacking.now.unit.now):
            yield from _judge_stored(lacking, scope, judgement)
    elif item is not None:
        found = classify(address.table, item)
        judgement.doubt = first_doubt(kind.doubt_about(found, address.table, item, scope) for kind in KINDS)

    def again() -> StoredCheck[list[RepairableFinding]]:
        return (yield from complete(address, scope)).diagnoses

    judgement.diagnoses = [replace(one, again=again) for one in judgement.diagnoses]
    return judgement


def _judge_stored(lacking: MissingParts, scope: Scope, judgement: CheckResult) -> StoredCheck[None]:
    mapping, stored, is_moved = lacking.now.mapping, lacking.stored, lacking.is_moved
    as_stored = replace(lacking.now, item=stored)
    judgement.facts += [fact for kind in KINDS for fact in kind.facts_at(as_stored, scope)]
    doubts = (kind.doubt_about(mapping, mapping.table, stored, scope) for kind in KINDS)
    judgement.doubt = first_doubt(doubts)
    kinds = [kind for kind in KINDS if kind.concerns(mapping, scope)]
    try:
        renewal = renewal_of(mapping, lacking.now.item)
        keys = wanted_index_keys(renewal)
        if is_moved:  # it is inserted anew, as it loads
            renewal = renewal._replace(item=renewal.image)
            lacking.now = replace(lacking.now, item=renewal.image)
        held = [(kind, kind.held(renewal)) for kind in kinds]
    except DynaormError as problem:
        judgement.diagnoses, doubt = unread(lacking.now, problem, scope)
        judgement.doubt = judgement.doubt or doubt
        return
    # What several may want is judged at once: the first that is completed gets it.
    summed = [(kind, some) for kind, some in held if kind.derived.is_summed]
    judgement.facts += [fact for kind, some in summed for fact in kind.facts_of(lacking.now, some)]
    if scope.covers(mapping):
        found = yield from _lacked(lacking, _Required(renewal, keys, held), scope)
        reason = lacking.doubt or reason_not_to_write(mapping, stored, scope)
        judgement.diagnoses = [without_repair(one, reason) for one in found]


# -- what is stored ----------------------------------------------------------------------------------------------------


def _entity_at(table: Table, item: Item, scope: Scope) -> MissingParts | None:
    """An entity that may be stored under the key that its class had before it was versioned; None for no entity."""
    unit = scope.new_unit()
    found = classify(table, item)
    if isinstance(found, EntityMapping):
        return MissingParts(item, Subject(found, _under_new_key(found, item) or item, unit))
    if found is NotAnEntity.UNKNOWN and (table.type_attribute is None or table.type_attribute not in item):
        for mapping in scope.mappings:
            moved = _under_new_key(mapping, item) if mapping.table is table else None
            if moved is not None:
                return MissingParts(item, Subject(mapping, moved, unit))
    return None


def _under_new_key(mapping: EntityMapping, item: Item) -> Item | None:
    """An item under the key that its class declares now; None if it is stored there."""
    found = (kind.under_new_key(mapping, item) for kind in KINDS)
    return next((one for one in found if one is not None), None)


# -- what an entity lacks ----------------------------------------------------------------------------------------------


@record
class _Required:
    """What an entity should have: as it loads, its index keys, and the items that it holds, by kind."""

    renewal: Renewal
    index_keys: Mapping[str, AttributeValue]
    held: Sequence[tuple[Checker, Sequence[Holding[Any]]]]


def _lacked(lacking: MissingParts, required: _Required, scope: Scope) -> StoredCheck[list[RepairableFinding]]:
    """The diagnoses of all that an entity lacks."""
    renewal = required.renewal
    # To be stored as it loads gives an entity everything that it lacks, but for what others hold.
    is_renewed = bool(renewal.changes) and not lacking.is_moved
    for kind, held in required.held:
        if not (is_renewed and kind.derived.is_permanent):
            yield from kind.complete(lacking, held, scope)
    if is_renewed:
        return [*lacking.left, *(yield from judge_values(renewal, scope))]
    return [*lacking.left, *([] if lacking.is_stuck else _incomplete(lacking, required.index_keys))]


def _incomplete(lacking: MissingParts, keys: Mapping[str, AttributeValue]) -> list[RepairableFinding]:
    mapping, item = lacking.now.mapping, lacking.now.item
    changes = index_changes(mapping, item, keys)
    words = [*lacking.words, *(["index keys"] if changes else [])]
    if not words:
        return []
    image = with_changes(item, changes) | lacking.attributes
    kind = mapping.table.type_attribute
    if lacking.is_moved and kind is not None and mapping.type_value is not None:
        image[kind] = mapping.type_value
    actions = renewed(mapping, lacking.stored, image, lacking.taken, unit=lacking.now.unit)
    detail = f"it lacks {', '.join(words)}"
    finding = finding_of(FindingKind.INCOMPLETE, mapping, lacking.former_key, detail, repairable=True)
    return [RepairableFinding(finding, actions=(*actions, *lacking.checks.values()))]
