"""Guard items as they are verified: each is judged when every entity that holds its value is known.

Rule 1. What is wrong follows from how many live entities hold the value, and from what the guard item says: see
        ``_WRONG``. It does not depend on which of these items a run meets, or on what else it finds.
Rule 2. A deletion releases the guards. So a guard item whose owner was deleted with its value, and may come back, is
        kept until people decide. Which entities may come back, other kinds say.
Rule 3. An item is a guard item only if it has the attributes of one, and no others.
Rule 4. A guard item is verified with every class that has its constraint. An entity of a class that is not verified
        counts as a holder of its value. What it lacks itself is no finding.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from typing import Any, Final

from dynaorm.entity.classify import NotAnEntity, classify, shown_key
from dynaorm.entity.declare.catalog import catalog_of, constraint_at, is_guard_of_others
from dynaorm.entity.internal_items import OWNER, TABLE, is_in, key_in, more_than_a_guard, owner_in, owner_of
from dynaorm.entity.key import found_key, stored_key
from dynaorm.entity.mapping.constraint import GuardKey
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.secret import masked
from dynaorm.entity.table import Table, ident_of
from dynaorm.errors import DynaormError
from dynaorm.failure import counted
from dynaorm.flow.get import guard_expired
from dynaorm.flow.integrity.finding import (
    CheckResult,
    Claim,
    Fact,
    FactStore,
    FindingKind,
    RepairableFinding,
    Uncertainty,
    finding_at,
    named_key,
)
from dynaorm.flow.integrity.kinds.judged import Checker, MissingParts, Subject
from dynaorm.flow.integrity.reads import ItemAddress, StoredCheck
from dynaorm.flow.integrity.repair_actions import (
    ClaimedItem,
    check,
    listed,
    renewed,
    without_repair,
    written_by_newer_code,
    written_by_newer_code_at,
)
from dynaorm.flow.integrity.scope import Scope
from dynaorm.item.value import Item, same
from dynaorm.plan.compiler import Renewal, renewal_of
from dynaorm.plan.derived import DerivedKind, EntitySide, Holding
from dynaorm.plan.guards import GUARDS, GuardClaim, constrained_by, release_as_read, says_of
from dynaorm.plan.intent import UnitOfWork
from dynaorm.plan.plan import Operations, Planned
from dynaorm.record import record, replace


def _constraint_in(guard: ItemAddress) -> str:
    """The name of the constraint, from the key of a guard item."""
    return constraint_at(guard.table, guard.key)


def _expiry_in(table: Table, guard: Item) -> int | None:
    """When a guard item expires, in the unit of its table; None for never, as for what is no time."""
    try:
        return None if table.expiry is None else table.expiry.time_in(guard)
    except ValueError:
        return None


class GuardSays(Enum):
    """What a guard item says of one entity, or of nobody."""

    NOTHING = "there is none, or it has expired"
    NO_OWNER = "it names no owner"
    RIGHT = "it names the entity, and expires with it"
    OTHER_EXPIRY = "it names the entity, and expires at another time"
    OTHER_OWNER = "it names another owner"


def _what_is_said(
    home: Table, guard: Item | None, holder: tuple[EntityMapping, Item] | None, now: float
) -> GuardSays:
    """What is stored in the place of a guard item, about an entity: its class and item; None for nobody."""
    if guard is None:
        return GuardSays.NOTHING
    if holder is not None and same(guard.get(OWNER), owner_of(holder[0].table, holder[0].key_of(holder[1]))):
        mapping, item = holder
        is_right = mapping.loader.expiry_of(item) == _expiry_in(home, guard)
        return GuardSays.RIGHT if is_right else GuardSays.OTHER_EXPIRY
    if guard_expired(home, guard, now):
        return GuardSays.NOTHING
    return GuardSays.OTHER_OWNER if OWNER in guard else GuardSays.NO_OWNER


_WRONG: Final[Mapping[tuple[int, GuardSays], FindingKind]] = {
    (0, GuardSays.NO_OWNER): FindingKind.ORPHAN_GUARD,
    (0, GuardSays.OTHER_OWNER): FindingKind.ORPHAN_GUARD,
    (1, GuardSays.NOTHING): FindingKind.MISSING_GUARD,
    (1, GuardSays.OTHER_EXPIRY): FindingKind.GUARD_EXPIRY,
    (1, GuardSays.OTHER_OWNER): FindingKind.WRONG_OWNER,
    **{(2, says): FindingKind.DUPLICATE for says in GuardSays},
}
"""What is wrong, by the number of live entities that hold the value (2: several) and what the guard says of the one."""


def _owner_address(guard: ItemAddress, item: Item) -> ItemAddress | None:
    """The address of the owner that a guard item names; None if it names no key of a loaded table."""
    for table in _guarded_tables(guard):
        key = key_in(owner_in(item), table)
        if key is not None and same(item[OWNER], owner_of(table, key)):
            return ItemAddress(table, key)
    return None


def _possible_owners(guard: ItemAddress, owners: Sequence[Item]) -> list[ItemAddress]:
    """Where owners with these keys may be stored. A key does not say in which of the tables that are guarded here."""
    return [
        ItemAddress(table, owner)
        for owner in owners
        for table in _guarded_tables(guard)
        if owner.keys() == set(table.key_names)
    ]


def _guarded_tables(guard: ItemAddress) -> list[Table]:
    """The tables of the loaded classes with the constraint of a guard item; its own comes first."""
    tables = dict.fromkeys(one.table for one in constrained_by(_constraint_in(guard), guard.table))
    return sorted(tables, key=lambda table: table is not guard.table)


def _owner_doubt(guard: ItemAddress, item: Item) -> str:
    """Why a guard item may belong to an entity that no loaded class explains; empty if it does not."""
    owner = owner_in(item)
    if OWNER not in item or any(is_in(owner, table) for table in _guarded_tables(guard)):
        return ""
    named = (
        f"in the table {owner[TABLE].get('S')!r}" if TABLE in owner else "in a table that it does not name"
    )
    return f"its owner is {named}, where no loaded class has {_constraint_in(guard)!r}; load that class"


def _holds(address: ItemAddress, item: Item | None, guard: ItemAddress, now: float) -> bool | None:
    """Whether an item is a live entity that holds the value of a guard item; None if that cannot be known."""
    if item is None:
        return False
    found = classify(address.table, item)
    if not isinstance(found, EntityMapping):
        return None if found is NotAnEntity.UNKNOWN else False
    if found.is_expired(item, now) or found.table.guards is not guard.table:
        return False
    constraint = _constraint_in(guard)
    try:
        # It keeps the guards of its stored values until it is stored as it loads.
        held = [_guards_of(found, one).get(constraint) for one in (item, renewal_of(found, item).image)]
    except DynaormError:
        return None
    return any(one is not None and one.ident == guard.ident for one in held)


def _taken(holder: tuple[EntityMapping, Item], guard: ItemAddress, stored: Item | None) -> ClaimedItem:
    """A guard item of an entity, given with its class, in place of the one that was read."""
    mapping, item = holder
    constraint = _constraint_in(guard)
    # It may hold the value only as it loads, which is not yet as it is stored.
    value = mapping.constraints[constraint].value_of(mapping.subject(item))
    label: GuardClaim = (
        (constraint, _key(guard), value),
        says_of(EntitySide(mapping, mapping.key_of(item), item)),
    )
    return ClaimedItem(GUARDS, label, stored)


def _release(guard: ItemAddress, stored: Item, owner: Item, unit: UnitOfWork) -> Planned:
    """Delete a guard item whose owner does not hold the value. ``owner``: a key, to name it."""
    constraint, key = _constraint_in(guard), _key(guard)
    mapping = constrained_by(constraint, guard.table)[0]
    found = key.partition.partition("#")[2]
    value = masked(found) if constraint in mapping.secrets.constraints else found
    return release_as_read(mapping, owner, ((constraint, key, value), stored), unit)


def _key(guard: ItemAddress) -> GuardKey:
    partition, *sort = (str(guard.key[key.name]["S"]) for key in guard.table.keys)
    return GuardKey(partition, *sort or [partition])


def _not_a_guard(home: Table, item: Item) -> str:
    """Why an item must not be replaced or deleted as a guard item; empty if it is exactly one."""
    if extra := more_than_a_guard(home, item):
        return f"a guard item has no {listed(extra)}; delete the item yourself if nothing needs it"
    return ""


def _guards_of(mapping: EntityMapping, item: Item) -> dict[str, ItemAddress]:
    """The guard items of an entity, by constraint. Raises DynaormError if the item does not fit its class."""
    found = GUARDS.held_by(EntitySide(mapping, mapping.key_of(item), item))
    return {held.label[0][0]: ItemAddress(*GUARDS.place(held)) for held in found}


@record(frozen=False)
class _GuardHolders:
    """A guard item, the entities that hold its value, and the owner that it names.

    Attributes:
        guard: the address of the guard item.
        stored: the guard item, if it exists.
        holders: the live entities that hold its value, each with its class and item.
        owner: the address of the owner that it names.
        owner_item: the item at that address.
        is_uncertain: one of these items cannot be read, so it may hold the value.
        doubt: why the guard item must not be written.
        keeper: why it must not be deleted, though no live entity holds the value.
    """

    guard: ItemAddress
    stored: Item | None
    holders: list[tuple[EntityMapping, Item]]
    owner: ItemAddress | None = None
    owner_item: Item | None = None
    is_uncertain: bool = False
    doubt: str = ""
    keeper: str = ""


class GuardChecker(Checker):
    """The guard items of unique values. ``others``: the other kinds, which say what entities may come back."""

    derived: DerivedKind[Any] = GUARDS

    def __init__(self, others: Sequence[Checker]) -> None:
        self.others = others

    def concerns(self, mapping: EntityMapping, scope: Scope) -> bool:
        # Who holds a value protects its guard item, also if only other classes with the constraint are verified.
        return super().concerns(mapping, scope) or any(map(scope.covers, _possible_holders(mapping)))

    def facts_beside(self, facts: Sequence[Fact]) -> Sequence[Fact]:
        return [replace(one, is_harmless=True) for one in facts if isinstance(one, Claim)]

    def held(self, renewal: Renewal) -> Sequence[Holding[GuardClaim]]:
        mapping = renewal.mapping
        return GUARDS.held_by(EntitySide(mapping, mapping.key_of(renewal.image), renewal.image))

    def facts_of(self, subject: Subject, held: Sequence[Holding[GuardClaim]]) -> list[Fact]:
        return [Claim(ItemAddress(*GUARDS.place(one)), subject.address) for one in held]

    def judge_entity(
        self, subject: Subject, renewal: Renewal, held: Sequence[Holding[GuardClaim]]
    ) -> StoredCheck[CheckResult]:
        judgement, holder = CheckResult(), (subject.mapping, subject.item)
        facts = self.facts_of(subject, held)
        for fact, stored in zip(facts, (yield [one.address for one in facts]), strict=True):
            says = _what_is_said(fact.address.table, stored, holder, subject.unit.now)
            # A renewal writes the guards of its values itself.
            is_settled = says is GuardSays.OTHER_EXPIRY and renewal.image is not subject.item
            if says is not GuardSays.RIGHT and not is_settled:
                judgement.facts.append(replace(fact, is_harmless=says is GuardSays.NO_OWNER))
        return judgement

    def judge_item(
        self, found: NotAnEntity, address: ItemAddress, item: Item, scope: Scope
    ) -> StoredCheck[CheckResult | None]:
        if found is not NotAnEntity.GUARD:
            return None
        judgement = CheckResult()
        if not _is_verified(address, scope):
            return judgement
        extra = more_than_a_guard(address.table, item)
        # Another library may write more into the guard items of its own format.
        if extra and not is_guard_of_others(address.table, item):
            judgement.diagnoses.append(_with_extra(address, extra))
        now = scope.new_unit().now
        if guard_expired(address.table, item, now):
            return judgement
        owner = _owner_address(address, item) if OWNER in item else None
        if owner is not None:
            (stored,) = yield [owner]
            if _holds(owner, stored, address, now):
                return judgement
        judgement.facts.append(Claim(address, is_harmless=OWNER not in item))
        return judgement

    def operations_of_verify(self, mapping: EntityMapping) -> Operations:
        for table in _homes_and_owners(mapping):
            yield table, frozenset({"GetItem", "BatchGetItem"})
        for owner in _possible_holders(mapping):
            yield from (one for kind in self.others for one in kind.operations_of_return(owner))

    def operations_of_repair(self, mapping: EntityMapping) -> Operations:
        yield from GUARDS.operations_of_writes(mapping)
        for table in _homes_and_owners(mapping):
            if catalog_of(table).mappings:  # a table of guards has no entities
                yield table, frozenset({"ConditionCheckItem"})

    def judged_with(self, address: ItemAddress, owners: Sequence[Item]) -> StoredCheck[Sequence[ItemAddress]]:
        yield from ()
        return _possible_owners(address, owners)

    def facts_named(self, address: ItemAddress, owners: Sequence[Item]) -> Iterable[Fact]:
        holders = [Claim(address, one) for one in _possible_owners(address, owners)]
        is_guard = bool(constrained_by(_constraint_in(address), address.table))
        return [Claim(address), *holders] if is_guard else holders

    def left(self, ledger: FactStore, scope: Scope) -> Iterator[tuple[ItemAddress, Sequence[ItemAddress]]]:
        # An entity that holds an item for this scope may hold others, too.
        for address, holders in ledger.holdings():
            if _is_verified(address, scope):
                yield address, holders

    def judge_facts(
        self,
        address: ItemAddress,
        facts: Sequence[ItemAddress],
        scope: Scope,
        doubts: Sequence[Uncertainty] = (),
    ) -> StoredCheck[list[RepairableFinding]]:
        unit = scope.new_unit()
        case = yield from _guard_holders(address, facts, scope)
        if not case.holders and case.stored is not None and not case.is_uncertain:
            case.keeper = yield from self._keeper(case)

        def again() -> StoredCheck[list[RepairableFinding]]:
            return self.judge_facts(address, facts, scope)

        return [replace(one, again=again) for one in _judged(case, unit, scope)]

    def obstacle(self, held: Holding[GuardClaim], stored: Item | None, now: float, *, is_new: bool) -> str:
        if stored is None:
            return ""
        (constraint, _, _), says = held.label
        home = held.image.mapping.table.guards
        if problem := _not_a_guard(home, stored):
            return problem
        if not is_new or same(stored.get(OWNER), says.owner) or guard_expired(home, stored, now):
            return ""
        return f"the guard of {constraint} names another owner, which is reported by itself"

    def complete(
        self, lacking: MissingParts, held: Sequence[Holding[GuardClaim]], scope: Scope
    ) -> StoredCheck[None]:
        mapping, unit = lacking.now.mapping, lacking.now.unit
        holder = mapping, lacking.now.item
        guards = [ItemAddress(*GUARDS.place(one)) for one in held]
        for one, guard, stored in zip(held, guards, (yield guards), strict=True):
            if _what_is_said(guard.table, stored, holder, unit.now) is GuardSays.RIGHT:
                continue
            case = _GuardHolders(guard, stored, [holder])
            # Of an entity that moves, the guard items name its former key.
            former = owner_of(mapping.table, lacking.former_key)
            if stored is None or not any(
                same(stored.get(OWNER), own) for own in (one.label[1].owner, former)
            ):
                yield from _add_owner(case, (), scope)
            if case.owner is not None and (len(case.holders) > 1 or case.is_uncertain):
                lacking.left.append(_held_by_another(lacking, guard, case.owner))
                continue
            lacking.words.append(f"the guard of {one.label[0][0]}")
            lacking.taken.append(ClaimedItem(GUARDS, one.label, stored))
            lacking.checks.update((check.ident, check) for check in _owner_as_read(case, unit))
            lacking.doubt = lacking.doubt or _doubt(case, scope)

    def _keeper(self, case: _GuardHolders) -> StoredCheck[str]:
        """Why a guard item belongs to an entity that may come back; empty if it does not."""
        mapping = _class_of_key(case.owner) if case.owner is not None else None
        if case.owner is None or mapping is None:
            return ""
        held = partial(_may_hold, guard=case.guard)
        for kind in self.others:
            if reason := (yield from kind.may_return(mapping, case.owner.key, case.owner_item, held)):
                return reason
        return ""


def _is_verified(guard: ItemAddress, scope: Scope) -> bool:
    """Whether a guard item is verified: a class with its constraint is."""
    return any(map(scope.covers, constrained_by(_constraint_in(guard), guard.table)))


def _possible_holders(mapping: EntityMapping) -> list[EntityMapping]:
    """The classes whose entities may hold a unique value in place of one of a class."""
    home = mapping.table.guards
    return [one for name in mapping.constraints for one in constrained_by(name, home)]


def _homes_and_owners(mapping: EntityMapping) -> Iterable[Table]:
    """The tables of a class's guard items, and of every entity that can own one of them."""
    owners = [one.table for one in _possible_holders(mapping)]
    return dict.fromkeys([mapping.table.guards, mapping.table, *owners]) if mapping.constraints else []


