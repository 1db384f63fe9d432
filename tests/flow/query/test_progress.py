"""The order in which merged key queries give their results, and what a cursor skips."""

from itertools import pairwise
from typing import Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, Table, any_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import KeyAttribute
from dynaorm.flow.query.buffer import FoundItem
from dynaorm.flow.query.progress import Progress, rank
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
SORT = FIRST.form.sort


def item(number: int) -> dict[str, Any]:
    return {"GSI1SK": {"S": f"{number:03d}"}}


def test_what_was_never_read_is_first_then_the_lowest_key_then_the_first_key_query() -> None:
    unread, read, buffered = Progress(2, FIRST), Progress(1, SECOND), Progress(0, FIRST)
    read.read_to = item(5)
    buffered.buffered.append(FoundItem(mapping_of(Ticket), item(5)))
    ranks = [one.next_rank(SORT, descending=False, turn=1) for one in (unread, buffered, read)]
    assert ranks == sorted(ranks)
    assert [one[-1] for one in ranks] == [one.number for one in (unread, buffered, read)]
    assert [one.is_waiting for one in (unread, read, buffered)] == [True, True, False]


@pytest.mark.parametrize("descending", [False, True])
def test_ranks_run_with_the_walk_and_equal_keys_are_equal(descending: bool) -> None:
    ranks = [rank(item(number), SORT, descending=descending) for number in (1, 2, 2)]
    assert (ranks[0] < ranks[1]) is not descending  # type: ignore[operator]  # of one kind
    assert ranks[1] == ranks[2]


def test_what_is_read_later_follows_the_last_page_of_what_is_read_first() -> None:
    progress = Progress(0, FIRST, later=(SECOND,))
    progress.advance({"LastEvaluatedKey": item(1)}, 1)
    assert (progress.key_query, progress.later) == (FIRST, (SECOND,))
    progress.advance({}, 1)
    assert (progress.key_query, progress.later, progress.is_read) == (SECOND, (), False)
    progress.advance({}, 1)
    assert progress.is_over


def test_a_page_without_a_next_key_is_the_last() -> None:
    progress = Progress(0, FIRST)
    progress.advance({"LastEvaluatedKey": item(1), "ScannedCount": 7}, 2)
    assert (progress.read_to, progress.is_read, progress.scanned) == (item(1), False, 7)
    progress.advance({}, 2)
    assert (progress.read_to, progress.is_over, progress.pages, progress.scanned) == (None, True, 2, 9)


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
