"""What a search looks for: the entities of one place in a vector index whose vectors are nearest to a given one.

Rule 1. A search is a query of one partition with an order of its own. So the class, its key, its filters and what is
        fetched are those of a ``QuerySpec``, whose limit is the number of matches.
Rule 2. DynamoDB filters before it takes the nearest, and only by equality of the attributes that the index declares.
        Another filter would leave fewer matches than were asked for, so it is refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dynaorm.argument import check_count
from dynaorm.entity.codec.special import numbers_of
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.table import IndexOf, VectorIndex
from dynaorm.errors import UsageError
from dynaorm.failure import remedy_of, shown, without_remedy
from dynaorm.item.condition import And, Attr, Compare, Condition, Missing, Or, paths_of
from dynaorm.item.value import AttributeValue
from dynaorm.query.filter import filter_of
from dynaorm.query.query_spec import QuerySpec
from dynaorm.query.source import Source, known_source
from dynaorm.record import record, replace

MOST_MATCHES: Final = 100
"""The most matches of one SearchVectors (Amazon DynamoDB API Reference, ``TopK``)."""


@record
class SearchSpec:
    """A search as the user wrote it.

    Attributes:
        query: the place, the fields of its partition key, the filters, and how many entities.
        vector: the vector that others are compared with, as DynamoDB takes it.
    """

    query: QuerySpec
    vector: AttributeValue

    @property
    def index(self) -> VectorIndex:
        """The index that is searched."""
        return _index_of(self.query.source)

    @property
    def count(self) -> int:
        """How many matches are wanted."""
        assert self.query.limit is not None
        return self.query.limit

    @property
    def terms(self) -> tuple[Compare, ...]:
        """The filters: each says what an attribute of the index equals."""
        found = filter_of(self.query)
        parts = () if found is None else map(_term, _parts(found.condition))
        return tuple(part for part in parts if part is not None)

    def filtered(self, conditions: Iterable[Condition]) -> "SearchSpec":
        """The search with filters.

        Raises:
            UnknownField, InvalidValue: the class has no such field, or the field no such value.
            UsageError: it is no equality of a field that the index can filter by.
        """
        found = replace(self, query=self.query.filtered(conditions))
        whole = filter_of(found.query)
        known = {key.name for key in self.index.filters}
        for one in () if whole is None else _parts(whole.condition):
            if _term(one) is None or not {path[0] for path in paths_of(one)} <= known:
                raise self._not_searched(one, known)
        return found

    def limited(self, count: int) -> "SearchSpec":
        """The search with fewer matches."""
        return replace(self, query=self.query.limited(count))

    def of_keys(self) -> "SearchSpec":
        """The search for keys instead of entities."""
        return replace(self, query=replace(self.query, keys_only=True))

    def _not_searched(self, condition: Condition, known: set[str]) -> UsageError:
        fields = self.query.source.mapping.fields.values()
        names = [field.name for field in fields if field.attribute in known]
        others = sorted({str(path[0]) for path in paths_of(condition)} - known)
        remedy = f"filter by equality of {', '.join(names)}" if names else "filter the matches in your code"
        if others:
            remedy += (
                f", or declare VectorIndex({self.index.name!r}, filters=[{', '.join(map(repr, others))}])"
            )
        return UsageError(
            problem=f"a search of {self.query.source} filters only by equality of attributes that its index declares",
            remedy=remedy,
        )

    def __repr__(self) -> str:
        return repr(self.query)


def searched(named: Any, vector: Any, count: Any, fields: Mapping[str, Any]) -> SearchSpec:
    """A search of one place in a vector index.

    Raises:
        UnknownField: the class has no such field.
        InvalidValue: the index has no such vectors.
        UsageError: it is no place in a vector index, or the number of matches is not 1 to 100.
    """
    source = known_source(named.entity, named.index.attribute_name) if isinstance(named, IndexOf) else None
    if source is None or not source.is_searched:
        raise UsageError(
            problem=f"search({named if source is not None else shown_class(named)}) names no place in a vector index",
            remedy="give one, such as Paper.semantic, or read by key with session.query(...)",
        )
    check_count("k={}", count, most=MOST_MATCHES)
    query = QuerySpec((source,)).where(fields).limited(count)
    try:
        return SearchSpec(query, numbers_of(vector, _index_of(source)))
    except ValueError as problem:
        field, remedy = _vector_field(source), remedy_of(problem)
        raise source.mapping.errors.invalid(field.name, vector, without_remedy(problem), remedy) from problem


def shown_class(named: object) -> str:
    """What was given in place of an index, in words."""
    return named.__name__ if isinstance(named, type) else shown(named)


def _index_of(source: Source) -> VectorIndex:
    index = source.declared_index
    assert isinstance(index, VectorIndex)
    return index


def _vector_field(source: Source) -> FieldMapping:
    name = _index_of(source).vector
    return next(field for field in source.mapping.fields.values() if field.attribute == name)


def _parts(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _parts(part)
    else:
        yield condition


def _term(condition: Condition) -> Compare | None:
    """The equality that DynamoDB is asked; None for another condition.

    The value of a default also stands for the absence of the attribute, of which a search knows nothing.
    """
    if isinstance(condition, Or):
        found = [part for part in condition.parts if not isinstance(part, Missing)]
        condition = found[0] if len(found) == 1 else condition
    is_equality = (
        isinstance(condition, Compare)
        and condition.operator == "="
        and isinstance(condition.left, Attr)
        and len(condition.left.path) == 1
        and isinstance(condition.right, dict)
    )
    return condition if is_equality and isinstance(condition, Compare) else None
