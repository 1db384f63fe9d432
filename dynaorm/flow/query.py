"""The methods that end a query, as flows."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from dynaorm.argument import check_count
from dynaorm.entity.key import sought_key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.errors import EntityNotFound, InvalidCursor, UsageError
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.query_pages import Walk
from dynaorm.flow.result_filter import ResultFilter
from dynaorm.query.cursor import Position, decode_cursor, encode_cursor, fingerprint_of
from dynaorm.query.explain import explained
from dynaorm.query.filter import Filter, canonical
from dynaorm.query.key_query import KeyQueries, key_queries_of, keys_alone
from dynaorm.query.query_spec import AnyOf, QuerySpec
from dynaorm.query.results import Page, Results
from dynaorm.query.source import Source
from dynaorm.record import replace

_ONE: Final = 2  # entities to read to know that there is only one


def walk_of(spec: QuerySpec, context: Context) -> Walk:
    """A walk from the beginning.

    Raises:
        UsageError: no key serves the query; nothing was sent.
        InvalidValue: a value cannot be part of the key.
    """
    return Walk(spec, _key_queries(spec, context), context)


def _key_queries(spec: QuerySpec, context: Context) -> KeyQueries:
    return key_queries_of(spec, context.table_name, consistent=context.consistent)


def explain(spec: QuerySpec, context: Context) -> str:
    """The requests of a query in words. Raises UsageError, InvalidValue, as ``walk_of`` does."""
    key_queries = _key_queries(spec, context)
    return explained(spec, key_queries, is_fetching=ResultFilter(spec, key_queries, context).is_fetching)


def all_of(spec: QuerySpec, context: Context) -> Flow[Results[Any]]:
    """All entities that are found."""
    walk = walk_of(spec, context)
    found = yield from walk.page(None)
    cost = walk.cost
    return Results(found, cost.requests, cost.read_units)


def first_of(spec: QuerySpec, context: Context) -> Flow[Any | None]:
    """The first entity; None if there is none."""
    found = yield from walk_of(spec.limited(1), context).page(None)
    return found[0] if found else None


def one_of(spec: QuerySpec, context: Context) -> Flow[Any]:
    """The only entity.

    Raises:
        EntityNotFound: there is none.
        UsageError: there are several.
    """
    found = yield from walk_of(spec.limited(_ONE), context).page(None)
    if not found:
        key = sought_key(spec.source.mapping.entity, spec.equal)
        raise EntityNotFound(
            key=key,
            problem=f"one() found no entity for {key!r}",
            remedy="check the fields and filters, or use first(), which returns None",
        )
    if len(found) > 1:
        raise UsageError(
            problem=f"one() found several entities of {spec}",
            remedy="use first() or all(), or give more fields",
        )
    return found[0]


def count_of(spec: QuerySpec, context: Context) -> Flow[int]:
    """The number of entities. Reads only keys, which costs the same capacity and less time."""
    found = yield from walk_of(keys_alone(spec), context).page(None)
    return len(found)


def page_of(
    spec: QuerySpec,
    context: Context,
    size: int,
    *,
    after: str | None = None,
    before: str | None = None,
    read_at_most: int | None = None,
) -> Flow[Page[Any]]:
    """The page after a cursor, or before one; the first page for None.

    ``read_at_most``: how many items DynamoDB may read for the page, which is then shorter; None for any number.

    Raises:
        InvalidCursor: it is damaged, or belongs to another query; nothing was sent.
        UsageError: the keys hold secret fields, and there is no ``cursor_secret`` to encrypt the cursor; or both
            cursors are given, or one of a scan to go back from.
    """
    if after is not None and before is not None:
        raise UsageError(problem="page() is given after= and before=", remedy="give one of them")
    check_count("page({})", size)
    if read_at_most is not None:
        check_count("read_at_most={}", read_at_most)
    secret = context.cursor_secret
    if secret is None:
        _refuse_secret_keys(spec)
    walked = spec if before is None else spec.from_the_end()
    key_queries = _key_queries(walked, context)
    own = fingerprint(spec, key_queries.filter, context.table_name)
    keys = {key.name: key for key in (*spec.source.table.keys, *spec.source.keys)}
    given = after if before is None else before
    start = decode_cursor(given, own, tuple(keys.values()), secret) if given is not None else None
    if start is not None and not _can_start(key_queries, start):
        raise InvalidCursor(problem="the cursor is damaged")
    backwards = before is not None
    walk = Walk(walked, key_queries, context, start, read_at_most=read_at_most, backwards=backwards)
    found = yield from walk.page(size)
    if backwards:
        found.reverse()
    ends = _ends_backwards(walk, start, len(found)) if backwards else _ends(walk, start)
    previous, following = (None if end is None else encode_cursor(end, own, secret) for end in ends)
    cost = walk.cost
    return Page(found, following, cost.requests, cost.read_units, previous)


_Ends: TypeAlias = tuple[Position | None, Position | None]
"""The positions from which the pages before and after a page are read. The one before excludes its own entity."""


def _ends(walk: Walk, start: Position | None) -> _Ends:
    following = None if walk.is_over else walk.position
    if start is None or start.key is None or walk.spec.segments is not None:
        return None, following
    # A page without entities ends where it was read to. If that is the end, the page before begins there, too.
    previous = walk.first or following or _EDGE
    return replace(previous, returned=start.returned), following


def _ends_backwards(walk: Walk, start: Position | None, size: int) -> _Ends:
    assert start is not None
    previous = None if walk.is_over else walk.position
    # Read backwards, the first entity is the last one of the page.
    following = None if start.key is None else walk.first or previous or _EDGE
    returned = max(start.returned - size, 0)
    return (
        None if previous is None else replace(previous, returned=returned),
        None if following is None else replace(following, returned=start.returned),
    )


_EDGE: Final = Position(0, None)
"""The beginning of a walk forwards, and the end of one backwards."""


def _refuse_secret_keys(spec: QuerySpec) -> None:
    """Raise UsageError if a cursor would show a secret: it contains the key of the last entity."""
    attributes = {key.name for key in (*spec.source.table.keys, *spec.source.keys)}
    for source in spec.sources:
        if not source.mapping.secrets.keys.isdisjoint(attributes):
            raise UsageError(
                problem=f"a cursor of {spec} would show a key, and a key of {source} has a secret field in it",
                remedy="give Session(cursor_secret=...), which encrypts cursors, or read with .limit(...)",
            )


def _can_start(key_queries: KeyQueries, start: Position) -> bool:
    """Whether a position is possible for these key queries: an unsigned cursor may have been made up."""
    if start.number >= len(key_queries.key_queries):
        return False
    return start.key is None or key_queries.key_queries[start.number].can_start_at(start.key)


def fingerprint(spec: QuerySpec, condition: Filter | None, table_name: Callable[[str], str]) -> str:
    """The fingerprint of a query: the cursor of another query would skip or repeat entities.

    It depends on the meaning of the query alone, not on the order of values and conditions.
    """
    source = spec.source
    return fingerprint_of(
        [
            table_name(source.table.name),
            source.index.name if source.index is not None else None,
            sorted(map(str, spec.sources)),
            sorted((name, sorted({*_texts(spec, name, value)})) for name, value in spec.equal.items()),
            sorted((one.field, one.operator, _texts(spec, one.field, one.values)) for one in spec.bounds),
            canonical(condition.condition) if condition is not None else None,
            [spec.descending, spec.limit, spec.expired, spec.keys_only, spec.segments],
            *([spec.names] if spec.names else []),
        ]
    )


def _texts(spec: QuerySpec, name: str, value: Any) -> list[str]:
    """Values of a field as they are stored, where they can be."""
    mapping = next(
        one.mapping for one in spec.sources if name in one.mapping.fields or name in one.mapping.computed
    )
    encode: Any = (
        mapping.fields[name].codec.encode if name in mapping.fields else mapping.computed[name].scalar.to_text
    )
    values = value.distinct if isinstance(value, AnyOf) else value if isinstance(value, tuple) else (value,)
    found = []
    for one in values:
        try:
            found.append(repr(encode(one)))
        except ValueError:
            found.append(repr(one))
    return found


def split(spec: QuerySpec, entities: list[Any]) -> tuple[list[Any], ...]:
    """One list for each class of the query, or for each of its places in the index, in that order."""
    found: tuple[list[Any], ...] = tuple([] for _ in spec.sources)
    for entity in entities:
        possible = [
            (number, source)
            for number, source in enumerate(spec.sources)
            if isinstance(entity, source.mapping.entity)
        ]
        # Prefer the class itself to a base class that is also in the query.
        possible.sort(key=lambda one: one[1].mapping.entity is not type(entity))
        place = next((number for number, source in possible if _is_in(source, entity)), possible[0][0])
        found[place].append(entity)
    return found


def _is_in(source: Source, entity: Any) -> bool:
    """Whether an entity is in the place that a source reads."""
    state = state_of(entity)
    if state is None or source.index is None or not source.rivals:
        return True
    mapping = mapping_of(type(entity))
    place = mapping.indexes.get(source.index.attribute_name)
    return place is not None and place.keys_in(mapping.subject(state.item)) is not None
