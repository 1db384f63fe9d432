"""Filters of a query, in the attribute names of the stored items."""

from itertools import product

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
    """The filter in attribute names, which all classes must share.

    Raises:
        UnknownField, InvalidValue: a class has no such field, or the field no such value.
        UsageError: a field is a key of the table or index, or two classes store it differently.
    """
    if not spec.filters:
        return None
    found = [
        all_of(*(_wherever_stored(one, source.mapping) for one in spec.filters)) for source in spec.sources
    ]
    if any(other != found[0] for other in found):
        raise UsageError(
            problem=f"{spec} store the fields of the filter differently",
            remedy="query the classes one by one",
        )
    keys = {key.name for key in spec.source.keys} if spec.segments is None else set[str]()
    if found[0] is not None and spec.source.is_whole:
        for path in sorted(paths_of(found[0]), key=str):
            if path[0] in keys:
                raise UsageError(
                    problem=f"the filter names {path[0]!r}, a key of {spec}, and DynamoDB refuses that",
                    remedy="give it in the call, or use .ge(...), .between(...), .begins_with(...)",
                )
    return found[0]


def of_classes(spec: QuerySpec) -> Condition | None:
    """The condition that an item is of one of the classes; None where the table has no type attribute."""
    attribute = spec.source.table.type_attribute
    if attribute is None or not spec.source.is_whole:
        return None
    wanted = tuple(source.mapping.entity for source in spec.sources)
    names = [name for name, one in spec.source.table.mappings.items() if issubclass(one.entity, wanted)]
    return Or((IsIn(Attr((attribute,)), tuple({"S": name} for name in names)), Missing((attribute,))))


def _wherever_stored(condition: Condition, mapping: EntityMapping) -> Condition:
    """The condition in attribute names. A field with former names is compared under the name that the item has."""
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
    """The condition that a field is stored under this name; an absent field counts as stored under its present name."""
    if name == field.attribute:
        elsewhere = Or(tuple(Exists((former,)) for former in field.formerly))
        return Or((Exists((name,)), Not(elsewhere)))
    earlier = field.formerly[: field.formerly.index(name)]
    return And((*(Missing((one,)) for one in (field.attribute, *earlier)), Exists((name,))))