def _with_extra(guard: ItemAddress, extra: Sequence[str]) -> RepairableFinding:
    detail = f"a guard item has no {', '.join(extra)}"
    key = shown_key(guard.table, guard.key)
    return RepairableFinding(finding_at(FindingKind.EXTRA_ATTRIBUTES, ItemAddress(guard.table, key), detail))


# -- all that is known of one guard item -------------------------------------------------------------------------------


def _guard_holders(
    guard: ItemAddress, claimants: Sequence[ItemAddress], scope: Scope
) -> StoredCheck[_GuardHolders]:
    stored, *items = yield [guard, *claimants]
    case = _GuardHolders(guard, stored, [])
    for address, item in zip(claimants, items, strict=True):
        _add_holder(case, address, item, scope)
    yield from _add_owner(case, claimants, scope)
    case.doubt = _doubt(case, scope)
    return case


def _add_owner(case: _GuardHolders, known: Sequence[ItemAddress], scope: Scope) -> StoredCheck[None]:
    """Add the owner that the guard item names. It may live and hold the value, whether the guard expired or not."""
    if case.stored is None or OWNER not in case.stored:
        return
    case.owner = _owner_address(case.guard, case.stored)
    if case.owner is not None:
        (case.owner_item,) = yield [case.owner]
        if case.owner.ident not in {address.ident for address in known}:
            _add_holder(case, case.owner, case.owner_item, scope)


