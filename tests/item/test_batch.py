"""Items are packed into requests of 25 items and 16 MB as they are sent, in order, and none is left out."""

import json
from base64 import b64encode
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm.item.json_body import decode_body, encode_body
from dynaorm.item.size import BATCH_WRITE_LIMIT, ITEM_LIMIT, REQUEST_LIMIT, item_size, packed, puts_of
from dynaorm.item.value import AttributeValue, Item


def portions(items: Sequence[Item]) -> list[list[Item]]:
    return list(packed(items, lambda item: (item, encode_body(item))))


def sent_bytes(portion: Sequence[Item]) -> int:
    """What botocore sends for a portion. Equal items are measured once."""
    around = len(json.dumps({"RequestItems": {"t" * 255: []}}))
    return around + sum(_put_bytes(item) for item in portion)


def _put_bytes(item: Item) -> int:
    if id(item) not in _MEASURED:
        put = json.dumps({"PutRequest": {"Item": item}}, default=lambda content: b64encode(content).decode())
        _MEASURED[id(item)] = item, len(put) + len(", ")
    return _MEASURED[id(item)][1]


# By identity, and with the item, so that it stays this one's.
_MEASURED: dict[int, tuple[Item, int]] = {}


def test_small_items_are_sent_25_at_a_time() -> None:
    items: list[Item] = [{"PK": {"S": str(number)}} for number in range(60)]
    assert portions(items) == [items[:25], items[25:50], items[50:]]


def test_a_request_and_its_body_put_each_item_into_the_table() -> None:
    items: list[Item] = [{"PK": {"S": "a"}, "b": {"B": b"\xff"}}, {"PK": {"S": "b"}}]
    request = puts_of("table", [(item, encode_body(item)) for item in items])
    assert request == {"RequestItems": {"table": [{"PutRequest": {"Item": item}} for item in items]}}
    assert decode_body(request.body) == request


def test_of_nothing_nothing_is_sent() -> None:
    assert portions([]) == []


# Values that are long in JSON for what they count: each with how often it fits into an item.
WORDY: list[AttributeValue] = [
    {"L": [{"S": ""}] * 400_000},
    {"S": "\0" * 400_000},
    {"NS": [f"{number}E-100" for number in range(100_000, 180_000)]},
]


@pytest.mark.parametrize(
    "value", WORDY, ids=[f"{next(iter(value))}{place}" for place, value in enumerate(WORDY)]
)
def test_no_request_is_larger_than_16_mb_as_it_is_sent(value: AttributeValue) -> None:
    item: Item = {"v": value}
    assert item_size(item) <= ITEM_LIMIT
    times = REQUEST_LIMIT // sent_bytes([item]) + 2
    found = portions([item] * times)
    assert sum(map(len, found)) == times
    assert len(found) > 1
    assert all(sent_bytes(portion) <= REQUEST_LIMIT for portion in found)


def test_items_that_fit_into_one_request_are_sent_in_one() -> None:
    assert len(portions([{"v": {"S": "x" * 390_000}}] * 25)) == 1


# Around the size up to which items are not measured, and the one from which fewer than 25 fit.
PLAIN, WORDY_LENGTHS = (1, 5_000, 20_000, 21_000, 22_000, 390_000), (5_000, 21_000, 110_000, 120_000, 300_000)
ITEMS: list[Item] = [
    *({"v": {"S": "x" * length}} for length in PLAIN),
    *({"v": {"S": "\0" * length}} for length in WORDY_LENGTHS),
]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(ITEMS), max_size=40))
def test_every_item_is_sent_once_in_order_and_within_the_limits(items: list[Item]) -> None:
    found = portions(items)
    assert [id(item) for portion in found for item in portion] == [id(item) for item in items]
    assert all(1 <= len(portion) <= BATCH_WRITE_LIMIT for portion in found)
    assert all(sent_bytes(portion) <= REQUEST_LIMIT for portion in found)
