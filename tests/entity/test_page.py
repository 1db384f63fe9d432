"""A page gives each item of a reply, for every operation."""

import pytest

from dynaorm.entity.page import ReplyPage
from dynaorm.item.json_body import encode_body

ITEMS = [{"PK": {"S": "a"}, "b": {"B": b"\xff"}}, {"PK": {"S": "b"}}]


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_an_item_is_found_by_its_place(operation: str) -> None:
    page = ReplyPage(encode_body({"Items": ITEMS}), operation)
    assert [page[0], page[1]] == ITEMS


def test_the_one_item_of_a_get_is_the_first() -> None:
    assert ReplyPage(encode_body({"Item": ITEMS[0]}), "GetItem")[0] == ITEMS[0]


def test_the_items_of_a_batch_are_numbered_across_tables() -> None:
    assert ReplyPage(encode_body({"Responses": {"app": ITEMS}}), "BatchGetItem")[1] == ITEMS[1]


def test_a_page_parses_its_items_once() -> None:
    page = ReplyPage(encode_body({"Items": ITEMS}), "Query")
    assert page[1] is page[1]
