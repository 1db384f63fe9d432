"""Whole plans, compared as values and as the requests that are sent."""

import types
from typing import Any

import pytest

from dynaorm import Aggregate, Entity, F, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.condition import And, Or, equals, exists, missing
from dynaorm.item.update import AddTo, SetTo
from dynaorm.item.value import AttributeValue, Item
from dynaorm.plan.changes import merge_intents
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.guards import GuardPurpose
from dynaorm.plan.intent import NOTHING_READ, Check, Deletion, Edit, Move, Save, UnitOfWork
from dynaorm.plan.own_item import ItemPurpose
from dynaorm.plan.versions import VersionPurpose
from tests.plan.cast import Document, Loose, Plain, Stock, User, loose
from tests.plan.compiling import NOW, actions_of, plan_of, reads_of, saved, stored

AT = "2023-11-14T22:13:20.000000Z"
STOCK_KEY: Item = {"PK": {"S": "STOCK#a"}, "SK": {"S": "S"}}


def stock_item(**attributes: AttributeValue) -> dict[str, AttributeValue]:
    values: Item = {"_type": {"S": "Stock"}, "sku": {"S": "a"}, "left": {"N": "0"}, "_rev": {"S": "w2"}}
    return {**STOCK_KEY, **values, **attributes}


# -- one entity --------------------------------------------------------------------------------------------------------


