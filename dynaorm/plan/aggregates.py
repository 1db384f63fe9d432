"""Totals: what the writes of a unit of work add to them and subtract from them, one action per target.

Rule 1. What an entity contributes follows from its stored images: the old contribution is subtracted, the new one
        added. The write of the entity is conditional on the old image, so a total never counts what was not there.
Rule 2. A total belongs to the key it is stored under, not to an object: replacing an item keeps it, a new one begins
        at 0, and only contributions change it.
Rule 3. A target that is written in the same unit of work takes its contributions in that write. Any other gets one
        ADD without a read, which does not conflict with other writers; contributions that cancel send nothing.
Rule 4. Joining requires an existing target, unless the target can be made of its key. Leaving a missing target is
        ignored: its action is dropped.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.ident import Ident, ident_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import EntityNotFound, InvalidValue
from dynaorm.item.condition import all_of
from dynaorm.item.update import AddTo, Change
from dynaorm.item.value import EXACT, AttributeValue, Item, number_text, same
from dynaorm.plan.edit import refuse_written_totals
from dynaorm.plan.intent import target_of_intent
from dynaorm.plan.item_change import (
    ItemChange,
    ItemCheck,
    ItemDelete,
    ItemEdit,
    ItemInsert,
    ItemUpdate,
    LoadedEntity,
    StoredItem,
)
from dynaorm.plan.merge_intents import ItemIntents
from dynaorm.plan.restriction import restricting_totals
from dynaorm.plan.total_bounds import check_totals, total_bounds

_ZERO: Final[AttributeValue] = {"N": "0"}


class TotalDelta(NamedTuple):
    """What a unit of work adds to the totals of one target.

    Attributes:
        mapping: the target's class.
        key: its primary key.
        values: the values of its key fields.
        totals: the target's fields, each with the number that is added.
        joined: an entity names the target that did not name it before, so the target has to exist, or to be made.
    """

    mapping: EntityMapping
    key: Item
    values: Mapping[str, Any]
    totals: Mapping[str, Decimal]
    joined: bool = False

    @property
    def ident(self) -> Ident:
        return ident_of(self.mapping.table, self.key)

    @property
    def additions(self) -> tuple[Change, ...]:
        """The numbers added, as changes of the stored item. Raises InvalidValue."""
        return tuple(
            AddTo((self.mapping.fields[name].attribute,), _number(self.mapping, name, total))
            for name, total in self.totals.items()
        )

    def plus(self, other: "TotalDelta", sign: Decimal, *, joined: bool) -> "TotalDelta":
        """Both together; ``sign`` is -1 for a contribution that is subtracted."""
        totals = {**self.totals}
        for name, number in other.totals.items():
            totals[name] = EXACT.add(totals.get(name, Decimal(0)), EXACT.multiply(sign, number))
        mapping = other.mapping if is_of(other.mapping, self.mapping) else self.mapping
        return self._replace(mapping=mapping, totals=totals, joined=self.joined or joined)


def settle_totals(
    changes: Sequence[ItemChange], merged: Sequence[ItemIntents]
) -> tuple[list[ItemChange], list[TotalDelta]]:
    """The changes with the totals of targets that are written themselves, and the deltas of other targets.

    A target that was only checked, or saved without a change, is written if a total of it changes.

    Raises:
        UsageError (and InvalidValue, if it is inserted): a total is written by hand.
        EntityNotFound: an entity joins an item that is no target of its kind.
    """
    written = {ident_of(one.mapping.table, one.key): _own_totals(one) for one in changes}
    intents = {one.ident: one for one in merged}
    left: list[TotalDelta] = []
    deltas = _deltas(written.values())
    for ident, delta in deltas.items():
        one = intents.get(ident)
        own = written.get(ident) or (_unchanged(one) if one is not None else None)
        if one is None or own is None:
            left.append(delta)
        else:
            written[ident] = _with_delta(own, delta, one)
    return [_restricted(one, deltas.get(ident)) for ident, one in written.items()], left


# -- contributions -----------------------------------------------------------------------------------------------------


def _deltas(changes: Iterable[ItemChange]) -> dict[Ident, TotalDelta]:
    found: dict[Ident, TotalDelta] = {}
    for change in changes:
        before = {(one.name, delta.ident): delta for one, delta in _contributions_before(change)}
        after = {(one.name, delta.ident): delta for one, delta in _contributions_after(change)}
        for side, sign in ((before, Decimal(-1)), (after, Decimal(1))):
            for (name, ident), delta in side.items():
                total = found.get(ident) or delta._replace(totals={})
                joined = side is after and (name, ident) not in before
                found[ident] = total.plus(delta, sign, joined=joined)
    nonzero = {
        ident: delta._replace(totals={name: total for name, total in delta.totals.items() if total})
        for ident, delta in found.items()
    }
    return {ident: delta for ident, delta in nonzero.items() if delta.totals}


def _contributions_before(change: ItemChange) -> Iterator[tuple[AggregateMapping, TotalDelta]]:
    if change.before is not None and not isinstance(change, ItemCheck):
        changed = change.changed if isinstance(change, ItemUpdate) else None
        yield from _stored_contributions(change.before.mapping, change.before.item, changed)


def _contributions_after(change: ItemChange) -> Iterator[tuple[AggregateMapping, TotalDelta]]:
    if isinstance(change, (ItemInsert, ItemUpdate)):
        changed = change.changed if isinstance(change, ItemUpdate) else None
        for one, values in _affected(change.mapping, change.image, changed):
            if (delta := _contribution(change.mapping, one, change.image, values)) is not None:
                yield one, delta


def _stored_contributions(
    mapping: EntityMapping, item: Item, changed: frozenset[str] | None
) -> Iterator[tuple[AggregateMapping, TotalDelta]]:
    for one, values in _affected(mapping, item, changed):
        try:
            delta = _contribution(mapping, one, item, values)
        except InvalidValue:  # a value that cannot be part of the target's key was never counted
            continue
        if delta is not None:
            yield one, delta


def _affected(
    mapping: EntityMapping, item: Item, changed: frozenset[str] | None
) -> Iterator[tuple[AggregateMapping, StoredValues]]:
    """The aggregates that depend on a changed field (any, if None), each with the values of the entity."""
    if mapping.aggregates and not mapping.is_tombstone(item):
        values = mapping.subject(item)
        for one in mapping.aggregates.values():
            if changed is None or not one.depends_on.isdisjoint(changed):
                yield one, values


def contributions(mapping: EntityMapping, item: Item) -> Iterator[TotalDelta]:
    """What an entity, as it is stored, adds to each total. Raises DecodeError, UsageError."""
    return (delta for _, delta in _stored_contributions(mapping, item, None))


def _contribution(
    mapping: EntityMapping, one: AggregateMapping, item: Item, values: StoredValues
) -> TotalDelta | None:
    try:
        key = {name: values[own] for name, own in one.key.items()}
    except KeyValueError as problem:
        raise mapping.invalid_key(problem) from mapping.cause_of(problem.field, problem)
    if any(value is None for value in key.values()) or not _counts(one, values):
        return None
    target = mapping_of(one.target)
    totals = {} if one.count is None else {one.count: Decimal(1)}
    totals |= {total: _summed(mapping, name, item, values) for name, total in one.sums.items()}
    return TotalDelta(target, target.rendered_key(key), key, totals)


def _counts(one: AggregateMapping, values: StoredValues) -> bool:
    return one.when is None or one.when.holds(values)


def _summed(mapping: EntityMapping, name: str, item: Item, values: Mapping[str, Any]) -> Decimal:
    """A summed number as stored, exactly; 0 for None."""
    one = mapping.fields[name]
    stored = None if one.in_key else one.stored_in(item)
    if stored is None and values[name] is not None:
        stored = one.codec.encode(values[name])
    return Decimal(stored["N"]) if stored is not None and "N" in stored else Decimal(0)


# -- targets that are written themselves -------------------------------------------------------------------------------


def _own_totals(change: ItemChange) -> ItemChange:
    """A put item takes over the totals of the item that it replaces. Raises UsageError for a total written by hand."""
    maintained = change.mapping.maintained
    if maintained and isinstance(change, ItemUpdate):
        refuse_written_totals(change.mapping, change.changed)
    if maintained and isinstance(change, ItemInsert):
        for name in maintained:
            change = _take_over(change, name)
    return change


def _take_over(insert: ItemInsert, name: str) -> ItemInsert:
    mapping, before, state = insert.mapping, insert.before, insert.state
    attribute = mapping.fields[name].attribute
    given = insert.image.get(attribute, _ZERO)
    is_replaced = before is not None and name in before.mapping.maintained
    stored = before.item.get(attribute, _ZERO) if before is not None and is_replaced else _ZERO
    loaded = state.item.get(attribute) if state is not None else None
    if not any(same(given, one) for one in (_ZERO, stored, loaded)):
        keeper = mapping.maintained[name]
        raise mapping.invalid(
            name,
            mapping.subject(insert.image)[name],
            f"is kept by {keeper}, and begins at 0",
            f"leave it out (detached(..., {name}=0) for a copy): saving what {keeper} counts changes it",
        )
    if same(given, stored):
        return insert
    return insert._replace(image={**insert.image, attribute: stored}, totals=insert.totals | {name})


def _restricted(change: ItemChange, delta: TotalDelta | None) -> ItemChange:
    """The deletion of a target, only if nothing is counted in it any more where that is declared."""
    mapping = change.mapping
    if not (isinstance(change, ItemDelete) and mapping.maintained):
        return change
    added = delta.totals if delta is not None else {}
    totals = {
        name: _number(mapping, name, EXACT.minus(added.get(name, Decimal(0))))
        for name in restricting_totals(mapping)
    }
    return change._replace(totals=totals)


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
            raise EntityNotFound(key=stored_key(delta.mapping, delta.key))
        return change
    if isinstance(change, ItemCheck):
        change = _write_of_checked(change, one)
    if isinstance(change, ItemEdit):
        bounds = all_of(change.bounds, total_bounds(change.mapping, delta.totals))
        return change._replace(edits=change.edits + delta.additions, bounds=bounds)
    check_totals(change.mapping, change.image, delta.totals)
    image = {**change.image}
    for name, total in delta.totals.items():
        attribute = change.mapping.fields[name].attribute
        stored = Decimal(image.get(attribute, _ZERO)["N"])
        image[attribute] = _number(change.mapping, name, EXACT.add(stored, total))
    added = frozenset(delta.totals)
    return change._replace(image=image, totals=change.totals | added, changed=change.changed | added)


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
        check.before._replace(as_loaded=True),
        {**check.before.item},
        check.edited,
        loaded,
        is_edit=check.image is not None,
        altered=check.altered,
        condition=check.condition,
    )


def _number(mapping: EntityMapping, name: str, total: Decimal) -> AttributeValue:
    try:
        return {"N": number_text(total)}
    except ValueError as problem:
        raise mapping.invalid(name, total, problem, "sum numbers that end alike, or fewer") from problem
