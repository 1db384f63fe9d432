"""Choosing the key of a query: field values become partition keys and ranges of the sort key.

Rule 1. Every given field must be part of a key; none is ignored. In a collection, a field binds the classes that have
        it in their key.
Rule 2. The partition key must be given whole, except for a field that only chooses a shard: without it, all shards are
        read. In a collection the fields of one class are enough; the others are read from the same partition.
Rule 3. What follows from the class, the index, the names of the fields and the operators is a ``SourceForm``, and is
        found once. A call only renders values.
Rule 4. Each source judges what was read by its own class, place and fields. It compares texts of fields. They come from
        values, or from the keys of an index entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import product
from operator import attrgetter
from typing import Any, Final, TypeAlias

from dynaorm.entity.declare.catalog import derived
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.table import Table
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import DecodeError, InvalidValue, UsageError
from dynaorm.item.condition import And, Condition, equals, render
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.interval import Interval, key_in, range_condition
from dynaorm.query.key_range import Bound, FieldTest, Operator, RangeForm, fitting
from dynaorm.query.query_spec import AnyOf, QuerySpec
from dynaorm.query.source import Source, may_be_in
from dynaorm.record import record

Partition: TypeAlias = tuple[AttributeValue, ...]


class SourceForm:
    """What queries have in common that read a source, give the same fields and bound one with the same operators.

    Attributes:
        source: the class, and the table or index.
        names: the given fields that its key has.
        is_named: they name the partition. Otherwise the fields of other classes do.
        ranges: the leading sort key attributes, up to the first that is not equal to one value.
        held: the fields that only chose the shard. Entities must have the given values in them.
        rivals: the other places of the class in the index, which may have items in the partition.
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
        self.is_named = not _missing(source, spec.equal)
        # A field that only chooses the shard may be missing. Then there is a partition for each shard.
        self._is_sharded = not (source.partition_fields <= {*self.names})
        self.held = tuple(sorted(source.shard_fields.intersection(self.names)))
        given = frozenset(self.names)
        if not self.is_named:
            given |= {name for part in source.partition for name in part.lossless}
        operators = tuple(one.operator for one in spec.bounds)
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
            and all(source.is_told_from(one, len(self.ranges)) for one in self.rivals)
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
        held = tuple((name, own[name]) for name in self.held) if self.held else ()
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
            mapping = self.source.mapping
            raise mapping.invalid_key(problem) from mapping.cause_of(problem.field, problem)

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
        return None if any(may_be_in(one, entry) for one in self.rivals) else True

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
        """Field values with the computed ones that are compared. Raises KeyValueError."""
        if not self._computed or isinstance(values, StoredValues):
            return values
        return mapping.with_computed(values, self._computed)


