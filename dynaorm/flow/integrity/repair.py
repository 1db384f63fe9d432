"""Repair what a verification finds: each finding by one transaction that is conditional on exactly what was read.

Rule 1. If another writer changed an item meanwhile, the transaction is refused and the item is judged again. So an
        unanswered attempt is safe, too: what it repaired is not repaired twice.
Rule 2. Some findings are repaired at a time, so that results are reported early; sums all at once.
Rule 3. A sum that changed since it was counted is counted again; one that changes all the time is left.
Rule 4. A dry run sends nothing. It judges again what depends on an item that it has planned to write, so that it
        shows which of two entities gets an item, and that the other one is a duplicate.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import (
    Contention,
    DynaormError,
    StoreError,
    TableNotFound,
    Throttled,
    UnexpectedRefusal,
    Unreachable,
    UsageError,
)
from dynaorm.failure import counted
from dynaorm.flow.call import Context, Flow, Pause, gather
from dynaorm.flow.commit import unit_of_work
from dynaorm.flow.integrity.finding import (
    CheckResult,
    FindingKind,
    Outcome,
    RepairableFinding,
    RepairResult,
    finding_of,
    left,
)
from dynaorm.flow.integrity.judge import (
    KINDS,
    index_changes,
    judge_values,
    unread,
    wanted_index_keys,
    with_changes,
)
from dynaorm.flow.integrity.kinds.judged import Checker, MissingParts, Subject, first_doubt
from dynaorm.flow.integrity.reads import ItemAddress, RateLimiter, StoredCheck, run_in_one_read
from dynaorm.flow.integrity.repair_actions import reason_not_to_write, renewed, without_repair
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.verify import Verification, verification
from dynaorm.flow.windows import CONCURRENCY, windows
from dynaorm.flow.write import send
from dynaorm.item.action import Put
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.compiler import Committed, Renewal, renewal_of
from dynaorm.plan.derived import Holding
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.plan import FAILED, Plan, Planned, check_limits
from dynaorm.record import record, replace

# Complete entities that were stored before their class declared a constraint, an index, versions or totals.
#
# Rule 1. Deploy the new class to every writer first; what they write is complete. Each older entity is then completed
#         by one transaction, which is refused if another writer changed the entity since it was read.
# Rule 2. An item that another entity holds is reported; everything else of the entity is completed.
# Rule 3. An entity whose class became versioned moves to its new key, as version 1.


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


# How many findings are repaired before the results are reported.
_WINDOW: Final = 100
# How often one repair is attempted.
_ATTEMPTS: Final = 8
# How often a sum is counted again that changed before it was repaired.
_RECOUNTS: Final = 5
_HOPELESS: Final = (TableNotFound, Throttled, Unreachable)
# Refusals that concern one plan. A condition that does not hold says that somebody else has written.
_INVALID: Final = "ValidationException"
_OF_THIS_PLAN: Final = (FAILED, "TransactionCanceledException", _INVALID)


def backfill_run(
    named: Sequence[Table | type[Any]],
    context: Context,
    *,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
    is_part: bool = False,
) -> Verification:
    """A verification that asks what each entity lacks; it has not begun. Raises UsageError as ``verification``."""
    work = verification(named, context, segments=segments, segment=segment, rate=rate, is_part=is_part)
    work.judge = complete
    work.scope = replace(work.scope, with_new_targets=True)
    return work


def within_limit(
    diagnoses: list[RepairableFinding], made: int, at_most: int | None
) -> tuple[list[RepairableFinding], RepairResult | None]:
    """The diagnoses up to the last repair that is allowed, and the result of the first one whose repair is not."""
    repairs = [index for index, one in enumerate(diagnoses) if one.actions]
    if at_most is None or made + len(repairs) <= at_most:
        return diagnoses, None
    first = repairs[at_most - made]
    reason = f"this run may make {counted(at_most, 'repair')}"
    return diagnoses[:first], RepairResult(diagnoses[first].finding, Outcome.LIMIT_REACHED, reason)


def repair_flows(
    diagnoses: Sequence[RepairableFinding], work: Verification, *, dry_run: bool
) -> Iterator[Flow[list[RepairResult]]]:
    """The repairs of one step, in order. Run each flow before you ask for the next."""
    # Sums are counted again together, because that may scan whole tables.
    together = any(one.counted is not None for one in diagnoses)
    told: set[object] = set()
    for some in windows(diagnoses, len(diagnoses) if together else _WINDOW):
        yield _once(_plan_all(some, work) if dry_run else _repair_all(some, work), told)


def _once(repairs: Flow[list[RepairResult]], told: set[object]) -> Flow[list[RepairResult]]:
    """The results without faults that were told before: items that are judged again show what is left once more."""
    results = []
    for one in (yield from repairs):
        named = one.finding.identity, one.finding.owners
        if not (one.is_left and named in told):
            results.append(one)
        told.add(named)
    return results


def _repair_all(diagnoses: Sequence[RepairableFinding], work: Verification) -> Flow[list[RepairResult]]:
    results: list[RepairResult] = []
    for _ in range(_RECOUNTS):
        ended = yield from gather([_mend(diagnosis, work.limiter) for diagnosis in diagnoses], CONCURRENCY)
        changed: list[ItemAddress] = []
        for diagnosis, (refusal, mended) in zip(diagnoses, ended, strict=True):
            if diagnosis.counted is not None and _may_differ(refusal):
                changed.append(diagnosis.counted)
            else:
                results += mended
        if not changed:
            return results
        diagnoses = yield from work.judge_again(changed)
    work.unstable += [diagnosis.counted for diagnosis in diagnoses if diagnosis.counted is not None]
    return results


def _may_differ(refusal: DynaormError | None) -> bool:
    """Whether a sum may have changed since it was counted. A plan that is not valid says nothing about that."""
    if isinstance(refusal, UnexpectedRefusal):
        return refusal.code != _INVALID
    return refusal is not None and not isinstance(refusal, UsageError)


def _plan_all(diagnoses: Sequence[RepairableFinding], work: Verification) -> Flow[list[RepairResult]]:
    """Sends no write."""
    results: list[RepairResult] = []
    for diagnosis in diagnoses:
        results += yield from _plan_one(diagnosis, work)
    return results


def _plan_one(diagnosis: RepairableFinding, work: Verification) -> Flow[list[RepairResult]]:
    others: list[RepairResult] = []
    planned = work.ledger.planned(address for address, _ in _contested_in(diagnosis))
    if planned and diagnosis.again is not None:
        limiter = work.limiter
        found = yield from run_in_one_read(diagnosis.again, limiter.context, limiter.cost, planned)
        again, others = _found_again(diagnosis, found or ())
        if again is None:
            return others
        diagnosis = again
    if not diagnosis.actions:
        return [left(diagnosis.finding), *others]
    try:
        plan = _plan_of(diagnosis, work.limiter)
    except DynaormError as problem:
        return [left(diagnosis.finding, str(problem)), *others]
    for address, item in _contested_in(diagnosis):
        work.ledger.plan(address, item)
    return [RepairResult(diagnosis.finding, Outcome.PLANNED, plan=plan), *others]


def _contested_in(diagnosis: RepairableFinding) -> Iterator[tuple[ItemAddress, Item | None]]:
    """The items that a repair writes and others may want, each with what it puts; None for one that it deletes."""
    for one in diagnosis.actions:
        if one.kind.is_contested:
            item = one.action.item if isinstance(one.action, Put) else None
            yield ItemAddress(one.table, one.item_key), item


# -- one repair --------------------------------------------------------------------------------------------------------


def _plan_of(diagnosis: RepairableFinding, limiter: RateLimiter) -> Plan:
    """The transaction of a repair. Raises PlanTooLarge, ItemTooLarge."""
    unit = unit_of_work(limiter.context)
    actions = _one_for_each_item(diagnosis.actions)
    return check_limits(Plan(actions, unit.write_id, made_at=unit.now))


def _one_for_each_item(actions: Sequence[Planned]) -> tuple[Planned, ...]:
    """The actions without checks of what they write, which is conditional on what was read in any case.

    A guard item can name any key as its owner, also that of an item which its repair writes.
    """
    written = {one.ident for one in actions if one.purpose is not ItemPurpose.CHECK}
    return tuple(one for one in actions if one.purpose is not ItemPurpose.CHECK or one.ident not in written)


def _mend(
    diagnosis: RepairableFinding, limiter: RateLimiter
) -> Flow[tuple[DynaormError | None, list[RepairResult]]]:
    """Repair one finding, if it still exists and needs no choice.

    Returns the refusal for which it is left, and what became of it. If another writer was faster, duplicate values that
    were found while judging the item again are included.

    Raises:
        Throttled, Unreachable, TableNotFound, UnexpectedRefusal: DynamoDB does not accept the writes of this run.
    """
    pauses = limiter.context.retry.pauses(limiter.context.clock)
    refusal: DynaormError | None = None
    others: list[RepairResult] = []
    for _ in range(_ATTEMPTS):
        if not diagnosis.actions:
            break
        refusal = yield from _attempt(diagnosis, limiter)
        if refusal is None:
            return None, [RepairResult(diagnosis.finding, Outcome.REPAIRED), *others]
        found = yield from _judge_again(diagnosis, limiter)
        if found is None or isinstance(refusal, UsageError):
            break
        again, others = _found_again(diagnosis, found)
        if again is None:
            return None, others
        diagnosis = again
        yield Pause(next(pauses, 0.0))
    reason = "" if refusal is None else str(refusal)
    return refusal, [left(diagnosis.finding, reason), *others]


def _found_again(
    diagnosis: RepairableFinding, found: Sequence[RepairableFinding]
) -> tuple[RepairableFinding | None, list[RepairResult]]:
    """The same problem among those of an item that was judged again, and what became of it or stands beside it.

    A problem that an item no longer has is resolved only if nothing else keeps the item from being right.
    """
    problem = diagnosis.finding
    again = next((one for one in found if one.finding.identity == problem.identity), None)
    others = [left(one.finding) for one in found if not (one is again or one.actions)]
    return again, others if others or again is not None else [RepairResult(problem, Outcome.RESOLVED)]


def _attempt(diagnosis: RepairableFinding, limiter: RateLimiter) -> Flow[DynaormError | None]:
    """None if the repair was written, otherwise why it was not, or may not have been."""
    try:
        plan = _plan_of(diagnosis, limiter)
        yield from limiter.wait()
        # DynamoDB charges for a refused transaction, too.
        units = plan.write_units
        limiter.written += units  # other repairs add to it, too, in other threads
        outcome = yield from send(plan, limiter.context)
    except _HOPELESS:
        raise
    except UnexpectedRefusal as refused:
        # Any other, such as a missing permission, concerns every plan.
        if refused.code not in _OF_THIS_PLAN:
            raise
        return refused
    except (StoreError, UsageError) as refused:
        return refused
    if isinstance(outcome, Committed):
        return None
    return Contention(attempts=1, code="ConditionalCheckFailed")


def _judge_again(diagnosis: RepairableFinding, limiter: RateLimiter) -> Flow[list[RepairableFinding] | None]:
    """Every diagnosis of the same item as it is now; None if that cannot be known."""
    if diagnosis.again is None:
        return None
    return (yield from run_in_one_read(diagnosis.again, limiter.context, limiter.cost))
