"""The order in which merged key queries give their results, and what a cursor skips."""

from itertools import pairwise
from typing import Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, Table, any_of
from dynaorm.entity.table_index import KeyAttribute
from dynaorm.flow.query.progress import rank
from dynaorm.item.value import Item
from dynaorm.query.key_query import key_queries_of
from dynaorm.query.query_spec import queried

app = Table("app", indexes=[GlobalIndex("GSI1")])


class Ticket(Entity, table=app, pk="TICKET#{number}", sk="T"):
    number: int
    status: str
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:03d}")


SPEC = queried(Ticket.by_status, {"status": any_of("a", "b")})
FIRST, SECOND = key_queries_of(SPEC, str, consistent=False).key_queries


def item(number: int) -> dict[str, Any]:
    return {"GSI1SK": {"S": f"{number:03d}"}}


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