def _range_forms(
    source: Source, given: AbstractSet[str], bounded: str | None, operators: Sequence[Operator]
) -> Iterator[RangeForm]:
    for number, part in enumerate(source.sort):
        is_foreign = source.index is not None and part.attribute.name not in source.table.key_names
        # An entity loads and is saved only under the primary key that its template renders. There, and in keys that are
        # made up, another spelling in UTC is looked for, so that it is found or reported.
        form = RangeForm(
            part,
            _from_the_left(source, part, given),
            bounded,
            operators,
            is_foreign=is_foreign,
            zones=is_foreign and not part.made_up,
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
    return any(one.attribute_name not in asked for one in rivals)


def _partition_values(part: KeyPart, equal: Mapping[str, Any]) -> list[AttributeValue]:
    if part.version is not None:
        # An index keyed by the table's own sort key: its partitions are of latest copies.
        latest = part.value(equal)
        return [latest] if latest is not None else []
    assert part.template is not None
    return [part.checked(key) for key in part.template.renders(equal)]


_IS_EMPTY: Final = attrgetter("is_empty")


@record(eq=False)
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

    form: SourceForm
    partition: Partition
    ranges: tuple[Interval, ...]
    held: tuple[tuple[str, Any], ...]
    values: Mapping[str, Any]
    bounds: Sequence[Bound]

    @property
    def is_empty(self) -> bool:
        return any(map(_IS_EMPTY, self.ranges))

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


class QueryForm:
    """What queries have in common that read the same sources, give the same fields and bound one alike.

    Attributes:
        sources: what each source is asked for.
        needs_whole: only the whole item tells if it is wanted: its keys could be those of another place in the index.
        compared: the attributes that are compared where a key does not decide whether an item is wanted.
        classes: the classes of the sources.
        keys: the key attributes of the table and of the index, each once.
        key_names: their names.
        partition: the attributes of the partition key.
        sort: the attributes of the sort key.
        is_whole: the table or index holds whole items.
        has_rivals: a class may have items in the partition by another place in the index.

    Raises:
        UsageError: no key serves the fields.
    """

    def __init__(self, spec: QuerySpec) -> None:
        table, source = spec.source.table, spec.source
        if spec.segments is None:
            _check_given(spec)
        self.sources = tuple(SourceForm(one, spec) for one in spec.sources)
        self.needs_whole = any(one.needs_whole for one in self.sources)
        self.compared = frozenset[str]().union(*map(_compared, self.sources))
        self.classes = tuple(one.mapping.entity for one in spec.sources)
        self.is_whole = source.is_whole
        self.has_rivals = any(one.rivals for one in self.sources)
        self.keys = tuple({key.name: key for key in (*table.keys, *source.keys)}.values())
        self.key_names = tuple(key.name for key in self.keys)
        self.partition = tuple(part.attribute for part in source.partition)
        self.sort = tuple(part.attribute for part in source.sort)
        # The expressions of key conditions, by their operators.
        self._expressions: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {}
        self._named = tuple(one for one in self.sources if one.is_named)
        self._others = tuple(one for one in self.sources if not one.is_named)

    @property
    def place_condition(self) -> "tuple[KeyCondition, ...]":
        """The condition of a scan that an item is in this place of its index; none if the index has no other place."""
        return tuple(KeyCondition(one, (), (), (), {}, ()) for one in self.sources if one.rivals)

    def conditions(self, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> list[KeyCondition]:
        """The key conditions of all classes for one value of each field. Raises InvalidValue."""
        found: list[KeyCondition] = []
        for form in self._named:
            found += form.conditions(equal, bounds)
        if self._others:
            partitions = [*{repr(one.partition): one.partition for one in found}.values()]
            for form in self._others:
                found += form.conditions(equal, bounds, partitions)
        return found

    def key_condition(self, partition: Partition, ranges: Iterable[Interval]) -> Condition:
        """The condition of the keys in a partition."""
        parts: list[Condition] = [
            equals(key.name, value) for key, value in zip(self.partition, partition, strict=True)
        ]
        for key, interval in zip(self.sort, ranges, strict=False):
            if (condition := range_condition(key, interval)) is not None:
                parts.append(condition)
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def key_expression(
        self, partition: Partition, ranges: Sequence[Interval]
    ) -> tuple[str, tuple[str, ...], list[AttributeValue]]:
        """The same as an expression, the names in it, and its values in their order."""
        operators, values = [], [*partition]
        for key, interval in zip(self.sort, ranges, strict=False):
            operator, contents = interval.comparison
            operators.append(operator)
            values += [key_in(key.kind, one) for one in contents]
        expression = self._expressions.get(tuple(operators))
        if expression is None:
            names = Placeholders()
            text = render(self.key_condition(partition, ranges), names)
            expression = self._expressions[tuple(operators)] = text, tuple(names.names.values())
        return *expression, values


def form_of(spec: QuerySpec) -> QueryForm:
    """The form of a query.

    Raises:
        UsageError: no key serves the fields.
        InvalidValue: a value is None.
    """
    for name, value in spec.equal.items():
        if value is None or (type(value) is AnyOf and None in value.values):
            raise _is_none(spec.source, name)
    # A form keeps its sources, so no other source has their ids.
    bounds = tuple([(one.field, one.operator) for one in spec.bounds]) if spec.bounds else ()
    key = tuple(map(id, spec.sources)), tuple(spec.equal), bounds, spec.segments is not None
    forms = derived(spec.sources[0].mapping.table, _forms)
    if (found := forms.get(key)) is None:
        found = forms[key] = QueryForm(spec)
    return found


def _forms(_table: Table) -> dict[object, QueryForm]:
    return {}


def key_conditions_of(spec: QuerySpec, form: QueryForm) -> list[list[KeyCondition]]:
    """The key conditions of all classes; those of one combination of values together.

    Raises:
        UsageError: two classes share no partition.
        InvalidValue: a value cannot be part of the key.
    """
    if AnyOf not in map(type, spec.equal.values()):
        found = [form.conditions(spec.equal, spec.bounds)]
    else:
        found = [form.conditions(equal, spec.bounds) for equal in _combinations(spec.equal)]
    if len(form.sources) > 1 and found:
        _check_together(spec, form, [condition for conditions in found for condition in conditions])
    return found


def _combinations(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    choices = [value.distinct if isinstance(value, AnyOf) else (value,) for value in given.values()]
    for chosen in product(*choices):
        yield dict(zip(given, chosen, strict=True))


def _compared(form: SourceForm) -> AbstractSet[str]:
    """The attributes that hold the tested fields."""
    mapping, names = form.source.mapping, set(form.tested)
    if not names.isdisjoint(mapping.computed):  # they are computed from the whole entity
        names = set(mapping.fields)
    found = {
        one for name in names for one in (mapping.fields[name].attribute, *mapping.fields[name].formerly)
    }
    in_key = [name for name in names if mapping.fields[name].in_key]
    keys = {part.attribute.name for part in mapping.key_parts() if not part.lossless.isdisjoint(in_key)}
    return found - {mapping.fields[name].attribute for name in in_key} | keys


# -- fields that the key does not serve --------------------------------------------------------------------------------


def _where_none(source: Source, name: str) -> str:
    """How to find the entities in which a field is None."""
    mapping = source.mapping
    if name in mapping.key_fields:
        return f"give {name}= a value: it is part of the primary key of every {mapping.entity.__name__}"
    field = mapping.fields.get(name)
    if field is not None and field.in_key:
        return f"scan, and compare {name} in your code: it is stored in the key alone"
    return f"scan with .filter(F.{name}.missing())"


def _is_none(source: Source, name: str) -> InvalidValue:
    return source.mapping.invalid(name, None, "is None, and None is in no key", _where_none(source, name))


def _check_given(spec: QuerySpec) -> None:
    first, given = spec.source, spec.equal
    names = [*given, *(bound.field for bound in spec.bounds)]
    if all(_missing(source, given) for source in spec.sources):
        missing = _missing(first, given)
        texts = ", ".join(repr(part.text) for part in first.partition)
        remedy = f"give {', '.join(f'{name}=...' for name in missing)}, or scan the table"
        problem = f"the partition key of {first} is {texts}, and {', '.join(missing)} is not given"
        raise UsageError(problem=problem, remedy=_other_key(first, names, given) or remedy)
    keys = [source.partition_fields | source.sort_fields for source in spec.sources]
    if extra := [name for name in names if not any(name in fields for fields in keys)]:
        remedy = first.or_filter("declare an Index whose key has it", extra[0])
        raise UsageError(
            problem=f"{', '.join(extra)} is in no key of {spec}",
            remedy=_other_key(first, names, given) or remedy,
        )
    for bound in spec.bounds:
        for source in spec.sources:
            if bound.field in source.partition_fields - source.sort_fields:
                raise UsageError(
                    problem=f"{bound.field} is in the partition key of {source}, which can only be equal to a value",
                    remedy=f"give {bound.field}= a value or any_of(...), or scan the table",
                )


def _check_together(spec: QuerySpec, form: QueryForm, conditions: Sequence[KeyCondition]) -> None:
    """Raise UsageError where two classes share no partition."""
    each: dict[object, set[str]] = {_identity(one.source): set() for one in form.sources}
    for one in conditions:
        each[_identity(one.form.source)].add(repr(one.partition))
    first, *others = each.values()
    if any(partitions.isdisjoint(first) for partitions in others):
        raise UsageError(
            problem=f"{spec} are not in one item collection: their partition keys differ",
            remedy="collect classes whose partition key renders alike for these fields, or query them one by one",
        )


def _identity(source: Source) -> tuple[type, str | None]:
    """What tells a source from others, in a form that has a hash."""
    return source.mapping.entity, source.index.attribute_name if source.index is not None else None


def _missing(source: Source, given: Mapping[str, Any]) -> list[str]:
    """The fields that name the partition and are not given. Fields that only choose a shard may be missing."""
    names = dict.fromkeys(name for part in source.partition for name in part.fields)
    optional = source.shard_fields
    return [name for name in names if name not in optional and name not in given]


def _other_key(source: Source, names: Sequence[str], given: Mapping[str, Any]) -> str | None:
    """A remedy naming a key that serves these fields; None if there is none."""
    mapping = source.mapping
    if not given:
        return None
    for index in (None, *mapping.indexes.values()):
        other = Source(mapping, index)
        fields = other.partition_fields | other.sort_fields
        if set(names) <= fields and not _missing(other, given):
            return f"use {other}: session.query({other}, {', '.join(f'{name}=...' for name in given)})"
    return None
