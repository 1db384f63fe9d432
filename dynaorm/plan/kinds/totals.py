"""Totals: a counted entity adds to each target that it names; what happens there is new less old.

Rule 1. What an entity contributes follows from its stored images: the old contribution is subtracted, the new one
        added. The write of the entity is conditional on the old image, so a total never counts what was not there.
Rule 2. A total belongs to the key it is stored under, not to an object: replacing an item keeps it, a new one begins
        at 0, and only contributions change it.
Rule 3. A target that is written in the same unit of work takes its contributions in that write. Any other gets one
        ADD without a read, which does not conflict with other writers; contributions that cancel send nothing.
Rule 4. Joining requires an existing target, unless the target can be made of its key. Leaving a missing target is
        ignored: its action is dropped.
Rule 5. An increment keeps to the bounds of a total by a condition of its action. It has none where the increment leads
        away from the bound, so that leaving a full target always succeeds. If the condition fails, the plan is compiled
        again with the target that was found, and the error names the total.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from dynaorm.entity.declare.catalog import catalog_of, of_type, stored_class
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.ident import Ident, ident_of
from dynaorm.entity.key import stored_key
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.table import Table
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import EntityNotFound, InvalidValue, StillCounted
from dynaorm.failure import texts_of
from dynaorm.item.action import Update
from dynaorm.item.condition import (
    Condition,
    all_of,
    any_of_conditions,
    equals,
    exists,
    missing,
)
from dynaorm.item.evaluate import holds
from dynaorm.item.update import AddTo, Change
from dynaorm.item.value import EXACT, AttributeValue, Item, number_text, same
from dynaorm.plan.bounds import limits
from dynaorm.plan.edit import refuse_written_totals
from dynaorm.plan.image import refuse_other_revision
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
from dynaorm.plan.kinds.derived import DerivedItem, DerivedKind, Held, Image, derived_items, sides_of
from dynaorm.plan.kinds.new_target import can_be_made, made_of_key
from dynaorm.plan.merge_intents import ItemIntents
from dynaorm.plan.planned import Basis, FailedAction, Judged, Planned, Purpose, StaleKnowledge
from dynaorm.plan.reads import Reads
from dynaorm.plan.unit_of_work import UnitOfWork

_ZERO: Final[AttributeValue] = {"N": "0"}
_UNREAD: Final[Any] = object()


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


class Contribution(NamedTuple):
    """What one entity adds to the totals of one target, by one ``Aggregate``."""

    aggregate: str
    delta: TotalDelta


class Totals(DerivedKind[Contribution]):
    """The totals of targets, by what their holders contribute."""

    is_summed = True

    def __reduce__(self) -> str:
        return "TOTALS"

    def follows_from(self, mapping: EntityMapping) -> bool:
        return bool(mapping.aggregates)

    def held_by(self, image: Image) -> Iterator[Held[Contribution]]:
        mapping, item, changed = image.mapping, image.item, image.changed
        if not mapping.aggregates or mapping.is_tombstone(item):
            return
        values = mapping.subject(item)
        for one in mapping.aggregates.values():
            if changed is not None and one.depends_on.isdisjoint(changed):
                continue
            try:
                delta = _contribution(mapping, one, item, values)
            except InvalidValue:  # a stored value that cannot be part of the target's key was never counted
                if not image.is_stored:
                    raise
                continue
            if delta is not None:
                yield Held(delta.ident, image, Contribution(one.name, delta))

    def place(self, held: Held[Contribution]) -> tuple[Table, Item]:
        delta = held.label.delta
        return delta.mapping.table, delta.key

    def tables_beside(self, mapping: EntityMapping) -> Iterable[Table]:
        for target in (mapping, *targets_of(mapping)):
            yield from (one.table for one in (*sources_of(target), target))

    def tables_reached(self, table: Table) -> Iterable[Table]:
        return [target.table for one in catalog_of(table).mappings.values() for target in targets_of(one)]

    def delta(self, derived: DerivedItem[Contribution]) -> TotalDelta | None:
        """What the holders of totals add together, new less old; None for nothing."""
        before = {(one.label.aggregate, one.image.at) for one in derived.old}
        steps = [(one, Decimal(-1)) for one in derived.old] + [(one, Decimal(1)) for one in derived.new]
        steps.sort(key=lambda step: (step[0].image.at, step[1]))
        found = steps[0][0].label.delta._replace(totals={})
        for held, sign in steps:
            name, delta = held.label
            found = found.plus(delta, sign, joined=sign > 0 and (name, held.image.at) not in before)
        totals = {name: total for name, total in found.totals.items() if total}
        return found._replace(totals=totals) if totals else None

    def action(self, derived: DerivedItem[Contribution], reads: Reads, unit: UnitOfWork) -> Planned | None:
        delta = self.delta(derived)
        return None if delta is None else addition(delta, reads, unit)

    def judged(self, failed: FailedAction, now: float) -> Judged:
        planned, item = failed.planned, failed.item
        # Joining requires a target. A plan that leaves it, whose target has no type, or whose total would break a bound
        # is compiled again with the item.
        is_to_be_made = item is None and not planned.blind
        if planned.from_read or is_to_be_made or is_target(planned.mapping, item):
            return StaleKnowledge({planned.ident: item})
        return not_found(planned.mapping, planned.subject, item, now)

    def reason(self, planned: Planned) -> str:
        assert isinstance(planned.action, Update)
        mapping = planned.mapping
        names = {field.attribute: name for name, field in mapping.fields.items()}
        added = {
            names[str(change.path[0])]: change.value["N"]
            for change in planned.action.changes
            if isinstance(change, AddTo) and change.path[0] in names
        }
        texts = texts_of(mapping.secrets.hiding(added), str)
        totals = " and ".join(f"{text} to {name}" for name, text in texts.items())
        keepers = dict.fromkeys(mapping.maintained[name] for name in added)
        provided = ", if it exists" if planned.blind else ", or make it of its key"
        told = f"add {totals} of {planned.name} for {' and '.join(keepers)}{provided}"
        return told + "".join(_when_counted(mapping, added))


TOTALS: Final = Totals()


def _when_counted(target: EntityMapping, totals: Iterable[str]) -> Iterable[str]:
    """The conditions under which entities are counted in these totals, in words."""
    texts = dict[str, None]()
    for source in catalog_of(target.table).counted.values():
        for one in source.aggregates.values():
            text = one.when.text(source.secrets.fields) if one.when is not None else ""
            if text and is_of(target, mapping_of(one.target)) and {*one.maintained} & {*totals}:
                texts[f"; {source.entity.__name__}.{one.name} counts where {text}"] = None
    return texts


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
    items = derived_items((sides_of(one, at) for at, one in enumerate(written.values())), TOTALS)
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


def targets_of(source: EntityMapping) -> list[EntityMapping]:
    """The classes in which the entities of a class are counted."""
    return [mapping_of(one.target) for one in source.aggregates.values()]


def sources_of(target: EntityMapping) -> Iterator[EntityMapping]:
    """The classes that are counted in the totals of a class."""
    for source in catalog_of(target.table).counted.values():
        if any(is_of(target, one) for one in targets_of(source)):
            yield source


# -- contributions -----------------------------------------------------------------------------------------------------


def contributions(mapping: EntityMapping, item: Item) -> Iterator[TotalDelta]:
    """What an entity, as it is stored, adds to each total. Raises DecodeError, UsageError."""
    return (held.label.delta for held in TOTALS.held_by(Image(mapping, mapping.key_of(item), item)))


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


# -- targets that are not written themselves ---------------------------------------------------------------------------


def is_target(mapping: EntityMapping, item: Item | None) -> bool:
    """Whether an item under a target's key is such a target."""
    stored = stored_class(mapping, item) if item is not None else None
    return stored is not None and is_of(stored, mapping)


