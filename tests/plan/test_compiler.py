"""Whole plans, compared as values and as the requests that are sent."""

from dynaorm import F, Key
from dynaorm.entity.ident import ident_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import Loaded
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.condition import And, equals, exists, missing
from dynaorm.item.update import AddTo, SetTo
from dynaorm.item.value import Item
from dynaorm.plan import intent
from dynaorm.plan.intent import Edit, Save
from dynaorm.plan.kinds.guards import GuardPurpose
from dynaorm.plan.kinds.own_item import OWN_ITEM, ItemPurpose
from dynaorm.plan.kinds.versions import VersionPurpose
from dynaorm.plan.plan import Plan
from dynaorm.plan.planned import Effect, Planned
from dynaorm.plan.reads import Reads
from tests.plan.compiled import STOCK_KEY, Document, Stock, User, app, stock_item
from tests.plan.compiling import NOW, OWN_REVISION, actions_of, plan_of, saved

AT = "2023-11-14T22:13:20.000000Z"

# -- one entity --------------------------------------------------------------------------------------------------------


def test_an_unguarded_insert_is_one_conditional_put() -> None:
    stock = Stock(sku="a")
    action = Put("compiler-app", stock_item(), missing("PK"))
    assert plan_of(Save(stock)) == Plan(
        actions=(
            Planned(
                action=action,
                kind=OWN_ITEM,
                purpose=ItemPurpose.INSERT,
                mapping=mapping_of(Stock),
                entity_key=STOCK_KEY,
                after=stock_item(),
                revision="w2",
            ),
        ),
        token=None,
        effects=(Effect(stock, Loaded(stock_item())),),
        made_at=NOW,
    )


def test_the_request_of_an_insert() -> None:
    assert plan_of(Save(Stock(sku="a", shelf="x"))).to_request() == {
        "TableName": "compiler-app",
        "Item": stock_item(shelf={"S": "x"}, GSI1PK={"S": "SHELF#x"}, GSI1SK={"S": "a"}),
        "ConditionExpression": "attribute_not_exists(#n0)",
        "ExpressionAttributeNames": {"#n0": "PK"},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_an_unguarded_update_is_one_update_of_what_changed_under_the_revision() -> None:
    stock = saved(Stock(sku="a", shelf="x"))
    stock.left = 5
    plan = plan_of(Save(stock))
    changes = (SetTo(("left",), {"N": "5"}), SetTo(("_rev",), {"S": "w2"}))
    assert actions_of(plan) == [
        (ItemPurpose.UPDATE, Update("compiler-app", STOCK_KEY, changes, equals("_rev", {"S": "w1"})))
    ]
    assert (plan.operation, plan.token) == ("UpdateItem", None)
    assert plan.to_request() == {
        "TableName": "compiler-app",
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
                    "TableName": "compiler-app",
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
    plan = plan_of(intent.Deletion(saved(Stock(sku="a"))))
    assert actions_of(plan) == [
        (ItemPurpose.DELETE, Delete("compiler-app", STOCK_KEY, equals("_rev", {"S": "w1"})))
    ]
    assert plan.operation == "DeleteItem"
    assert plan.to_request() == {
        "TableName": "compiler-app",
        "Key": STOCK_KEY,
        "ConditionExpression": "#n0 = :v0",
        "ExpressionAttributeNames": {"#n0": "_rev"},
        "ExpressionAttributeValues": {":v0": {"S": "w1"}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def test_a_delete_by_key_of_an_unguarded_class_is_blind_under_existence_and_type() -> None:
    plan = plan_of(intent.Deletion(Key(Stock, sku="a")))
    (planned,) = plan.actions
    condition = And((exists("PK"), equals("_type", {"S": "Stock"}), OWN_REVISION))
    assert planned.action == Delete("compiler-app", STOCK_KEY, condition)
    assert planned.blind
    assert plan.operation == "DeleteItem"


def test_a_blind_update_asks_for_the_item_and_carries_a_revision_of_its_own() -> None:
    plan = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 3),), F.left < 10))
    assert plan.to_request() == {
        "TableName": "compiler-app",
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


def test_an_update_by_key_of_what_was_read_takes_index_keys_and_version_along() -> None:
    document = saved(Document(doc_id="d", shelf="x"))
    (check,) = plan_of(Save(document, F.shelf == "x")).actions
    known = Reads({ident_of(app, check.item_key): check.before})
    main, version = plan_of(Edit(Key(Document, doc_id="d"), (SetTo(("shelf",), "y"),)), reads=known).actions
    assert isinstance(main.action, Update)
    assert SetTo(("GSI1PK",), {"S": "DSHELF#y"}) in main.action.changes
    assert (main.from_read, main.expected, version.label) == (True, "w1", 2)


def test_exactly_once_makes_a_transaction_of_a_single_action() -> None:
    plan = plan_of(Edit(Key(Stock, sku="a"), (AddTo(("left",), 3),)), exactly_once=True)
    assert (plan.operation, plan.token) == ("TransactWriteItems", "w2")
    assert "ReturnValues" not in plan.to_request()["TransactItems"][0]["Update"]


def test_a_callers_token_makes_a_transaction_whose_revision_follows_from_token_and_content() -> None:
    first = plan_of(Save(Stock(sku="a")), token="T", write_id="w8")
    again = plan_of(Save(Stock(sku="a")), token="T", write_id="w9")
    assert first.to_request() == again.to_request()
    assert (first.token, first.caller_token) == ("T", True)
    revisions = {
        plan_of(Save(Stock(sku=sku, left=left)), token=token).actions[0].revision
        for sku, left, token in [("a", 0, "T"), ("b", 0, "T"), ("a", 1, "T"), ("a", 0, "U")]
    }
    assert len(revisions) == 4


def test_an_overwrite_of_what_was_read_replaces_it_under_its_revision() -> None:
    stored = stock_item(_rev={"S": "other"}, unknown={"S": "lost"})
    plan = plan_of(
        Save(Stock(sku="a", left=1), overwrite=True), reads=Reads({ident_of(app, STOCK_KEY): stored})
    )
    (planned,) = plan.actions
    assert planned.action == Put("compiler-app", stock_item(left={"N": "1"}), equals("_rev", {"S": "other"}))
    assert (planned.purpose, planned.from_read, planned.before) == (ItemPurpose.REPLACE, True, stored)


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
        "compiler-app",
        {**common, **index, "SK": {"S": "v0_D"}, "_type": {"S": "Document"}},
        missing("PK"),
    )
    assert version == Put("compiler-app", {**common, "SK": {"S": "v1_D"}}, missing("PK"))
    assert isinstance(guard, Put)
    assert guard.item["owner"] == {"M": {"PK": {"S": "DOC#d"}, "SK": {"S": "v0_D"}}}
    assert plan.token == "w2"


