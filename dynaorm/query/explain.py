"""The requests of a query in words."""

from collections.abc import Iterable, Iterator
from itertools import takewhile

from dynaorm.failure import MASK, counted
from dynaorm.item.condition import And, Condition, Or, all_of, paths_of, render
from dynaorm.item.path import Placeholders
from dynaorm.item.text import printable
from dynaorm.item.value import AttributeValue
from dynaorm.query.filter import mappings_of
from dynaorm.query.key_query import KeyQueries, KeyQuery
from dynaorm.query.key_range import EVERYTHING
from dynaorm.query.query_spec import QuerySpec


class _Inline(Placeholders):
    """Writes names and values themselves into an expression, or masks its values."""

    def __init__(self, *, is_secret: bool) -> None:
        super().__init__()
        self._is_secret = is_secret

    def name(self, attribute: str) -> str:
        return attribute

    def value(self, value: AttributeValue) -> str:
        return MASK if self._is_secret else repr(next(iter(value.values())))


def explained(spec: QuerySpec, key_queries: KeyQueries, *, is_fetching: bool) -> str:
    """What is sent for a query: one line for each request, and what is done with the replies.

    ``is_fetching``: the index has only a part of what is returned.
    """
    found = key_queries.key_queries
    if not found:
        return "Nothing to send: nothing can be found."
    several = len(found) > 1
    head = counted(len(found), "request") + (", sent together" if several else "")
    order = ", ".join(key.name for key in found[0].form.sort)
    if several and spec.segments is None and order:
        head += f", merged in the order of {order}"
    lines = [f"{head}, and more for each further page"]
    lines += [f"{number}. {_request(spec, one)}" for number, one in enumerate(found, 1)]
    lines += _afterwards(spec, key_queries, is_fetching=is_fetching)
    # Stored text is part of it, and it is printed on terminals.
    return "\n".join(map(printable, lines))


def explained_search(
    query: QuerySpec, key_queries: KeyQueries, terms: Iterable[Condition], *, is_fetching: bool
) -> str:
    """What is sent for a search: one line for each partition, and what is done with the replies.

    ``terms``: the filters.
    """
    found = key_queries.key_queries
    if not found:
        return "Nothing to send: nothing can be found."
    together = ", sent together, merged by score" if len(found) > 1 else ""
    lines = [f"{counted(len(found), 'request')}{together}"]
    for number, one in enumerate(found, 1):
        condition = all_of(one.within, *terms)
        text = "" if condition is None else f": {_text(query, condition)}"
        request = one.request
        lines.append(
            f"{number}. SearchVectors {request['TableName']} index {request['IndexName']}{text}, "
            f"the nearest {query.limit}"
        )
    if is_fetching:
        lines.append(f"The whole items are fetched by key: BatchGetItem {found[0].request['TableName']}.")
    else:
        lines += _doubtful_entries(query, key_queries)
    return "\n".join(map(printable, lines))


def _request(spec: QuerySpec, one: KeyQuery) -> str:
    request, form = one.request, one.form
    index = f" index {request['IndexName']}" if "IndexName" in request else ""
    parts = [f"{one.operation} {request['TableName']}{index}"]
    if one.within is not None:
        parts[0] += f": {_text(spec, one.within)}"
    if "Segment" in request:
        parts[0] += f": segment {request['Segment'] + 1} of {request['TotalSegments']}"
    if form.server_filter is not None:
        parts.append(f"filter {_text(spec, form.server_filter)}")
    if form.projection:
        parts.append(f"only {' '.join(form.projection)}")
    parts += ["descending"] if spec.descending else []
    parts += ["consistent"] if request.get("ConsistentRead") else []
    return ", ".join(parts)


def _text(spec: QuerySpec, condition: Condition) -> str:
    """A condition in words. The values of a part that names a secret are masked."""
    if isinstance(condition, And):
        texts = [(part, _text(spec, part)) for part in condition.parts]
        return " AND ".join(f"({text})" if isinstance(part, Or) else text for part, text in texts)
    is_secret = not _secrets(spec).isdisjoint(str(path[0]) for path in paths_of(condition))
    return render(condition, _Inline(is_secret=is_secret))


def _secrets(spec: QuerySpec) -> set[str]:
    """The attributes that hold a secret in any class of the query."""
    found = set[str]()
    for mapping in mappings_of(spec):
        found |= mapping.secrets.keys
        for field in (mapping.fields[name] for name in mapping.secrets.fields if name in mapping.fields):
            found.update(field.attributes)
    return found


def _afterwards(spec: QuerySpec, key_queries: KeyQueries, *, is_fetching: bool) -> Iterator[str]:
    table = key_queries.key_queries[0].request["TableName"]
    yield from _read_in_vain(spec, key_queries.key_queries)
    if any(key_query.wanted for key_query in key_queries.key_queries):
        yield "dynaorm drops what it reads beyond the keys that were asked for."
    if is_fetching:
        yield f"The whole items are fetched by key: BatchGetItem {table}, 100 in a request."
    else:
        yield from _doubtful_entries(spec, key_queries)
    if key_queries.local_filter is not None:
        yield "The filter is evaluated on the items that were read."
    ranges = (one for source in key_queries.form.sources for one in source.ranges)
    for field in sorted({one.padded for one in ranges if one.padded is not None}):
        yield f"A key in which another program wrote {field} without its zeros may be left out."
    if spec.limit is not None:
        yield f"It ends with the first {spec.limit}."


def _read_in_vain(spec: QuerySpec, key_queries: Iterable[KeyQuery]) -> Iterator[str]:
    """What lies between the wanted keys, and what to do about it."""
    asked = tuple(source.mapping.entity for source in spec.sources)
    names = {
        mapping.entity.__name__: None
        for key_query in key_queries
        if key_query.partition and not (key_query.ranges and all(each.is_point for each in key_query.ranges))
        for source in spec.sources
        for mapping in source.beside(_beginning(key_query))
        if not issubclass(mapping.entity, asked)
    }
    if names:
        yield (
            f"Items of {', '.join(names)} lie between these keys, and are read and paid for, too: give {spec} another "
            "prefix of its sort key, or an index."
        )


def _beginning(one: KeyQuery) -> str:
    """The text with which all sort keys begin that are read."""
    first = one.ranges[0] if one.ranges else EVERYTHING
    if not (isinstance(first.low, str) and isinstance(first.high, str)):
        return ""
    pairs = zip(first.low, first.high, strict=False)
    return "".join(low for low, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _doubtful_entries(spec: QuerySpec, key_queries: KeyQueries) -> Iterator[str]:
    """What is done with entries of an index that has all that is returned, and not all that a condition looks at."""
    if not spec.source.is_whole and any(key_query.wanted for key_query in key_queries.key_queries):
        table = key_queries.key_queries[0].request["TableName"]
        yield f"An entry whose keys do not tell whether it is wanted is fetched by key: BatchGetItem {table}."
