"""The engine makes each UpdateItem and each transaction as a whole."""

from typing import Any, Final

import pytest

from dynaorm import Entity, Key, Session, Table, tools
from dynaorm.embedded.engine import Engine
from dynaorm.errors import AlreadyExists
from dynaorm.transport import Call, Refusal, Reply, Transport
from tests.dynamodb_json import AttributeValue

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
def transport() -> Transport:
    engine = Engine()
    engine.call(Call("CreateTable", {"TableName": "app", **SCHEMA}))
    engine.call(Call("PutItem", {"TableName": "app", "Item": dict(ITEM)}))
    engine.call(Call("CreateTable", {"TableName": "ranged", **RANGED}))
    return engine


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


def test_an_item_with_an_empty_attribute_name_is_refused(transport: Transport) -> None:
    with pytest.raises(Refusal, match="Empty attribute name"):
        transport.call(Call("PutItem", {"TableName": "app", "Item": {**KEY, "": {"S": "x"}}}))
    assert transport.call(Call("GetItem", {"TableName": "app", "Key": KEY}))["Item"] == ITEM


def test_an_update_of_nothing_is_a_condition_alone(transport: Transport) -> None:
    exists = {"ConditionExpression": "attribute_exists(PK)"}
    assert update(transport, "1", ReturnValues="ALL_NEW", **exists)["Attributes"] == ITEM
    with pytest.raises(Refusal, match="conditional request failed"):
        update(transport, "2", **exists)


@pytest.mark.parametrize("table", ["app", "ranged"])
def test_a_transaction_that_is_refused_changes_nothing(transport: Transport, table: str) -> None:
    def key(number: str) -> dict[str, Any]:
        return {"PK": {"S": "1"}, "SK": {"S": number}} if table == "ranged" else {"PK": {"S": number}}

    for number in ("1", "2", "3"):
        transport.call(Call("PutItem", {"TableName": table, "Item": {**key(number), "n": {"N": "1"}}}))
    before = transport.call(Call("Scan", {"TableName": table}))["Items"]
    added = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    actions = [
        {"Update": {"TableName": table, "Key": key("1"), **added}},
        {"Delete": {"TableName": table, "Key": key("2")}},
        {"Put": {"TableName": table, "Item": key("4")}},
        {
            "ConditionCheck": {
                "TableName": table,
                "Key": key("3"),
                "ConditionExpression": "attribute_not_exists(PK)",
            }
        },
    ]
    with pytest.raises(Refusal, match="ConditionalCheckFailed"):
        transport.call(Call("TransactWriteItems", {"TransactItems": actions}))
    assert transport.call(Call("Scan", {"TableName": table}))["Items"] == before
    transport.call(Call("TransactWriteItems", {"TransactItems": actions[:3]}))
    after = transport.call(Call("Scan", {"TableName": table}))["Items"]
    assert [one.get("n") for one in after] == [{"N": "2"}, {"N": "1"}, None]


songs = Table("songs", stream="NEW_AND_OLD_IMAGES")


class Song(Entity, table=songs, pk="SONG#{title}", sk="SONG"):
    title: str


def test_a_stream_goes_on_after_a_transaction_that_is_refused() -> None:
    with Session(endpoint="memory:") as session:
        session.create_table(songs)
        session.save(Song(title="a"))
        changes = tools.follow(session, songs, idle=0)
        assert next(changes).key == Key(Song, title="a")
        with pytest.raises(AlreadyExists), session.transaction() as tx:
            tx.save(Song(title="b"))
            tx.save(Song(title="a"))
        session.save(Song(title="c"))
        assert [one.key for one in changes] == [Key(Song, title="c")]
