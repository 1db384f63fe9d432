"""What the engine reads by DynamoDB's rules where ministack has others."""

from typing import Any

import pytest

from dynaorm.embedded.engine import Engine
from dynaorm.transport import Call, Refusal

TABLE = {
    "TableName": "orders",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "day")],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by_day",
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "day", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}
KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ITEM = {**KEY, "day": {"S": "monday"}, "note": {"S": "n"}}


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    engine.call(Call("CreateTable", TABLE))
    engine.call(Call("PutItem", {"TableName": "orders", "Item": ITEM}))
    return engine


@pytest.mark.parametrize(
    ("wanted", "items"),
    [
        ({}, [{**KEY, "day": {"S": "monday"}}]),
        ({"Select": "ALL_ATTRIBUTES"}, [ITEM]),
        ({"ProjectionExpression": "note"}, [{"note": {"S": "n"}}]),
    ],
)
@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_local_index_reads_from_the_table_what_it_lacks(
    engine: Engine, operation: str, wanted: dict[str, Any], items: list[Any]
) -> None:
    request: dict[str, Any] = {"TableName": "orders", "IndexName": "by_day", **wanted}
    if operation == "Query":
        request |= {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}}
    assert engine.call(Call(operation, request))["Items"] == items


def test_a_transaction_may_not_read_an_item_twice(engine: Engine) -> None:
    read = {"Get": {"TableName": "orders", "Key": KEY}}
    with pytest.raises(Refusal, match="multiple operations on one item"):
        engine.call(Call("TransactGetItems", {"TransactItems": [read, read]}))
