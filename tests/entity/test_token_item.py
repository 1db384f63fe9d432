"""The key of a token item, by which reads and verifications know that it is one."""

from typing import Any

import pytest

from dynaorm import Entity, GlobalIndex, Table
from dynaorm.entity.classify import NotAnEntity, classify
from dynaorm.entity.internal_items import is_token_item, token_key
from dynaorm.errors import InvalidValue
from dynaorm.session.session import Session

app = Table("token-item-app", indexes=[GlobalIndex("Inverted", pk="SK", sk="PK")])
bare = Table("token-item-bare", sk=None, type_attribute=None)


class Device(Entity, table=bare, pk="{PK}"):
    PK: str


def item(table: Table, **more: Any) -> dict[str, Any]:
    return {**token_key(table, "order-17"), **more}


STORED = {"_block": {"S": "a:b:c:given"}, "_revision": {"S": "r"}, "_until": {"N": "1"}}


@pytest.mark.parametrize("table", [app, bare])
@pytest.mark.parametrize("more", [STORED, {}])
def test_it_is_known_by_its_key_also_in_an_index_on_the_keys(table: Table, more: dict[str, Any]) -> None:
    assert is_token_item(table, item(table, **more))
    assert classify(table, item(table, **more)) is NotAnEntity.TOKEN


@pytest.mark.parametrize(
    "other",
    [
        {**item(app, **STORED), "size": {"N": "1"}},
        {"PK": {"S": "#token#a"}, "SK": {"S": "#token#b"}},
        {"PK": {"S": "token#a"}, "SK": {"S": "token#a"}},
        {"PK": {"N": "1"}, "SK": {"N": "1"}},
    ],
)
def test_anything_else_is_none(other: dict[str, Any]) -> None:
    assert not is_token_item(app, other)
    assert classify(app, other) is NotAnEntity.UNKNOWN


def test_no_entity_can_have_its_key() -> None:
    with pytest.raises(InvalidValue, match="the key of a token item"):
        Session(region="eu-west-1").plan(Device(PK="#token#order-17"))
