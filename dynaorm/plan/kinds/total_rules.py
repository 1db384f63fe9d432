"""What a write may make of the totals of one target: within their bounds, and deleted only if nothing is counted.

Rule 1. An increment keeps to the bounds of a total by a condition of its action. It has none where the increment leads
        away from the bound, so that leaving a full target always succeeds. If the condition fails, the plan is compiled
        again with the target that was found, and the error names the total.
Rule 2. A target with a total that restricts can be deleted only if this total will be 0.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.key import Key
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import InvalidValue, StillCounted
from dynaorm.item.condition import Condition, all_of, any_of_conditions, equals, holds, missing
from dynaorm.item.value import AttributeValue, Item, number_text
from dynaorm.plan.rule_conditions import limits
from dynaorm.plan.stored import Requirement
from dynaorm.record import record

# -- bounds ------------------------------------------------------------------------------------------------------------

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
    return all(holds(one, image) for one in limits(attribute, bounds, Decimal(0)))


# -- deletions ---------------------------------------------------------------------------------------------------------


def restricting_totals(mapping: EntityMapping) -> dict[str, str]:
    """The totals that keep an entity from being deleted, each with the ``Aggregate`` that declares it."""
    return {
        name: f"{source.entity.__name__}.{one.name}"
        for source in catalog_of(mapping.table).counted.values()
        for one in source.aggregates.values()
        if one.restrict and is_of(mapping, mapping_of(one.target))
        for name in one.maintained
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
