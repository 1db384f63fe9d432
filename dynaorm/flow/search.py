"""SearchVectors: the nearest entries of a vector index, and their entities.

Rule 1. An answer has one page of at most 100 entries, nearest first. Several partitions are searched together, and
        their answers merged by score.
Rule 2. Entities are whole: they are fetched by key. An entry whose item is gone, has expired, or has changed its place
        since is dropped, and a larger answer is asked for in its place, as long as there can be one.
"""

from collections.abc import Sequence
from typing import Any

from dynaorm.flow.call import Call, Context, Flow, ReadCost, Reply, gather
from dynaorm.flow.read import check_keys, part_of, repeat
from dynaorm.flow.result_filter import CONCURRENCY, Progress, ResultFilter
from dynaorm.item.condition import all_of, equals, render
from dynaorm.item.path import Placeholders
from dynaorm.query.explain import explained_search
from dynaorm.query.key_query import KeyQuery, key_queries_of
from dynaorm.query.results import Match, Results
from dynaorm.query.search_spec import MOST_MATCHES, SearchSpec
from dynaorm.record import record

# When entries were dropped, so many times more are asked for.
_GROWTH = 2


@record(frozen=False)
class _Entry(Progress):
    """An entry of an answer on its way to an entity.

    Attributes:
        score: how near it is.
    """

    score: float = 0.0


def explain(spec: SearchSpec, context: Context) -> str:
    """The requests of a search in words. Raises UsageError, InvalidValue, as ``matches_of`` does."""
    key_queries = key_queries_of(spec.query, context.table_name, consistent=False)
    is_fetching = ResultFilter(spec.query, key_queries, context).is_fetching
    return explained_search(spec.query, key_queries, spec.terms, is_fetching=is_fetching)


def matches_of(spec: SearchSpec, context: Context) -> Flow[Results[Match[Any]]]:
    """The nearest entities, nearest first.

    Raises:
        UsageError: the fields do not name a partition of the index; nothing was sent.
        InvalidValue: a value cannot be part of the key; nothing was sent.
        DecodeError: an item does not fit its class, and the session has no ``on_decode_error``.
    """
    key_queries = key_queries_of(spec.query, context.table_name, consistent=False)
    wanted = ResultFilter(spec.query, key_queries, context)
    cost, asked = ReadCost(), spec.count
    while True:
        calls = [repeat(_call(spec, key_query, asked), context) for key_query in key_queries.key_queries]
        replies = yield from gather(calls, CONCURRENCY)
        entries: list[_Entry] = []
        for one, reply in zip(key_queries.key_queries, replies, strict=True):
            cost.add(reply)
            entries += _entries(one, reply, wanted, context.clock.now())
        entries.sort(key=lambda one: one.score, reverse=spec.index.distance == "dot_product")
        taken = [(entry, found) for entry in entries[:asked] for found in entry.buffered]
        whole = yield from wanted.whole(taken)
        found = [
            Match(entity, one.score)
            for one, item in whole
            if isinstance(one, _Entry) and (entity := wanted.entity(item)) is not None
        ]
        is_all = all(len(_results(reply)) < asked for reply in replies)
        if len(found) >= spec.count or is_all or asked == MOST_MATCHES:
            cost.take([wanted.cost])
            return Results(found[: spec.count], cost.requests, cost.read_units)
        asked = min(MOST_MATCHES, asked * _GROWTH)


def _call(spec: SearchSpec, one: KeyQuery, asked: int) -> Call:
    """The request for the nearest entries of one partition."""
    placeholders = Placeholders()
    partition = zip(spec.index.pk, one.partition, strict=True)
    condition = all_of(*(equals(key.name, value) for key, value in partition), *spec.terms)
    assert condition is not None
    request: dict[str, Any] = {
        "TableName": one.request["TableName"],
        "IndexName": one.request["IndexName"],
        "SearchVector": spec.vector["L"],
        "TopK": asked,
        "SearchConditionExpression": render(condition, placeholders),
        "ExpressionAttributeNames": placeholders.names,
        "ExpressionAttributeValues": placeholders.values,
    }
    return Call("SearchVectors", request)


def _results(reply: Reply) -> Sequence[Any]:
    found: Sequence[Any] = part_of("SearchVectors", reply, "SearchResults")
    return found


def _entries(one: KeyQuery, reply: Reply, wanted: ResultFilter, now: float) -> list[_Entry]:
    """What an answer holds, each with what is wanted of it."""
    found: list[_Entry] = []
    for result in _results(reply):
        item = part_of("SearchVectors", result, "Item")
        check_keys("SearchVectors", [item], one.form.query.keys)
        entry = _Entry(len(found), one, score=float(part_of("SearchVectors", result, "Score")))
        wanted.buffer(entry, one, [item], now)
        for unknown in entry.unknown:
            wanted.report(unknown)
        found.append(entry)
    return found
