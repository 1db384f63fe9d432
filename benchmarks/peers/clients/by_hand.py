"""Shared: requests as you would write them without a mapping library."""

from typing import Any

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
