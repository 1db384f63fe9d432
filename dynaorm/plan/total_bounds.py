"""The bounds of totals: ``members: Annotated[int, Field(le=10)] = 0`` limits what an increment may lead to.

Rule 1. An increment that nothing was read for keeps to a bound by a condition of its action. It has none where the
        increment leads away from the bound, so that leaving a full target always succeeds.
Rule 2. If the condition fails, the plan is compiled again with the target that was found. The error names the total.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.errors import InvalidValue
from dynaorm.item.condition import Condition, all_of, any_of_conditions, missing
from dynaorm.item.evaluate import holds
from dynaorm.item.value import Item, number_text
from dynaorm.plan.bounds import limits

_RISING = ("le", "lt")


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
