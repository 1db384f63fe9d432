"""strict_moto makes each UpdateItem as a whole."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynaorm.flow.protocol.call import Call, Refusal, Reply, Transport
from dynaorm.item.value import AttributeValue
from dynaorm.testing import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport

KEY: Final = {"PK": {"S": "1"}}
ITEM: Final = {**KEY, "words": {"L": []}}
SCHEMA: Final[dict[str, Any]] = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
RANGED: Final = {
    "KeySchema": [*SCHEMA["KeySchema"], {"AttributeName": "SK", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def transport() -> Iterator[Transport]:
    with strict_moto():
        transport = PynamoTransport(region="us-east-1")
        transport.call(Call("CreateTable", {"TableName": "app", **SCHEMA}))
        transport.call(Call("PutItem", {"TableName": "app", "Item": dict(ITEM)}))
        transport.call(Call("CreateTable", {"TableName": "ranged", **RANGED}))
        yield transport


def update(transport: Transport, key: str, **request: Any) -> Reply:
    return transport.call(Call("UpdateItem", {"TableName": "app", "Key": {"PK": {"S": key}}, **request}))


def test_an_update_that_is_refused_changes_nothing(transport: Transport) -> None:
    with pytest.raises(Refusal, match="incorrect data type"):
        update(
            transport,
            "1",
            UpdateExpression="SET n = :one ADD words :word",
            ExpressionAttributeValues={":one": {"N": "1"}, ":word": {"SS": ["x"]}},
        )
    assert transport.call(Call("GetItem", {"TableName": "app", "Key": KEY}))["Item"] == ITEM


@pytest.mark.parametrize(
    ("expression", "value"),
    [("SET a = :value ADD b :value", {"S": "x"}), ("SET a = :value DELETE b :value", {"N": "1"})],
)
@pytest.mark.parametrize("table", ["app", "ranged"])
def test_an_update_of_an_absent_item_that_is_refused_leaves_none(
    transport: Transport, table: str, expression: str, value: AttributeValue
) -> None:
    key = {"PK": {"S": "1"}, "SK": {"S": "2"}} if table == "ranged" else {"PK": {"S": "2"}}
    request = {"UpdateExpression": expression, "ExpressionAttributeValues": {":value": value}}
    before = transport.call(Call("Scan", {"TableName": table}))["Items"]
    with pytest.raises(Refusal, match="ValidationException"):
        transport.call(Call("UpdateItem", {"TableName": table, "Key": key, **request}))
    assert transport.call(Call("Scan", {"TableName": table}))["Items"] == before


def test_an_update_of_nothing_is_a_condition_alone(transport: Transport) -> None:
    exists = {"ConditionExpression": "attribute_exists(PK)"}
    assert update(transport, "1", ReturnValues="ALL_NEW", **exists)["Attributes"] == ITEM
    with pytest.raises(Refusal, match="conditional request failed"):
        update(transport, "2", **exists)
