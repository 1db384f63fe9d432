"""Check that a client sends the right request and returns the right values, before it is timed."""

import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.request import ProxyHandler, build_opener

from benchmarks.peers import order
from benchmarks.peers.client import CHANGED, PLACE, Client

_WRITES = {"PutItem", "UpdateItem"}
"""How a client may store a change: the whole item, or the attribute."""
_REQUESTS: Mapping[str, Sequence[set[str]]] = {
    "get": [{"GetItem"}],
    "put": [{"PutItem"}],
    "transact3": [{"TransactWriteItems"}],
    "query1": [{"Query"}],
    "query3": [{"Query"}],
    "query10": [{"Query"}],
    "query100": [{"Query"}],
    "query1000": [{"Query"}],
    "batch_get100": [{"BatchGetItem"}],
    "batch_write25": [{"BatchWriteItem"}],
    "get_change_save": [{"GetItem"}, _WRITES],
    "query1000_change_save": [{"Query"}, _WRITES],
    "query100_json": [{"Query"}],
}
_CHANGES = {
    "get_change_save": (order.ORDER, order.PAGE),
    "query1000_change_save": (PLACE, 1000),
}
"""The number of the order that is changed, and the size of its partition."""
# The orders that a read returns, and the size of their partition.
_READS = {
    "get": ([order.ORDER], order.PAGE),
    "query1": ([0], 1),
    "query3": (list(range(3)), 3),
    "query10": (list(range(10)), 10),
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
    names, expected = [name for name, _ in requests], _REQUESTS[operation]
    if len(names) != len(expected) or not all(map(operator.contains, expected, names)):
        wanted = ", then ".join(" or ".join(sorted(some)) for some in expected)
        raise Unequal(f"{operation} asked for {', '.join(names) or 'nothing'} instead of {wanted}")
    request = requests[-1][1]
    if operation == "batch_get100":
        _equal(len(_table(request)["Keys"]), order.PAGE, "keys asked for")
    if operation == "query100_json":
        _check_response(result, *_READS["query100"])
    elif operation in _CHANGES:
        _check_change(names[-1], request, *_CHANGES[operation])
    elif operation in _READS:
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


def _check_response(text: str | bytes, numbers: list[int], size: int) -> None:
    """The JSON text has the values of all orders; decimal numbers may be texts."""
    orders = json.loads(text)
    _equal(len(orders), len(numbers), "orders in the response")
    for fields, number in zip(sorted(orders, key=lambda one: one["sk"]), numbers, strict=True):
        for name, value in order.values_of(number, size).items():
            found = float(fields[name]) if isinstance(value, Decimal) else fields[name]
            _equal(_in_json(found), _in_json(value), f"{name} in the response")


def _in_json(value: Any) -> Any:
    """A comparable form of a value in JSON, where any number may be a text."""
    if isinstance(value, list):
        return [_in_json(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _in_json(one) for name, one in value.items()}
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(float(value))
    if isinstance(value, str) and value.isdigit():
        return str(float(value))
    return _comparable(value)


def _check_change(name: str, request: Mapping[str, Any], number: int, size: int) -> None:
    """The right item is written, with the new status."""
    if request.get("ReturnValues", "NONE") != "NONE":
        raise Unequal(f"a change asked for {request['ReturnValues']}, which the stub does not return")
    values = order.values_of(number, size)
    if name == "PutItem":
        _check_item(request["Item"], {**values, "status": CHANGED})
        return
    _equal(request["Key"], {"pk": {"S": values["pk"]}, "sk": {"S": values["sk"]}}, "key of a change")
    if {"S": CHANGED} not in request["ExpressionAttributeValues"].values():
        raise Unequal(f"a change did not send the new status: {request}")


def _check_items(items: list[Any], numbers: list[int]) -> None:
    _equal(len(items), len(numbers), "items sent")
    for item, number in zip(sorted(items, key=lambda one: one["sk"]["S"]), numbers, strict=True):
        _check_item(item, order.values_of(number))


def _check_item(item: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    for name, value in order.item_of(values).items():
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
