"""Bodies: JSON, in which binary values are base64, and nothing else is taken for one."""

import json
from base64 import b64encode
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.json_body import Body, decode_body, encode_body
from tests.raw_values import items


@given(items)
def test_an_item_comes_back_whatever_its_attributes_are_called(item: dict[str, Any]) -> None:
    request = {"TableName": "B", "Item": item, "Items": [item]}
    assert decode_body(encode_body(request)) == request


def test_no_byte_is_spent_on_blanks() -> None:
    assert encode_body({"a": [1, 2], "b": "é"}) == '{"a":[1,2],"b":"é"}'.encode()
    assert encode_body({"a": [1, 2], "b": {"B": b"\xff"}}) == b'{"a":[1,2],"b":{"B":"/w=="}}'


@pytest.mark.parametrize("binary", [b"\xff", b"", bytearray(b"\xfb\xff"), memoryview(b"\xfb\xff\xfe")])
def test_binary_values_are_in_the_alphabet_that_dynamodb_reads(binary: bytes) -> None:
    for value in ({"B": binary}, {"BS": [binary]}, {"L": [{"M": {"x": {"B": binary}}}]}):
        body = encode_body({"Item": {"a": value, "b": {"S": "text"}}})
        assert b64encode(binary) in body
        assert not {*b"-_"} & {*body}


def test_half_of_a_surrogate_pair_is_sent_for_dynamodb_to_refuse() -> None:
    assert encode_body({"a": {"S": "\ud800"}}) == b'{"a":{"S":"\\ud800"}}'


def test_a_value_is_sent_however_deeply_it_is_nested() -> None:
    value: Any = {"S": "core"}
    for _ in range(400):
        value = {"L": [value]}
    assert decode_body(encode_body({"Item": {"a": value}})) == {"Item": {"a": value}}


def test_what_a_request_may_hold_besides_json() -> None:
    request = MappingProxyType({"Key": MappingProxyType({"b": {"B": bytearray(b"\xff")}}), "L": (1, 2)})
    assert json.loads(encode_body(request)) == {"Key": {"b": {"B": "/w=="}}, "L": [1, 2]}


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(TypeError, match=r"object.*cannot be sent; give its attribute value"):
        encode_body({"Key": {"a": {"S": object()}}})


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b'{"Item":', b'{"Item":{"a":{"B":"?"}}}', b"\xff\xfe{}", b"[" * 100_000],
    ids=["empty", "page", "cut", "base64", "encoding", "deep"],
)
def test_what_is_no_body_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own sentence
        decode_body(body)


_NUMBERS = st.integers() | st.floats(allow_nan=False)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON, st.booleans())
def test_every_other_body_is_read_as_json_reads_it(content: Any, is_ascii: bool) -> None:
    body = json.dumps(content, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    try:
        wanted = json.loads(body)
    except ValueError:
        wanted = ValueError
    try:
        found = decode_body(body)
    except ValueError:
        found = ValueError
    assert (found, repr(found)) == (wanted, repr(wanted))


@given(items)
def test_a_reply_in_bytes_is_the_mapping_it_says(item: dict[str, Any]) -> None:
    raw = encode_body({"Item": item, "Count": 1})
    body = Body(raw)
    assert body.raw == raw
    assert dict(body) == {"Item": item, "Count": 1}
    assert body.get("Item") == item
    assert (len(body), body.get("LastEvaluatedKey")) == (2, None)


def test_a_reply_in_bytes_does_not_show_what_it_holds() -> None:
    assert repr(Body(b'{"Item":{"secret":{"S":"s3cret"}}}')) == "<Body of 34 bytes>"


@pytest.mark.parametrize("raw", [b"[]", b"null", b"0", b'""', b""])
def test_bytes_that_are_no_object_never_look_like_an_empty_reply(raw: bytes) -> None:
    for look in (len, list, bool, lambda body: body.get("Item")):
        with pytest.raises(ValueError):  # noqa: PT011 - json's own sentence
            look(Body(raw))
