"""The key queries of a query: the requests that answer it, each for one partition or segment.

Rule 1. A request has one partition key value and one range. Several (shards, ``any_of``) are read together and merged.
Rule 2. A key query is a superset and a predicate: the interval of keys is never too small, and ``wanted`` says which of
        the items in it are wanted, class by class. It is empty where all are.
Rule 3. The key queries of a query do not overlap, and their order depends on its meaning alone.
Rule 4. A cursor is a point: the place of a key in the sort order, and the number of a key query. ``from_point`` begins
        exactly there, so nothing that was passed is read again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dynaorm.entity.key_part import DELETED
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import KeyAttribute
from dynaorm.item.condition import Condition, all_of, holds, render
from dynaorm.item.path import EXPRESSION_LIMIT, Placeholders
from dynaorm.item.value import Item
from dynaorm.query.choose_key import QueryForm, form_of, key_conditions_of
from dynaorm.query.filter import Filter, filter_of, of_classes
from dynaorm.query.key_condition import KeyCondition, Partition
from dynaorm.query.key_range import EVERYTHING, Interval, comparable, key_after, key_before
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.results import attributes_of_rows
from dynaorm.record import record, replace


@record(frozen=False, eq=False)
class RequestForm:
    """What the requests of a query have in common.

    Attributes:
        query: what queries like this one have in common.
        request: the request without expressions.
        server_filter: the condition that DynamoDB evaluates on what it has read.
        projection: the attributes to return; empty for all.
    """

    query: QueryForm
    request: Mapping[str, Any]
    server_filter: Condition | None
    projection: tuple[str, ...]

    @property
    def sort(self) -> tuple[KeyAttribute, ...]:
        """The attributes of the sort key."""
        return self.query.sort

    def key_query(
        self, partition: Partition, ranges: tuple[Interval, ...], wanted: tuple[KeyCondition, ...]
    ) -> "KeyQuery":
        """The key query of a partition; without ``wanted``, every item that it reads is wanted."""
        text, names, values = self.query.key_expression(partition, ranges)
        if self.server_filter is not None or self.projection:
            request = self._requesting(Placeholders(names, values))
        else:
            request = {
                **self.request,
                "ExpressionAttributeNames": {**names},
                "ExpressionAttributeValues": values,
            }
        request["KeyConditionExpression"] = text
        return KeyQuery("Query", self, request, partition, ranges, wanted)

    def segments(self, total: int, conditions: tuple[KeyCondition, ...]) -> "Iterator[KeyQuery]":
        """The key queries of a scan."""
        whole = self._requesting(Placeholders())
        for one in range(total):
            own = {"Segment": one, "TotalSegments": total} if total > 1 else {}
            yield KeyQuery("Scan", self, {**whole, **own}, wanted=conditions)

    def _requesting(self, placeholders: Placeholders) -> dict[str, Any]:
        """The request; ``placeholders``: those of its key condition."""
        found = dict(self.request)
        if self.server_filter is not None:
            found["FilterExpression"] = render(self.server_filter, placeholders)
        if self.projection:
            found["ProjectionExpression"] = ", ".join(map(placeholders.name, self.projection))
        if placeholders.names:
            found["ExpressionAttributeNames"] = placeholders.names
        if placeholders.values:
            found["ExpressionAttributeValues"] = placeholders.values
        return found


@record(frozen=False, eq=False)
class KeyQuery:
    """One partition or segment to read.

    Attributes:
        operation: ``Query`` or ``Scan``.
        form: what its request has in common with the others.
        request: the request, without start key and limit.
        partition: the values of the partition key; empty for a scan.
        ranges: the intervals of the leading sort key attributes.
        wanted: the conditions, one of which every wanted item matches; empty where every item that is read is wanted.
    """

    operation: str
    form: RequestForm
    request: Mapping[str, Any]
    partition: Partition = ()
    ranges: tuple[Interval, ...] = ()
    wanted: tuple[KeyCondition, ...] = ()

    @property
    def within(self) -> Condition | None:
        """The condition of its keys; None for a scan."""
        return self.form.query.key_condition(self.partition, self.ranges) if self.partition else None

    def can_start_at(self, key: Item) -> bool:
        """Whether a key can be a start key. DynamoDB refuses one outside the key condition."""
        within = self.within
        return within is None or holds(within, key)

    def ends_at(self, key: Item) -> bool:
        """Whether nothing wanted comes after a key: it is at the excluded upper end, and is read forwards.

        A query that begins elsewhere in the range may have another condition, which this key need not match.
        """
        if not self.ranges or not self.ranges[-1].is_read_with_end:
            return False
        if self.request.get("ScanIndexForward") is False:
            return False
        name = self.form.sort[len(self.ranges) - 1].name
        return bool(comparable(key[name]) == self.ranges[-1].high)

    @property
    def fits(self) -> Callable[[Mapping[str, Any]], bool] | None:
        """Whether the field values of an entity of its class are wanted; None where its class or item tells, too."""
        if len(self.form.query.sources) == len(self.wanted) == 1 and self.wanted[0].form.is_plain:
            return self.wanted[0].fits
        return None

    def accepts(self, mapping: EntityMapping, values: Mapping[str, Any], item: Item) -> bool:
        """Whether an entity is wanted. ``values`` and ``item`` are as ``KeyCondition.by_values`` takes them."""
        for one in self.wanted:
            is_of_class = issubclass(mapping.entity, one.form.source.mapping.entity)
            if is_of_class and one.by_values(mapping, values, item):
                return True
        return not self.wanted

    def may_match(self, entry: Item, mapping: EntityMapping | None = None) -> bool | None:
        """Whether the item of an index entry is wanted, by its keys; None where its values must be compared.

        ``mapping``: its class, if that is known.
        """
        if not self.wanted:
            return True
        verdicts = [
            one.by_keys(entry)
            for one in self.wanted
            if mapping is None or issubclass(mapping.entity, one.form.source.mapping.entity)
        ]
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
            found.append(self.form.key_query(self.partition, box, self.wanted))
        return tuple(found)


@record(frozen=False, eq=False)
class KeyQueries:
    """The key queries of a query.

    Attributes:
        key_queries: the partitions or segments to read; empty where nothing can be found.
        form: what queries like this one have in common.
        filter: the filter of the query; None without one.
        local_filter: the same, if it is evaluated on what was read; None where DynamoDB evaluates all of it.
    """

    key_queries: tuple[KeyQuery, ...]
    form: QueryForm
    filter: Filter | None = None
    local_filter: Filter | None = None


def key_queries_of(spec: QuerySpec, table_name: Callable[[str], str], *, consistent: bool) -> KeyQueries:
    """The requests that answer a query. ``consistent``: the default, if the query does not set it.

    Raises:
        UsageError: no key serves the fields, or a filter names a key.
        InvalidValue: a value cannot be part of the key.
    """
    source = spec.source
    filtered = filter_of(spec) if spec.filters else None
    request: dict[str, Any] = {"TableName": table_name(source.table.name)}
    if source.index is not None:
        request["IndexName"] = source.index.name
    if (spec.consistent is None and consistent and not source.is_global) or spec.consistent:
        request["ConsistentRead"] = True
    if spec.descending:
        request["ScanIndexForward"] = False
    request["ReturnConsumedCapacity"] = "TOTAL"
    server = filtered.server if filtered is not None else None
    is_scan = spec.segments is not None
    query = form_of(spec)
    conditions = [] if is_scan else key_conditions_of(spec, query)
    form = RequestForm(
        query=query,
        request=request,
        server_filter=all_of(of_classes(spec), server) if is_scan else server,
        projection=_projection(spec, query, filtered) if spec.keys_only or spec.names else (),
    )
    if filtered is not None and filtered.is_never:
        return KeyQueries((), query, filtered)
    local = filtered if filtered is not None and filtered.is_local else None
    if spec.segments is not None:
        found = tuple(form.segments(spec.segments, query.place_condition))
    else:
        found = _queries(form, conditions)
    return KeyQueries(found, query, filtered, local)


# With more, the expression could be longer than DynamoDB accepts. Whole items cost the same.
_MOST_PROJECTED: Final = EXPRESSION_LIMIT // len("#n9999, ")


def _projection(spec: QuerySpec, form: QueryForm, filtered: Filter | None) -> tuple[str, ...]:
    """The attributes to return of whole items; empty for all."""
    attributes = attributes_of_rows(spec)
    if attributes is None or not spec.source.is_whole or form.needs_whole:
        return ()
    if filtered is not None and filtered.attributes is None:
        return ()
    found = tuple(dict.fromkeys([*_needed_for_keys(spec, form, filtered), *sorted(attributes)]))
    return found if len(found) <= _MOST_PROJECTED else ()


def _needed_for_keys(spec: QuerySpec, form: QueryForm, filtered: Filter | None) -> list[str]:
    """The attributes that tell the class of an item, whether it is live, and whether it is wanted."""
    table = spec.source.table
    extra = [table.type_attribute, *table.expiry_attributes]
    if any(source.mapping.versioning is not None for source in spec.sources):
        extra.append(DELETED)
    if filtered is not None and filtered.is_local:
        extra += sorted(filtered.attributes or ())
    given = (name for name in extra if name is not None)
    return list(dict.fromkeys([*form.key_names, *given, *sorted(form.compared)]))


# -- partitions and ranges that do not overlap -------------------------------------------------------------------------

_Box: TypeAlias = tuple[Interval, ...]


def _queries(form: RequestForm, combinations: Sequence[Sequence[KeyCondition]]) -> tuple[KeyQuery, ...]:
    """One key query for each partition and range: ranges of the same combination, and those that meet, are joined."""
    if len(combinations) != 1 or len(combinations[0]) != 1:
        return tuple(_several(form, combinations))
    ((only,),) = combinations
    return () if only.is_empty else (_joined(form, _box(only.ranges), (only,)),)


def _several(form: RequestForm, combinations: Sequence[Sequence[KeyCondition]]) -> Iterator[KeyQuery]:
    partitions: dict[str, list[tuple[_Box, list[KeyCondition]]]] = {}
    for conditions in combinations:
        by_partition: dict[str, list[KeyCondition]] = {}
        for one in conditions:
            if not one.is_empty:
                by_partition.setdefault(repr(one.partition), []).append(one)
        for partition, together in by_partition.items():
            box = _hull([one.ranges for one in together])
            partitions.setdefault(partition, []).append((box, together))
    for _, boxes in sorted(partitions.items()):
        for box, conditions in _merged(boxes):
            yield _joined(form, box, conditions)


def _hull(boxes: Sequence[_Box]) -> _Box:
    """The smallest box around some: intervals of the leading sort key attributes, all but the last one points."""
    found: list[Interval] = []
    for first, *others in zip(*boxes, strict=False):
        interval = first
        for other in others:
            interval = interval.hull(other)
        found.append(interval)
    return _box(found)


def _box(ranges: Sequence[Interval]) -> _Box:
    """The leading intervals up to the first that is not a point."""
    count = 0
    for interval in ranges:
        if interval.low is None and interval.high is None:
            break
        count += 1
        if not interval.is_point:
            break
    return tuple(ranges[:count])


def _merged(boxes: list[tuple[_Box, list[KeyCondition]]]) -> Iterator[tuple[_Box, list[KeyCondition]]]:
    """The boxes, each joined with those that it meets."""
    last, *others = sorted(boxes, key=lambda one: _low(one[0])) if len(boxes) > 1 else boxes
    for box, conditions in others:
        if _share_points(last[0], box):
            last = _hull([last[0], box]), [*last[1], *conditions]
        else:
            yield last
            last = box, conditions
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


def _joined(form: RequestForm, box: _Box, conditions: Sequence[KeyCondition]) -> KeyQuery:
    first = conditions[0]
    if len(conditions) == len(form.query.sources) == 1:
        is_exact = first.form.is_all or first.form.is_exact
    else:
        conditions = [*{condition.asked: condition for condition in conditions}.values()]
        # The box may have items of a class that has another range in the partition, or none at all.
        is_exact = {id(condition.form) for condition in conditions} == set(map(id, form.query.sources)) and (
            all(condition.form.is_all for condition in conditions)
            or all(condition.form.is_exact and _box(condition.ranges) == box for condition in conditions)
        )
    return form.key_query(first.partition, box, () if is_exact else tuple(conditions))


def keys_alone(spec: QuerySpec) -> QuerySpec:
    """The same query, returning keys."""
    return replace(spec, keys_only=True, names=())