def addition(delta: TotalDelta, reads: Reads, unit: UnitOfWork) -> Planned | None:
    """The action that changes the totals of a target; None if the target is gone and no entity joins it."""
    read = reads.items.get(delta.ident, _UNREAD)
    if not delta.joined and read is not _UNREAD and not is_target(delta.mapping, read):
        return None
    mapping, table = delta.mapping, delta.mapping.table
    if read is not _UNREAD and read is not None:
        refuse_other_revision(mapping, read)
    there, kind = (
        exists(table.pk.name),
        all_of(_is_of_kind(mapping, read), None if table.revision is None else table.revision.own),
    )
    makes = delta.joined and can_be_made(mapping)
    condition = all_of(there, kind)
    if makes and not _is_untyped(mapping, read):
        condition = any_of_conditions(missing(table.pk.name), kind) if kind is not None else None
    if read is not _UNREAD and (read is None or is_target(mapping, read)):
        check_totals(mapping, read, delta.totals)
    condition = all_of(condition, total_bounds(mapping, delta.totals))
    changes = delta.additions
    if makes:
        made = made_of_key(mapping, delta.key, delta.values, added=delta.totals, now=unit.now)
        changes = (*made, *changes)
    if table.revision is not None:
        changes = (*changes, table.revision.change(unit.write_id))
    return Planned(
        Update(unit.table_name(table.name), delta.key, changes, condition),
        TOTALS,
        Purpose.AGGREGATE,
        mapping,
        delta.key,
        basis=Basis(blind=not makes, from_read=not delta.joined),
    )


