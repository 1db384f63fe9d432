"""An item without its key is not understood."""

from typing import Any

import pytest

from dynaorm import BinaryKey, NumberKey, Table
from dynaorm.errors import Unreachable
from dynaorm.flow.read import check_keys, items_at_once

TABLE = Table("reply-keys", pk=NumberKey("n"), sk=BinaryKey("b"))
SOUND: dict[str, Any] = {"n": {"N": "1.50"}, "b": {"B": b"x"}, "more": 5}


def test_items_with_their_keys_pass() -> None:
    check_keys("Query", [SOUND, {**SOUND, "n": {"N": "-1E-20"}}], TABLE.keys)


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"n": SOUND["n"]},
        {**SOUND, "b": {"S": "x"}},
        {**SOUND, "b": {"B": "x"}},
        {**SOUND, "n": {"N": "x"}},
        {**SOUND, "n": {"N": "NaN"}},
        {**SOUND, "n": {"N": 1}},
        {**SOUND, "n": 1},
        {**SOUND, "n": None},
        5,
        None,
    ],
    ids=repr,
)
def test_an_item_without_its_key_is_no_answer(item: Any) -> None:
    with pytest.raises(
        Unreachable, match=r"Scan got no answer .*an item without its key '[nb]' of type [NB]"
    ):
        check_keys("Scan", [SOUND, item], TABLE.keys)


def test_the_items_of_one_moment_are_in_the_order_of_their_keys() -> None:
    reply = {"Responses": [{"Item": SOUND}, {}]}
    assert items_at_once(reply, [TABLE] * 2) == [SOUND, None]
    with pytest.raises(Unreachable, match="2 answers to 1 key"):
        items_at_once(reply, [TABLE])


@pytest.mark.parametrize(("item", "key"), [({"n": SOUND["n"]}, "b"), ({}, "n")])
def test_a_snapshot_item_without_its_key_is_not_taken_for_absent(item: Any, key: str) -> None:
    with pytest.raises(Unreachable, match=f"an item without its key '{key}'"):
        items_at_once({"Responses": [{"Item": item}]}, [TABLE])
