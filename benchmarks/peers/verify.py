"""Check that a client sends the right request and returns the right values, before it is timed."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.request import ProxyHandler, build_opener

from benchmarks.peers import order
from benchmarks.peers.client import Client

_REQUESTS = {
    "get": "GetItem",
    "put": "PutItem",
    "transact3": "TransactWriteItems",
    "query100": "Query",
    "query1000": "Query",
    "batch_get100": "BatchGetItem",
    "batch_write25": "BatchWriteItem",
}
# The orders that a read returns, and the size of their partition.
_READS = {
    "get": ([order.ORDER], order.PAGE),
    "query100": (list(range(100)), 100),
    "query1000": (list(range(1000)), 1000),
    "batch_get100": (list(range(order.PAGE)), order.PAGE),
}


class Unequal(Exception):
    """A client does not do the same work as the others."""


def overheard(endpoint: str) -> list[Any]:
    """Every ``[operation, request]`` that the stub has received since the last call."""
    with build_opener(ProxyHandler({})).open(endpoint) as reply:
        found: list[Any] = json.load(reply)
        return found


def check(client: Client, operation: str, result: Any, requests: list[Any]) -> None:
    """Check that an operation returned the right orders and sent the right request.

    Args:
        client: the client that ran the operation.
        operation: a key of ``OPERATIONS``.
        result: the return value of its method.
        requests: the requests that the stub received meanwhile.
    """
    if [name for name, _ in requests] != [_REQUESTS[operation]]:
        asked = ", ".join(name for name, _ in requests) or "nothing"
        raise Unequal(f"{operation} asked for {asked} instead of one {_REQUESTS[operation]}")
    request = requests[0][1]
    if operation == "batch_get100":
        _equal(len(_table(request)["Keys"]), order.PAGE, "keys asked for")
    if operation in _READS:
        _check_orders(client, [result] if operation == "get" else list(result), *_READS[operation])
    else:
        _check_items(*_writes(operation, request))


def _writes(operation: str, request: Mapping[str, Any]) -> tuple[list[Any], list[int]]:
    """The items that a request stores, and the numbers of the orders they should hold."""
    if operation == "put":
        return [request["Item"]], [order.ORDER]
    if operation == "batch_write25":
        return [one["PutRequest"]["Item"] for one in _table(request)], list(range(order.BATCH))
    puts = [action["Put"] for action in request["TransactItems"]]
    if not all("attribute_not_exists" in put.get("ConditionExpression", "") for put in puts):
        raise Unequal(f"{operation} put an order without a condition")
    return [put["Item"] for put in puts], list(order.TRANSACTION)


def _table(request: Mapping[str, Any]) -> Any:
    (found,) = request["RequestItems"].values()
    return found


def _equal(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise Unequal(f"{what}: {found!r} instead of {expected!r}")


def _check_orders(client: Client, found: list[Any], numbers: list[int], size: int) -> None:
    _equal(len(found), len(numbers), "orders returned")
    if client.gives == "attribute values":
        for item, number in zip(sorted(found, key=lambda one: one["sk"]["S"]), numbers, strict=True):
            expected = order.stored("orders", number, size)
            for name in expected | item:
                _equal(item.get(name), expected.get(name), f"attribute {name} returned")
        return
    orders = sorted(map(client.fields, found), key=lambda one: one["sk"])
    for fields, number in zip(orders, numbers, strict=True):
        expected = order.values_of(number, size)
        for name, value in expected.items():
            if client.gives == "validated":
                _equal((type(fields[name]), fields[name]), (type(value), value), name)
            else:
                _equal(_comparable(fields[name]), _comparable(value), name)


def _check_items(items: list[Any], numbers: list[int]) -> None:
    _equal(len(items), len(numbers), "items sent")
    for item, number in zip(sorted(items, key=lambda one: one["sk"]["S"]), numbers, strict=True):
        for name, value in order.item_of(order.values_of(number)).items():
            _equal(_comparable(_plain(item.get(name))), _comparable(_plain(value)), f"attribute {name} sent")


def _plain(value: Any) -> Any:
    """The Python value of an attribute value."""
    if value is None:
        return None
    ((tag, content),) = value.items()
    match tag:
        case "N":
            return Decimal(content)
        case "L":
            return [_plain(one) for one in content]
        case "M":
            return {name: _plain(one) for name, one in content.items()}
    return content


def _comparable(value: Any) -> Any:
    """A comparable form of a value: floats equal decimals, and texts equal the times they stand for."""
    match value:
        case bool() | None:
            return value
        case int() | float() | Decimal():
            return float(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case str():
            return next(_times_in(value), value)
        case list() | tuple():
            return [_comparable(one) for one in value]
        case Mapping():
            return {name: _comparable(one) for name, one in value.items()}
    raise Unequal(f"{value!r} is neither a plain value nor a container of plain values")


def _times_in(text: str) -> Iterator[str]:
    if text[:2] == "20":
        yield datetime.fromisoformat(text).astimezone(UTC).isoformat()
