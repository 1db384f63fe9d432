"""What an answer means: a reply, a refusal, or none."""

import json
from binascii import crc32
from collections.abc import Mapping
from typing import Any

import pytest

from dynaorm.flow.protocol.call import NoAnswer, Reason, Refusal
from dynaorm.item.json_body import Body
from dynaorm.transport.answer import reply_of


def reply(status: int, content: object, **headers: str) -> Mapping[str, Any]:
    return reply_of(status, {"x-amzn-requestid": "REQUEST1", **headers}, json.dumps(content).encode())


def refused(content: object, status: int = 400) -> Refusal:
    with pytest.raises(Refusal) as caught:
        reply(status, content)
    return caught.value


def unanswered(status: int, body: bytes, headers: Mapping[str, str]) -> str:
    with pytest.raises(NoAnswer) as caught:
        reply_of(status, headers, body)
    assert caught.value.sent
    return caught.value.reason


def test_a_reply_is_given_in_the_low_level_form_with_bytes_for_binary_values() -> None:
    assert reply(200, {"Item": {"a": {"B": "/w=="}}}) == {"Item": {"a": {"B": b"\xff"}}}


def test_a_refusal_has_code_message_and_request_id() -> None:
    refusal = refused({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": "no"})
    assert (refusal.code, refusal.message, refusal.request_id) == ("ValidationException", "no", "REQUEST1")
    assert (refusal.reasons, refusal.item) == ((), None)
    assert refused({"__type": "ThrottlingException", "Message": "slow"}).message == "slow"
    assert refused({"__type": "AccessDenied:http://internal/", "message": None}).code == "AccessDenied"


def test_the_item_a_single_write_found_comes_with_its_refusal() -> None:
    content = {"__type": "x#ConditionalCheckFailedException", "Item": {"PK": {"B": "/w=="}}}
    assert refused(content).item == {"PK": {"B": b"\xff"}}


def test_a_cancelled_transaction_has_one_reason_per_action_in_order() -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "no", "Item": {"b": {"BS": ["/w=="]}}},
        {"Code": "TransactionConflict", "Message": None},
    ]
    refusal = refused({"__type": "x#TransactionCanceledException", "CancellationReasons": reasons})
    assert refusal.reasons == (
        None,
        Reason("ConditionalCheckFailed", "no", {"b": {"BS": [b"\xff"]}}),
        Reason("TransactionConflict"),
    )


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_http_5xx_is_no_answer_because_the_write_may_have_happened(status: int) -> None:
    body = b'{"__type":"x#InternalServerError","message":"oh"}'
    assert unanswered(status, body, {}) == f"HTTP {status} InternalServerError: oh"


def test_a_servers_own_fault_is_no_answer_under_any_status() -> None:
    assert unanswered(400, b'{"__type":"InternalServerError"}', {}).startswith("HTTP 400 InternalServerError")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"text"', b'{"Item":', b'{"a":{"B":"?"}}'])
@pytest.mark.parametrize("status", [200, 302, 404, 502])
def test_a_page_is_no_answer_whatever_its_status(status: int, body: bytes) -> None:
    assert unanswered(status, body, {}) == f"HTTP {status} without JSON: is the endpoint a DynamoDB?"


@pytest.mark.parametrize("status", [201, 204, 302, 400, 403, 404])
def test_json_of_somebody_else_is_no_answer(status: int) -> None:
    assert "without an error of DynamoDB's own" in unanswered(status, b'{"detail":"Not Found"}', {})


@pytest.mark.parametrize("checksum", ["1", "", "x", str(crc32(b"{}") + 1)])
def test_an_answer_that_does_not_match_its_checksum_is_none(checksum: str) -> None:
    reason = unanswered(200, b"{}", {"x-amz-crc32": checksum})
    assert reason == "the reply does not match its checksum (x-amz-crc32)"


def test_an_answer_that_matches_its_checksum_is_one_and_is_not_taken_apart_before_it_is_asked() -> None:
    raw = b'{"Item":{"a":{"B":"/w=="}}}'
    found = reply_of(200, {"x-amz-crc32": str(crc32(raw))}, raw)
    assert isinstance(found, Body)
    assert found.raw is raw
    assert found == {"Item": {"a": {"B": b"\xff"}}}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'"text"', b" "])
def test_what_is_no_object_is_no_answer_even_if_it_matches_its_checksum(body: bytes) -> None:
    assert "without JSON" in unanswered(200, body, {"x-amz-crc32": str(crc32(body))})


@pytest.mark.parametrize("body", [b'{"Item":', b"{]", b'{"Item":{"a":{"B":"?"}}}'])
def test_a_broken_object_that_matches_its_checksum_is_never_an_empty_reply(body: bytes) -> None:
    found = reply_of(200, {"x-amz-crc32": str(crc32(body))}, body)
    for look in (
        lambda: found.get("Item"),
        lambda: "Item" in found,
        lambda: bool(found),
        lambda: list(found),
    ):
        with pytest.raises(ValueError, match=r"JSON|base64|Expecting"):
            look()


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"x"', b"\x80", b"", b"["])
def test_an_answer_that_is_no_json_object_is_none(body: bytes, status: int) -> None:
    assert unanswered(status, body, {}) == f"HTTP {status} without JSON: is the endpoint a DynamoDB?"
    with pytest.raises(NoAnswer):
        reply_of(status, {"x-amz-crc32": str(crc32(body))}, body)
