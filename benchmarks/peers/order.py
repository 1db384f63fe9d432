"""The order that every client reads and writes: its Python values, its item, and the stub's answers.

Twelve attributes: five strings (two of them the key), three numbers (one a decimal), a boolean, a list of strings,
a map and a time. A partition is named after the number of its orders, so that the key of a query tells the stub how
many to return.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

REGION = "us-east-1"
ACCESS_KEY = "AKIABENCHMARKEXAMPLE"  # pragma: allowlist secret - opens nothing
SECRET_KEY = "benchmark/secret/key/of/forty/characters"

PAGE = 100
BATCH = 25
ORDER = 42
TRANSACTION = (42, 43, 44)

# Every library reads this format of a time; pynamodb's attribute reads no other.
_TIME = {"created_at": {"S": "2024-05-17T09:30:15.123456+0000"}}

# The stub answers each client with items as that client stores them. By table: the differences from `item_of`.
_OWN_TIME = {"created_at": {"S": "2024-05-17T09:30:15.123456Z"}}
TABLES: Mapping[str, Mapping[str, Any]] = {
    "orders": _TIME,
    "orders-pydynantic": _TIME | {"__entity__": {"S": "order"}},
    "orders-existing": _OWN_TIME,
    "orders-dynaorm": {
        "_type": {"S": "Order"},
        "_rev": {"S": "3f0d7c1e9a5b4e27b1c68d20f4a97e35"},
        **_OWN_TIME,
    },
}


def partition(size: int) -> str:
    """The partition key of the customer who has this many orders."""
    return f"CUSTOMER#{size:04d}"


def sort(number: int) -> str:
    return f"ORDER#{number:07d}"


def values_of(number: int, size: int = PAGE) -> dict[str, Any]:
    """New Python values of an order."""
    return {
        "pk": partition(size),
        "sk": sort(number),
        "title": f"Order number {number} of the benchmark",
        "email": "bobby.tables@example.com",
        "status": "SHIPPED",
        "quantity": 17,
        "price": Decimal("1249.95"),
        "active": True,
        "version": 3,
        "tags": ["fragile", "priority", "gift-wrap"],
        "address": {"street": "17 Cherry Tree Lane", "city": "London", "zip": "NW1 6XE", "floor": 2},
        "created_at": datetime(2024, 5, 17, 9, 30, 15, 123456, tzinfo=UTC),
    }


def item_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The item of an order, as you would write it without a mapping library."""
    address = values["address"]
    return {
        "pk": {"S": values["pk"]},
        "sk": {"S": values["sk"]},
        "title": {"S": values["title"]},
        "email": {"S": values["email"]},
        "status": {"S": values["status"]},
        "quantity": {"N": str(values["quantity"])},
        "price": {"N": str(values["price"])},
        "active": {"BOOL": values["active"]},
        "version": {"N": str(values["version"])},
        "tags": {"L": [{"S": tag} for tag in values["tags"]]},
        "address": {
            "M": {
                "street": {"S": address["street"]},
                "city": {"S": address["city"]},
                "zip": {"S": address["zip"]},
                "floor": {"N": str(address["floor"])},
            }
        },
        "created_at": {"S": values["created_at"].isoformat()},
    }


def stored(table: str, number: int, size: int = PAGE) -> dict[str, Any]:
    """The item as it is stored in a client's table."""
    return {**item_of(values_of(number, size)), **TABLES[table]}


@cache
def answer(operation: str, table: str, size: int, counted: bool) -> bytes:
    """The body of a DynamoDB answer; ``counted``: the request asked for the consumed capacity."""
    capacity: dict[str, Any] = {"TableName": table, "CapacityUnits": 1.0}
    one, several = {"ConsumedCapacity": capacity}, {"ConsumedCapacity": [capacity]}
    reply: dict[str, Any]
    extra: dict[str, Any]
    match operation:
        case "GetItem":
            reply, extra = {"Item": stored(table, ORDER, size)}, one
        case "PutItem" | "UpdateItem":
            reply, extra = {}, one
        case "TransactWriteItems":
            reply, extra = {}, several
        case "Query":
            items = [stored(table, number, size) for number in range(size)]
            reply, extra = {"Items": items, "Count": size, "ScannedCount": size}, one
        case "BatchGetItem":
            items = [stored(table, number, size) for number in range(PAGE)]
            reply, extra = {"Responses": {table: items}, "UnprocessedKeys": {}}, several
        case "BatchWriteItem":
            reply, extra = {"UnprocessedItems": {}}, several
        case _:
            raise ValueError(f"The benchmark has no answer for {operation}; let it ask one of those above.")
    return json.dumps({**reply, **(extra if counted else {})}, separators=(",", ":")).encode()