def _is_of_kind(mapping: EntityMapping, read: Any) -> Condition | None:
    """The condition on a target's type: its class's, or that of a class derived from it."""
    attribute = mapping.table.type_attribute
    if attribute is None:
        return None
    if _is_untyped(mapping, read):
        return missing(attribute)
    classes = [one for one in catalog_of(mapping.table).mappings.values() if is_of(one, mapping)]
    return of_type(classes, attribute)


def _is_untyped(mapping: EntityMapping, read: Any) -> bool:
    """Whether an item was read that lacks its type: its key alone says that it is a target."""
    attribute = mapping.table.type_attribute
    return attribute is not None and read is not _UNREAD and read is not None and attribute not in read


# -- the bounds of totals ----------------------------------------------------------------------------------------------


_RISING: Final = ("le", "lt")


def total_bounds(mapping: EntityMapping, totals: Mapping[str, Decimal]) -> Condition | None:
    """The condition under which numbers may be added to the totals of a target; an absent total is 0."""
    return all_of(*(one for name, added in totals.items() for one in _bounds(mapping, name, added)))


def _bounds(mapping: EntityMapping, name: str, added: Decimal) -> Iterator[Condition]:
    attribute = mapping.fields[name].attribute
    bounds = mapping.rules.fields[name].bounds or {}
    near = {bound: limit for bound, limit in bounds.items() if (added > 0) is (bound in _RISING)}
    for compare in limits(attribute, near, added):
        from_zero = holds(compare, {attribute: {"N": "0"}})
        yield any_of_conditions(missing(attribute), compare) if from_zero else compare


def check_totals(mapping: EntityMapping, item: Item | None, totals: Mapping[str, Decimal]) -> None:
    """Raises InvalidValue if numbers cannot be added to the totals of a target, or of one that is made (None)."""
    for name, added in totals.items():
        attribute = mapping.fields[name].attribute
        stored = item.get(attribute, {}) if item is not None else {}
        if not all(
            holds(one, {attribute: stored} if stored else {}) for one in _bounds(mapping, name, added)
        ):
            raise _broken(mapping, name, Decimal(stored.get("N", "0")) + added)


def _broken(mapping: EntityMapping, name: str, total: Decimal) -> InvalidValue:
    bounds = mapping.rules.fields[name].bounds or {}
    text = " and ".join(f"{bound}={limit}" for bound, limit in bounds.items())
    return mapping.invalid(
        name,
        total,
        f"would break {text}; {mapping.maintained[name]} keeps it",
        "delete or change what it counts first, or give the field other bounds",
    )


def is_in_bounds(mapping: EntityMapping, name: str, total: Decimal) -> bool:
    """Whether a total may be stored."""
    bounds = mapping.rules.fields[name].bounds or {}
    attribute = mapping.fields[name].attribute
    image = {attribute: {"N": number_text(total)}}
    return all(holds(one, image) for one in limits(attribute, bounds, Decimal(0)))


# -- targets that are deleted ------------------------------------------------------------------------------------------


def restricting_totals(mapping: EntityMapping) -> dict[str, str]:
    """The totals that keep an entity from being deleted, each with the ``Aggregate`` that declares it."""
    return {
        name: f"{source.entity.__name__}.{one.name}"
        for source in catalog_of(mapping.table).counted.values()
        for one in source.aggregates.values()
        if one.restrict and is_of(mapping, mapping_of(one.target))
        for name in one.maintained
    }


def restriction(mapping: EntityMapping, totals: Mapping[str, AttributeValue]) -> Condition | None:
    """The condition that a target has the totals with which it may be deleted; None for no totals."""
    return all_of(*(_is_total(mapping, name, value) for name, value in totals.items()))


def _is_total(mapping: EntityMapping, name: str, value: AttributeValue) -> Condition:
    attribute = mapping.fields[name].attribute
    equal = equals(attribute, value)
    return any_of_conditions(missing(attribute), equal) if value == {"N": "0"} else equal


def still_counted(planned: Planned, item: Item) -> StillCounted | None:
    """The error of a deletion that the totals of the stored item forbid; None if they do not."""
    mapping, keepers = planned.mapping, restricting_totals(planned.mapping)
    wrong = [
        name
        for name, value in planned.basis.totals.items()
        if not holds(_is_total(mapping, name, value), item)
    ]
    if not wrong:
        return None
    stored = {name: mapping.subject(item)[name] for name in wrong}
    return StillCounted(
        key=planned.subject,
        aggregates=tuple(dict.fromkeys(keepers[name] for name in wrong)),
        totals=dict(mapping.secrets.hiding(stored)),
    )
