"""Plans of units of work: one action per item, in the order of the calls."""

import pytest

from dynaorm import Entity, F, Key
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.item.action import Delete, Put, Update
from dynaorm.item.condition import And, Or, equals, missing
from dynaorm.item.update import AddTo, SetTo
from dynaorm.plan import intent
from dynaorm.plan.compiler import compile_plan
from dynaorm.plan.intent import Check, Edit, Move, Save
from dynaorm.plan.kinds.guards import GUARDS
from dynaorm.plan.kinds.own_item import ItemPurpose
from dynaorm.plan.merge_intents import merge_intents
from dynaorm.plan.reads import NOTHING_READ
from dynaorm.plan.unit_of_work import UnitOfWork
from tests.plan.compiled import STOCK_KEY, Document, Stock, User, stock_item
from tests.plan.compiling import NOW, actions_of, plan_of, saved


def test_a_unit_of_work_is_one_transaction_in_the_order_of_the_calls() -> None:
    stock, user = saved(Stock(sku="a")), User(user_id="1", email="a@x")
    stock.left = 1
    plan = plan_of(
        Save(user),
        Edit(Key(Stock, sku="b"), (AddTo(("left",), -1),), F.left >= 1),
        intent.Deletion(Key(Stock, sku="c")),
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
        "compiler-app",
        STOCK_KEY,
        (SetTo(("left",), {"N": "1"}), SetTo(("_rev",), {"S": "w2"})),
        And((equals("_rev", {"S": "w1"}), Or((missing("left"), equals("left", {"N": "0"}))))),
    )
    assert len(plan.actions) == 1


def test_a_move_deletes_and_puts_in_one_transaction_and_keeps_unknown_attributes() -> None:
    item = stock_item(_rev={"S": "w1"}, legacy={"S": "kept"})
    stock = mapping_of(Stock).hydrate(item)
    stock.sku = "b"
    plan = plan_of(Move(stock))
    assert actions_of(plan) == [
        (ItemPurpose.DELETE, Delete("compiler-app", STOCK_KEY, equals("_rev", {"S": "w1"}))),
        (
            ItemPurpose.INSERT,
            Put(
                "compiler-app",
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
    assert {planned.action.table for planned in plan.actions} == {"test-compiler-app"}
    assert plan.actions[0].ident[0] == "compiler-app"


@pytest.mark.parametrize("entity", [Stock(sku="a"), User(user_id="1", email="a"), Document(doc_id="d")])
def test_compiling_changes_no_entity_and_is_repeatable(entity: Entity) -> None:
    before = dict(vars(entity))
    first, second = plan_of(Save(entity)), plan_of(Save(entity))
    assert first == second
    assert first.to_request() == second.to_request()
    assert vars(entity) == before


def test_a_claim_may_not_lean_on_an_or_of_one() -> None:
    (claim,) = [one for one in plan_of(Save(User(user_id="1", email="a"))).actions if one.kind is GUARDS]
    assert isinstance(claim.action, Put)
    assert isinstance(claim.action.condition, Or)
    assert len(claim.action.condition.parts) == 2