def _add_holder(case: _GuardHolders, address: ItemAddress, item: Item | None, scope: Scope) -> None:
    found = _holds(address, item, case.guard, scope.new_unit().now)
    if found is None:
        case.is_uncertain = True
    elif found and item is not None:
        mapping = classify(address.table, item)
        assert isinstance(mapping, EntityMapping)
        case.holders.append((mapping, item))


def _doubt(case: _GuardHolders, scope: Scope) -> str:
    reasons = [written_by_newer_code(mapping, item, scope) for mapping, item in case.holders]
    if case.stored is not None:
        reasons += [_not_a_guard(case.guard.table, case.stored), _owner_doubt(case.guard, case.stored)]
    if case.owner is not None:
        reasons.append(written_by_newer_code_at(case.owner, case.owner_item, scope))
    return next(filter(None, reasons), "")


def _may_hold(
    mapping: EntityMapping, item: Item, fields: AbstractSet[str] | None, *, guard: ItemAddress
) -> bool:
    """Whether an entity that comes back like this would hold the value of a guard item, as far as that can be known."""
    constraint = mapping.constraints.get(_constraint_in(guard))
    if constraint is None:
        return False
    if fields is not None and not constraint.depends_on <= fields:
        return True  # what the value is made of is not known
    try:
        held = _guards_of(mapping, item).get(constraint.name)
    except DynaormError:
        return True
    return held is not None and held.ident == guard.ident


