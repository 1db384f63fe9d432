"""The key queries of a query: the requests that answer it, each for one partition or segment.

Rule 1. A request has one partition key value and one range. Several (shards, ``any_of``) are read together and merged.
Rule 2. DynamoDB's condition may match more than the query wants; ``accepts`` compares what was read, class by class, by
        its own place and with the fields of that.
Rule 3. The key queries of a query do not overlap, and their order depends on its meaning alone.
Rule 4. A cursor is a point: the place of a key in the sort order, and the number of a key query. ``from_point`` begins
        exactly there, so nothing that was passed is read again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from dynaorm.entity.mapping.mapping import DELETED, EntityMapping
from dynaorm.entity.table import KeyAttribute
from dynaorm.item.condition import And, Between, Condition, all_of, equals, render
from dynaorm.item.evaluate import holds
from dynaorm.item.placeholder import EXPRESSION_LIMIT, Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.choose_key import (
    KeyCondition,
    Partition,
    compared_attributes,
    key_conditions_of,
    place_condition,
)
from dynaorm.query.filter import Filter, filter_of, of_classes
from dynaorm.query.interval import (
    EVERYTHING,
    Interval,
    comparable,
    key_after,
    key_before,
    key_test,
    range_condition,
)
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.row import attributes_of_rows
from dynaorm.record import record, replace


@record
class Form:
    """What the requests of a query have in common.

    Attributes:
        request: the request without expressions.
        partition: the attributes of the partition key.
        sort: the attributes of the sort key.
        server_filter: the condition that DynamoDB evaluates on what it has read.
        projection: the attributes to return; empty for all.
    """

    request: Mapping[str, Any]
    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    server_filter: Condition | None
    projection: tuple[str, ...]

    def requesting(self, within: Condition | None) -> dict[str, Any]:
        """The request with a key condition; None for a scan."""
        names, found = Placeholders(), dict(self.request)
        if within is not None:
            found["KeyConditionExpression"] = render(within, names)
        if self.server_filter is not None:
            found["FilterExpression"] = render(self.server_filter, names)
        if self.projection:
            found["ProjectionExpression"] = ", ".join(map(names.name, self.projection))
        if names.names:
            found["ExpressionAttributeNames"] = names.names
        if names.values:
            found["ExpressionAttributeValues"] = names.values
        return found


@record
class KeyQuery:
    """One partition or segment to read.

    Attributes:
        operation: ``Query`` or ``Scan``.
        form: what its request has in common with the others.
        request: the request, without start key and limit.
        partition: the values of the partition key; empty for a scan.
        ranges: the intervals of the leading sort key attributes.
        within: the condition of its keys; None for a scan.
        wanted: the conditions, one of which every wanted item matches; empty where every item in the ranges is wanted.
        surplus: the sort key attribute and the value of it that DynamoDB returns though it is in no range.
        own: the sort keys of the wanted ones among entities whose keys are as their class renders them; None where
            ``wanted`` decides for these, too.
    """

    operation: str
    form: Form
    request: Mapping[str, Any]
    partition: Partition = ()
    ranges: tuple[Interval, ...] = ()
    within: Condition | None = None
    wanted: tuple[KeyCondition, ...] = ()
    surplus: tuple[str, AttributeValue] | None = None
    own: Interval | None = None

    def can_start_at(self, key: Item) -> bool:
        """Whether a key can be a start key. DynamoDB refuses one outside the key condition."""
        return self.within is None or holds(self.within, key)

    def ends_at(self, key: Item) -> bool:
        """Whether nothing wanted comes after a key: it is at the excluded upper end, and is read forwards.

        A query that begins elsewhere in the range may have another condition, which this key need not match.
        """
        is_descending = self.request.get("ScanIndexForward") is False
        return self.surplus is not None and not is_descending and key.get(self.surplus[0]) == self.surplus[1]

    def accepts(self, mapping: EntityMapping, item: Item) -> bool:
        """Whether an item of a class is wanted."""
        if self.surplus is not None and item[self.surplus[0]] == self.surplus[1]:
            return False
        for one in self.wanted:
            if issubclass(mapping.entity, one.source.mapping.entity) and one.matches(mapping, item):
                return True
        return not self.wanted

    @cached_property
    def accepts_key(self) -> Callable[[Item], bool] | None:
        """Whether an entity is wanted by its primary key, which is as its class renders it; None if all are.

        Only where ``wanted`` is empty or ``own`` decides.
        """
        if self.wanted and self.own is not None and not (self.ranges and self.own.covers(self.ranges[0])):
            return key_test(self.form.sort[0], self.own)
        if self.surplus is None:
            return None
        name, value = self.surplus
        return lambda head: head[name] != value

    def may_match(self, entry: Item) -> bool | None:
        """Whether the item of an index entry is wanted, by its keys; None where its values must be compared."""
        if self.surplus is not None and entry[self.surplus[0]] == self.surplus[1]:
            return False
        if not self.wanted:
            return True
        verdicts = [one.may_match(entry) for one in self.wanted]
        return True if True in verdicts else None if None in verdicts else False

    def from_point(self, item: Item, *, descending: bool, including: bool) -> "tuple[KeyQuery, ...]":
        """What comes after the sort position of an item, in key order; ``including``: the items at it, too.

        One condition says so of one attribute. Of several, each has a request of its own, with equal values in those
        before it: the last attribute's comes first.
        """
        sort, place = self.form.sort, [comparable(item[one.name]) for one in self.form.sort]
        ranges = (*self.ranges, *(EVERYTHING for _ in sort[len(self.ranges) :]))
        following, sign = (key_before, "<=") if descending else (key_after, ">=")
        found: list[KeyQuery] = []
        for depth in reversed(range(len(sort))):
            is_last = depth == len(sort) - 1
            start = place[depth] if is_last and including else following(place[depth], sort[depth].kind)
            if start is None or any(place[one] not in ranges[one] for one in range(depth)):
                continue
            left = ranges[depth].cut(sign, start).closed(sort[depth].kind)
            if left.is_empty:
                continue
            before = tuple(Interval(one, one) for one in place[:depth])
            box = (*before, left, *(self.ranges[depth + 1 :] if left.is_point else ()))
            found.append(_key_query(self.form, self.partition, box, self.wanted, own=self.own))
        return tuple(found)


@record
class KeyQueries:
    """The key queries of a query.

    Attributes:
        key_queries: the partitions or segments to read; empty where nothing can be found.
        filter: the filter of the query; None without one.
        local_filter: the same, if it is evaluated on what was read; None where DynamoDB evaluates all of it.
    """

    key_queries: tuple[KeyQuery, ...]
    filter: Filter | None = None
    local_filter: Filter | None = None


def key_queries_of(spec: QuerySpec, table_name: Callable[[str], str], *, consistent: bool) -> KeyQueries:
    """The requests that answer a query. ``consistent``: the default, if the query does not set it.

    Raises:
        UsageError: no key serves the fields, or a filter names a key.
        InvalidValue: a value cannot be part of the key.
    """
    source, filtered = spec.source, filter_of(spec)
    request: dict[str, Any] = {"TableName": table_name(source.table.name)}
    if source.index is not None:
        request["IndexName"] = source.index.name
    if (spec.consistent is None and consistent and not source.is_global) or spec.consistent:
        request["ConsistentRead"] = True
    if spec.descending:
        request["ScanIndexForward"] = False
    request["ReturnConsumedCapacity"] = "TOTAL"
    server = filtered.server if filtered is not None else None
    conditions = key_conditions_of(spec) if spec.segments is None else []
    form = Form(
        request=request,
        partition=tuple(part.attribute for part in source.partition),
        sort=tuple(part.attribute for part in source.sort),
        server_filter=server if spec.segments is None else all_of(of_classes(spec), server),
        projection=_projection(spec, filtered),
    )
    if filtered is not None and filtered.is_never:
        return KeyQueries((), filtered)
    local = filtered if filtered is not None and filtered.is_local else None
    if spec.segments is not None:
        found = _segments(form, spec.segments, place_condition(source))
    else:
        found = _queries(spec, form, conditions)
    return KeyQueries(tuple(found), filtered, local)


def _segments(form: Form, total: int, place: KeyCondition | None) -> Iterator[KeyQuery]:
    whole, wanted = form.requesting(None), () if place is None else (place,)
    for one in range(total):
        own = {"Segment": one, "TotalSegments": total} if total > 1 else {}
        yield KeyQuery("Scan", form, {**whole, **own}, wanted=wanted)


def _key_query(
    form: Form,
    partition: Partition,
    ranges: tuple[Interval, ...],
    wanted: tuple[KeyCondition, ...],
    *,
    own: Interval | None = None,
) -> KeyQuery:
    parts = [
        equals(attribute.name, value) for attribute, value in zip(form.partition, partition, strict=True)
    ]
    surplus: tuple[str, AttributeValue] | None = None
    for attribute, interval in zip(form.sort, ranges, strict=False):
        if (condition := range_condition(attribute, interval)) is not None:
            parts.append(condition)
            if not interval.has_high and isinstance(condition, Between):
                surplus = attribute.name, condition.high
    within = And(tuple(parts)) if len(parts) > 1 else parts[0]
    return KeyQuery("Query", form, form.requesting(within), partition, ranges, within, wanted, surplus, own)


def needs_whole_items(spec: QuerySpec) -> bool:
    """Whether only the whole item tells if it is wanted: its keys could be those of another place in the index."""
    is_scan = spec.segments is not None
    return not all(
        source.is_told_from(place)
        for source in spec.sources
        for place in (source.other_places if is_scan else source.rivals)
    )


# With more, the expression could be longer than DynamoDB accepts. Whole items cost the same.
_MOST_PROJECTED: Final = EXPRESSION_LIMIT // len("#n9999, ")


def _projection(spec: QuerySpec, filtered: Filter | None) -> tuple[str, ...]:
    """The attributes to return of whole items; empty for all."""
    attributes = attributes_of_rows(spec)
    is_whole = needs_whole_items(spec) or (filtered is not None and filtered.computed)
    if attributes is None or not spec.source.is_whole or is_whole:
        return ()
    found = tuple(dict.fromkeys([*_needed_for_keys(spec, filtered), *sorted(attributes)]))
    return found if len(found) <= _MOST_PROJECTED else ()


def _needed_for_keys(spec: QuerySpec, filtered: Filter | None) -> list[str]:
    """The attributes that tell the class of an item, whether it is live, and whether it is wanted."""
    table = spec.source.table
    extra = [table.type_attribute, table.ttl_attribute]
    if any(source.mapping.versioning is not None for source in spec.sources):
        extra.append(DELETED)
    if filtered is not None and filtered.is_local:
        extra += sorted(filtered.attributes or ())
    keys = [*table.key_names, *(key.name for key in spec.source.keys)]
    compared = sorted(compared_attributes(spec))
    return list(dict.fromkeys([*keys, *(name for name in extra if name is not None), *compared]))


# -- partitions and ranges that do not overlap -------------------------------------------------------------------------


def _queries(
    spec: QuerySpec, form: Form, combinations: Sequence[tuple[KeyCondition, ...]]
) -> Iterator[KeyQuery]:
    """One key query for each partition and range: ranges of the same combination, and those that meet, are joined."""
    partitions: dict[str, list[tuple[KeyCondition, ...]]] = {}
    for conditions in combinations:
        by_partition: dict[str, list[KeyCondition]] = {}
        for one in conditions:
            if not one.is_empty:
                by_partition.setdefault(repr(one.partition), []).append(one)
        for partition, together in by_partition.items():
            partitions.setdefault(partition, []).append(tuple(together))
    for _, found in sorted(partitions.items()):
        boxes = [(_hull([_box(one) for one in together]), together) for together in found]
        yield from (_joined(spec, form, one) for one in _merged(boxes))


_Box = tuple[Interval, ...]


def _box(condition: KeyCondition) -> _Box:
    return tuple(one.interval for one in condition.ranges)


def _hull(boxes: Sequence[_Box]) -> _Box:
    """The smallest box around some: intervals of the leading sort key attributes, all but the last one points."""
    found: list[Interval] = []
    for first, *others in zip(*boxes, strict=False):
        interval = first
        for other in others:
            interval = interval.hull(other)
        if interval == EVERYTHING:
            break
        found.append(interval)
        if not interval.is_point:
            break
    return tuple(found)


def _merged(
    boxes: Sequence[tuple[_Box, tuple[KeyCondition, ...]]],
) -> Iterator[tuple[_Box, tuple[KeyCondition, ...]]]:
    """The boxes, each joined with those that it meets."""
    last: tuple[_Box, tuple[KeyCondition, ...]] | None = None
    for box, conditions in sorted(boxes, key=lambda one: _low(one[0])):
        if last is not None and _share_points(last[0], box):
            last = _hull([last[0], box]), (*last[1], *conditions)
            continue
        if last is not None:
            yield last
        last = box, conditions
    if last is not None:
        yield last


def _low(box: _Box) -> list[tuple[Any, ...]]:
    return [(0,) if one.low is None else (1, one.low, not one.has_low) for one in box]


def _share_points(first: _Box, second: _Box) -> bool:
    for one, other in zip(first, second, strict=False):
        if not one.meets(other):
            return False
        if not (one.is_point and other.is_point):
            break
    return True


def _joined(spec: QuerySpec, form: Form, box: tuple[_Box, tuple[KeyCondition, ...]]) -> KeyQuery:
    ranges, conditions = box
    distinct = conditions if len(conditions) == 1 else _distinct(conditions)
    # The range may have items of a class that has another range in the partition, or none at all.
    is_exact = len(distinct) == len(spec.sources) == 1 and distinct[0].is_exact
    if {id(one.source) for one in distinct} == set(map(id, spec.sources)):
        is_exact = is_exact or not any(one.narrows or _has_strangers(one, spec) for one in distinct)
    wanted = () if is_exact else distinct
    return _key_query(form, conditions[0].partition, ranges, wanted, own=_own(spec, distinct))


def _distinct(conditions: Sequence[KeyCondition]) -> tuple[KeyCondition, ...]:
    return tuple({repr((str(one.source), one.ranges, one.held)): one for one in conditions}.values())


def _own(spec: QuerySpec, conditions: Sequence[KeyCondition]) -> Interval | None:
    if spec.source.index is not None or not len(conditions) == len(spec.sources) == 1:
        return None
    ranges = conditions[0].ranges
    return ranges[0].own if len(ranges) == 1 and not conditions[0].held else None


def _has_strangers(condition: KeyCondition, spec: QuerySpec) -> bool:
    """Whether items of the class may be there by a place that is not asked for."""
    entity = condition.source.mapping.entity
    asked = {
        source.index.attribute_name
        for source in spec.sources
        if source.index is not None and issubclass(entity, source.mapping.entity)
    }
    return any(one.attribute_name not in asked for one in condition.rivals)


def keys_alone(spec: QuerySpec) -> QuerySpec:
    """The same query, returning keys."""
    return replace(spec, keys_only=True, names=())
