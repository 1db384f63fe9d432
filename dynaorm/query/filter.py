"""Filters: what else has to hold of the items of a query, in the names they are stored under."""

from itertools import product

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import UsageError
from dynaorm.item.condition import (
    And,
    Attr,
    Condition,
    Exists,
    IsIn,
    Missing,
    Not,
    Or,
    all_of,
    paths_of,
    resolve,
)
from dynaorm.item.value import Item
from dynaorm.query.query_spec import QuerySpec


def resolved_filter(spec: QuerySpec) -> Condition | None:
    """The filter in stored names, the same for all classes.

    Raises:
        UnknownField, InvalidValue: a field or value is not a class's.
        UsageError: a field is a key of what is asked, or stored differently by two of the classes.
    """
    if not spec.filters:
        return None
    found = [
        all_of(*(_wherever_stored(one, source.mapping) for one in spec.filters)) for source in spec.sources
    ]
    if any(other != found[0] for other in found):
        raise UsageError(
            problem=f"the filter means something else in each of {spec}: they store its fields differently",
            remedy="query the classes one by one",
        )
    keys = {key.name for key in spec.source.keys} if spec.segments is None else set[str]()
    if found[0] is not None and spec.source.is_whole:
        for path in sorted(paths_of(found[0]), key=str):
            if path[0] in keys:
                raise UsageError(
                    problem=f"the filter names {path[0]!r}, a key of what is asked, and DynamoDB refuses that",
                    remedy="ask for it in the call, or with .ge(...), .between(...), .begins_with(...)",
                )
    return found[0]


def of_classes(spec: QuerySpec) -> Condition | None:
    """What tells the items of the classes from others, as far as the table has a type attribute."""
    attribute = spec.source.table.type_attribute
    if attribute is None or not spec.source.is_whole:
        return None
    wanted = tuple(source.mapping.entity for source in spec.sources)
    names = [
        name for name, one in catalog_of(spec.source.table).mappings.items() if issubclass(one.entity, wanted)
    ]
    return Or((IsIn(Attr((attribute,)), tuple({"S": name} for name in names)), Missing((attribute,))))


def _wherever_stored(condition: Condition, mapping: EntityMapping) -> Condition:
    """The condition in stored names. A field that has former names is asked for where the item has it."""
    names = sorted({str(path[0]) for path in paths_of(condition)} & mapping.fields.keys())
    renamed = [mapping.fields[name] for name in names if mapping.fields[name].formerly]
    if not renamed:
        return resolve(condition, FieldResolver(mapping))
    cases: list[Condition] = []
    for stored in product(*((field.attribute, *field.formerly) for field in renamed)):
        item: Item = {name: {} for name in stored}
        there = [_is_stored_as(field, name) for field, name in zip(renamed, stored, strict=True)]
        cases.append(And((*there, resolve(condition, FieldResolver(mapping, item)))))
    return Or(tuple(cases))


def _is_stored_as(field: FieldMapping, name: str) -> Condition:
    """That reads find a field under this name; nowhere at all counts as its present one."""
    if name == field.attribute:
        elsewhere = Or(tuple(Exists((former,)) for former in field.formerly))
        return Or((Exists((name,)), Not(elsewhere)))
    earlier = field.formerly[: field.formerly.index(name)]
    return And((*(Missing((one,)) for one in (field.attribute, *earlier)), Exists((name,))))
