"""Each item of a reply is cut out of it, unless the reply could be cut in more than one way."""

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from dynaorm.entity.state import item_texts, items_in
from dynaorm.item.json_body import decode_item, encode_body
from tests.dynamodb_json import Item

ITEMS: list[Item] = [{"PK": {"S": "a"}, "b": {"B": b"\xff"}}, {"PK": {"S": "b"}}]
OPERATIONS = ["Query", "Scan", "BatchGetItem"]


def reply_of(operation: str, items: list[Item]) -> dict[str, Any]:
    if operation == "GetItem":
        return {"Item": items[0]}
    return {"Responses": {"app": items}} if operation == "BatchGetItem" else {"Items": items}


def cut(raw: bytes, operation: str, count: int) -> list[Item] | None:
    texts = item_texts(raw, operation, count)
    return None if texts is None else list(map(decode_item, texts))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_items_of_a_reply_are_cut_out_of_it(operation: str) -> None:
    raw = encode_body({"Count": 2, **reply_of(operation, ITEMS), "ScannedCount": 2})
    assert cut(raw, operation, 2) == list(items_in(raw, operation)) == ITEMS


def test_the_one_item_of_a_get_is_cut_out_of_it() -> None:
    raw = encode_body({"ConsumedCapacity": {"TableName": "app"}, "Item": ITEMS[0]})
    assert cut(raw, "GetItem", 1) == list(items_in(raw, "GetItem")) == [ITEMS[0]]


# Names and texts that look like the ends of items.
_TEXTS = st.sampled_from(['}},{"', '"}},{"M":{"S":"', "Items", "M", '"Items":[{"', "\\", '\\"', "é", "S"])
_NAMES = st.sampled_from(["a", "M", "S", "L", "Items", "Responses", '}},{"', '"', "é", "BOOL"])
_LEAVES: st.SearchStrategy[Any] = (
    st.builds(lambda text: {"S": text}, _TEXTS)
    | st.builds(lambda texts: {"SS": texts}, st.lists(_TEXTS, min_size=1, max_size=3))
    | st.sampled_from(
        [{"N": "1"}, {"BOOL": True}, {"NULL": True}, {"B": b"}},{"}, {"NS": ["1"]}, {"BS": [b"B"]}]
    )
)
_VALUES = st.recursive(
    _LEAVES,
    lambda values: (
        st.builds(lambda members: {"L": members}, st.lists(values, max_size=3))
        | st.builds(lambda members: {"M": members}, st.dictionaries(_NAMES, values, max_size=3))
    ),
    max_leaves=8,
)
_ITEMS = st.lists(st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=4), min_size=1, max_size=4)


@given(_ITEMS, st.sampled_from(OPERATIONS), _ITEMS, st.booleans())
def test_whatever_is_cut_out_is_the_items(
    items: list[Item], operation: str, others: list[Item], is_compact: bool
) -> None:
    reply = {"LastEvaluatedKey": others[0], **reply_of(operation, items)}
    if operation == "BatchGetItem":
        reply = {**reply_of(operation, items), "UnprocessedKeys": {"app": {"Keys": others}}}
    raw = encode_body(reply)
    if not is_compact:
        raw = json.dumps(json.loads(raw), indent=1).encode()
    found = cut(raw, operation, len(items))
    event("cut" if found is not None else "left")
    assert found in (None, items)
    assert items_in(raw, operation) == items


def test_a_list_of_maps_does_not_look_like_items() -> None:
    address: Item = {"M": {"city": {"S": "x"}, "M": {"S": "x"}}}
    items: list[Item] = [{"PK": {"S": "a"}, "b": {"L": [address, address]}}] * 3
    assert cut(encode_body({"Items": items}), "Query", 3) == items


def test_an_ambiguous_reply_is_not_cut() -> None:
    named_m: Item = {"M": {"M": {"M": {"a": {"S": "x"}}}}}
    items: list[Item] = [{"PK": {"S": "a"}, "b": {"L": [named_m, named_m]}}] * 2
    assert item_texts(encode_body({"Items": items}), "Query", 2) is None
