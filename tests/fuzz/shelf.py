"""A read-only DynamoDB with a few items in memory: it answers reads as DynamoDB does, and refuses writes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from dynaorm import Entity, GlobalIndex, Session, Table
from dynaorm.entity.table import KeyAttribute
from dynaorm.item.condition import And, Compare, Condition, holds, paths_of
from dynaorm.query.key_range import comparable
from dynaorm.transport import Call, Reply
from tests.dynamodb_json import Item
from tests.fuzz.expression import condition_in, tokens_of

Request: TypeAlias = Mapping[str, Any]


class Shelf:
    """A ``Transport``: items by table. ``page`` says how many items DynamoDB reads for a request; None for all."""

    def __init__(
        self, tables: Iterable[Table], *, page: Callable[[Request], int | None] = lambda _: None
    ) -> None:
        self.tables = {table.name: table for table in tables}
        self.items: dict[str, list[Item]] = {name: [] for name in self.tables}
        self.page = page

    def fill(self, entity: Entity, session: Session) -> None:
        """Hold what saving a new entity stores, and nothing else."""
        self.items = {name: [] for name in self.tables}
        request = session.plan(entity).to_request()
        for action in request.get("TransactItems", [{"Put": request}]):
            self.items[action["Put"]["TableName"]].append(action["Put"]["Item"])

    def call(self, call: Call, /) -> Reply:
        request = call.request
        if call.operation == "BatchGetItem":
            asked = request["RequestItems"].items()
            found = {name: self._by_keys(name, keys["Keys"]) for name, keys in asked}
            return {"Responses": found, "UnprocessedKeys": {}}
        if call.operation == "GetItem":
            return self._by_key(request)
        if call.operation == "TransactGetItems":
            return {"Responses": [self._by_key(one["Get"]) for one in request["TransactItems"]]}
        if call.operation in ("Query", "Scan"):
            return self._read(request)
        raise AssertionError(f"{call.operation} was sent")

    def _by_key(self, get: Request) -> dict[str, Item]:
        items = self._by_keys(get["TableName"], [get["Key"]])
        return {"Item": items[0]} if items else {}

    def _by_keys(self, name: str, keys: Iterable[Item]) -> list[Item]:
        names = self.tables[name].key_names
        wanted = [_content(key, names) for key in keys]
        return [item for item in self.items[name] if _content(item, names) in wanted]

    def _read(self, request: Request) -> Reply:
        """A page of a Query or Scan. Raises AssertionError where DynamoDB would refuse the request."""
        table = self.tables[request["TableName"]]
        order = _order_of(table, request.get("IndexName"))
        within = condition_in(request, "KeyConditionExpression")
        _check_placeholders(request)
        order.check(within)
        found = [one for one in self.items[table.name] if order.has(one) and _is_in(request, order, one)]
        found = [one for one in found if within is None or holds(within, one)]
        is_forward, start = request.get("ScanIndexForward", True), request.get("ExclusiveStartKey")
        found.sort(key=order.place, reverse=not is_forward)
        if start is not None:
            assert start.keys() == order.names, f"{start} is no key of {order.names}"
            assert within is None or holds(within, start), f"{start} is outside of the query"
            place = order.place(start)
            found = [
                one for one in found if order.place(one) != place and (order.place(one) > place) == is_forward
            ]
        limit, page = request.get("Limit"), self.page(request)
        size = min((one for one in (limit, page) if one is not None), default=len(found))
        read = found[:size]
        # A page that ends at its Limit is not known to be the last one.
        is_last = len(found) == len(read) and len(read) != limit
        last = (
            {}
            if is_last or not read
            else {"LastEvaluatedKey": {name: read[-1][name] for name in order.names}}
        )
        items = _items(request, [order.projected(one) for one in read])
        return {"Items": items, "Count": len(items), "ScannedCount": len(read), **last}


@dataclass(frozen=True)
class _Order:
    """The keys of a table or index, and the attributes that it has; None for all."""

    table: Table
    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...]
    attributes: frozenset[str] | None = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset([*(key.name for key in (*self.partition, *self.sort)), *self.table.key_names])

    def has(self, item: Item) -> bool:
        return all(key.kind in item.get(key.name, {}) for key in (*self.partition, *self.sort))

    def place(self, item: Item) -> tuple[Any, ...]:
        """What items are sorted by. Partitions, and items with equal keys in an index, are in no known order."""
        keys = tuple(comparable(item[key.name]) for key in self.sort)
        return self.hash(item), keys, _hash(_content(item, self.table.key_names))

    def hash(self, item: Item) -> bytes:
        """What decides the segment of an item."""
        return _hash(_content(item, [key.name for key in self.partition]))

    def projected(self, item: Item) -> Item:
        kept = None if self.attributes is None else self.attributes | self.names
        return item if kept is None else {name: item[name] for name in item if name in kept}

    def check(self, within: Condition | None) -> None:
        """Raise AssertionError if it is no key condition: equal values, and one condition on the next attribute."""
        if within is None:
            return
        parts = within.parts if isinstance(within, And) else (within,)
        given = [str(path[0]) for part in parts for path in paths_of(part)]
        assert given == [key.name for key in (*self.partition, *self.sort)][: len(given)]
        equal = [isinstance(part, Compare) and part.operator == "=" for part in parts]
        assert len(given) >= len(self.partition)
        assert all(equal[: max(len(self.partition), len(given) - 1)])


def _order_of(table: Table, index_name: str | None) -> _Order:
    if index_name is None:
        return _Order(table, (table.pk,), () if table.sk is None else (table.sk,))
    index = table.indexes[index_name]
    partition = index.pk if isinstance(index, GlobalIndex) else (table.pk,)
    names = () if isinstance(index.projection, str) else index.projection
    return _Order(table, partition, index.sk, None if index.projection == "ALL" else frozenset(names))


def _content(item: Item, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(comparable(item[name]) for name in names)


def _hash(content: object) -> bytes:
    return sha256(repr(content).encode("utf-8", "surrogatepass")).digest()


def _is_in(request: Request, order: _Order, item: Item) -> bool:
    """Whether an item is in the segment of a request."""
    total = request.get("TotalSegments", 1)
    return bool(order.hash(item)[0] % total == request.get("Segment", 0))


def _check_placeholders(request: Request) -> None:
    """Raise AssertionError if one is not used: DynamoDB refuses that."""
    texts = [request.get(f"{name}Expression", "") for name in ("KeyCondition", "Filter", "Projection")]
    used = {token for text in texts for token in tokens_of(text)}
    given = {*request.get("ExpressionAttributeNames", ()), *request.get("ExpressionAttributeValues", ())}
    assert given <= used, f"{given - used} is not used"


def _items(request: Request, read: Iterable[Item]) -> list[Item]:
    """What is returned of the items that were read."""
    condition = condition_in(request, "FilterExpression")
    found = [item for item in read if condition is None or holds(condition, item)]
    if "ProjectionExpression" not in request:
        return found
    given = request.get("ExpressionAttributeNames", {})
    names = [given.get(one.strip(), one.strip()) for one in request["ProjectionExpression"].split(",")]
    return [{name: item[name] for name in names if name in item} for item in found]
