"""Filters: what else has to hold of the items of a query, in the names they are stored under."""

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.resolve import FieldResolver
from dynaorm.errors import UsageError
from dynaorm.item.condition import Attr, Condition, IsIn, Missing, Or, all_of, paths_of
from dynaorm.item.resolve import resolve
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
        all_of(*(resolve(one, FieldResolver(source.mapping)) for one in spec.filters))
        for source in spec.sources
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
