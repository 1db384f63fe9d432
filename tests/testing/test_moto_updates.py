"""strict_moto makes each UpdateItem as a whole."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from dynaorm.flow.protocol.call import Call, Refusal, Reply, Transport
from dynaorm.testing import strict_moto
from dynaorm.transport.pynamodb import PynamoTransport

KEY: Final = {"PK": {"S": "1"}}
ITEM: Final = {**KEY, "words": {"L": []}}
SCHEMA: Final = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def transport() -> Iterator[Transport]:
    with strict_moto():
        transport = PynamoTransport(region="us-east-1")
        transport.call(Call("CreateTable", {"TableName": "app", **SCHEMA}))
        transport.call(Call("PutItem", {"TableName": "app", "Item": dict(ITEM)}))
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


def test_an_update_of_nothing_is_a_condition_alone(transport: Transport) -> None:
    exists = {"ConditionExpression": "attribute_exists(PK)"}
    assert update(transport, "1", ReturnValues="ALL_NEW", **exists)["Attributes"] == ITEM
    with pytest.raises(Refusal, match="conditional request failed"):
        update(transport, "2", **exists)
