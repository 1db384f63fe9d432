"""What a query asks of one source: the keys that it reads of each partition, and which of the items there are wanted.

Rule 1. What follows from the class, the index, the names of the fields and the operators is a ``CompiledSource``, made
        once. A call only renders values.
Rule 2. Each source judges what was read by its own class, place and fields. It compares texts of fields. They come from
        values, or from the keys of an index entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.index_places import IndexMapping
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.mapping.validate import fitted, validated_field, values_in
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import DecodeError, InvalidValue, UsageError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.key_range import Bound, CompiledRange, FieldTest, Interval, Operator, fitting
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.source import Source, may_be_in
from dynaorm.record import record

Partition: TypeAlias = tuple[AttributeValue, ...]


class CompiledSource:
    """What queries have in common that read a source, give the same fields and bound one with the same operators.

    Attributes:
        source: the class, and the table or index.
        names: the given fields that its key has.
        is_named: these name the partition. Otherwise the fields of other classes do.
        ranges: the leading sort key attributes, up to the first that is not equal to one value.
        held: the fields that only chose the shard. Entities must have the given values in them.
        rivals: the other places of the class in the index, which may have items in the partition.
        needs_whole: only the whole item tells if an entity is in this place or in another one.
        is_all: all items of the class in the partition are wanted.
        is_exact: DynamoDB returns only wanted items of the class.
        tested: the fields that are compared where the key does not decide.

    Raises:
        UsageError: a given or bounded field comes after one that is not equal to one value.
    """

    def __init__(self, source: Source, spec: QuerySpec) -> None:
        bounded = spec.bounds[0].field if spec.bounds else None
        own = source.partition_fields | source.sort_fields
        self.source = source
        self.names = tuple(name for name in spec.equal if name in own)
        self._has_all = len(self.names) == len(spec.equal)
        self.is_named = not source.missing(spec.equal)
        # A field that only chooses the shard may be missing. Then there is a partition for each shard.
        self._is_sharded = not (source.partition_fields <= {*self.names})
        self.held = tuple(sorted(source.shard_fields.intersection(self.names)))
        given = frozenset(self.names)
        if not self.is_named:
            given |= {name for part in source.partition for name in part.lossless}
        operators = tuple(bound.operator for bound in spec.bounds)
        # A scan reads all keys.
        is_scan = spec.segments is not None
        self.ranges = () if is_scan else tuple(_range_forms(source, given, bounded, operators))
        self.rivals = source.other_places if is_scan else source.rivals
        self.needs_whole = not all(map(source.is_told_from, self.rivals))
        narrowing = (source.sort_fields | source.shard_fields) & {*self.names, bounded}
        self.is_all = not narrowing and not _strangers(spec, source, self.rivals)
        self.is_exact = (
            not self.held
            and all(one.is_exact for one in self.ranges)
            and all(source.is_told_from(rival, len(self.ranges)) for rival in self.rivals)
        )
        self.tested = frozenset(self.held).union(*(one.tested for one in self.ranges))
        self._computed = self.tested & source.mapping.computed.keys()

    def conditions(
        self, equal: Mapping[str, Any], bounds: Sequence[Bound], partitions: Iterable[Partition] = ()
    ) -> "list[KeyCondition]":
        """The conditions for some values; ``partitions``: those that other classes name, if it is not named.

        Raises:
            InvalidValue: a value cannot be part of the key.
        """
        own = equal if self._has_all else {name: equal[name] for name in self.names}
        held = tuple((name, self._as_loaded(name, own)) for name in self.held) if self.held else ()
        try:
            if self.is_named:
                ranges = self._intervals(own, bounds)
                return [
                    KeyCondition(self, partition, ranges, held, own, bounds)
                    for partition in self._partitions(own)
                ]
            matched = [(partition, self._matched(partition, own)) for partition in partitions]
            return [
                KeyCondition(self, partition, self._intervals(values, bounds), held, values, bounds)
                for partition, values in matched
                if values is not None
            ]
        except KeyValueError as problem:
            mapping, field = self.source.mapping, problem.field
            refused = mapping.errors.invalid_key(problem)
            refused.__cause__ = cause = mapping.errors.cause_of(field, problem)
            if any(bound.operator == "begins_with" and bound.values[0] is problem.value for bound in bounds):
                raise refused from cause  # it is the beginning of a text, and no value of the field
            value = fitted(mapping, refused, problem.value, equal)
            equal = {**equal, field: value} if field in equal else equal
            bounds = [bound.fitted(problem.value, value) for bound in bounds]
            return self.conditions(equal, bounds, partitions)

    def _as_loaded(self, name: str, values: Mapping[str, Any]) -> Any:
        """A given value as entities have it: a template takes the value of an Enum for its member, and the reverse."""
        mapping = self.source.mapping
        with suppress(InvalidValue):
            return validated_field(mapping, name, values) if name in mapping.fields else values[name]
        return values[name]

    def _intervals(self, values: Mapping[str, Any], bounds: Sequence[Bound]) -> tuple[Interval, ...]:
        return tuple([one.keys(values, bounds) for one in self.ranges])

    def _partitions(self, values: Mapping[str, Any]) -> Iterable[Partition]:
        if self._is_sharded:
            return product(*(_partition_values(part, values) for part in self.source.partition))
        partition = [part.value(values) for part in self.source.partition]
        assert None not in partition
        return [tuple(partition)]  # type: ignore[arg-type]  # not None, as has been asserted

    def _matched(self, partition: Partition, own: Mapping[str, Any]) -> dict[str, Any] | None:
        """The given fields with those that a partition key holds; None where the class cannot have the key."""
        values = dict(own)
        for part, stored in zip(self.source.partition, partition, strict=True):
            content = stored[part.attribute.kind]
            if (found := part.match(content)) is None:
                return None
            values = {**found, **values}
            renders = part.template is not None and part.version is None
            rendered = part.template.renders(values) if renders and part.template is not None else ()
            if rendered and content not in rendered:
                return None
        return values

    def may_hold(self, entry: Item) -> bool | None:
        """Whether an item is in the place that is read, by the literal texts of its keys; None if they do not tell."""
        if not self.rivals:
            return True
        if not self.source.may_hold(entry):
            return False
        return None if any(may_be_in(rival, entry) for rival in self.rivals) else True

    def holds(self, mapping: EntityMapping, values: Mapping[str, Any], item: Item) -> bool:
        """Whether an entity is in the place that is read. Raises DecodeError, KeyValueError."""
        is_there = self.may_hold(item)
        if is_there is None and isinstance(values, StoredValues):
            assert self.source.index is not None
            place = mapping.indexes.get(self.source.index.attribute_name)
            return place is not None and place.keys_in(values) is not None
        return is_there is not False

    @property
    def is_plain(self) -> bool:
        """Whether the fields of an entity tell if it is wanted, without more of its item."""
        return not self.rivals and not self._computed

    def compared(self, mapping: EntityMapping, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The field values that are compared, as the loaded entity has them. Raises DecodeError, KeyValueError."""
        if not isinstance(values, StoredValues):
            return mapping.with_computed(values, self._computed) if self._computed else values
        if _are_as_stored(mapping, self.tested):
            return values
        names = [*self.tested]
        return dict(zip(names, values_in(mapping, values.item, names), strict=True))


