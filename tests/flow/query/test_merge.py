"""The order in which merged key queries give their results."""

from itertools import pairwise
from typing import Any

import pytest

from dynaorm.entity.table import KeyAttribute
from dynaorm.flow.walk import rank
from dynaorm.item.value import Item


@pytest.mark.parametrize(
    ("kinds", "in_order"),
    [
        ("NS", [("-1", "\uffff"), ("-1", "\U0001f600"), ("9.0", "B"), ("9", "b"), ("10", "a")]),
        ("B", [(b"\x01",), (b"\x01\x02",), (b"\xff",)]),
    ],
)
def test_items_stand_in_the_order_of_dynamodb(kinds: str, in_order: list[tuple[Any, ...]]) -> None:
    """Numbers by value, texts by code point, binary by unsigned bytes."""
    keys = [KeyAttribute(f"key{kind}", kind) for kind in kinds]  # type: ignore[arg-type]  # its letters are kinds
    items: list[Item] = [
        {key.name: {key.kind: content} for key, content in zip(keys, contents, strict=True)}
        for contents in in_order
    ]
    ranked = [rank(one, keys, descending=False) for one in items]
    assert all(one < other for one, other in pairwise(ranked))  # type: ignore[operator]  # of one kind
