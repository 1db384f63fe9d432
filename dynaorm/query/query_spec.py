"""What a query asks, built up by its chain of methods: a value, and each method makes a new one.

Rule 1. Names are checked when they are given, values when it is clear which key they go into; nothing is sent before.
Rule 2. Fields a query is called with are equal to a value, or to any of several: ``any_of``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from dynaorm.errors import UnknownField, UsageError
from dynaorm.item.condition import Condition
from dynaorm.query.key_range import Bound, Operator
from dynaorm.query.source import Source, source_of
from dynaorm.record import record, replace

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@record
class AnyOf:
    """Several values a field may have."""

    values: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"any_of({', '.join(map(repr, self.values))})"


def any_of(*values: Any) -> Any:
    """One of several values of a key's field: ``query(Ticket.by_status, status=any_of("open", "working"))``.

    Each is a request of its own, sent together with the others and merged in key order. Of nothing, nothing is found
    and nothing is sent.
    """
    return AnyOf(values)


@record
class QuerySpec:
    """A query as asked for.

    Attributes:
        sources: where to look; more than one for an item collection.
        equal: fields and the value each has to have, or ``AnyOf``.
        bounds: the conditions on the next field of the sort key.
        filters: what has to hold of an item besides its keys, in field names.
        descending: from the end of the sort key.
        limit: how many entities to return at most.
        consistent: read strongly consistent; None for as the session does.
        expired: with items that have expired.
        keys_only: return keys instead of entities.
        segments: read the whole table in so many parts at once; None for a query by key.
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
    segments: int | None = None

    @property
    def source(self) -> Source:
        """The first of its sources, all of which are the same table or index."""
        return self.sources[0]

    def __str__(self) -> str:
        return ", ".join(map(str, self.sources))

    def where(self, fields: Mapping[str, Any]) -> "QuerySpec":
        """With these fields equal to these values. Raises UnknownField, UsageError."""
        if fields:
            self._refuse_scan("condition on its key")
        for name in fields:
            self._check_name(name)
            if name in self.equal or any(bound.field == name for bound in self.bounds):
                raise _asked_twice(name)
        return replace(self, equal=MappingProxyType({**self.equal, **fields}))

    def bounded(self, operator: Operator, fields: Mapping[str, Any]) -> "QuerySpec":
        """With a condition on one field of the sort key. Raises UnknownField, UsageError."""
        if len(fields) != 1:
            raise UsageError(
                problem=f"{operator} takes one field, and got {', '.join(fields) or 'none'}",
                remedy="a sort key can be bounded in one field: give that one",
            )
        ((name, value),) = fields.items()
        self._check_name(name)
        self._refuse_scan(operator)
        if name in self.equal:
            raise _asked_twice(name)
        if other := next((bound.field for bound in self.bounds if bound.field != name), None):
            raise UsageError(
                problem=f"{other} and {name} are both bounded, and a sort key can be bounded in one field",
                remedy=f"give {other}= a single value, or ask for {name} in .filter(F.{name} ...)",
            )
        bound = Bound(name, operator, _values(operator, name, value))
        return replace(self, bounds=(*self.bounds, bound))

    def filtered(self, conditions: Iterable[Condition]) -> "QuerySpec":
        """With conditions on fields outside the key; they are judged after reading, and save no capacity."""
        return replace(self, filters=(*self.filters, *conditions))

    def backwards(self) -> "QuerySpec":
        self._refuse_scan("descending()")
        return replace(self, descending=True)

    def limited(self, limit: int) -> "QuerySpec":
        if type(limit) is not int or limit < 0:
            raise UsageError(
                problem=f"limit({limit!r}) is no number of entities", remedy="give 0 or more, or leave it out"
            )
        return replace(self, limit=limit if self.limit is None else min(limit, self.limit))

    def with_expired(self) -> "QuerySpec":
        return replace(self, expired=True)

    def read_consistently(self) -> "QuerySpec":
        if self.source.is_global:
            raise UsageError(
                problem=f"{self} asks a global index, which DynamoDB reads eventually consistent alone",
                remedy="leave .consistent() out; to be sure of one entity, session.refresh it",
            )
        return replace(self, consistent=True)

    def _refuse_scan(self, what: str) -> None:
        if self.segments is not None:
            raise UsageError(
                problem=f"a scan reads every item in no order, so it has no {what}",
                remedy="ask by key with session.query(...), or narrow the scan with .filter(...)",
            )

    def _check_name(self, name: str) -> None:
        known = dict.fromkeys(field for source in self.sources for field in source.mapping.fields)
        if name not in known:
            raise UnknownField(entity=str(self), field=name, known=tuple(known))


def queried(named: Any, fields: Mapping[str, Any]) -> QuerySpec:
    """A query of one class or index. Raises UnknownField, UsageError."""
    return QuerySpec((source_of(named),)).where(fields)


def collected(named: Sequence[Any], fields: Mapping[str, Any]) -> QuerySpec:
    """A query of several classes in one item collection. Raises UnknownField, UsageError."""
    sources = tuple(source_of(one) for one in named)
    if not sources:
        raise UsageError(
            problem="collection() names no class", remedy="write collection(Device, Reading, ...)"
        )
    places = {(id(one.table), one.index.name if one.index is not None else None) for one in sources}
    if len(places) > 1:
        raise UsageError(
            problem=f"{', '.join(map(str, sources))} are not all in one table or index",
            remedy="collect classes of one table, or indexes that are one GlobalIndex; query the others by themselves",
        )
    return QuerySpec(sources).where(fields)


def scanned(named: Any, segments: int) -> QuerySpec:
    """A scan of the table or index of one class. Raises UsageError."""
    # Amazon DynamoDB API Reference, Scan: TotalSegments is 1 to 1,000,000.
    if type(segments) is not int or not 1 <= segments <= 1_000_000:
        raise UsageError(problem=f"segments={segments!r}", remedy="give a number from 1 to 1000000")
    return QuerySpec((source_of(named),), segments=segments)


def _asked_twice(name: str) -> UsageError:
    return UsageError(
        problem=f"{name} is asked for twice", remedy=f"give {name}= one value, or one condition"
    )


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
            problem=f"between({name}={value!r}) has no two bounds",
            remedy=f"write between({name}=(low, high)): both are included",
        )
    return tuple(value)