def _judged(case: _GuardHolders, unit: UnitOfWork, scope: Scope) -> list[RepairableFinding]:
    holder = case.holders[0] if len(case.holders) == 1 else None
    says = _what_is_said(case.guard.table, case.stored, holder, unit.now)
    kind = _WRONG.get((min(len(case.holders), 2), says))
    if kind is None:
        return []
    if kind is FindingKind.DUPLICATE:
        holders = counted(len(case.holders), "live entity", "live entities")
        detail = f"{holders} hold it; change it in all of them but one"
        return [_diagnosis(case, kind, detail)]
    if kind is FindingKind.ORPHAN_GUARD:
        if case.is_uncertain:
            return [
                _diagnosis(case, FindingKind.NOT_JUDGED, "an item that may hold the value cannot be read")
            ]
        return _orphan(case, case.stored or {}, unit, scope)
    if kind is FindingKind.MISSING_GUARD:
        return [_diagnosis(case, kind, "no guard item protects the value", _claimed(case, unit))]
    if kind is FindingKind.GUARD_EXPIRY:
        ((mapping, item),) = case.holders
        found, wanted = _expiry_in(case.guard.table, case.stored or {}), mapping.loader.expiry_of(item)
        detail = f"it expires at {found or 'no time'}, and its owner at {wanted or 'no time'}"
        return [_diagnosis(case, kind, detail, _claimed(case, unit))]
    if case.is_uncertain:
        return [_diagnosis(case, kind, "the owner it names cannot be read")]
    return [_diagnosis(case, kind, _why_wrong(case), _claimed(case, unit))]


