"""Guard items, which keep values unique: one for each value, which one entity holds.

Rule 1. A claim succeeds if nothing is stored, or the guard is already the claimer's, or it expired a minute ago.
Rule 2. A release succeeds if the guard is the releaser's, or has no owner (as AWS's published examples write them), or
        is missing. A guard that belongs to another entity is not touched.
Rule 3. A value that stays with its entity needs no action.
Rule 4. Two entities that end up with one value are refused here, unless both had it already: then one of them is stale,
        and DynamoDB finds out which.
Rule 5. A repair knows what is stored, so its claim and its release compare the owner and the expiry that were read.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.internal_items import OWNER, beside_key, key_in, owner_in, owner_of, without_table
from dynaorm.entity.key import Key, found_key, stored_key
from dynaorm.entity.mapping.derive import Claim, claims
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table, ident_of
from dynaorm.errors import UniqueViolation, Violation
from dynaorm.item.action import Delete, Pattern, Put
from dynaorm.item.condition import Attr, Compare, Condition, Or, all_of, as_in, exists, missing
from dynaorm.item.value import AttributeValue, Item, same
from dynaorm.plan.derived import DerivedKind, EntitySide, HolderChange, Holding, Sides, derived_items
from dynaorm.plan.intent import Reads, UnitOfWork
from dynaorm.plan.plan import (
    FailedAction,
    Judged,
    NeedsReplan,
    Operations,
    PartitionKey,
    Planned,
    Purpose,
)
from dynaorm.plan.stored import ItemChange, ItemDelete
from dynaorm.record import record, replace

CLAIM_MARGIN: Final = 60
"""How many seconds a guard stays claimed after its entity's expiry, for clocks that differ between writers."""


class GuardPurpose(Purpose):
    """Why an action on a guard item is in a plan."""

    CLAIM = "claim"
    PASS_ON = "pass on"
    RELEASE = "release"


@record(quick=True)
class GuardContent:
    """What the guard items of an entity say: their owner, and when they expire."""

    owner: AttributeValue
    expiry: int | None


GuardClaim: TypeAlias = tuple[Claim, GuardContent]
"""What one entity has in the guard item of a value: the value, and what its guard item says."""


class Guards(DerivedKind[GuardClaim]):
    """The guard items of the unique values of entities."""

    is_contested = True
    noun = "guard items"
    # An upper bound: two keys of at most 1024 bytes, and the owner's of at most 2048 and 1024.
    most_bytes: int | None = 6 * 1024

    def __reduce__(self) -> str:
        return "GUARDS"

    def home(self, mapping: EntityMapping) -> Table:
        return mapping.table.guards

    def follows_from(self, mapping: EntityMapping) -> bool:
        return bool(mapping.constraints)

    def made_of(self, mapping: EntityMapping) -> Iterable[frozenset[str]]:
        return mapping.made_of.guards.values()

    def held_by(self, image: EntitySide) -> list[Holding[GuardClaim]]:
        found = _claims(image)
        if not found:
            return []
        home, says = image.mapping.table.guards.name, says_of(image)
        return [Holding((home, claim[1]), image, (claim, says)) for claim in found]

    def place(self, held: Holding[GuardClaim]) -> tuple[Table, Item]:
        home = held.image.mapping.table.guards
        return home, held.label[0][1].in_table(home)

    def reason_to_read(self, mapping: EntityMapping, writer: str) -> str:
        if not mapping.constraints:
            return ""
        return (
            f"has unique values ({', '.join(mapping.constraints)}), and {writer} checks and writes no guards"
        )

    def classes_with_items_in(self, table: Table) -> Iterable[EntityMapping]:
        return catalog_of(table).guarded.values()

    def tables_beside(self, mapping: EntityMapping) -> Iterable[Table]:
        holders = [one for name in mapping.constraints for one in constrained_by(name, mapping.table.guards)]
        return dict.fromkeys([mapping.table.guards, *(holder.table for holder in holders)]) if holders else []

    def tables_reached(self, table: Table) -> Iterable[Table]:
        yield table.guards
        yield from (one.table for one in self.classes_with_items_in(table))

    def operations_of_reads(self, mapping: EntityMapping) -> Operations:
        return [(mapping.table.guards, frozenset({"GetItem"}))] if mapping.constraints else []

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        return [(mapping.table.guards, frozenset({"PutItem", "DeleteItem"}))] if mapping.constraints else []

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        for one in mapping.constraints.values():
            yield mapping, mapping.table.guards, one.parts[0] if one.parts else f"{one.name}#"

    def clash(self, derived: HolderChange[GuardClaim]) -> Violation | None:
        *_, first, second = derived.new
        before = {one.image.at for one in derived.old}
        if first.image.at in before and second.image.at in before:
            return None
        (constraint, _, value), _ = second.label
        fields = second.image.mapping.constraints[constraint].fields
        return Violation(constraint, fields, value, stored_key(first.image.mapping, first.image.key))

    # -- actions -------------------------------------------------------------------------------------------------------

    def claim_if_unchanged(
        self, image: EntitySide, label: GuardClaim, stored: Item | None, unit: UnitOfWork
    ) -> Planned:
        taken = claim_of(
            image, (label[0], says_of(image)), _as_read(image.mapping.table.guards, stored), unit
        )
        return taken if stored is None else replace(taken, purpose=GuardPurpose.PASS_ON)

    def should_release(self, held: Holding[GuardClaim], stored: Item | None) -> bool:
        return stored is not None and (OWNER not in stored or same(stored[OWNER], held.label[1].owner))

    def refused(self, mapping: EntityMapping, violations: tuple[Violation, ...]) -> UniqueViolation:
        return UniqueViolation(entity=mapping.entity.__name__, violations=violations)

    # -- refusals and sentences ----------------------------------------------------------------------------------------

    def judged(self, failed: FailedAction, now: float) -> Judged:
        planned = failed.planned
        if planned.purpose is GuardPurpose.RELEASE:
            return NeedsReplan(foreign=frozenset({planned.ident}))
        constraint, _, value = planned.label
        owner = None if failed.item is None else owner_named(planned, failed.item)
        return Violation(constraint, planned.mapping.constraints[constraint].fields, value, owner)

    def reason(self, planned: Planned) -> str:
        constraint, _, value = planned.label
        said = f"{constraint} = {value!r}"
        if planned.purpose is GuardPurpose.PASS_ON:
            return f"pass {said} on to {planned.name}, if it is still where it was"
        if planned.purpose is GuardPurpose.RELEASE:
            return f"release {said}, which {planned.name} no longer holds"
        when = planned.mapping.constraints[constraint].when
        text = when.text(planned.mapping.secrets.fields) if when is not None else ""
        return f"claim {said} for {planned.name}, if nobody else holds it" + (
            f", because {text}" if text else ""
        )

    def said(self, planned: Planned) -> str:
        return f"a guard item of {planned.label[0]!r}"

    def shown_key(self, planned: Planned) -> Item:
        return planned.mapping.secrets.hiding_guard(planned.label[0], planned.item_key)


