"""The key queries of a query: the requests that answer it, each for one partition or segment.

Rule 1. A request has one partition key value. Several partitions (shards, ``any_of``) are read together and merged.
Rule 2. DynamoDB's condition may match more than the query wants; ``admits`` drops the rest.
Rule 3. A filter on an index that projects only some attributes is evaluated on the whole items, fetched by key.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dynaorm.entity.mapping.mapping import DELETED
from dynaorm.errors import UsageError
from dynaorm.item.condition import (
    And,
    BeginsWith,
    Condition,
    all_of,
    equals,
    render,
)
from dynaorm.item.evaluate import holds
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.choose_key import KeyCondition, key_conditions_of, shard_fields
from dynaorm.query.filter import of_classes, resolved_filter
from dynaorm.query.key_range import KeyRange
from dynaorm.query.query_spec import QuerySpec
from dynaorm.record import record, replace

Admits: TypeAlias = Callable[[AttributeValue], bool]


@record
class KeyQuery:
    """One partition or segment to read.

    Attributes:
        operation: ``Query`` or ``Scan``.
        request: the request, without start key and limit.
        checks: key attributes, each with a check of its value.
        held: fields, and the values that entities must have in them.
        within: the condition of its keys; None for a scan.
    """

    operation: str
    request: Mapping[str, Any]
    checks: tuple[tuple[str, Admits], ...] = ()
    held: tuple[tuple[str, Any], ...] = ()
    within: Condition | None = None

    def passes(self, start: Item) -> bool:
        """Whether a key can be a start key. DynamoDB refuses one outside the key condition."""
        return self.within is None or holds(self.within, start)

    def admits(self, item: Item) -> bool:
        """Whether an item that was read is wanted."""
        for name, admits in self.checks:  # noqa: SIM110 - once per item, and a generator costs more than the check
            if not admits(item[name]):
                return False
        return True


@record
class KeyQueries:
    """The key queries of a query.

    Attributes:
        key_queries: the partitions or segments to read; empty where nothing can be found.
        local_filter: the filter to evaluate on whole items, where DynamoDB cannot evaluate it on the index.
    """

    key_queries: tuple[KeyQuery, ...]
    local_filter: Condition | None = None


def key_queries_of(spec: QuerySpec, table_name: Callable[[str], str], *, consistent: bool) -> KeyQueries:
    """The requests that answer a query. ``consistent``: the default, if the query does not set it.

    Raises:
        UsageError: no key serves the fields, or a filter names a key.
        InvalidValue: a value cannot be part of the key.
    """
    source = spec.source
    condition = resolved_filter(spec)
    local = None if source.is_whole else condition
    request: dict[str, Any] = {"TableName": table_name(source.table.name)}
    if source.index is not None:
        request["IndexName"] = source.index.name
    if (spec.consistent is None and consistent and not source.is_global) or spec.consistent:
        request["ConsistentRead"] = True
    if spec.descending:
        request["ScanIndexForward"] = False
    request["ReturnConsumedCapacity"] = "TOTAL"
    server = condition if source.is_whole else None
    if spec.segments is not None:
        return KeyQueries(_segments(spec, request, all_of(of_classes(spec), server)), local)
    conditions = [one for one in _key_conditions(spec) if not one.is_empty]
    found = [_key_query(spec, request, one, server) for one in conditions]
    return KeyQueries(tuple({repr(one.request): one for one in found}.values()), local)


def _key_query(
    spec: QuerySpec, request: Mapping[str, Any], key_condition: KeyCondition, server: Condition | None
) -> KeyQuery:
    source, names = spec.source, Placeholders()
    attributes = [part.attribute.name for part in source.sort]
    conditions = [
        *(
            equals(part.attribute.name, value)
            for part, value in zip(source.partition, key_condition.partition, strict=True)
        ),
        *(one.condition for one in key_condition.ranges if one.condition is not None),
    ]
    within = And(tuple(conditions)) if len(conditions) > 1 else conditions[0]
    key = render(within, names)
    checks = tuple(
        (name, one.admits)
        for name, one in zip(attributes, key_condition.ranges, strict=False)
        if one.admits is not None
    )
    whole = {**request, "KeyConditionExpression": key, **_expressions(spec, names, server)}
    return KeyQuery("Query", whole, checks, key_condition.held, within)


def _segments(spec: QuerySpec, request: Mapping[str, Any], server: Condition | None) -> tuple[KeyQuery, ...]:
    total = spec.segments or 1
    whole = {**request, **_expressions(spec, Placeholders(), server)}
    if total == 1:
        return (KeyQuery("Scan", whole),)
    return tuple(KeyQuery("Scan", {**whole, "Segment": one, "TotalSegments": total}) for one in range(total))


def _expressions(spec: QuerySpec, names: Placeholders, server: Condition | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if server is not None:
        found["FilterExpression"] = render(server, names)
    if spec.keys_only and spec.source.is_whole:
        found["ProjectionExpression"] = ", ".join(names.name(name) for name in _needed_for_keys(spec))
    if names.names:
        found["ExpressionAttributeNames"] = names.names
    if names.values:
        found["ExpressionAttributeValues"] = names.values
    return found


def _needed_for_keys(spec: QuerySpec) -> list[str]:
    """The attributes that identify the class of an item and whether it is live."""
    table = spec.source.table
    extra = [table.type_attribute, table.ttl_attribute]
    if any(source.mapping.versioning is not None for source in spec.sources):
        extra.append(DELETED)
    keys = [*table.key_names, *(key.name for key in spec.source.keys)]
    for source in spec.sources:
        extra += [
            source.mapping.fields[name].attribute for name in sorted(shard_fields(source) & set(spec.equal))
        ]
    return list(dict.fromkeys([*keys, *(name for name in extra if name is not None)]))


# -- several classes in one collection ---------------------------------------------------------------------------------


def _key_conditions(spec: QuerySpec) -> list[KeyCondition]:
    """The key conditions of all sources, which must name the same partitions."""
    each = [list(key_conditions_of(spec, source)) for source in spec.sources]
    if len(each) == 1:
        return each[0]
    first = each[0]
    if any(
        [key_condition.partition for key_condition in key_conditions]
        != [key_condition.partition for key_condition in first]
        for key_conditions in each
    ):
        raise UsageError(
            problem=f"{spec} are not in one item collection: their partition keys differ",
            remedy="collect classes whose partition key renders alike for these fields, or query them one by one",
        )
    together = zip(*each, strict=True)
    return [
        KeyCondition(first[number].partition, _shared(spec, key_conditions))
        for number, key_conditions in enumerate(together)
    ]


def _shared(spec: QuerySpec, key_conditions: Sequence[KeyCondition]) -> tuple[KeyRange, ...]:
    ranges = [key_condition.ranges for key_condition in key_conditions]
    if all([one.condition for one in other] == [one.condition for one in ranges[0]] for other in ranges):
        return ranges[0]
    if spec.bounds:
        raise UsageError(
            problem=f"{spec.bounds[0].field} is not the same part of the sort key in {spec}",
            remedy="query the classes one by one, or bound a field that their sort keys begin with alike",
        )
    # Read all keys with the common prefix; the class of an item is known when it was read.
    texts = [_beginning(one[0]) if one else "" for one in ranges]
    shared = _common(min(texts), max(texts))
    if not shared:
        return ()
    name = spec.source.sort[0].attribute.name
    return (KeyRange(BeginsWith((name,), {"S": shared}), lambda value: str(value["S"]).startswith(shared)),)


def _common(first: str, second: str) -> str:
    """The common prefix of two texts."""
    pairs = enumerate(zip(first, second, strict=False))
    return first[
        : next((number for number, (one, other) in pairs if one != other), min(len(first), len(second)))
    ]


def _beginning(of: KeyRange) -> str:
    """The text that all keys of a range begin with; empty if there is none."""
    found = of.condition
    value = found.prefix if isinstance(found, BeginsWith) else getattr(found, "right", {})
    return str(value.get("S", ""))


def keys_alone(spec: QuerySpec) -> QuerySpec:
    """The same query, returning keys."""
    return replace(spec, keys_only=True)
