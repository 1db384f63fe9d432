"""The description of a table, from its declarations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from dynaorm.argument import check_kind
from dynaorm.description.classes import class_description, fields_in, name_of
from dynaorm.description.description import (
    AccessPattern,
    Consistency,
    IndexDescription,
    KeyAttributeDescription,
    QuestionKind,
    TableDescription,
    VectorDescription,
    check_description,
)
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import AnyIndex, KeyAttribute, Table, VectorIndex, check_table
from dynaorm.entity.template import TemplateField
from dynaorm.errors import UsageError
from dynaorm.flow.table_definition import Difference, missing_table, table_differences
from dynaorm.query.source import Source
from dynaorm.record import record, replace

# The questions that the declarations of a table can answer without a scan.
#
# Rule 1. Each class has one question for its key, each unique constraint, its collection in the table, each place in
#         an index, and its versions.
# Rule 2. Classes whose partition keys are rendered alike can be read together, and so can places of one class. The
#         fields of classes may have different names, so a question names them class by class. It leaves out a class
#         whose fields do not lead to the other classes, and a further place of a class that other fields lead to.

_UNORDERED = "!s}"


def questions_of(mappings: Iterable[EntityMapping]) -> tuple[AccessPattern, ...]:
    """What can be asked of some classes of one table: class by class, then of several together."""
    mappings = [*mappings]
    together = [*_collections(mappings)]
    found: list[AccessPattern] = []
    for mapping in mappings:
        found += _of_class(mapping)
        found += (one for one in together if one.classes == (name_of(mapping),))
    found += (one for one in together if len(one.classes) > 1)
    return tuple(replace(one, id=f"q{number}") for number, one in enumerate(found, start=1))


# -- of one class ------------------------------------------------------------------------------------------------------


def _of_class(mapping: EntityMapping) -> Iterator[AccessPattern]:
    name, key = name_of(mapping), mapping.key_fields
    yield _question("get", f"The {name} with one {_and(key)}" if key else f"The {name}", name, key)
    for constraint in mapping.constraints.values():
        yield replace(
            _question("get_by", f"The {name} with one {_and(constraint.fields)}", name, constraint.fields),
            constraint=constraint.name,
            requests=2,
            operations=("GetItem", "GetItem"),
            consistent="always",
        )
    table = Source(mapping)
    # Otherwise the query is the get.
    if {*table.missing(())} != {*key}:
        yield _query(table)
    if mapping.versioning is not None:
        yield replace(
            _question("history", f"Every version of one {name}", name, key),
            order=("-version",),
            requests=2,
            operations=("GetItem", "BatchGetItem"),
            consistent="always",
        )
    yield from (_query(one) for one in _in_indexes(mapping))


def _in_indexes(mapping: EntityMapping) -> Iterator[Source]:
    """The places that Query reads. A vector index is asked by a vector, of which there are no sample values."""
    sources = (Source(mapping, place) for place in mapping.indexes.values())
    return (source for source in sources if not source.is_searched)


def _question(kind: QuestionKind, text: str, name: str, fields: Iterable[str]) -> AccessPattern:
    """A question about one class: a single GetItem, until something else is said."""
    return AccessPattern(
        id="",
        kind=kind,
        text=text,
        classes=(name,),
        index=None,
        places={},
        constraint=None,
        fields_by_class={name: tuple(fields)},
        order=(),
        requests=1,
        operations=("GetItem",),
        consistent="optional",
    )


def _query(source: Source) -> AccessPattern:
    name, fields, place = name_of(source.mapping), source.missing(()), source.index
    when = "" if place is None or place.when is None else place.when.text(source.mapping.secrets.fields)
    text = f"Every {name}{_of_one(fields)}{f', if {when}' if when else ''}"
    return _along_keys(_question("query", text, name, fields), [source])


def _along_keys(question: AccessPattern, sources: Sequence[Source]) -> AccessPattern:
    """A question that Query answers, from its kind, text, classes and fields."""
    source = sources[0]
    consistent: Consistency = "never" if source.is_global else "optional"
    return replace(
        question,
        index=None if source.index is None else source.index.name,
        places=_places(sources),
        order=tuple(_order(source)),
        requests=_partitions(source),
        operations=("Query",) if source.is_whole else ("Query", "BatchGetItem"),
        consistent=consistent,
        beside=tuple(
            dict.fromkeys(
                name_of(mapping)
                for one in sources
                for mapping in one.beside()
                if not issubclass(mapping.entity, tuple(each.mapping.entity for each in sources))
            )
        ),
    )


def _places(sources: Iterable[Source]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for source in sources:
        if source.index is not None:
            name = name_of(source.mapping)
            found[name] = (*found.get(name, ()), source.index.attribute_name)
    return found


def _partitions(source: Source) -> int:
    """How many partitions hold the answer: a field with a few texts is not given."""
    return prod(len(one.enumerated_texts) for one in _pieces(source) if one.field in source.optional_fields)


def _order(source: Source) -> Iterator[str]:
    """The fields of the sort key that vary in one partition, up to the first whose texts are in no order."""
    varying = dict.fromkeys(fields_in(source.sort))
    for name in source.missing(()):
        varying.pop(name, None)
    for part in source.sort:
        for one in () if part.template is None else part.template.pieces:
            if (
                one.source.endswith(_UNORDERED)
                or one.shards
                or not (one.ordered or part.attribute.kind == "N")
            ):
                return
            if one.field in varying:
                del varying[one.field]
                yield f"-{one.field}" if one.desc else one.field


def _of_one(fields: Iterable[str]) -> str:
    named = _and(fields)
    return f" of one {named}" if named else ""


def _and(names: Iterable[str]) -> str:
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last}" if others else last


# -- of several classes ------------------------------------------------------------------------------------------------


def _collections(mappings: Iterable[EntityMapping]) -> Iterator[AccessPattern]:
    groups: dict[tuple[object, ...], list[Source]] = {}
    for mapping in mappings:
        for source in (Source(mapping), *_in_indexes(mapping)):
            groups.setdefault(_form_of(source), []).append(source)
    for sources in groups.values():
        together = _without_repetition(sources)
        if len(together) > 1 and (question := _collection(together)) is not None:
            yield question


def _collection(sources: list[Source]) -> AccessPattern | None:
    names = tuple(dict.fromkeys(name_of(source.mapping) for source in sources))
    fields: dict[str, tuple[str, ...]] = {}
    for name in names:
        own = [source for source in sources if name_of(source.mapping) == name]
        if all(_leads_to(one, other) for one in own for other in sources if other is not one):
            fields[name] = tuple(own[0].missing(()))
    if not fields:
        return None
    of_one, places = _of_one(next(iter(fields.values()))), _places(sources)
    where = f" in {_and(places[names[0]])}" if len(names) == 1 else ""
    question = replace(
        _question("collection", f"Every {_and(names)}{of_one}{where}, together", names[0], ()),
        classes=names,
        fields_by_class=fields,
    )
    sort = tuple(part.attribute.name for part in sources[0].sort)
    return replace(_along_keys(question, sources), order=sort)


def _without_repetition(sources: list[Source]) -> list[Source]:
    """The sources whose entities no other one finds, and of each class those that the same fields lead to."""
    first: dict[type, Source] = {}
    for one in sources:
        first.setdefault(one.mapping.entity, one)
    found = [source for source in sources if _slots(source) == _slots(first[source.mapping.entity])]
    return [one for one in found if not any(_includes(other, one) for other in found if other is not one)]


def _slots(source: Source) -> list[str]:
    return [piece.field for piece in _pieces(source)]


def _includes(base: Source, source: Source) -> bool:
    is_same_place = (
        base.index is source.index
        if base.index is None or source.index is None
        else base.index.attribute_name == source.index.attribute_name
    )
    return is_same_place and issubclass(source.mapping.entity, base.mapping.entity)


@record
class _Slot:
    """What a placeholder is like, whatever its field is called."""

    spec: str
    number: int
    is_free: bool


def _form_of(source: Source) -> tuple[object, ...]:
    """What partition keys have in common that are rendered alike."""
    numbers: dict[str, int] = {}
    form: list[object] = [None if source.index is None else source.index.name]
    for part in source.partition:
        form.append(part.version.text if part.version is not None else "")
        if part.template is None:
            continue
        for piece in part.template.pieces:
            spec = piece.source.removeprefix("{" + piece.field)
            number = numbers.setdefault(piece.field, len(numbers))
            form += [piece.before, _Slot(spec, number, piece.field in source.optional_fields)]
        form.append(part.template.after)
    return tuple(form)


def _pieces(source: Source) -> list[TemplateField]:
    return [piece for part in source.partition if part.template is not None for piece in part.template.pieces]


def _leads_to(source: Source, other: Source) -> bool:
    """Whether the partition fields of one source find the partition of another that is rendered alike."""
    pairs = [*zip(_pieces(source), _pieces(other), strict=True)]
    own = {name: {number for number, (one, _) in enumerate(pairs) if one.field == name}
           for name in source.missing(())}  # fmt: skip
    if not all(_reads(there, here) for here, there in pairs if here.field in own):
        return False
    for name, places in own.items():
        there = {number for number, (_, one) in enumerate(pairs) if one.field == name}
        # A field of this name elsewhere in the other key would be bound to the value, too.
        if there != places and (there or name in other.sort_fields):
            return False
    return True


def _reads(piece: TemplateField, text_of: TemplateField) -> bool:
    """Whether a placeholder takes every text of another one for a value of its field."""
    one, other = piece.scalar, text_of.scalar
    return (one.name, one.python) == (other.name, other.python) or (
        one.python is str and piece.open and piece.field != text_of.field
    )


def differences(
    description: TableDescription,
    live: Mapping[str, Any] | None,
    live_ttl: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
) -> tuple[Difference, ...]:
    """What differs between a description and a live table. No request is sent: ``dynaorm.tools.compare_table`` asks.

    Args:
        description: the declared table.
        live: the answer of DescribeTable; None if there is no such table.
        live_ttl: the answer of DescribeTimeToLive; without it, TTL is not compared.
        name: the physical name of the table; its declared name without it.

    Raises:
        UsageError: ``live`` or ``live_ttl`` is no such answer.

    Examples:
        >>> [difference.kind for difference in differences(describe(app), None)]
        ['no table']
    """
    check_description(description)
    if name is not None:
        check_kind("name={}", name, str, "a str", remedy="give the physical name of the table")
    wanted = {**description.create_table(), **({} if name is None else {"TableName": name})}
    if live is None:
        return (missing_table(wanted, description.ttl_attribute),)
    try:
        ttl = None if live_ttl is None else live_ttl.get("TimeToLiveDescription", live_ttl)
        found = live.get("Table", live)
        stored = {
            field.attribute: f"{cls.name}.{field.name}" for cls in description.classes for field in cls.fields
        }
        return table_differences(wanted, found, ttl=description.ttl_attribute, live_ttl=ttl, stored=stored)
    except (LookupError, TypeError, AttributeError) as problem:
        raise UsageError(
            problem="this is not a description of a table as DynamoDB gives it",
            remedy="give the answers of DescribeTable and DescribeTimeToLive",
        ) from problem


def describe(table: Table, /) -> TableDescription:
    """What a table and its classes are, and what can be asked of them. No request is sent.

    The classes are those that are declared now: import their modules first.

    Raises:
        UsageError: it is no Table.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.description import describe
        >>> app = Table("app")
        >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> describe(app).classes[0].partition.text
        'SONG#{song_id}'
    """
    check_table("describe", table)
    return cached_per_table(table, _described)


def _described(table: Table) -> TableDescription:
    mappings = [*catalog_of(table).mappings.values()]
    return TableDescription(
        name=table.name,
        partition=_keys(table.pk),
        sort=_keys(*table.keys[1:]),
        indexes=tuple(_index(table, index) for index in table.indexes.values()),
        type_attribute=table.type_attribute,
        revision_attribute=table.revision_attribute,
        revision_type=None if table.revision is None else table.revision.kind,
        ttl_attribute=table.ttl_attribute,
        stream=table.stream,
        guard_table=None if table.guard_table is None else table.guard_table.name,
        classes=tuple(map(class_description, mappings)),
        questions=questions_of(mappings),
    )


def _keys(*keys: KeyAttribute) -> tuple[KeyAttributeDescription, ...]:
    return tuple(KeyAttributeDescription(key.name, key.kind) for key in keys)


def _index(table: Table, index: AnyIndex) -> IndexDescription:
    return IndexDescription(
        name=index.name,
        kind=index.kind,
        partition=_keys(*(index.pk or (table.pk,))),
        sort=_keys(*index.sk),
        projection=index.projection,
        vector=VectorDescription(index.vector, index.dimensions, index.distance, _keys(*index.filters))
        if isinstance(index, VectorIndex)
        else None,
    )