GUARDS: Final = Guards()


def guard_actions(
    changes: Sequence[ItemChange], sides: Sequence[Sides], reads: Reads, unit: UnitOfWork
) -> Iterator[Iterable[Planned]]:
    """For each change the actions on the guard items that it is the first to concern. Raises StoreError."""
    before, after = sides[0]
    if len(changes) == 1 and before is None and after is not None:
        # Nothing is stored, so all values are new and different.
        yield _claims_of_new(after, unit)
        return
    for change, items in zip(changes, derived_items(sides, GUARDS), strict=True):
        yield filter(None, [_action(derived, reads, unit) for derived in _in_order(items, change)])


def _in_order(items: list[HolderChange[GuardClaim]], change: ItemChange) -> list[HolderChange[GuardClaim]]:
    """The items that a change is the first to concern, in the order of their actions."""
    if len(items) < 2 or change.before is None:
        return items
    if isinstance(change, ItemDelete):
        return items  # its class had them in this order
    names = list(change.mapping.constraints)

    def place(one: HolderChange[GuardClaim]) -> int:
        name = (one.new or one.old)[-1].label[0][0]
        return names.index(name) if name in names else 0

    return sorted(items, key=place)


def _action(derived: HolderChange[GuardClaim], reads: Reads, unit: UnitOfWork) -> Planned | None:
    """The one action that an item needs; None if it stays as it is."""
    old, new = derived.old[-1] if derived.old else None, derived.new[-1] if derived.new else None
    if new is None:
        return None if old is None else _release(old, reads, unit)
    image, says = new.image, new.label[1]
    if old is None:
        return claim_of(image, new.label, _unclaimed(image.mapping, says.owner, unit), unit)
    before = old.label[1]
    if before == says:
        return None
    condition = _passed_on(image.mapping.table.guards, before.owner, says.owner, unit)
    taken = claim_of(image, new.label, condition, unit)
    purpose = GuardPurpose.CLAIM if before.owner == says.owner else GuardPurpose.PASS_ON
    return replace(taken, purpose=purpose, before={**taken.item_key, OWNER: before.owner})


def _claims_of_new(image: EntitySide, unit: UnitOfWork) -> list[Planned]:
    """The actions on the items of a new entity, if nobody else had or gets them."""
    found = _claims(image)
    if not found:
        return []
    says = says_of(image)
    free = _unclaimed(image.mapping, says.owner, unit)  # the same for all of them
    return [claim_of(image, (claim, says), free, unit) for claim in found]


def constrained_by(constraint: str, home: Table) -> list[EntityMapping]:
    """The classes with a constraint whose guard items are in a table."""
    return [one for one in GUARDS.classes_with_items_in(home) if constraint in one.constraints]