def test_the_request_of_an_insert() -> None:
    assert plan_of(Save(Stock(sku="a", shelf="x"))).to_request() == {
        "TableName": "app",
        "Item": stock_item(shelf={"S": "x"}, GSI1PK={"S": "SHELF#x"}, GSI1SK={"S": "a"}),
        "ConditionExpression": "attribute_not_exists(#n0)",
        "ExpressionAttributeNames": {"#n0": "PK"},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_an_unguarded_update_is_one_update_of_what_changed_under_the_revision() -> None:
    stock = saved(Stock(sku="a", shelf="x"))
    stock.left = 5
    plan = plan_of(Save(stock))
    assert (plan.operation, plan.token) == ("UpdateItem", None)
    assert plan.to_request() == {
        "TableName": "app",
        "Key": STOCK_KEY,
        "UpdateExpression": "SET #n0 = :v0, #n1 = :v1",
        "ConditionExpression": "#n1 = :v2",
        "ExpressionAttributeNames": {"#n0": "left", "#n1": "_rev"},
        "ExpressionAttributeValues": {":v0": {"N": "5"}, ":v1": {"S": "w2"}, ":v2": {"S": "w1"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_an_unchanged_entity_with_a_condition_is_checked() -> None:
    stock = saved(Stock(sku="a"))
    plan = plan_of(Save(stock, F.left == 0))
    assert plan.to_request() == {
        "TransactItems": [
            {
                "ConditionCheck": {
                    "TableName": "app",
                    "Key": STOCK_KEY,
                    "ConditionExpression": "#n0 = :v0 AND (attribute_not_exists(#n1) OR #n1 = :v1)",
                    "ExpressionAttributeNames": {"#n0": "_rev", "#n1": "left"},
                    "ExpressionAttributeValues": {":v0": {"S": "w1"}, ":v1": {"N": "0"}},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
        ],
        "ClientRequestToken": "w2",
    }
    assert plan.effects == ()


def test_an_unguarded_delete_is_one_conditional_delete() -> None:
    plan = plan_of(Deletion(saved(Stock(sku="a"))))
    assert plan.operation == "DeleteItem"
    assert plan.to_request() == {
        "TableName": "app",
        "Key": STOCK_KEY,
        "ConditionExpression": "#n0 = :v0",
        "ExpressionAttributeNames": {"#n0": "_rev"},
        "ExpressionAttributeValues": {":v0": {"S": "w1"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_a_blind_update_asks_for_the_item_and_carries_a_revision_of_its_own() -> None:
    plan = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 3),), F.left < 10))
    assert plan.to_request() == {
        "TableName": "app",
        "Key": STOCK_KEY,
        "UpdateExpression": "SET #n1 = :v1 ADD #n0 :v0",
        "ConditionExpression": "attribute_exists(#n2) AND #n3 = :v2 "
        "AND (attribute_not_exists(#n1) OR attribute_type(#n1, :v3)) "
        "AND (attribute_not_exists(#n0) OR #n0 < :v4)",
        "ExpressionAttributeNames": {"#n0": "left", "#n1": "_rev", "#n2": "PK", "#n3": "_type"},
        "ExpressionAttributeValues": {
            ":v0": {"N": "3"},
            ":v1": {"S": "w2"},
            ":v2": {"S": "Stock"},
            ":v3": {"S": "S"},
            ":v4": {"N": "10"},
        },
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ReturnValues": "ALL_NEW",
    }


def test_exactly_once_makes_a_transaction_of_a_single_action() -> None:
    plan = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 3),)), exactly_once=True)
    assert (plan.operation, plan.token) == ("TransactWriteItems", "w2")
    assert "ReturnValues" not in plan.to_request()["TransactItems"][0]["Update"]


def test_a_callers_token_makes_a_transaction_that_puts_a_token_item() -> None:
    plan = plan_of(Save(Stock(sku="a")), token="T", write_id="w8")
    assert (plan.token, plan.actions[0].revision) == ("w8", "w8")
    assert plan.token_item is plan.actions[1]
    assert plan.token_item.label == "T"


# -- guards and versions -----------------------------------------------------------------------------------------------


def test_the_actions_of_a_guarded_versioned_insert_come_entity_version_guard() -> None:
    document = Document(doc_id="d", text="t", slug="s", shelf="x")
    plan = plan_of(Save(document))
    assert [planned.purpose for planned in plan.actions] == [
        ItemPurpose.INSERT,
        VersionPurpose.KEEP,
        GuardPurpose.CLAIM,
    ]
    common = {
        "PK": {"S": "DOC#d"},
        "doc_id": {"S": "d"},
        "text": {"S": "t"},
        "slug": {"S": "s"},
        "shelf": {"S": "x"},
        "version": {"N": "1"},
        "version_at": {"S": AT},
        "_rev": {"S": "w2"},
    }
    main, version, guard = (planned.action for planned in plan.actions)
    index = {"GSI1PK": {"S": "DSHELF#x"}, "GSI1SK": {"S": "d"}}
    assert main == Put(
        "app",
        {**common, **index, "SK": {"S": "v0_D"}, "_type": {"S": "Document"}},
        missing("PK"),
    )
    assert version == Put("app", {**common, "SK": {"S": "v1_D"}}, missing("PK"))
    assert isinstance(guard, Put)
    assert guard.item["owner"] == {"M": {"PK": {"S": "DOC#d"}, "SK": {"S": "v0_D"}}}
    assert plan.token == "w2"


def test_a_versioned_delete_leaves_a_tombstone_of_key_and_number() -> None:
    document = saved(Document(doc_id="d", text="t", slug="s", shelf="x"))
    main, guard = plan_of(Deletion(document)).actions
    assert main.action == Put(
        "app",
        {
            "PK": {"S": "DOC#d"},
            "SK": {"S": "v0_D"},
            "version": {"N": "1"},
            "version_at": {"S": AT},
            "deleted": {"BOOL": True},
            "_rev": {"S": "w2"},
        },
        equals("_rev", {"S": "w1"}),
    )
    assert (main.purpose, guard.purpose) == (ItemPurpose.TOMBSTONE, GuardPurpose.RELEASE)


# -- units of work: one action per item, in the order of the calls -----------------------------------------------------


def test_a_unit_of_work_is_one_transaction_in_the_order_of_the_calls() -> None:
    stock, user = saved(Stock(sku="a")), User(user_id="1", email="a@x")
    stock.left = 1
    plan = plan_of(
        Save(user),
        Edit(Key(Stock, sku="b"), (AddTo(("left",), -1),), F.left >= 1),
        Deletion(Key(Stock, sku="c")),
        Save(stock),
        Check(Key(Stock, sku="d")),
    )
    assert [(planned.purpose.value, planned.item_key["PK"]["S"]) for planned in plan.actions] == [
        ("insert", "USER#1"),
        ("claim", "email#a@x"),
        ("update", "STOCK#b"),
        ("delete", "STOCK#c"),
        ("update", "STOCK#a"),
        ("check", "STOCK#d"),
    ]
    assert plan.operation == "TransactWriteItems"
    assert {planned.revision for planned in plan.actions if planned.revision} == {"w2"}


def test_a_check_of_an_item_that_is_written_is_part_of_the_write() -> None:
    stock = saved(Stock(sku="a"))
    stock.left = 1
    plan = plan_of(Check(Key(Stock, sku="a"), F.left == 0), Save(stock), Check(stock))
    assert actions_of(plan)[0][1] == Update(
        "app",
        STOCK_KEY,
        (SetTo(("left",), {"N": "1"}), SetTo(("_rev",), {"S": "w2"})),
        And((equals("_rev", {"S": "w1"}), Or((missing("left"), equals("left", {"N": "0"}))))),
    )
    assert len(plan.actions) == 1


def test_a_move_deletes_and_puts_in_one_transaction_and_keeps_unknown_attributes() -> None:
    item = stock_item(_rev={"S": "w1"}, legacy={"S": "kept"})
    stock = mapping_of(Stock).loader.hydrate(item)
    stock.sku = "b"
    plan = plan_of(Move(stock))
    assert actions_of(plan) == [
        (ItemPurpose.DELETE, Delete("app", STOCK_KEY, equals("_rev", {"S": "w1"}))),
        (
            ItemPurpose.INSERT,
            Put(
                "app",
                stock_item(PK={"S": "STOCK#b"}, sku={"S": "b"}, legacy={"S": "kept"}),
                missing("PK"),
            ),
        ),
    ]
    (effect,) = plan.effects
    assert effect.entity is stock
    assert effect.state is not None


def test_physical_table_names_are_used_in_what_is_sent_and_declared_ones_in_identities() -> None:
    setting = UnitOfWork(NOW, "w2", lambda name: f"test-{name}")
    plan = compile_plan(merge_intents([Save(User(user_id="1", email="a@x"))], NOW), NOTHING_READ, setting)
    assert {planned.action.table for planned in plan.actions} == {"test-app"}
    assert plan.actions[0].ident[0] == "app"


@pytest.mark.parametrize("entity", [Stock(sku="a"), User(user_id="1", email="a"), Document(doc_id="d")])
def test_compiling_changes_no_entity_and_is_repeatable(entity: Entity) -> None:
    before = dict(vars(entity))
    first, second = plan_of(Save(entity)), plan_of(Save(entity))
    assert first == second
    assert first.to_request() == second.to_request()
    assert vars(entity) == before


# -- without revisions, what was loaded is the condition ---------------------------------------------------------------


class Club(Entity, table=loose, pk="CLUB#{club}", sk="C"):
    club: str


class Choir(Club):
    voices: int = 0


class Singer(Entity, table=loose, pk="SINGER#{name}", sk="S"):
    name: str
    choir: str
    sings_in = Aggregate(Choir, count="voices", key={"club": "choir"})


def test_without_revisions_a_save_is_conditional_on_the_values_it_changes() -> None:
    entity = saved(Loose(name="l", left=1))
    entity.left = 2
    plan = plan_of(Save(entity))
    ((_, action),) = actions_of(plan)
    parts = equals("_type", {"S": "Loose"}), equals("left", {"N": "1"}), equals("name", {"S": "l"})
    key: Item = {"PK": {"S": "LOOSE#l"}, "SK": {"S": "L"}}
    assert action == Update("loose", key, (SetTo(("left",), {"N": "2"}),), And((exists("PK"), *parts)))
    assert (plan.operation, plan.token) == ("UpdateItem", None)


def test_without_revisions_the_values_guards_are_made_of_are_part_of_the_condition() -> None:
    plain = saved(Plain(name="p", email="a@x"))
    plain.left = 5
    ((_, action),) = actions_of(plan_of(Save(plain)))
    assert isinstance(action, Update)
    assert action.condition == And(
        (
            exists("PK"),
            equals("email", {"S": "a@x"}),
            equals("left", {"N": "0"}),
            equals("name", {"S": "p"}),
        )
    )


def wide(attributes: int, table: Table) -> Any:
    """A saved entity with this many fields."""
    names = [f"f{number:03d}" for number in range(attributes)]
    body = {"__annotations__": {"name": str, **dict.fromkeys(names, int)}, "__module__": __name__}
    kind: Any = types.new_class(
        "Wide",
        (Entity,),
        {"table": table, "pk": "WIDE#{name}", "sk": "W"},
        lambda own: own.update(body | dict.fromkeys(names, 0)),
    )
    return saved(kind(name="w"))


def test_an_entity_with_too_many_attributes_to_compare_is_refused_with_the_way_out() -> None:
    assert len(plan_of(Deletion(wide(140, Table("wide", revision_attribute=None)))).actions) == 1
    entity = wide(160, Table("wider", revision_attribute=None))
    message = r"this Wide has no revision .* compares 16\d attributes of it.* 300; give .*Key\(Wide"
    with pytest.raises(UsageError, match=message):
        plan_of(Deletion(entity))
    with pytest.raises(UsageError, match=message):
        plan_of(Deletion(entity), Save(Loose(name="l")))
    assert len(plan_of(Deletion(Key(type(entity), name="w"))).actions) == 1
    assert len(plan_of(Deletion(wide(160, Table("wide-revised")))).actions) == 1


def test_without_revisions_a_total_that_the_replaced_class_does_not_have_is_compared_too() -> None:
    before = stored(Club(club="c"))
    intents = Save(Choir(club="c"), overwrite=True), Save(Singer(name="s", choir="c"))
    replaced = plan_of(*intents, reads=reads_of(loose, before)).actions[0]
    assert replaced.after == {**before, "_type": {"S": "Choir"}, "voices": {"N": "1"}}
    assert replaced.expected_values == {("_type",): {"S": "Club"}, ("club",): {"S": "c"}, ("voices",): None}