def _are_as_stored(mapping: EntityMapping, names: Iterable[str]) -> bool:
    """Whether the values that fields load with are those that are stored, or their defaults."""
    fields = mapping.entity.model_fields
    return mapping.rules.is_separate and not any(
        name in fields and fields[name].default_factory is not None for name in names
    )


def _range_forms(
    source: Source, given: AbstractSet[str], bounded: str | None, operators: Sequence[Operator]
) -> Iterator[CompiledRange]:
    for number, part in enumerate(source.sort):
        is_foreign = source.index is not None and part.attribute.name not in source.table.key_names
        form = CompiledRange(
            part,
            _from_the_left(source, part, given),
            bounded,
            operators,
            is_foreign=is_foreign,
        )
        yield form
        if form.missing is not None:
            _refuse_gap(source, source.sort[number + 1 :], given, bounded)
            return


def _from_the_left(source: Source, part: KeyPart, given: AbstractSet[str]) -> AbstractSet[str]:
    """The given fields, except those of the partition key that come after a missing field of the sort key."""
    missing = next((place for place, name in enumerate(part.fields) if name not in given), len(part.fields))
    return given - (set(part.fields[missing:]) & source.partition_fields)


def _refuse_gap(
    source: Source, later: Sequence[KeyPart], equal: AbstractSet[str], bounded: str | None
) -> None:
    partition = {name for part in source.partition for name in part.fields}
    given = {*(equal - partition), bounded}
    for part in later:
        if name := next((name for name in part.fields if name in given), None):
            before = [name for part in source.sort for name in part.fields]
            missing = next(name for name in before if name not in equal)
            raise UsageError(
                problem=f"{name} comes after {missing} in the sort key of {source}, and {missing} is not one value",
                remedy=source.or_filter(f"give {missing}= too", name),
            )


