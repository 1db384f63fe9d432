"""A condition judged here is judged as DynamoDB judges it.

moto raises TypeError where types differ, so it is asked about items whose attributes have one type each. What differs
in type is asked of ministack in tests/laws/test_defaults.py.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.embedded.engine import Engine
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
    PartialItem,
    SizeOf,
    UnknownAttribute,
    equals,
    holds,
    render,
)
from dynaorm.item.path import Path, Placeholders
from dynaorm.item.value import AttributeValue, Item
from dynaorm.transport import Call, Transport


def _combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(And, pairs), st.builds(Or, pairs), st.builds(Not, inner))


TABLE = {
    "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


# -- items whose attributes have one type each -------------------------------------------------------------------------

_TEXTS: list[dict[str, Any]] = [
    {"S": text} for text in ("a", "ab", "abc", "b", "B", "é", "_", "a%", "10", "9")
]
_NUMBERS: list[dict[str, Any]] = [{"N": text} for text in ("-10", "-9", "0", "1.5", "9", "10", "1E+20")]
_SETS: list[dict[str, Any]] = [{"SS": ["a"]}, {"SS": ["a", "b"]}, {"SS": ["b", "a", "é"]}]
_LISTS: list[dict[str, Any]] = [{"L": [{"S": "a"}]}, {"L": [{"S": "b"}, {"S": "a"}]}, {"L": [{"S": "é"}]}]
TYPED: list[Item] = [
    {
        "PK": {"S": f"{number}"},
        "text": _TEXTS[number % 10],
        "number": _NUMBERS[number % 7],
        "set": _SETS[number % 3],
        "list": _LISTS[number % 3],
        "map": {"M": {"text": _TEXTS[number * 3 % 10], "number": _NUMBERS[number * 2 % 7]}},
        **({"seldom": _TEXTS[number % 4]} if number % 3 else {}),
    }
    for number in range(14)
]
_SIGNS = ["=", "<>", "<", "<=", ">", ">="]


def _about(paths: list[Path], values: list[dict[str, Any]]) -> st.SearchStrategy[Condition]:
    """Conditions on attributes of one type."""
    attributes = st.sampled_from(paths).map(Attr)
    value = st.sampled_from(values)
    pairs = st.tuples(value, value).filter(
        lambda pair: holds(Compare(Attr(("a",)), "<=", pair[1]), {"a": pair[0]})
    )
    return st.one_of(
        st.builds(Compare, attributes, st.sampled_from(_SIGNS), value),
        st.builds(IsIn, attributes, st.lists(value, min_size=1, max_size=4).map(tuple)),
        st.builds(lambda operand, pair: Between(operand, *pair), attributes, pairs),
    )


_some_texts: list[Path] = [("text",), ("map", "text"), ("list", 0), ("seldom",)]
_typed: st.SearchStrategy[Condition] = st.recursive(
    st.one_of(
        _about(_some_texts, _TEXTS),
        _about([("number",), ("map", "number")], _NUMBERS),
        _about([("map", "number")], _NUMBERS).map(Not),
        st.builds(Compare, st.just(Attr(("text",))), st.sampled_from(_SIGNS), st.just(Attr(("map", "text")))),
        st.builds(
            Compare, st.just(Attr(("number",))), st.sampled_from(_SIGNS), st.just(Attr(("map", "number")))
        ),
        st.builds(BeginsWith, st.sampled_from(_some_texts[:3]), st.sampled_from(_TEXTS)),
        st.builds(Contains, st.sampled_from([("text",), ("set",), ("list",)]), st.sampled_from(_TEXTS)),
        st.builds(
            Compare,
            st.sampled_from(["text", "set", "list", "map"]).map(lambda name: SizeOf((name,))),
            st.sampled_from(_SIGNS),
            st.sampled_from([{"N": "1"}, {"N": "2"}]),
        ),
        st.builds(Exists, st.sampled_from([*_some_texts, ("list", 1), ("map", "none")])),
        st.builds(Missing, st.sampled_from([*_some_texts, ("list", 1), ("map", "none")])),
    ),
    _combined,
    max_leaves=5,
)


# -- asking an engine --------------------------------------------------------------------------------------------------

Asked: TypeAlias = Callable[[Condition], set[str]]


@contextmanager
def _asking(transport: Transport, table: str, items: Sequence[Item]) -> Iterator[Asked]:
    """Asks an engine which of the items a condition holds of."""
    transport.call(Call("CreateTable", {"TableName": table, **TABLE}))
    for item in items:
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


def here(condition: Condition, items: Sequence[Item] = TYPED) -> set[str]:
    return {item["PK"]["S"] for item in items if holds(condition, item)}


def test_a_condition_as_text_means_what_it_means_as_an_object() -> None:
    with _asking(Engine(), "evaluate-typed", TYPED) as asked:

        @given(condition=_typed)
        def check(condition: Condition) -> None:
            assert here(condition) == asked(condition)

        check()


def test_conditions_that_can_hold_of_nothing_hold_of_nothing() -> None:
    for condition in (IsIn(Attr(("text",)), ()), Between(Attr(("text",)), {"N": "10"}, {"N": "9"})):
        assert here(condition) == set()
        assert here(Not(condition)) == {item["PK"]["S"] for item in TYPED}


# -- what DynamoDB documents, and the emulators do not all do ----------------------------------------------------------


def test_sizes_are_counted_in_characters_bytes_and_elements() -> None:
    sizes: list[tuple[AttributeValue, str]] = [
        ({"S": "né"}, "2"),
        ({"B": b"\xff\x00"}, "2"),
        ({"SS": ["a"]}, "1"),
        ({"BS": [b"a", b"b"]}, "2"),
        ({"NS": ["1"]}, "1"),
        ({"L": []}, "0"),
        ({"M": {"a": {"S": "b"}}}, "1"),
    ]
    for value, size in sizes:
        assert holds(Compare(SizeOf(("a",)), "=", {"N": size}), {"a": value})
    for value in ({"N": "0"}, {"BOOL": False}, {"NULL": True}):
        assert not any(
            holds(Compare(SizeOf(("a",)), sign, {"N": "0"}), {"a": value}) for sign in ("=", "<", ">=")
        )
    assert not holds(Compare(SizeOf(("b",)), ">=", {"N": "0"}), {"a": {"S": ""}})


def test_bytes_are_found_within_bytes_and_numbers_by_value() -> None:
    assert holds(Contains(("a",), {"B": b"bc"}), {"a": {"B": b"abcd"}})
    assert not holds(Contains(("a",), {"S": "bc"}), {"a": {"B": b"abcd"}})
    assert holds(Contains(("a",), {"N": "1.0"}), {"a": {"NS": ["2", "1"]}})
    assert holds(Contains(("a",), {"N": "1.0"}), {"a": {"L": [{"S": "1"}, {"N": "1"}]}})
    assert not holds(Contains(("a",), {"S": "1"}), {"a": {"NS": ["1"]}})
    assert not holds(Contains(("a",), {"S": "b"}), {"a": {"M": {"b": {"S": "b"}}}})
    assert not holds(Contains(("a",), {"N": "1"}), {"a": {"N": "1"}})


def test_an_absent_value_is_unequal_to_everything() -> None:
    item: Item = {"a": {"N": "1"}}
    one = {"N": "1"}
    assert holds(Compare(Attr(("b",)), "<>", one), item)
    assert not any(holds(Compare(Attr(("b",)), sign, one), item) for sign in ("=", "<", "<=", ">", ">="))
    assert not holds(Compare(Attr(("a",)), "<", {"S": "2"}), item)


def test_a_text_or_binary_begins_with_one_of_its_kind() -> None:
    item: Item = {"text": {"S": "ab"}, "blob": {"B": b"ab"}, "number": {"N": "12"}, "set": {"SS": ["ab"]}}
    found = [name for name in item if holds(BeginsWith((name,), {"S": "a"}), item)]
    assert found == ["text"]
    assert [name for name in item if holds(BeginsWith((name,), {"B": b"a"}), item)] == ["blob"]


@pytest.mark.parametrize(
    "value", [{"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"NS": ["1"]}, {"L": [{"N": "1"}]}, {"M": {}}]
)
def test_only_texts_numbers_and_bytes_have_an_order(value: AttributeValue) -> None:
    item: Item = {"a": value, "b": value}
    assert holds(Compare(Attr(("a",)), "=", Attr(("b",))), item)
    assert not any(holds(Compare(Attr(("a",)), sign, Attr(("b",))), item) for sign in ("<", "<=", ">", ">="))


def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(TypeError, match="is not a condition"):
        holds("a = b", {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (equals("a", {"S": "x"}), True),
        (equals("a", {"S": "y"}), False),
        (equals("b", {"S": "y"}), None),
        (Not(equals("b", {"S": "y"})), None),
        (And((equals("b", {"S": "y"}), equals("a", {"S": "y"}))), False),
        (And((equals("b", {"S": "y"}), equals("a", {"S": "x"}))), None),
        (Or((equals("b", {"S": "y"}), equals("a", {"S": "x"}))), True),
        (Or((equals("b", {"S": "y"}), Not(equals("a", {"S": "x"})))), None),
        (Missing(("c",)), True),
        (Compare(Attr(("a",)), "=", Attr(("b",))), None),
    ],
)
def test_what_is_known_of_an_item_may_decide_a_condition(condition: Condition, expected: bool | None) -> None:
    item = PartialItem({"a": {"S": "x"}}, {"c"})
    if expected is not None:
        assert holds(condition, item) is expected
        return
    with pytest.raises(UnknownAttribute):
        holds(condition, item)