def _orphan(case: _GuardHolders, stored: Item, unit: UnitOfWork, scope: Scope) -> list[RepairableFinding]:
    if OWNER in stored:
        owner = case.owner.key if case.owner is not None else case.guard.key
        actions = (_release(case.guard, stored, owner, unit), *_owner_as_read(case, unit))
        diagnosis = _diagnosis(case, FindingKind.ORPHAN_GUARD, _why_wrong(case), actions)
        unclear = "the owner it names is no key; delete the item yourself if nothing needs it"
        return [without_repair(diagnosis, case.keeper if case.owner is not None else unclear)]
    classes = constrained_by(_constraint_in(case.guard), case.guard.table)
    if not scope.reads_everything or not all(map(scope.covers, classes)):
        return []  # a class that holds the value may not have been read
    detail = "it names no owner, and no entity holds the value; delete it if nobody reserved the value"
    return [_diagnosis(case, FindingKind.ORPHAN_GUARD, detail)]


def _why_wrong(case: _GuardHolders) -> str:
    if case.owner is None:
        return "the owner it names is no key of a loaded table"
    if case.owner_item is None:
        return "the owner it names does not exist"
    return "the owner it names does not hold the value"


def _diagnosis(
    case: _GuardHolders, kind: FindingKind, detail: str, actions: tuple[Planned, ...] = ()
) -> RepairableFinding:
    home = case.guard.table
    named = None if case.owner is None else case.owner.ident
    # The owner that the guard item names comes first.
    holders = sorted(
        case.holders,
        key=lambda holder: (
            ident_of(holder[0].table, holder[1]) != named,
            named_key(holder[0].key_of(holder[1])),
        ),
    )
    classes = [mapping for mapping, _ in holders] or constrained_by(_constraint_in(case.guard), home)
    owners = [stored_key(mapping, mapping.key_of(item)) for mapping, item in holders]
    key = classes[0].secrets.hiding_guard(_constraint_in(case.guard), case.guard.key)
    finding = finding_at(
        kind, ItemAddress(home, key), detail, entity=classes[0].name, repairable=bool(actions), owners=owners
    )
    return without_repair(RepairableFinding(finding, actions=actions), case.doubt)


