"""Which key serves a question: field values become partition keys and ranges of the sort key.

Rule 1. Every field that is given has to be part of the key that is asked; none is left out silently.
Rule 2. The partition key is given whole, but for a field that only chooses a shard: then all shards are asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from dynaorm.entity.template.key_part import KeyPart
from dynaorm.entity.template.template import KeyValueError
from dynaorm.errors import UsageError
from dynaorm.item.value import AttributeValue
from dynaorm.query.key_range import EVERY_KEY, Bound, KeyRange, key_range
from dynaorm.query.query_spec import AnyOf, QuerySpec
from dynaorm.query.source import Source
from dynaorm.record import record


@record
class KeyCondition:
    """One partition of a table or index, and what is wanted of it.

    Attributes:
        partition: the values of the partition key's attributes, in their order.
        ranges: what is asked of the sort key's attributes, in their order, as far as anything is.
        held: fields that only chose the shard, and the values the entities found there must have.
    """

    partition: tuple[AttributeValue, ...]
    ranges: tuple[KeyRange, ...]
    held: tuple[tuple[str, Any], ...] = ()

    @property
    def is_empty(self) -> bool:
        return any(one.is_empty for one in self.ranges)


def key_conditions_of(spec: QuerySpec, source: Source) -> Iterator[KeyCondition]:
    """What one source is asked, any of several values one by one.

    Raises:
        UsageError: the key of the source does not serve the fields that are given.
        InvalidValue: a value cannot be part of the key.
    """
    given = {name: value for name, value in spec.equal.items() if name in source.mapping.fields}
    _check_served(source, given, spec.bounds)
    for equal in _combinations(given):
        try:
            ranges = _ranges(source, equal, spec.bounds)
            held = tuple((name, equal[name]) for name in shard_fields(source) if name in equal)
            for partition in product(*(_partition_values(part, equal) for part in source.partition)):
                yield KeyCondition(partition, ranges, held)
        except KeyValueError as problem:
            invalid = source.mapping.invalid(problem.field, problem.value, problem.problem)
            raise invalid from source.mapping.cause_of(problem.field, problem)


def _combinations(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    choices = [value.values if isinstance(value, AnyOf) else (value,) for value in given.values()]
    for chosen in product(*choices):
        yield dict(zip(given, chosen, strict=True))


def _partition_values(part: KeyPart, equal: Mapping[str, Any]) -> list[AttributeValue]:
    if (
        part.version is not None
    ):  # an index keyed by the table's own sort key: its partitions are of latest copies
        latest = part.value(equal)
        return [latest] if latest is not None else []
    assert part.template is not None
    return [part.checked(key) for key in part.template.renders(equal)]


def _ranges(source: Source, equal: Mapping[str, Any], bounds: Sequence[Bound]) -> tuple[KeyRange, ...]:
    """What is asked of each attribute of the sort key: left to right, and after the first open one of none."""
    found: list[KeyRange] = []
    for number, part in enumerate(source.sort):
        own = [bound for bound in bounds if bound.field in part.fields]
        asked = key_range(part, _from_the_left(source, part, equal), own)
        if asked != EVERY_KEY:
            found.append(asked)
        if not asked.is_equal:
            _refuse_gap(source, source.sort[number + 1 :], equal, bounds)
            break
    return tuple(found)


def _from_the_left(source: Source, part: KeyPart, equal: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without fields that are given for the partition key and occur in the sort key after one that is not given."""
    missing = next((place for place, name in enumerate(part.fields) if name not in equal), len(part.fields))
    later = set(part.fields[missing:]) & _fields(source.partition)
    return {name: value for name, value in equal.items() if name not in later} if later else equal


def _refuse_gap(
    source: Source, later: Sequence[KeyPart], equal: Mapping[str, Any], bounds: Sequence[Bound]
) -> None:
    partition = {name for part in source.partition for name in part.fields}
    asked = {name for name in equal if name not in partition} | {bound.field for bound in bounds}
    for part in later:
        if name := next((name for name in part.fields if name in asked), None):
            before = [name for part in source.sort for name in part.fields]
            missing = next(name for name in before if name not in equal)
            raise UsageError(
                problem=f"{name} comes after {missing} in the sort key of {source}, and {missing} is not one value",
                remedy=f"give {missing}= too, or ask for {name} in .filter(F.{name} ...)",
            )


# -- what the key does not serve ---------------------------------------------------------------------------------------


def _check_served(source: Source, given: Mapping[str, Any], bounds: Sequence[Bound]) -> None:
    names = [*given, *(bound.field for bound in bounds)]
    for name, value in given.items():
        if value is None or (isinstance(value, AnyOf) and None in value.values):
            raise source.mapping.invalid(
                name, None, "is None, and None is in no key", f"scan with .filter(F.{name}.missing())"
            )
    partition, sort = _fields(source.partition), _fields(source.sort)
    if missing := [name for name in _needed(source) if name not in given]:
        texts = ", ".join(repr(part.text) for part in source.partition)
        remedy = f"give {', '.join(f'{name}=...' for name in missing)}, or scan the table"
        problem = f"the partition key of {source} is {texts}, and {', '.join(missing)} is not given"
        raise UsageError(problem=problem, remedy=_other_key(source, names, given) or remedy)
    if extra := [name for name in names if name not in partition | sort]:
        remedy = f"ask for it in .filter(F.{extra[0]} ...), or declare an Index whose key has it"
        raise UsageError(
            problem=f"{', '.join(extra)} is in no key of {source}",
            remedy=_other_key(source, names, given) or remedy,
        )
    if bound := next((bound for bound in bounds if bound.field in partition - sort), None):
        raise UsageError(
            problem=f"{bound.field} is in the partition key of {source}, which can only be equal to a value",
            remedy=f"give {bound.field}= a value or any_of(...), or scan the table",
        )


def _fields(parts: Sequence[KeyPart]) -> set[str]:
    return {name for part in parts for name in part.fields}


def _needed(source: Source) -> list[str]:
    """The fields without which the partition is not known: all but those that only choose a shard."""
    names = dict.fromkeys(name for part in source.partition for name in part.fields)
    shards = shard_fields(source)
    return [name for name in names if name not in shards]


def shard_fields(source: Source) -> set[str]:
    """The fields that only choose a shard of the partition."""
    templates = [
        part.template for part in source.partition if part.template is not None and part.version is None
    ]
    chosen = {name for template in templates for name in template.shards}
    told = {name for template in templates for name in template.fields if name not in template.shards}
    return chosen - told


def _other_key(source: Source, names: Sequence[str], given: Mapping[str, Any]) -> str | None:
    """The remedy that names a key which does serve these fields; None where there is none."""
    mapping = source.mapping
    if not given:
        return None
    for index in (None, *mapping.indexes.values()):
        other = Source(mapping, index)
        fields = _fields(other.partition) | _fields(other.sort)
        if set(names) <= fields and set(_needed(other)) <= set(given):
            return f"ask {other}: session.query({other}, {', '.join(f'{name}=...' for name in given)})"
    return None
