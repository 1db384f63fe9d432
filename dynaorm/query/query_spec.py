"""What a query looks for: an immutable value, of which every method of the chain makes a new one.

Rule 1. Field names are checked when they are given. Values are checked when the key is chosen, before anything is sent.
Rule 2. A keyword means that the field equals the value, or one of several: ``any_of``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from dynaorm.argument import check_count
from dynaorm.errors import UnknownField, UsageError
from dynaorm.failure import shown, texts_of
from dynaorm.item.condition import Condition
from dynaorm.item.field import listed
from dynaorm.query.key_range import Bound, Operator
from dynaorm.query.source import Source, source_of
from dynaorm.record import record, replace

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_METHODS: Final = {"consistent": "", "descending": "", "expired": "", "limit": "...", "filter": "..."}
"""Methods that callers take for keywords, with their arguments."""


@record
class AnyOf:
    """Several values, one of which a field must have."""

    values: tuple[Any, ...]

    @property
    def distinct(self) -> tuple[Any, ...]:
        """The values, each once."""
        return tuple({(type(value), repr(value)): value for value in self.values}.values())

    def __repr__(self) -> str:
        return f"any_of({', '.join(map(repr, self.values))})"


def any_of(*values: Any) -> Any:
    """One of several values of a key's field: ``query(Ticket.by_status, status=any_of("open", "working"))``.

    ``any_of("open", "working")`` and ``any_of(["open", "working"])`` are the same.
    Each value is a request of its own. The requests are sent together and their results merged in key order. With no
    values, nothing is sent and nothing is found.

    Args:
        *values: the values, or one iterable of them.

    Examples:
        >>> query = session.query(Ticket.by_status, status=any_of("open", "closed"))
        >>> [(ticket.number, ticket.status) for ticket in query]
        [(1, 'open'), (2, 'closed')]
    """
    return AnyOf(listed(values))


@record(quick=True)
class QuerySpec:
    """A query as the user wrote it.

    Attributes:
        sources: the classes or indexes to read; several for an item collection.
        equal: for each given field its value, or ``AnyOf``.
        bounds: the conditions on one field of the sort key.
        filters: the conditions on other fields, in field names.
        descending: read the sort key backwards.
        limit: the most entities to return; None for all.
        consistent: read strongly consistent; None for the session's default.
        expired: include expired items.
        keys_only: return keys instead of entities.
        names: return the values of these fields instead of entities; empty for entities.
        segments: the number of segments of a scan; None for a query.
    """

    sources: tuple[Source, ...]
    equal: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    bounds: tuple[Bound, ...] = ()
    filters: tuple[Condition, ...] = ()
    descending: bool = False
    limit: int | None = None
    consistent: bool | None = None
    expired: bool = False
    keys_only: bool = False
    names: tuple[str, ...] = ()
    segments: int | None = None

    @cached_property
    def memo(self) -> dict[object, Any]:
        """What has been found out about it. It is not part of its value."""
        return {}

    @property
    def source(self) -> Source:
        """The first source. All sources are in the same table or index."""
        return self.sources[0]

    @property
    def method(self) -> str:
        """The method of a session that sends it."""
        return "query" if self.segments is None else "scan"

    def __str__(self) -> str:
        return ", ".join(map(str, self.sources))

    def __repr__(self) -> str:
        texts = texts_of(self._hiding(self.equal))
        return ", ".join([str(self), *(f"{name}={text}" for name, text in texts.items())])

    def _hiding(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of fields under a ``repr`` that masks those that are secret in any class of the query."""
        for source in self.sources:
            values = source.mapping.secrets.hiding(values)
        return values

    def where(self, fields: Mapping[str, Any]) -> "QuerySpec":
        """The query with these fields equal to these values. Raises UnknownField, UsageError."""
        if fields:
            self._refuse_scan("condition on its key")
        self._check_names(fields)
        for name in fields:
            if name in self.equal or any(bound.field == name for bound in self.bounds):
                raise _given_twice(name)
        return replace(self, equal=MappingProxyType({**self.equal, **fields}))

    def bounded(self, operator: Operator, fields: Mapping[str, Any]) -> "QuerySpec":
        """The query with a condition on one field of the sort key. Raises UnknownField, UsageError."""
        if len(fields) != 1:
            raise UsageError(
                problem=f"{operator} takes one field, and got {', '.join(fields) or 'none'}",
                remedy="a sort key can be bounded in one field: give that one",
            )
        ((name, value),) = fields.items()
        self._check_names(fields)
        self._refuse_scan(operator)
        if name in self.equal:
            raise _given_twice(name)
        if other := next((bound.field for bound in self.bounds if bound.field != name), None):
            raise UsageError(
                problem=f"{other} and {name} are both bounded, and a sort key can be bounded in one field",
                remedy=self.source.or_filter(f"give {other} a single value", name),
            )
        bound = Bound(name, operator, _values(operator, name, value))
        return replace(self, bounds=(*self.bounds, bound))

    def filtered(self, conditions: Iterable[Condition]) -> "QuerySpec":
        """The query with filters. DynamoDB applies them after reading, so they save no capacity."""
        return replace(self, filters=(*self.filters, *conditions))

    def backwards(self) -> "QuerySpec":
        """The query in descending order. Raises UsageError for a scan."""
        self._refuse_scan("descending()")
        return replace(self, descending=True)

    def from_the_end(self) -> "QuerySpec":
        """The query in the opposite order, without its limit. Raises UsageError for a scan."""
        self._refuse_scan("page before another")
        return replace(self, descending=not self.descending, limit=None)

    def limited(self, limit: int) -> "QuerySpec":
        """The query with at most ``limit`` entities. Raises UsageError."""
        check_count("limit({})", limit, least=0)
        return replace(self, limit=limit if self.limit is None else min(limit, self.limit))

    def with_expired(self) -> "QuerySpec":
        """The query with expired items included."""
        return replace(self, expired=True)

    def read_consistently(self) -> "QuerySpec":
        """The query with strongly consistent reads. Raises UsageError for a global index, which has none."""
        if self.source.is_global:
            raise UsageError(
                problem=f"{self} reads a global index, and DynamoDB has no consistent reads of those",
                remedy="leave consistent out, or read one entity with get or refresh",
            )
        return replace(self, consistent=True)

    def of_values(self, names: tuple[Any, ...]) -> "QuerySpec":
        """The query for the values of fields or computed fields of every class. Raises UnknownField, UsageError."""
        if others := [name for name in names if not isinstance(name, str)]:
            raise UsageError(
                problem=f"values({shown(others[0])}) names no field",
                remedy='give names: values("email", "name")',
            )
        if not names or len(set(names)) < len(names):
            raise UsageError(
                problem=f"values({', '.join(map(repr, names))}) names {'a field twice' if names else 'no field'}",
                remedy='name each field once: values("email", "name")',
            )
        for source in self.sources:
            mapping = source.mapping
            computed = (one.name for one in mapping.computed.values() if not one.is_nested)
            known = (*mapping.fields, *computed)
            for name in names:
                if name not in known:
                    raise UnknownField(entity=mapping.entity.__name__, field=name, known=known)
        return replace(self, names=names, keys_only=False)

    def _refuse_scan(self, what: str) -> None:
        if self.segments is not None:
            raise UsageError(
                problem=f"a scan reads every item in no order, so it has no {what}",
                remedy="read by key with session.query(...), or narrow the scan with .filter(...)",
            )

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            for source in self.sources:
                if name in source.mapping.fields or name in source.mapping.computed:
                    break
            else:
                mappings = [source.mapping for source in self.sources]
                known = dict.fromkeys(field for one in mappings for field in (*one.fields, *one.computed))
                if name in _METHODS:
                    remedy = f"it is a method of the query: write query({self}, ...).{name}({_METHODS[name]})"
                    raise UnknownField(entity=str(self), field=name, known=(), remedy=remedy)
                raise UnknownField(entity=str(self), field=name, known=tuple(known))


