"""Actions on the wire: what TransactWriteItems takes, in an order that never varies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.action import Action, ConditionCheck, Delete, Pattern, Put, Update, operation_of, to_wire
from dynaorm.item.condition import Or, all_of, equals, exists, missing
from dynaorm.item.update import AddTo, Remove, SetTo
from dynaorm.item.value import AttributeValue

KEY = {"PK": {"S": "USER#1"}, "SK": {"S": "#"}}


def test_a_put_under_absence() -> None:
    assert to_wire(Put("app", KEY, missing("PK"))) == {
        "Put": {
            "TableName": "app",
            "Item": KEY,
            "ConditionExpression": "attribute_not_exists(#n0)",
            "ExpressionAttributeNames": {"#n0": "PK"},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def test_an_update_numbers_placeholders_through_both_expressions() -> None:
    changes = (SetTo(("name",), {"S": "B"}), Remove(("phone",)), AddTo(("visits",), {"N": "1"}))
    assert to_wire(Update("app", KEY, changes, equals("_rev", {"S": "r1"}))) == {
        "Update": {
            "TableName": "app",
            "Key": KEY,
            "UpdateExpression": "SET #n0 = :v0 REMOVE #n1 ADD #n2 :v1",
            "ConditionExpression": "#n3 = :v2",
            "ExpressionAttributeNames": {"#n0": "name", "#n1": "phone", "#n2": "visits", "#n3": "_rev"},
            "ExpressionAttributeValues": {":v0": {"S": "B"}, ":v1": {"N": "1"}, ":v2": {"S": "r1"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


@pytest.mark.parametrize(
    ("action", "operation"),
    [
        (Put("t", KEY), "PutItem"),
        (Update("t", KEY, ()), "UpdateItem"),
        (Delete("t", KEY), "DeleteItem"),
        (ConditionCheck("t", KEY, exists("PK")), "TransactWriteItems"),
    ],
    ids=["put", "update", "delete", "check"],
)
def test_an_action_alone_has_an_operation(action: Action, operation: str) -> None:
    assert operation_of(action) == operation


NAMES = st.text("abc#:.", min_size=1, max_size=3)
VALUES = st.builds(lambda text: {"S": text}, st.text("xyz", max_size=3))
CONDITIONS = st.lists(
    st.builds(equals, NAMES, VALUES) | st.builds(missing, NAMES) | st.builds(exists, NAMES), max_size=3
).map(lambda found: all_of(*found))
CHANGES = st.lists(
    st.builds(SetTo, NAMES.map(lambda name: (name,)), VALUES)
    | st.builds(Remove, NAMES.map(lambda name: (name,))),
    max_size=3,
).map(tuple)
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(Put, st.just("t"), st.dictionaries(NAMES, VALUES, max_size=3), CONDITIONS),
    st.builds(Update, st.just("t"), st.just(KEY), CHANGES, CONDITIONS),
    st.builds(Delete, st.just("t"), st.just(KEY), CONDITIONS),
)


@given(ACTIONS)
def test_every_placeholder_is_used_and_every_used_one_is_given(action: Action) -> None:
    ((_, wire),) = to_wire(action).items()
    text = wire.get("UpdateExpression", "") + " " + wire.get("ConditionExpression", "")
    assert set(re.findall(r"#n\d+", text)) == set(wire.get("ExpressionAttributeNames", {}))
    assert set(re.findall(r":v\d+", text)) == set(wire.get("ExpressionAttributeValues", {}))
    assert {} not in wire.values() or wire.get("Item") == {}


@given(st.text(max_size=3), st.text(max_size=3))
def test_a_pattern_gives_the_expression_it_would_render_to(one: str, other: str) -> None:
    def mine(owner: AttributeValue) -> Or:
        return Or((missing("PK"), equals("owner", owner)))

    pattern = Pattern(mine)
    for owner in ({"S": one}, {"S": other}):
        assert to_wire(Delete("app", KEY, pattern.of(owner))) == to_wire(Delete("app", KEY, mine(owner)))


def test_a_change_of_a_rendered_request_stays_in_it() -> None:
    action = Put("app", KEY, missing("PK") | equals("owner", {"S": "x"}))
    wire = to_wire(action)["Put"]
    wire["ExpressionAttributeNames"].clear()
    wire["ExpressionAttributeValues"].clear()
    assert to_wire(action)["Put"]["ExpressionAttributeNames"] == {"#n0": "PK", "#n1": "owner"}
    assert to_wire(action)["Put"]["ExpressionAttributeValues"] == {":v0": {"S": "x"}}
