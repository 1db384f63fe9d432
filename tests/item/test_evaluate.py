"""A condition judged here is judged as DynamoDB judges it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.flow.call import Call, Transport
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    IsIn,
    Missing,
    Not,
    Or,
    SizeOf,
    render,
)
from dynaorm.item.evaluate import holds
from dynaorm.item.placeholder import Placeholders
from dynaorm.item.value import Item
from dynaorm.testing.road import transport_to

VALUES: list[dict[str, Any]] = [
    {"S": "a"},
    {"S": "ab"},
    {"S": "é"},
    {"N": "1"},
    {"N": "1.0"},
    {"N": "-5"},
    {"B": b"a"},
    {"B": b"\xff"},
    {"BOOL": True},
    {"NULL": True},
    {"SS": ["a", "ab"]},
    {"NS": ["1", "2"]},
    {"L": [{"S": "a"}, {"N": "1"}]},
    {"M": {"b": {"S": "a"}, "c": {"L": [{"N": "2"}]}}},
]
SCALARS = [value for value in VALUES if value.keys() & {"S", "N", "B"}]
ITEMS: list[Item] = [
    *({"PK": {"S": f"{number}"}, "a": value} for number, value in enumerate(VALUES)),
    {"PK": {"S": "none"}},
    {"PK": {"S": "two"}, "a": {"S": "a"}, "d": {"S": "a"}},
    {"PK": {"S": "less"}, "a": {"N": "1"}, "d": {"N": "2"}},
]
PATHS: list[tuple[str | int, ...]] = [("a",), ("d",), ("a", "b"), ("a", "c", 0), ("a", 1), ("a", 7)]

_paths = st.sampled_from(PATHS)
_operands = _paths.map(Attr)
_sizes = _paths.map(
    SizeOf
)  # asked with = and >= alone: for ministack a number has the size 0, for DynamoDB none
_simple = st.one_of(
    st.builds(Compare, _operands, st.sampled_from(["=", "<>"]), st.sampled_from(VALUES)),
    st.builds(
        Compare, _operands, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(SCALARS) | _operands
    ),
    st.builds(
        Compare,
        _paths.map(SizeOf),
        st.sampled_from(["=", ">="]),
        st.sampled_from([{"N": "1"}, {"N": "2"}]),
    ),
    st.sampled_from([({"S": "a"}, {"S": "b"}), ({"N": "0"}, {"N": "3"})]).flatmap(
        lambda ends: st.builds(Between, _operands, st.just(ends[0]), st.just(ends[1]))
    ),
    st.builds(IsIn, _operands, st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(tuple)),
    st.builds(Contains, _paths, st.sampled_from([{"S": "a"}, {"N": "1"}])),
    st.builds(Exists, _paths),
    st.builds(Missing, _paths),
)


def _combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(And, pairs), st.builds(Or, pairs), st.builds(Not, inner))


_conditions: st.SearchStrategy[Condition] = st.recursive(_simple, _combined, max_leaves=4)

TABLE = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(scope="module")
def engine(ministack_endpoint: str) -> Iterator[Callable[[Condition], set[str]]]:
    """Asks ministack which of the items a condition holds of."""
    transport = transport_to(ministack_endpoint)
    yield from _asking(transport, "evaluate")
    transport.close()


def _asking(transport: Transport, table: str) -> Iterator[Callable[[Condition], set[str]]]:
    transport.call(Call("CreateTable", {"TableName": table, **TABLE}))
    for item in ITEMS:
        transport.call(Call("PutItem", {"TableName": table, "Item": item}))

    def ask(condition: Condition) -> set[str]:
        names = Placeholders()
        request: dict[str, Any] = {"TableName": table, "FilterExpression": render(condition, names)}
        request["ExpressionAttributeNames"] = names.names
        if names.values:
            request["ExpressionAttributeValues"] = names.values
        return {item["PK"]["S"] for item in transport.call(Call("Scan", request))["Items"]}

    yield ask
    transport.call(Call("DeleteTable", {"TableName": table}))


def here(condition: Condition) -> set[str]:
    return {item["PK"]["S"] for item in ITEMS if holds(condition, item)}


@given(condition=_conditions)
def test_ministack_judges_alike(engine: Callable[[Condition], set[str]], condition: Condition) -> None:
    assert here(condition) == engine(condition)


def test_what_is_not_stored_is_unequal_to_everything_and_less_than_nothing() -> None:
    item: Item = {"a": {"N": "1"}}
    one = {"N": "1"}
    assert holds(Compare(Attr(("b",)), "<>", one), item)
    assert not any(holds(Compare(Attr(("b",)), sign, one), item) for sign in ("=", "<", "<=", ">", ">="))
    assert not holds(Compare(Attr(("a",)), "<", {"S": "2"}), item)


def test_two_attributes_are_compared_where_both_are_stored() -> None:
    item: Item = {"a": {"N": "1"}, "b": {"N": "1.0"}, "c": {"N": "2"}}
    assert holds(Compare(Attr(("a",)), "=", Attr(("b",))), item)
    assert holds(Compare(Attr(("a",)), "<", Attr(("c",))), item)
    assert not holds(Compare(Attr(("a",)), "=", Attr(("d",))), item)
    assert not holds(Compare(Attr(("a",)), "<", Attr(("d",))), item)


def test_a_text_or_binary_begins_with_one_of_its_kind() -> None:
    item: Item = {"text": {"S": "ab"}, "blob": {"B": b"ab"}, "number": {"N": "12"}, "set": {"SS": ["ab"]}}
    found = [name for name in item if holds(BeginsWith((name,), {"S": "a"}), item)]
    assert found == ["text"]
    assert [name for name in item if holds(BeginsWith((name,), {"B": b"a"}), item)] == ["blob"]


def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(TypeError, match="is no condition"):
        holds("a = b", {})  # type: ignore[arg-type]
