"""Choosing the key of a query: field values become partition keys and ranges of the sort key.

Rule 1. Every given field must be part of a key; none is ignored. In a collection, a field binds the classes that have
        it in their key.
Rule 2. The partition key must be given whole, except for a field that only chooses a shard: without it, all shards are
        read. In a collection the fields of one class are enough; the others are read from the same partition.
Rule 3. What follows from the sources, the names of the fields and the operators is a ``QueryForm``, and is found once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from typing import Any

from dynaorm.entity.declare.catalog import cached_per_table
from dynaorm.entity.key import get_by_remedy
from dynaorm.entity.mapping.validate import attributes_of
from dynaorm.entity.reader import ReplyReader
from dynaorm.entity.table import Table
from dynaorm.errors import InvalidValue, UsageError
from dynaorm.item.condition import And, Condition, equals, render
from dynaorm.item.path import Placeholders
from dynaorm.item.value import AttributeValue
from dynaorm.query.key_condition import CompiledSource, KeyCondition, Partition
from dynaorm.query.key_range import Bound, Interval, key_in, range_condition
from dynaorm.query.query_spec import AnyOf, QuerySpec
from dynaorm.query.source import Source


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
        readers: the readers of replies, by the operation and the attributes that they give of each item.
        has_rivals: a class may have items in the partition by another place in the index.

    Raises:
        UsageError: no key serves the fields.
    """

    def __init__(self, spec: QuerySpec) -> None:
        table, source = spec.source.table, spec.source
        if spec.segments is None:
            _check_given(spec)
        self.sources = tuple(CompiledSource(one, spec) for one in spec.sources)
        self.needs_whole = any(one.needs_whole for one in self.sources)
        self.compared = frozenset[str]().union(*map(_compared, self.sources))
        self.classes = tuple(one.mapping.entity for one in spec.sources)
        self.is_whole = source.is_whole
        self.has_rivals = any(one.rivals for one in self.sources)
        self.keys = tuple({key.name: key for key in (*table.keys, *source.keys)}.values())
        self.key_names = tuple(key.name for key in self.keys)
        self.partition = tuple(part.attribute for part in source.partition)
        self.sort = tuple(part.attribute for part in source.sort)
        # The expressions of key conditions, by their operators: each with the placeholders of its names and values.
        self._expressions: dict[tuple[str, ...], tuple[str, Mapping[str, str], tuple[str, ...]]] = {}
        self.readers: dict[tuple[str, tuple[str, ...] | None], ReplyReader | None] = {}
        self._named = tuple(one for one in self.sources if one.is_named)
        self._others = tuple(one for one in self.sources if not one.is_named)

    @property
    def place_condition(self) -> "tuple[KeyCondition, ...]":
        """The condition of a scan that an item is in this place of its index; none if the index has no other place."""
        return tuple(KeyCondition(source, (), (), (), {}, ()) for source in self.sources if source.rivals)

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
    ) -> tuple[str, Mapping[str, str], dict[str, AttributeValue]]:
        """The same as an expression, with the names and values of its placeholders."""
        operators, values = [], [*partition]
        for key, interval in zip(self.sort, ranges, strict=False):
            operator, contents = interval.comparison
            operators.append(operator)
            values += [key_in(key.kind, content) for content in contents]
        expression = self._expressions.get(tuple(operators))
        if expression is None:
            names = Placeholders()
            text = render(self.key_condition(partition, ranges), names)
            expression = self._expressions[tuple(operators)] = text, names.names, tuple(names.values)
        text, known, placeholders = expression
        return text, known, dict(zip(placeholders, values, strict=True))


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
    bounds = tuple([(bound.field, bound.operator) for bound in spec.bounds]) if spec.bounds else ()
    key = tuple(map(id, spec.sources)), tuple(spec.equal), bounds, spec.segments is not None
    forms = cached_per_table(spec.sources[0].mapping.table, _forms)
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


def _compared(form: CompiledSource) -> AbstractSet[str]:
    """The attributes that hold the tested fields."""
    mapping, names = form.source.mapping, set(form.tested)
    if attributes_of(mapping, [*names]) is None:  # they follow from the whole entity
        names = set(mapping.fields)
    found = {attribute for name in names for attribute in mapping.fields[name].attributes}
    in_key = [name for name in names if mapping.fields[name].in_key]
    keys = {part.attribute.name for part in mapping.key_parts() if not part.lossless.isdisjoint(in_key)}
    return found - {mapping.fields[name].attribute for name in in_key} | keys


# -- fields that the key does not serve --------------------------------------------------------------------------------


def _where_none(source: Source, name: str) -> str:
    """How to find the entities in which a field is None."""
    mapping = source.mapping
    if name in mapping.key_fields:
        return f"give {name} a value: it is part of the primary key of every {mapping.entity.__name__}"
    field = mapping.fields.get(name)
    if field is not None and field.in_key:
        return f"scan, and compare {name} in your code: it is stored in the key alone"
    return f"scan, and filter by a missing {name}"


def _is_none(source: Source, name: str) -> InvalidValue:
    return source.mapping.errors.invalid(
        name, None, "is None, and None is in no key", _where_none(source, name)
    )


def _check_given(spec: QuerySpec) -> None:
    first, given = spec.source, spec.equal
    names = [*given, *(bound.field for bound in spec.bounds)]
    if all(source.missing(given) for source in spec.sources):
        missing = first.missing(given)
        texts = ", ".join(repr(part.text) for part in first.partition)
        remedy = f"give {', '.join(missing)} a value, or scan the table"
        problem = f"the partition key of {first} is {texts}, and {', '.join(missing)} is not given"
        if bounded := [bound.field for bound in spec.bounds if bound.field in missing]:
            remedy = f"make this part of the key of a computed field, and give it beside the condition on {bounded[0]}"
            problem = (
                f"the partition key of {first} is {texts}, and a condition on {bounded[0]} gives it no value"
            )
        raise UsageError(problem=problem, remedy=_other_key(first, names, given) or remedy)
    keys = [source.partition_fields | source.sort_fields for source in spec.sources]
    if extra := [name for name in names if not any(name in fields for fields in keys)]:
        remedy = first.or_filter("declare an Index whose key has it", extra[0])
        raise UsageError(
            problem=f"no key of {spec} contains {', '.join(extra)}",
            remedy=_other_key(first, names, given) or remedy,
        )
    for bound in spec.bounds:
        for source in spec.sources:
            if bound.field in source.partition_fields - source.sort_fields:
                raise UsageError(
                    problem=f"{bound.field} is in the partition key of {source}, which can only be equal to a value",
                    remedy=f"give {bound.field} one value or several, or scan the table",
                )


def _check_together(spec: QuerySpec, form: QueryForm, conditions: Sequence[KeyCondition]) -> None:
    """Raise UsageError where two classes share no partition."""
    each: dict[object, set[str]] = {_identity(source.source): set() for source in form.sources}
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


def _other_key(source: Source, names: Sequence[str], given: Mapping[str, Any]) -> str | None:
    """A remedy naming a key that serves these fields; None if there is none."""
    mapping = source.mapping
    if not given:
        return None
    for index in (None, *mapping.indexes.values()):
        other = Source(mapping, index)
        if other.is_searched:
            continue
        fields = other.partition_fields | other.sort_fields
        if set(names) <= fields and not other.missing(given):
            return f"query {other} by {', '.join(given)}"
    return get_by_remedy(mapping, names)
