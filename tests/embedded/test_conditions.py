"""The engine decides conditions as DynamoDB does. tests/laws/test_defaults.py asks it of random ones."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from dynaorm.embedded.engine import Engine
from dynaorm.transport import Call, Refusal, Transport

ITEM: Final[Mapping[str, Any]] = {
    "PK": {"S": "1"},
    "none": {"NULL": True},
    "one": {"N": "1"},
    "yes": {"BOOL": True},
    "text": {"S": "1"},
    "bytes": {"B": b"ab"},
    "words": {"L": [{"S": "a"}, {"N": "1"}]},
}
VALUES: Final[Mapping[str, Any]] = {
    ":none": {"NULL": True},
    ":one": {"N": "1"},
    ":a": {"B": b"a"},
    ":nothing": {"B": b""},
    ":yes": {"BOOL": True},
}
SCHEMA: Final[Mapping[str, Any]] = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(scope="module")
def transport() -> Transport:
    engine = Engine()
    engine.call(Call("CreateTable", {"TableName": "app", **SCHEMA}))
    engine.call(Call("PutItem", {"TableName": "app", "Item": dict(ITEM)}))
    return engine


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("#none = :none", True),
        ("#absent = :none", False),
        ("#absent <> :none", True),
        ("#absent = #missing", False),
        ("#absent IN (:none)", False),
        ("#one = #yes", False),
        ("#one IN (:yes)", False),
        ("#text > :one", False),
        ("#text BETWEEN :one AND :one", False),
        ("begins_with(#bytes, :a)", True),
        ("begins_with(#bytes, :nothing)", True),
        ("contains(#words, :one)", True),
        ("contains(#words, :yes)", False),
        ("size(#absent) > :one", False),
        ("size(#bytes) > :one", True),
    ],
)
def test_absent_null_and_other_types_are_told_apart(
    transport: Transport, expression: str, holds: bool
) -> None:
    names = ("none", "absent", "missing", "one", "yes", "text", "bytes", "words")
    asked = {
        "TableName": "app",
        "FilterExpression": expression,
        "ExpressionAttributeNames": {f"#{name}": name for name in names if f"#{name}" in expression},
        "ExpressionAttributeValues": {name: value for name, value in VALUES.items() if name in expression},
    }
    found = transport.call(Call("Scan", {name: value for name, value in asked.items() if value}))["Items"]
    assert found == ([ITEM] if holds else [])


def test_an_expression_cannot_name_an_attribute_without_a_name(transport: Transport) -> None:
    asked = {"FilterExpression": "size(#n) > :one OR #n = :one", "ExpressionAttributeNames": {"#n": ""}}
    with pytest.raises(Refusal, match="an empty name for key #n"):
        transport.call(
            Call("Scan", {"TableName": "app", **asked, "ExpressionAttributeValues": {":one": {"N": "1"}}})
        )
