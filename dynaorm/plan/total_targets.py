"""What a unit of work adds to the targets of totals: in the write of a target that it writes, and by one ADD otherwise.

Rule 1. A target that is only checked, or saved without a change, is written if a total of it changes.
Rule 2. A put item takes over the totals of the item that it replaces, and then what the unit of work adds.
Rule 3. A target that is not written otherwise needs no read, and its ADD does not conflict with other writers. Joining
        requires an existing target, unless the target can be made of its key. Leaving a missing target is ignored: its
        action is dropped.
"""

from collections.abc import Sequence
from decimal import Decimal

from dynaorm.entity.declare.catalog import catalog_of, of_type
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import ident_of
from dynaorm.item.action import Update
from dynaorm.item.condition import Condition, all_of, any_of_conditions, exists, missing
from dynaorm.item.value import EXACT, same
from dynaorm.plan.changes import ItemIntents
from dynaorm.plan.derived import before_and_after, derived_items
from dynaorm.plan.derived_kinds import create_from_key
from dynaorm.plan.edit import refuse_maintained
from dynaorm.plan.intent import UNREAD, AsRead, Reads, UnitOfWork, target_of_intent
from dynaorm.plan.plan import Basis, Planned
from dynaorm.plan.stored import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    LoadedEntity,
    StoredItem,
    refuse_other_revision,
)
from dynaorm.plan.totals import (
    NO_TOTAL,
    TOTALS,
    TotalDelta,
    TotalPurpose,
    TotalsAreZero,
    check_totals,
    is_target,
    no_target,
    number_of_total,
    restricting_totals,
    total_bounds,
)
from dynaorm.record import replace


def with_additions(
    changes: list[ItemChange], merged: Sequence[ItemIntents]
) -> tuple[list[ItemChange], list[TotalDelta]]:
    """The changes with what others add to the items that they write, and what is added to other items.

    Raises:
        UsageError (and InvalidValue, if it is inserted): a total is written by hand.
        EntityNotFound: an entity joins an item that is no target of its kind.
    """
    for change in changes:  # a loop, because every save asks
        if change.mapping.table.rules.is_counted:
            return _with_additions(changes, merged)
    return changes, []


def _with_additions(
    changes: Sequence[ItemChange], merged: Sequence[ItemIntents]
) -> tuple[list[ItemChange], list[TotalDelta]]:
    written = {ident_of(change.mapping.table, change.key): _own_totals(change) for change in changes}
    intents = {one.ident: one for one in merged}
    left: list[TotalDelta] = []
    items = derived_items((before_and_after(one, at) for at, one in enumerate(written.values())), TOTALS)
    found = (TOTALS.delta(derived) for some in items for derived in some)
    deltas = {delta.ident: delta for delta in found if delta is not None}
    for ident, delta in deltas.items():
        one = intents.get(ident)
        own = written.get(ident) or (_unchanged(one) if one is not None else None)
        if one is None or own is None:
            left.append(delta)
        else:
            written[ident] = _with_delta(own, delta, one)
    return [_restricted(one, deltas.get(ident)) for ident, one in written.items()], left


def _own_totals(change: ItemChange) -> ItemChange:
    """A put item takes over the totals of the item that it replaces. Raises UsageError for a total written by hand."""
    maintained = change.mapping.maintained
    if maintained and isinstance(change, ItemUpdate):
        refuse_maintained(change.mapping, change.changed)
    if maintained and isinstance(change, ItemInsert):
        for name in maintained:
            change = _take_over(change, name)
    return change


def _take_over(insert: ItemInsert, name: str) -> ItemInsert:
    mapping, before, state = insert.mapping, insert.before, insert.state
    attribute = mapping.fields[name].attribute
    given = insert.image.get(attribute, NO_TOTAL)
    is_replaced = before is not None and name in before.mapping.maintained
    stored = before.item.get(attribute, NO_TOTAL) if before is not None and is_replaced else NO_TOTAL
    loaded = state.item.get(attribute) if state is not None else None
    if not any(same(given, one) for one in (NO_TOTAL, stored, loaded)):
        keeper = mapping.maintained[name]
        raise mapping.errors.invalid(
            name,
            mapping.subject(insert.image)[name],
            f"is kept by {keeper}, and begins at 0",
            f"leave it out (detached(..., {name}=0) for a copy): saving what {keeper} counts changes it",
        )
    if same(given, stored):
        return insert
    return replace(insert, image={**insert.image, attribute: stored}, refreshed=insert.refreshed | {name})


def _restricted(change: ItemChange, delta: TotalDelta | None) -> ItemChange:
    """The deletion of a target, only if nothing is counted in it any more where that is declared."""
    mapping = change.mapping
    if not (isinstance(change, ItemDelete) and mapping.maintained):
        return change
    added = delta.totals if delta is not None else {}
    totals = {
        name: number_of_total(mapping, name, EXACT.minus(added.get(name, Decimal(0))))
        for name in restricting_totals(mapping)
    }
    return replace(change, requires=TotalsAreZero(totals)) if totals else change


