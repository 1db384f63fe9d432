"""What an attempt says of a request and its outcome, and what it never says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.json_body import Body, encode_body
from dynaorm.session import Attempt
from dynaorm.session.attempt import attempt_of
from dynaorm.transport import Call, NoAnswer, Reason, Refusal

KEY = {"PK": {"S": "VALUE"}}
GET = Call("GetItem", {"TableName": "app", "Key": KEY})
PUT = Call("PutItem", {"TableName": "app", "Item": {**KEY, "text": {"S": "VALUE" * 300}}})
QUERY = Call(
    "Query", {"TableName": "app", "IndexName": "GSI1", "ExpressionAttributeValues": {":p": {"S": "VALUE"}}}
)
BATCH = Call("BatchWriteItem", {"RequestItems": {"app": [{"PutRequest": {"Item": KEY}}] * 3}})
READ = Call("BatchGetItem", {"RequestItems": {"app": {"Keys": [KEY] * 4}, "other": {"Keys": [KEY]}}})
WRITE = Call(
    "TransactWriteItems",
    {
        "TransactItems": [
            {"Put": {"TableName": "app", "Item": KEY}},
            {"Delete": {"TableName": "b", "Key": KEY}},
        ]
    },
)


def told(call: Call, outcome: Any) -> Attempt:
    return attempt_of(call, outcome, method="save", number=2, pause=0.5, seconds=0.25)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (GET, (("app",), None, 1, 0.0)),
        (PUT, (("app",), None, 1, 2.0)),
        (QUERY, (("app",), "GSI1", 1, 0.0)),
        (BATCH, (("app",), None, 3, 3.0)),
        (READ, (("app", "other"), None, 5, 0.0)),
        (WRITE, (("app", "b"), None, 2, 4.0)),
        (Call("ListTables", {}), ((), None, 1, 0.0)),
    ],
    ids=lambda case: case.operation if isinstance(case, Call) else "",
)
def test_it_says_what_the_request_names(call: Call, said: tuple[Any, ...]) -> None:
    one = told(call, {})
    assert (one.tables, one.index, one.actions, one.least_capacity) == said
    assert (one.method, one.operation, one.number, one.pause, one.seconds) == (
        "save", call.operation, 2, 0.5, 0.25,
    )  # fmt: skip
    assert one.request_bytes == len(encode_body(call.request))
    assert "VALUE" not in repr(one)


def cancelled(*codes: str) -> Refusal:
    reasons = (None, *(Reason(code, "VALUE", KEY) for code in codes))
    return Refusal("TransactionCanceledException", "VALUE", reasons=reasons, item=KEY, request_id="R1")


@pytest.mark.parametrize(
    ("outcome", "said", "conflicts", "throttled"),
    [
        ({}, ("ok", "", (), ""), False, False),
        (Body(b"{}", "R1"), ("ok", "", (), "R1"), False, False),
        (Refusal("ThrottlingException", "VALUE"), ("refused", "ThrottlingException", (), ""), False, True),
        (
            cancelled("TransactionConflict", "ConditionalCheckFailed"),
            (
                "refused",
                "TransactionCanceledException",
                ("TransactionConflict", "ConditionalCheckFailed"),
                "R1",
            ),
            True,
            False,
        ),
        (NoAnswer("VALUE", request_id="R2"), ("no answer", "NoAnswer", (), "R2"), False, False),
        (NoAnswer("VALUE", sent=False), ("not sent", "NoAnswer", (), ""), False, False),
        (KeyboardInterrupt("VALUE"), ("ended", "KeyboardInterrupt", (), ""), False, False),
    ],
    ids=["reply", "body", "throttle", "conflict", "silence", "unsent", "interrupt"],
)
def test_it_says_how_the_attempt_ended(
    outcome: Any, said: tuple[Any, ...], conflicts: bool, throttled: bool
) -> None:
    one = told(WRITE, outcome)
    assert (one.outcome, one.error, one.reasons, one.request_id) == said
    assert (one.is_conflict, one.is_throttled) == (conflicts, throttled)
    assert "VALUE" not in repr(one)


@pytest.mark.parametrize("form", [dict, lambda reply: Body(encode_body(reply))], ids=["parsed", "unread"])
def test_it_says_what_the_reply_reports(form: Any) -> None:
    units = {"TableName": "app", "CapacityUnits": 1.5}
    page = told(QUERY, form({"Items": [KEY], "ConsumedCapacity": units}))
    assert (page.capacity, page.unprocessed, page.is_throttled) == (1.5, 0, False)
    left = {"app": {"Keys": [KEY, KEY]}}
    batch = told(READ, form({"ConsumedCapacity": [units, units], "UnprocessedKeys": left}))
    assert (batch.capacity, batch.unprocessed, batch.is_throttled) == (3.0, 2, True)
    written = told(BATCH, form({"UnprocessedItems": {"app": [{}, {}, {}], "b": [{}]}}))
    assert (written.capacity, written.unprocessed) == (None, 4)
    assert told(GET, form({"ConsumedCapacity": None, "UnprocessedKeys": None})).capacity is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
)
MEMBERS = st.sampled_from(["ConsumedCapacity", "UnprocessedKeys", "UnprocessedItems"])


@given(st.dictionaries(MEMBERS, JSON) | JSON, st.booleans())
def test_a_reply_that_is_not_dynamodbs_is_told_all_the_same(reply: Any, is_unread: bool) -> None:
    one = told(READ, Body(encode_body(reply)) if is_unread else reply)
    assert one.outcome == "ok"
    assert one.capacity is None or isinstance(one.capacity, float)


def test_a_body_that_is_no_json_is_told_by_its_size() -> None:
    one = told(GET, Body(b"<html>", "R1"))
    assert (one.outcome, one.reply_bytes, one.capacity, one.request_id) == ("ok", 6, None, "R1")