def owner_named(planned: Planned, guard: Item) -> Key[Any] | None:
    """The entity that a guard item names as its owner, of whatever class with the value; None if it names none."""
    owner, home = owner_in(guard), planned.table
    if not owner:
        return None
    others = (one.table for one in constrained_by(planned.label[0], home))
    for table in dict.fromkeys([planned.mapping.table, *others]):
        if (key := key_in(owner, table)) is not None:
            # Of classes whose keys are alike, the owner is one with unique values.
            known = catalog_of(table).mappings.items()
            return found_key({name: one for name, one in known if one.constraints}, key)
    return found_key({}, without_table(owner))


def _claims(image: EntitySide) -> list[Claim]:
    """The unique values of an entity that are asked for."""
    mapping, item, changed = image.mapping, image.item, image.changed
    asked = mapping.constraints
    if changed is not None:
        guards = mapping.made_of.guards
        asked = {name: one for name, one in asked.items() if not guards[name].isdisjoint(changed)}
    if not asked:
        return []
    return claims(mapping, mapping.subject(item, image.values), asked)


def says_of(image: EntitySide) -> GuardContent:
    """What the guard items of an entity say."""
    return GuardContent(owner_of(image.mapping.table, image.key), image.mapping.loader.expiry_of(image.item))


def claim_of(image: EntitySide, held: GuardClaim, free: Condition, unit: UnitOfWork) -> Planned:
    """Put the guard item of an entity, under a condition."""
    mapping, home = image.mapping, image.mapping.table.guards
    claim, says = held
    item = claim[1].in_table(home)
    item[OWNER] = says.owner
    if says.expiry is not None and mapping.expires is not None:
        item[mapping.expires.attribute] = {"N": str(says.expiry)}
    put = Put(unit.table_name(home.name), item, free)
    return Planned(put, GUARDS, GuardPurpose.CLAIM, mapping, image.key, None, item, label=claim)


def _release(old: Holding[GuardClaim], reads: Reads, unit: UnitOfWork) -> Planned | None:
    image, (claim, says) = old.image, old.label
    mapping, home = image.mapping, image.mapping.table.guards
    key = claim[1].in_table(home)
    if reads.foreign and ident_of(home, key) in reads.foreign:
        return None
    delete = Delete(unit.table_name(home.name), key, _RELEASES.of(says.owner))
    before = {**key, OWNER: says.owner}
    return Planned(delete, GUARDS, GuardPurpose.RELEASE, mapping, image.key, before, label=claim)


def release_as_read(
    mapping: EntityMapping, owner: Item, read: tuple[Claim, Item], unit: UnitOfWork
) -> Planned:
    """Delete a guard item whose owner does not hold the value. ``owner``: a primary key, to name it.

    ``read``: the value, and the guard item as it was read.
    """
    claim, stored = read
    home = mapping.table.guards
    key = claim[1].in_table(home)
    delete = Delete(unit.table_name(home.name), key, _as_read(home, stored))
    return Planned(delete, GUARDS, GuardPurpose.RELEASE, mapping, mapping.key_of(owner), label=claim)


# -- conditions --------------------------------------------------------------------------------------------------------

_OWNER: Final = Attr((OWNER,))
_UNOWNED: Final = missing(OWNER)


def _unclaimed(mapping: EntityMapping, owner: AttributeValue, unit: UnitOfWork) -> Condition:
    """Nothing is stored, or the guard is the claimer's already, or it has expired."""
    home = mapping.table.guards
    if home.expiry is None:
        return _unclaimed_pattern(home.pk.name).of(owner)
    return Or((missing(home.pk.name), Compare(_OWNER, "=", owner), *_expired(home, unit)))


def _as_read(home: Table, stored: Item | None) -> Condition:
    """The guard item is as it was read, or still absent."""
    if stored is None:
        return missing(home.pk.name)
    found = all_of(exists(home.pk.name), as_in(stored, beside_key(home)))
    assert found is not None
    return found


def _passed_on(home: Table, old: AttributeValue, new: AttributeValue, unit: UnitOfWork) -> Condition:
    """The guard is the old or the new holder's, or has no owner, or has expired."""
    owners = [new] if old == new else [new, old]
    mine = [Compare(_OWNER, "=", owner) for owner in owners]
    return Or((_UNOWNED, *mine, *_expired(home, unit)))


def _expired(home: Table, unit: UnitOfWork) -> tuple[Condition, ...]:
    return () if home.expiry is None else (home.expiry.condition(unit.now, CLAIM_MARGIN),)


@cache
def _unclaimed_pattern(pk: str) -> Pattern:
    absent = missing(pk)
    return Pattern(lambda owner: Or((absent, Compare(_OWNER, "=", owner))))


_RELEASES: Final = Pattern(lambda owner: Or((_UNOWNED, Compare(_OWNER, "=", owner))))
