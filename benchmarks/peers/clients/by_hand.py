"""Shared: requests as you would write them without a mapping library."""

import json
from collections.abc import Iterable
from typing import Any

from benchmarks.peers.client import CHANGED
from benchmarks.peers.order import BATCH, ORDER, PAGE, TRANSACTION, item_of, partition, sort, values_of

TABLE = "orders"
VALUES = values_of(ORDER)
THREE = [values_of(number) for number in TRANSACTION]
MANY = [values_of(number) for number in range(BATCH)]
KEYS = [(partition(PAGE), sort(number)) for number in range(PAGE)]


def get() -> dict[str, Any]:
    return {"TableName": TABLE, "Key": {"pk": {"S": partition(PAGE)}, "sk": {"S": sort(ORDER)}}}


def put() -> dict[str, Any]:
    return {"TableName": TABLE, "Item": item_of(VALUES)}


def transact() -> dict[str, Any]:
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "TransactItems": [
            {"Put": {"TableName": TABLE, "Item": item_of(values), **condition}} for values in THREE
        ]
    }


def query(size: int) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition(size)}},
    }


def batch_get() -> dict[str, Any]:
    keys = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in KEYS]
    return {"RequestItems": {TABLE: {"Keys": keys}}}


def batch_write() -> dict[str, Any]:
    return {"RequestItems": {TABLE: [{"PutRequest": {"Item": item_of(values)}} for values in MANY]}}


def change(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "Key": {"pk": item["pk"], "sk": item["sk"]},
        "UpdateExpression": "SET #status = :status",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": {":status": {"S": CHANGED}},
    }


def response(items: Iterable[dict[str, Any]]) -> str:
    return json.dumps([plain(item) for item in items])


def plain(item: dict[str, Any]) -> dict[str, Any]:
    address = item["address"]["M"]
    return {
        "pk": item["pk"]["S"],
        "sk": item["sk"]["S"],
        "title": item["title"]["S"],
        "email": item["email"]["S"],
        "status": item["status"]["S"],
        "quantity": int(item["quantity"]["N"]),
        "price": item["price"]["N"],
        "active": item["active"]["BOOL"],
        "version": int(item["version"]["N"]),
        "tags": [tag["S"] for tag in item["tags"]["L"]],
        "address": {
            "street": address["street"]["S"],
            "city": address["city"]["S"],
            "zip": address["zip"]["S"],
            "floor": int(address["floor"]["N"]),
        },
        "created_at": item["created_at"]["S"],
    }