def _unchanged(one: ItemIntents) -> ItemUpdate | None:
    """The write of a loaded target that was saved without a change; None if its key named it."""
    if one.write is None or one.write.state is None:
        return None
    state = one.write.state
    loaded = LoadedEntity(target_of_intent(one.write.intent), state)
    before = StoredItem(one.mapping, state.item)
    return ItemUpdate(one.mapping, one.key, before, {**state.item}, frozenset(), loaded)


def _with_delta(change: ItemChange, delta: TotalDelta, one: ItemIntents) -> ItemChange:
    """The write of a target that also adds to its totals."""
    if isinstance(change, ItemDelete):
        return change
    if not is_of(change.mapping, delta.mapping):
        is_unknown = change.before is None and not isinstance(change, ItemInsert)
        if is_unknown and is_of(delta.mapping, change.mapping):
            name = delta.mapping.entity.__name__
            raise one.refuse(f"is written as a {change.mapping.entity.__name__} and counted in as a {name}")
        if delta.joined:
            raise no_target(stored_key(delta.mapping, delta.key))
        return change
    if isinstance(change, ItemCheck):
        change = _write_of_checked(change, one)
    if isinstance(change, ItemEdit):
        bounds = all_of(change.bounds, total_bounds(change.mapping, delta.totals))
        return replace(change, edits=change.edits + delta.additions, bounds=bounds)
    check_totals(change.mapping, change.image, delta.totals)
    image = {**change.image}
    for name, total in delta.totals.items():
        attribute = change.mapping.fields[name].attribute
        stored = Decimal(image.get(attribute, NO_TOTAL)["N"])
        image[attribute] = number_of_total(change.mapping, name, EXACT.add(stored, total))
    added = frozenset(delta.totals)
    return replace(change, image=image, refreshed=change.refreshed | added, changed=change.changed | added)


def _write_of_checked(check: ItemCheck, merged: ItemIntents) -> ItemUpdate | ItemEdit:
    """The write of a target that was checked, under the same condition."""
    if check.before is None:
        return ItemEdit(check.mapping, check.key, (), check.condition)
    loaded = check.loaded
    if loaded is None:
        # The object that was checked would be stale after this commit, because of this very write.
        checked = ((one.intent.target, one.state) for one in merged.checks)
        loaded = next((LoadedEntity(entity, state) for entity, state in checked if state is not None), None)
    return ItemUpdate(
        check.mapping,
        check.key,
        replace(check.before, as_loaded=True),
        {**check.before.item},
        check.edited,
        loaded,
        is_edit=check.image is not None,
        altered=check.altered,
        condition=check.condition,
    )


# -- targets that are not written otherwise ----------------------------------------------------------------------------


def additions(deltas: Sequence[TotalDelta], reads: Reads, unit: UnitOfWork) -> list[Planned]:
    """The actions on items that the block adds to, and does not write otherwise. Raises UsageError."""
    found = [addition(delta, reads, unit) for delta in deltas]
    return [one for one in found if one is not None]


def addition(delta: TotalDelta, reads: Reads, unit: UnitOfWork) -> Planned | None:
    """The action that changes the totals of a target; None if the target is gone and no entity joins it."""
    read: AsRead = reads.items.get(delta.ident, UNREAD)
    if not delta.joined and read is not UNREAD and not is_target(delta.mapping, read):
        return None
    mapping, table = delta.mapping, delta.mapping.table
    if read is not UNREAD and read is not None:
        refuse_other_revision(mapping, read)
    if read is not UNREAD and (read is None or is_target(mapping, read)):
        check_totals(mapping, read, delta.totals)
    changes, made = delta.additions, None
    if delta.joined:
        made = create_from_key(mapping, delta.key, delta.values, added=delta.totals, now=unit.now)
    own_revision = None if table.revision is None else table.revision.own
    there, kind = exists(table.pk.name), all_of(_is_of_kind(mapping, read), own_revision)
    condition = all_of(there, kind)
    if made is not None:
        changes = (*made, *changes)
        if not _is_untyped(mapping, read):
            condition = any_of_conditions(missing(table.pk.name), kind) if kind is not None else None
    return Planned(
        Update(
            unit.table_name(table.name),
            delta.key,
            changes if table.revision is None else (*changes, table.revision.change(unit.write_id)),
            all_of(condition, total_bounds(mapping, delta.totals)),
        ),
        TOTALS,
        TotalPurpose.ADD,
        mapping,
        delta.key,
        basis=Basis(blind=made is None, from_read=not delta.joined),
    )


def _is_of_kind(mapping: EntityMapping, read: AsRead) -> Condition | None:
    """The condition on a target's type: its class's, or that of a class derived from it."""
    attribute = mapping.table.type_attribute
    if attribute is None:
        return None
    if _is_untyped(mapping, read):
        return missing(attribute)
    classes = [one for one in catalog_of(mapping.table).mappings.values() if is_of(one, mapping)]
    return of_type(classes, attribute)


def _is_untyped(mapping: EntityMapping, read: AsRead) -> bool:
    """Whether an item was read that lacks its type: its key alone says that it is a target."""
    attribute = mapping.table.type_attribute
    return attribute is not None and read is not UNREAD and read is not None and attribute not in read