def test_delete_and_create_anew_is_one_put_under_the_revision_of_the_old_one() -> None:
    old, new = saved(User(user_id="1", email="a@x")), User(user_id="1", email="a@x")
    plan = plan_of(intent.Deletion(old), Save(new))
    (planned,) = plan.actions
    assert isinstance(planned.action, Put)
    assert planned.action.condition == equals("_rev", {"S": "w1"})
    assert planned.purpose is ItemPurpose.REPLACE
    assert [(effect.entity, effect.state is None) for effect in plan.effects] == [(new, False), (old, True)]


def test_a_versioned_delete_leaves_a_tombstone_of_key_and_number() -> None:
    document = saved(Document(doc_id="d", text="t", slug="s", shelf="x"))
    main, guard = plan_of(intent.Deletion(document)).actions
    assert main.action == Put(
        "compiler-app",
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
    assert (main.purpose, guard.purpose) == (ItemPurpose.BURY, GuardPurpose.RELEASE)


def test_re_creation_replaces_the_tombstone_and_continues_the_numbers() -> None:
    tombstone: Item = {
        "PK": {"S": "DOC#d"},
        "SK": {"S": "v0_D"},
        "version": {"N": "9"},
        "version_at": {"S": AT},
        "deleted": {"BOOL": True},
        "_rev": {"S": "w1"},
    }
    known = Reads({ident_of(app, {"PK": {"S": "DOC#d"}, "SK": {"S": "v0_D"}}): tombstone})
    main, version = plan_of(Save(Document(doc_id="d")), reads=known).actions
    assert isinstance(main.action, Put)
    assert isinstance(version.action, Put)
    assert main.action.condition == equals("_rev", {"S": "w1"})
    assert "deleted" not in main.action.item
    assert main.action.item["version"] == version.action.item["version"] == {"N": "10"}
    assert version.action.item["SK"] == {"S": "v10_D"}
