"""Totals: what a write adds to each total, and what it may make of it."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from dynaorm.entity.codec.value import scalar_codec
from dynaorm.entity.declare.catalog import catalog_of, stored_class
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.foreign_item import not_found
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.table import Ident, Table, ident_of
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import EntityNotFound, InvalidValue, StillCounted
from dynaorm.failure import texts_of
from dynaorm.item.action import Update
from dynaorm.item.condition import Condition, all_of, any_of_conditions, equals, holds, missing
from dynaorm.item.update import AddTo, Change
from dynaorm.item.value import EXACT, AttributeValue, Item, number_text
from dynaorm.plan.derived import DerivedKind, EntitySide, HolderChange, Holding
from dynaorm.plan.plan import (
    FailedAction,
    Judged,
    NeedsReplan,
    Operations,
    PartitionKey,
    Planned,
    Purpose,
)
from dynaorm.plan.rule_conditions import limits
from dynaorm.plan.stored import Requirement
from dynaorm.record import record

# What a write may make of the totals of one target: within their bounds, and deleted only if nothing is counted.
#
# Rule 1. An increment keeps to the bounds of a total by a condition of its action. It has none where the increment
#         leads away from the bound, so that leaving a full target always succeeds. If the condition fails, the plan is
#         compiled again with the target that was found, and the error names the total.
# Rule 2. A target with a total that restricts can be deleted only if this total will be 0.

# -- bounds ------------------------------------------------------------------------------------------------------------

_RISING: Final = ("le", "lt")


def total_bounds(mapping: EntityMapping, totals: Mapping[str, Decimal]) -> Condition | None:
    """The condition under which numbers may be added to the totals of a target; an absent total is 0."""
    return all_of(*(bound for name, added in totals.items() for bound in _bounds(mapping, name, added)))


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
            holds(bound, {attribute: stored} if stored else {}) for bound in _bounds(mapping, name, added)
        ):
            raise _broken(mapping, name, Decimal(stored.get("N", "0")) + added)


def _broken(mapping: EntityMapping, name: str, total: Decimal) -> InvalidValue:
    bounds = mapping.rules.fields[name].bounds or {}
    text = " and ".join(f"{bound}={limit}" for bound, limit in bounds.items())
    return mapping.errors.invalid(
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
    return all(holds(limit, image) for limit in limits(attribute, bounds, Decimal(0)))


# -- deletions ---------------------------------------------------------------------------------------------------------


def restricting_totals(mapping: EntityMapping) -> dict[str, str]:
    """The totals that keep an entity from being deleted, each with the ``Aggregate`` that declares it."""
    return {
        name: f"{source.entity.__name__}.{aggregate.name}"
        for source in catalog_of(mapping.table).counted.values()
        for aggregate in source.aggregates.values()
        if aggregate.restrict and is_of(mapping, mapping_of(aggregate.target))
        for name in aggregate.maintained
    }


@record
class TotalsAreZero(Requirement):
    """Nothing is counted in a target any more.

    Attributes:
        totals: the totals that restrict it, each with the value that it has to have: 0, unless the same unit of work
            ends what it counts.
    """

    totals: Mapping[str, AttributeValue]

    def condition(self, mapping: EntityMapping) -> Condition | None:
        return all_of(*(_is_total(mapping, name, value) for name, value in self.totals.items()))

    def refusal(self, key: Key[Any], mapping: EntityMapping, item: Item) -> StillCounted | None:
        wrong = [
            name for name, value in self.totals.items() if not holds(_is_total(mapping, name, value), item)
        ]
        if not wrong:
            return None
        keepers, values = restricting_totals(mapping), mapping.subject(item)
        return StillCounted(
            key=key,
            aggregates=tuple(dict.fromkeys(keepers[name] for name in wrong)),
            totals=dict(mapping.secrets.hiding({name: values[name] for name in wrong})),
        )

    def said(self) -> str:
        return f", and only if nothing is counted in {' and '.join(self.totals)} any more"


def _is_total(mapping: EntityMapping, name: str, value: AttributeValue) -> Condition:
    attribute = mapping.fields[name].attribute
    equal = equals(attribute, value)
    return any_of_conditions(missing(attribute), equal) if value == {"N": "0"} else equal


# Totals: a counted entity adds to each target that it names; what happens there is new less old.
#
# Rule 1. What an entity contributes follows from its stored images: the old contribution is subtracted, the new one
#         added. The write of the entity is conditional on the old image, so a total never counts what was not there.
# Rule 2. A total belongs to the key it is stored under, not to an object: replacing an item keeps it, a new one begins
#         at 0, and only contributions change it.
# Rule 3. A unit of work adds to each target once; contributions that cancel send nothing. How, is said in ``targets``.

NO_TOTAL: Final[AttributeValue] = {"N": "0"}


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
            AddTo((self.mapping.fields[name].attribute,), number_of_total(self.mapping, name, total))
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


class TotalPurpose(Purpose):
    """Why an action on the target of totals is in a plan."""

    ADD = "aggregate"


def no_target(key: Key[object]) -> EntityNotFound:
    """The error of a write that a total should count whose target is not stored."""
    return EntityNotFound(
        key=key,
        problem=f"nothing is stored under {key!r}, whose totals count what this write stores",
        remedy="save it first, or check the fields that lead to it",
    )


class Totals(DerivedKind[Contribution]):
    """The totals of targets, by what their holders contribute."""

    is_summed = True
    noun = "totals"

    def __reduce__(self) -> str:
        return "TOTALS"

    def follows_from(self, mapping: EntityMapping) -> bool:
        return bool(mapping.aggregates)

    def made_of(self, mapping: EntityMapping) -> Iterable[frozenset[str]]:
        return mapping.made_of.totals.values()

    def held_by(self, image: EntitySide) -> Iterator[Holding[Contribution]]:
        mapping, changed = image.mapping, image.changed
        if not mapping.aggregates:
            return
        values, fields = mapping.subject(image.item), mapping.made_of.totals
        for name, one in mapping.aggregates.items():
            if changed is not None and fields[name].isdisjoint(changed):
                continue
            if (delta := _contribution(one, image, values)) is not None:
                yield Holding(delta.ident, image, Contribution(one.name, delta))

    def place(self, held: Holding[Contribution]) -> tuple[Table, Item]:
        delta = held.label.delta
        return delta.mapping.table, delta.key

    def reason_to_read(self, mapping: EntityMapping, writer: str) -> str:
        if mapping.aggregates:
            return f"keeps totals in other entities ({', '.join(mapping.aggregates)}), and {writer} adds nothing up"
        if mapping.maintained:
            return f"has totals ({', '.join(mapping.maintained)}), and {writer} would write over them"
        return ""

    def tables_beside(self, mapping: EntityMapping) -> Iterable[Table]:
        for target in (mapping, *targets_of(mapping)):
            yield from (one.table for one in (*sources_of(target), target))

    def tables_reached(self, table: Table) -> Iterable[Table]:
        return [target.table for one in catalog_of(table).mappings.values() for target in targets_of(one)]

    def operations_of_writes(self, mapping: EntityMapping) -> Operations:
        return [(target.table, frozenset({"UpdateItem"})) for target in targets_of(mapping)]

    def partition_keys(self, mapping: EntityMapping) -> Iterable[PartitionKey]:
        return [(target, target.table, target.partition) for target in targets_of(mapping)]

    def delta(self, derived: HolderChange[Contribution]) -> TotalDelta | None:
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

    def judged(self, failed: FailedAction, now: float) -> Judged:
        planned, item = failed.planned, failed.item
        # Joining requires a target. A plan that leaves it, whose target has no type, or whose total would break a bound
        # is compiled again with the item.
        is_to_be_made = item is None and not planned.blind
        if planned.from_read or is_to_be_made or is_target(planned.mapping, item):
            return NeedsReplan({planned.ident: item})
        if item is None:
            return no_target(planned.subject)
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
        for aggregate in source.aggregates.values():
            text = aggregate.when.text(source.secrets.fields) if aggregate.when is not None else ""
            if text and is_of(target, mapping_of(aggregate.target)) and {*aggregate.maintained} & {*totals}:
                texts[f"; {source.entity.__name__}.{aggregate.name} counts where {text}"] = None
    return texts


def contended(mapping: EntityMapping) -> Iterator[tuple[type[Any], Mapping[str, str]]]:
    """The classes of the items in which writes of several entities of a class may meet.

    Each with the fields of its key, and the fields of the entity that name them.
    """
    for aggregate in mapping.aggregates.values():
        yield aggregate.target, aggregate.key
    if mapping.maintained:
        yield mapping.entity, {name: name for name in mapping.key_fields}


def targets_of(source: EntityMapping) -> list[EntityMapping]:
    """The classes of the items in which the entities of a class are counted, derived ones among them."""
    declared = [mapping_of(aggregate.target) for aggregate in source.aggregates.values()]
    known = (mapping for target in declared for mapping in catalog_of(target.table).mappings.values())
    return [one for one in known if any(is_of(one, target) for target in declared)]


def sources_of(target: EntityMapping) -> Iterator[EntityMapping]:
    """The classes that are counted in the totals of a class."""
    for source in catalog_of(target.table).counted.values():
        if any(is_of(target, mapping_of(aggregate.target)) for aggregate in source.aggregates.values()):
            yield source


# -- contributions -----------------------------------------------------------------------------------------------------


def contributions(mapping: EntityMapping, item: Item) -> Iterator[TotalDelta]:
    """What an entity, as it is stored, adds to each total. Raises DecodeError, UsageError."""
    return (held.label.delta for held in TOTALS.held_by(EntitySide(mapping, mapping.key_of(item), item)))


def _contribution(one: AggregateMapping, image: EntitySide, values: StoredValues) -> TotalDelta | None:
    """What an entity adds by one ``Aggregate``; None where it is not counted.

    A function that fails raises InvalidValue whether the entity is stored or not: it may have counted it before.
    """
    mapping = image.mapping
    try:
        key = {name: values[own] for name, own in one.key.items()}
        if any(value is None for value in key.values()) or not _counts(one, values):
            return None
        sums = {total: _summed(mapping, name, image.item, values) for name, total in one.sums.items()}
    except KeyValueError as problem:
        raise mapping.errors.invalid_key(problem) from mapping.errors.cause_of(problem.field, problem)
    target = mapping_of(one.target)
    totals = sums if one.count is None else {one.count: Decimal(1), **sums}
    try:
        return TotalDelta(target, target.primary_key.rendered(key), key, totals)
    except InvalidValue:
        if image.is_stored:  # No save accepted this value, so it was never counted.
            return None
        raise


def _counts(one: AggregateMapping, values: StoredValues) -> bool:
    return one.when is None or one.when.holds(values)


def _summed(mapping: EntityMapping, name: str, item: Item, values: Mapping[str, Any]) -> Decimal:
    """A summed number as stored, exactly; 0 for None. Raises KeyValueError for a computed value of another type."""
    one = mapping.fields.get(name)
    stored = None if one is None or one.in_key else one.stored_in(item)
    if stored is None and (value := values[name]) is not None:
        codec = one.codec if one is not None else scalar_codec(mapping.computed[name].scalar)
        try:
            stored = codec.encode(value)
        except ValueError as problem:
            raise KeyValueError.of(name, value, problem) from problem
    return Decimal(stored["N"]) if stored is not None and "N" in stored else Decimal(0)


def number_of_total(mapping: EntityMapping, name: str, total: Decimal) -> AttributeValue:
    """A number for a total, as it is stored. Raises InvalidValue."""
    try:
        return {"N": number_text(total)}
    except ValueError as problem:
        raise mapping.errors.invalid(
            name, total, problem, "sum numbers that end alike, or fewer"
        ) from problem


def is_target(mapping: EntityMapping, item: Item | None) -> bool:
    """Whether an item under a target's key is such a target."""
    stored = stored_class(mapping, item) if item is not None else None
    return stored is not None and is_of(stored, mapping)
