"""Choosing the key of a query: field values become partition keys and ranges of the sort key.

Rule 1. Every given field must be part of a key; none is ignored. In a collection, a field binds the classes that have
        it in their key.
Rule 2. The partition key must be given whole, except for a field that only chooses a shard: without it, all shards are
        read. In a collection the fields of one class are enough; the others are read from the same partition.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import DecodeError, InvalidValue, UsageError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.query.key_range import EVERY_KEY, Bound, KeyRange, key_range
from dynaorm.query.query_spec import AnyOf, QuerySpec
from dynaorm.query.source import Source, may_be_in
from dynaorm.record import record

Partition: TypeAlias = tuple[AttributeValue, ...]


@record
class KeyCondition:
    """One partition of a table or index, and the part of it that holds the wanted items of one class.

    Attributes:
        source: the class, and the table or index.
        partition: the values of the partition key's attributes, in their order.
        ranges: the ranges of the leading sort key attributes.
        held: the fields that only chose the shard, and the values that entities must have in them.
        narrows: not all items of the class in the partition are wanted.
        rivals: the other places of the class in the index, which may have items in the partition.
    """

    source: Source
    partition: Partition
    ranges: tuple[KeyRange, ...]
    held: tuple[tuple[str, Any], ...] = ()
    narrows: bool = True
    rivals: tuple[IndexMapping, ...] = ()

    @property
    def is_empty(self) -> bool:
        return any(one.is_empty for one in self.ranges)

    @property
    def is_exact(self) -> bool:
        """Whether DynamoDB returns only wanted items of the class."""
        return (
            not self.held
            and all(one.is_exact for one in self.ranges)
            and all(map(self.source.is_told_from, self.rivals))
        )

    @cached_property
    def _keys(self) -> tuple[tuple[str, KeyPart, Callable[[AttributeValue], bool]], ...]:
        """The sort key attributes that have ranges, and the test of each."""
        pairs = zip(self.source.sort, self.ranges, strict=False)
        return tuple((part.attribute.name, part, one.admits or one.contains) for part, one in pairs)

    def may_match(self, entry: Item) -> bool | None:
        """Whether an item is wanted, by its keys alone; None where its values must be compared."""
        verdict: bool | None = None if self.held else True
        if self.rivals:
            if not self.source.may_hold(entry):
                return False
            if any(may_be_in(one, entry) for one in self.rivals):
                verdict = None
        for name, part, is_wanted in self._keys:
            stored = entry[name]
            if is_wanted(stored):
                continue
            if part.match(stored[part.attribute.kind]) is not None:
                return False
            verdict = None
        return verdict

    def matches(self, mapping: EntityMapping, item: Item) -> bool:
        """Whether an item is wanted. One whose values cannot be read is, so that it is reported."""
        if (known := self.may_match(item)) is not None:
            return known
        values = mapping.subject(item)
        try:
            # Literal texts tell it from the others: then a head has nothing that the others are told by.
            if any(may_be_in(one, item) for one in self.rivals) and not self._is_in_place(mapping, values):
                return False
            if any(values[name] != value for name, value in self.held):
                return False
            return all(
                is_wanted(item[name]) or (rendered := part.value(values)) is None or is_wanted(rendered)
                for name, part, is_wanted in self._keys
            )
        except (DecodeError, KeyValueError):
            return True

    def _is_in_place(self, mapping: EntityMapping, values: StoredValues) -> bool:
        """Whether an entity is in the place that is read. Raises DecodeError, KeyValueError."""
        assert self.source.index is not None
        place = mapping.indexes.get(self.source.index.attribute_name)
        return place is not None and place.keys_in(values) is not None


def place_condition(source: Source) -> KeyCondition | None:
    """The condition of a scan that an item is in this place of its index; None if the index has no other place."""
    rivals = source.other_places
    return KeyCondition(source, (), (), rivals=rivals) if rivals else None


def key_conditions_of(spec: QuerySpec) -> list[tuple[KeyCondition, ...]]:
    """The key conditions of all classes; those of one combination of values together.

    Raises:
        UsageError: the key of a class does not serve the given fields.
        InvalidValue: a value cannot be part of the key.
    """
    _check_given(spec)
    found = [_of_combination(spec, equal) for equal in _combinations(spec.equal)]
    if found and len(spec.sources) > 1:
        _check_together(spec, [condition for conditions in found for condition in conditions])
    return found


def _combinations(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    choices = [value.distinct if isinstance(value, AnyOf) else (value,) for value in given.values()]
    for chosen in product(*choices):
        yield dict(zip(given, chosen, strict=True))


def _of_combination(spec: QuerySpec, equal: Mapping[str, Any]) -> tuple[KeyCondition, ...]:
    named: list[Source] = []
    others: list[Source] = []
    for source in spec.sources:
        (others if _missing(source, equal) else named).append(source)
    own = [one for source in named for one in _conditions(source, equal, spec.bounds)]
    if not others:
        return tuple(own)
    partitions = {repr(one.partition): one.partition for one in own}.values()
    return (
        *own,
        *(one for source in others for one in _in_partitions(source, partitions, equal, spec.bounds)),
    )


def _conditions(source: Source, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> Iterator[KeyCondition]:
    """The conditions of a class whose own fields name the partition."""
    values = _on_key(source, equal)
    try:
        ranges, held = _ranges(source, values, bounds), _held(source, values)
        for partition in product(*(_partition_values(part, values) for part in source.partition)):
            yield KeyCondition(
                source, partition, ranges, held, _narrows(source, values, bounds), source.rivals
            )
    except KeyValueError as problem:
        raise _invalid(source, problem) from source.mapping.cause_of(problem.field, problem)


def _in_partitions(
    source: Source, partitions: Iterable[Partition], equal: Mapping[str, Any], bounds: Sequence[Bound]
) -> Iterator[KeyCondition]:
    """The conditions of a class in partitions that the fields of other classes name."""
    own = _on_key(source, equal)
    for partition in partitions:
        values = _matched(source, partition, own)
        if values is None:
            continue
        try:
            ranges = _ranges(source, values, bounds)
            narrows = _narrows(source, own, bounds)
            yield KeyCondition(source, partition, ranges, _held(source, own), narrows, source.rivals)
        except KeyValueError as problem:
            raise _invalid(source, problem) from source.mapping.cause_of(problem.field, problem)


def _matched(source: Source, partition: Partition, own: Mapping[str, Any]) -> dict[str, Any] | None:
    """The given fields with those that a partition key holds; None where the class cannot have the key."""
    values = dict(own)
    for part, stored in zip(source.partition, partition, strict=True):
        content = stored[part.attribute.kind]
        if (found := part.match(content)) is None:
            return None
        values = {**found, **values}
        rendered = part.template.renders(values) if part.template is not None and part.version is None else ()
        if rendered and content not in rendered:
            return None
    return values


def _on_key(source: Source, equal: Mapping[str, Any]) -> dict[str, Any]:
    fields = source.partition_fields | source.sort_fields
    return {name: value for name, value in equal.items() if name in fields}


def _held(source: Source, values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, values[name]) for name in sorted(source.shard_fields) if name in values)


def _narrows(source: Source, values: Mapping[str, Any], bounds: Sequence[Bound]) -> bool:
    given = {*values, *(bound.field for bound in bounds)}
    return bool((source.sort_fields | source.shard_fields) & given)


def _invalid(source: Source, problem: KeyValueError) -> InvalidValue:
    return source.mapping.invalid_key(problem)


def _partition_values(part: KeyPart, equal: Mapping[str, Any]) -> list[AttributeValue]:
    if (
        part.version is not None
    ):  # an index keyed by the table's own sort key: its partitions are of latest copies
        latest = part.value(equal)
        return [latest] if latest is not None else []
    assert part.template is not None
    return [part.checked(key) for key in part.template.renders(equal)]


def _ranges(source: Source, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> tuple[KeyRange, ...]:
    """The ranges of the sort key attributes, from left to right up to the first that is not equal to one value."""
    found: list[KeyRange] = []
    for number, part in enumerate(source.sort):
        own = [bound for bound in bounds if bound.field in part.fields]
        values = _from_the_left(source, part, equal)
        found_range = key_range(part, values, own, zones=_has_zones(source, part))
        if found_range != EVERY_KEY:
            found.append(found_range)
        # Other spellings of an equal time make a range of it. Then what is read is compared with the rest.
        if any(values.get(name) is None for name in part.fields):
            _refuse_gap(source, source.sort[number + 1 :], equal, bounds)
            break
    return tuple(found)


def _has_zones(source: Source, part: KeyPart) -> bool:
    """Whether a key may have times in any time zone: an index key that is the attribute of a field of its own.

    An entity loads and is saved only under the primary key that its template renders. There, and in keys that are made
    up, another spelling in UTC is looked for, so that it is found or reported.
    """
    return source.index is not None and part.attribute.name not in source.table.key_names and not part.made_up


def _from_the_left(source: Source, part: KeyPart, equal: Mapping[str, Any]) -> Mapping[str, Any]:
    """The given fields, except those of the partition key that come after a missing field of the sort key."""
    missing = next((place for place, name in enumerate(part.fields) if name not in equal), len(part.fields))
    later = set(part.fields[missing:]) & source.partition_fields
    return {name: value for name, value in equal.items() if name not in later} if later else equal


def _refuse_gap(
    source: Source, later: Sequence[KeyPart], equal: Mapping[str, Any], bounds: Sequence[Bound]
) -> None:
    partition = {name for part in source.partition for name in part.fields}
    given = {name for name in equal if name not in partition} | {bound.field for bound in bounds}
    for part in later:
        if name := next((name for name in part.fields if name in given), None):
            before = [name for part in source.sort for name in part.fields]
            missing = next(name for name in before if name not in equal)
            raise UsageError(
                problem=f"{name} comes after {missing} in the sort key of {source}, and {missing} is not one value",
                remedy=source.or_filter(f"give {missing}= too", name),
            )


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


def _check_given(spec: QuerySpec) -> None:
    first, given = spec.source, spec.equal
    names = [*given, *(bound.field for bound in spec.bounds)]
    for name, value in given.items():
        if value is None or (isinstance(value, AnyOf) and None in value.values):
            raise first.mapping.invalid(
                name, None, "is None, and None is in no key", _where_none(first, name)
            )
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


def _check_together(spec: QuerySpec, conditions: Sequence[KeyCondition]) -> None:
    """Raise UsageError where two classes share no partition."""
    each: dict[tuple[type, str | None], set[str]] = {_identity(source): set() for source in spec.sources}
    for one in conditions:
        each[_identity(one.source)].add(repr(one.partition))
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


def compared_attributes(spec: QuerySpec) -> set[str]:
    """The attributes that are compared where a key does not decide whether an item is wanted."""
    given = {*spec.equal, *(bound.field for bound in spec.bounds)}
    if len(spec.sources) == 1:
        return _compared(spec.source, given)
    found = set[str]()
    for source in spec.sources:
        # The partition that other classes name may have fields of the sort key.
        found |= _compared(source, given | source.partition_fields if _missing(source, spec.equal) else given)
    return found


def _compared(source: Source, given: AbstractSet[str]) -> set[str]:
    sort, mapping = source.sort_fields, source.mapping
    names = {*(source.shard_fields & given), *(sort if sort & given else ())}
    if not names.isdisjoint(mapping.computed):  # they are computed from the whole entity
        names = set(mapping.fields)
    found = {
        one for name in names for one in (mapping.fields[name].attribute, *mapping.fields[name].formerly)
    }
    in_key = [name for name in names if mapping.fields[name].in_key]
    keys = {part.attribute.name for part in mapping.key_parts() if not part.lossless.isdisjoint(in_key)}
    return found - {mapping.fields[name].attribute for name in in_key} | keys


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