def _strangers(spec: QuerySpec, source: Source, rivals: Iterable[IndexMapping]) -> bool:
    """Whether items of the class may be there by a place that is not asked for."""
    entity = source.mapping.entity
    asked = {
        one.index.attribute_name
        for one in spec.sources
        if one.index is not None and issubclass(entity, one.mapping.entity)
    }
    return any(rival.attribute_name not in asked for rival in rivals)


def _partition_values(part: KeyPart, equal: Mapping[str, Any]) -> list[AttributeValue]:
    if part.version is not None:
        # An index keyed by the table's own sort key: its partitions are of latest copies.
        latest = part.value(equal)
        return [latest] if latest is not None else []
    assert part.template is not None
    return [part.checked(key) for key in part.template.renders(equal)]


# Not frozen, like all that every call makes: setting the fields of a frozen record is what making it costs.
@record(frozen=False, eq=False)
class KeyCondition:
    """One partition of a table or index, and the part of it that holds the wanted items of one source.

    Attributes:
        form: the source, and what is asked of it.
        partition: the values of the partition key's attributes, in their order.
        ranges: the intervals of the leading sort key attributes, which have all wanted keys.
        held: the fields that only chose the shard, and the values that entities must have in them.
        values: the values of its key's fields.
        bounds: the bounds on the next one.
    """

    form: CompiledSource
    partition: Partition
    ranges: tuple[Interval, ...]
    held: tuple[tuple[str, Any], ...]
    values: Mapping[str, Any]
    bounds: Sequence[Bound]

    @property
    def is_empty(self) -> bool:
        for one in self.ranges:  # a loop, because every query asks  # noqa: SIM110
            if one.is_empty:
                return True
        return False

    @property
    def asked(self) -> object:
        """What makes it differ from other conditions on the same partition, in a form that has a hash."""
        tests = [(name, texts) for tests in self._tests for name, _, texts, _ in tests]
        return repr((str(self.form.source), self.ranges, self.held, tests))

    @cached_property
    def _tests(self) -> tuple[tuple[FieldTest, ...], ...]:
        """What the texts of fields must be, for each of the ranges."""
        return tuple([one.tests(self.values, self.bounds) for one in self.form.ranges])

    def by_keys(self, entry: Item) -> bool | None:
        """Whether an item is wanted, by its keys alone; None where its values must be compared."""
        place = self.form.may_hold(entry)
        if place is False:
            return False
        verdict: bool | None = None if self.held or place is None else True
        for form, interval, tests in zip(self.form.ranges, self.ranges, self._tests, strict=True):
            found = form.by_key(entry[form.part.attribute.name], interval, tests)
            if found is False:
                return False
            verdict = verdict and found
        return verdict

    def by_values(self, mapping: EntityMapping, values: Mapping[str, Any], item: Item) -> bool:
        """Whether an entity is wanted. One whose values cannot be read is, so that it is reported.

        Args:
            mapping: its class.
            values: its field values, or those of its item.
            item: its item. Where ``values`` are not those of the item, the keys are enough.
        """
        form = self.form
        try:
            if form.rivals and not form.holds(mapping, values, item):
                return False
            return self.fits(form.compared(mapping, values))
        except DecodeError:
            return self.by_keys(item) is not False
        except ValueError:
            # It loads, but no key can have the value. So another program wrote the key.
            return True

    @cached_property
    def fits(self) -> Callable[[Mapping[str, Any]], bool]:
        """Whether field values are wanted. The function raises ValueError if no key can have a value."""
        held, fits = self.held, fitting([test for tests in self._tests for test in tests])
        if not held:
            return fits
        return lambda values: all(values[name] == value for name, value in held) and fits(values)