def queried(named: Any, fields: Mapping[str, Any]) -> QuerySpec:
    """A query of one class or index. Raises UnknownField, UsageError."""
    # As ``where``, of which only the names can be wrong here.
    spec = QuerySpec((source_of(named),), MappingProxyType(dict(fields)))
    spec._check_names(fields)
    return spec


def collected(named: Sequence[Any], fields: Mapping[str, Any]) -> QuerySpec:
    """A query of several classes in one item collection. Raises UnknownField, UsageError."""
    sources = tuple(source_of(one) for one in named)
    if not sources:
        raise UsageError(
            problem="collection() names no class", remedy="write collection(Device, Reading, ...)"
        )
    locations = {(id(one.table), one.index.name if one.index is not None else None) for one in sources}
    if len(locations) > 1:
        raise UsageError(
            problem=f"{', '.join(map(str, sources))} are not all in one table or index",
            remedy="collect classes of one table, or indexes that are one GlobalIndex; query the others by themselves",
        )
    return QuerySpec(sources).where(fields)


def scanned(named: Any, segments: int) -> QuerySpec:
    """A scan of the table or index of one class. Raises UsageError."""
    # Amazon DynamoDB API Reference, Scan: TotalSegments is 1 to 1,000,000.
    check_count("segments={}", segments, most=1_000_000)
    return QuerySpec((source_of(named),), segments=segments)


def _given_twice(name: str) -> UsageError:
    return UsageError(problem=f"{name} is given twice", remedy=f"give {name} one value, or one condition")


def _values(operator: Operator, name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, AnyOf):
        raise UsageError(
            problem=f"{name}={value!r} is several values, and {operator} compares with one",
            remedy=f"give any_of(...) in the call: query(..., {name}={value!r})",
        )
    if operator != "between":
        return (value,)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise UsageError(
            problem=f"between({name}={shown(value)}) has no two bounds",
            remedy=f"write between({name}=(low, high)): both are included",
        )
    return tuple(value)
