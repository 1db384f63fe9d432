"""The deletion of a target is refused while something is counted in it, where its ``Aggregate`` says so."""

from collections.abc import Mapping

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import StillCounted
from dynaorm.item.condition import Condition, all_of, any_of_conditions, equals, missing
from dynaorm.item.evaluate import holds
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.planned import Planned


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
        name for name, value in planned.totals.items() if not holds(_is_total(mapping, name, value), item)
    ]
    if not wrong:
        return None
    stored = {name: mapping.subject(item)[name] for name in wrong}
    return StillCounted(
        key=planned.subject,
        aggregates=tuple(dict.fromkeys(keepers[name] for name in wrong)),
        totals=dict(mapping.secrets.hiding(stored)),
    )