def _claimed(case: _GuardHolders, unit: UnitOfWork) -> tuple[Planned, ...]:
    ((mapping, item),) = case.holders
    taken = _taken((mapping, item), case.guard, case.stored)
    return (*renewed(mapping, item, item, [taken], unit=unit), *_owner_as_read(case, unit))


def _owner_as_read(case: _GuardHolders, unit: UnitOfWork) -> tuple[Planned, ...]:
    """The check that the owner named by a guard item still does not hold the value."""
    if case.owner is None or case.owner.ident in {ident_of(one.table, item) for one, item in case.holders}:
        return ()
    return _owner_check(case.owner, case.owner_item, unit)


def _owner_check(owner: ItemAddress, item: Item | None, unit: UnitOfWork) -> tuple[Planned, ...]:
    """The check that the item at the address of an owner is as it was read."""
    mapping = _mapping_at(owner, item)
    return () if mapping is None else (check(mapping, owner.key, item, unit),)


def _mapping_at(owner: ItemAddress, item: Item | None) -> EntityMapping | None:
    found = classify(owner.table, item) if item is not None else None
    if isinstance(found, EntityMapping):
        return found
    # Any class can check that nothing is under a key that no class has.
    return _class_of_key(owner) or next(iter(catalog_of(owner.table).mappings.values()), None)


def _class_of_key(owner: ItemAddress) -> EntityMapping | None:
    """The class that has keys like an owner's; None if no class has."""
    entity = found_key(catalog_of(owner.table).mappings, owner.key).entity
    return None if entity is None else mapping_of(entity)


def _held_by_another(lacking: MissingParts, guard: ItemAddress, owner: ItemAddress) -> RepairableFinding:
    mapping = lacking.now.mapping
    first = shown_key(owner.table, owner.key)
    owners = found_key(catalog_of(owner.table).mappings, first), stored_key(mapping, lacking.former_key)
    detail = f"the entity at {named_key(first)} has the guard item; change the value in the other one"
    key = mapping.secrets.hiding_guard(_constraint_in(guard), guard.key)
    finding = finding_at(
        FindingKind.DUPLICATE, ItemAddress(guard.table, key), detail, entity=mapping.name, owners=owners
    )
    return RepairableFinding(finding)
