"""One HTTP answer out of bytes: the same however they are cut, and nothing that is not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm.transport.http import http_answer
from dynaorm.transport.http.http_answer import AnswerReader, HttpAnswer, Malformed

SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Amz-CRC32: 7\r\n\r\nhello"
USUAL = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Fri, 17 May 2024 09:30:15 GMT\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: ABC\r\nx-amz-crc32: 7\r\n\r\nhello"
)
CHUNKED = b"HTTP/1.1 400 \r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\na: b\r\n\r\n"
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\nA: b\r\n\r\n" + SIZED
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
NOTHING = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def read(*pieces: bytes) -> HttpAnswer | None:
    """The answer in these pieces; the last must complete it, and none before it."""
    reader = AnswerReader()
    for piece in pieces[:-1]:
        assert reader.feed(piece) is None
    return reader.feed(pieces[-1])


@given(st.sampled_from([SIZED, USUAL, CHUNKED, CONTINUED, EMPTY, NOTHING]), st.data())
def test_an_answer_is_the_same_however_it_is_cut(whole: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=12)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    answer = read(*pieces)
    assert answer == read(whole)
    assert answer is not None
    assert answer.body in (b"hello", b"")
    assert answer.is_reusable


@given(
    st.sampled_from([SIZED, USUAL, CHUNKED, CONTINUED, EMPTY, NOTHING]),
    st.binary(min_size=1, max_size=5),
    st.data(),
)
def test_a_connection_with_bytes_after_the_answer_is_not_used_again(
    whole: bytes, more: bytes, data: st.DataObject
) -> None:
    answer = read(whole + more)
    expected = read(whole)
    assert answer is not None
    assert expected is not None
    assert (answer.status, answer.body) == (expected.status, expected.body)
    assert not answer.is_reusable


@given(st.sampled_from([SIZED, USUAL, CHUNKED, CONTINUED, EMPTY, NOTHING]), st.data())
def test_an_answer_that_ends_too_early_is_none(whole: bytes, data: st.DataObject) -> None:
    reader = AnswerReader()
    assert reader.feed(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None
    with pytest.raises(Malformed, match="closed before the whole answer came"):
        reader.end()


@given(
    st.integers(0, len(USUAL)),
    st.integers(0, 40),
    st.sampled_from([b"", b"\r\n", b"\r", b"\0", b" ", b":", b"0", b"close", b"Content-Length: 4\r\n"]),
)
def test_the_usual_head_is_read_as_any_other(start: int, length: int, spoiling: bytes) -> None:
    whole = USUAL[:start] + spoiling + USUAL[start + length :]
    assert outcome(whole) == outcome(whole[:1], whole[1:])


def outcome(*pieces: bytes) -> HttpAnswer | str | None:
    """The answer in these pieces, if they complete one, or the error."""
    try:
        return read(*pieces)
    except Malformed as error:
        return str(error)


@given(st.binary(max_size=300))
def test_no_bytes_but_an_answer_make_one(junk: bytes) -> None:
    reader = AnswerReader()
    try:
        answer = reader.feed(b"HTTP/1.1 200 OK\r\n" + junk)
    except Malformed:
        return
    assert answer is None or b"\r\n\r\n" in junk


def test_headers_are_known_by_their_names_in_lower_case() -> None:
    answer = read(
        b"HTTP/1.1 200 OK\r\nX-Amz-CRC32: 1 \r\nx-amz-crc32:2\r\nX-A: 1\r\nDate:\tnow\r\nContent-Length: 0\r\n\r\n"
    )
    assert answer is not None
    # Those that decide something.
    assert answer.headers == {"x-amz-crc32": "1, 2", "date": "now"}


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 0",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_connection_whose_end_is_announced_or_doubtful_is_not_used_again(head: bytes) -> None:
    answer = read(head + b"\r\n\r\n" + (b"0\r\n\r\n" if b"chunked" in head else b""))
    assert answer is not None
    assert not answer.is_reusable


@pytest.mark.parametrize("status", [200, 407])
def test_an_answer_to_connect_ends_with_its_head(status: int) -> None:
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Length: 7\r\n\r\n".encode()
    answer = AnswerReader(to_connect=True).feed(head)
    assert answer is not None
    assert (answer.status, answer.body) == (status, b"")


def test_nothing_may_follow_the_answer_to_connect_before_the_handshake() -> None:
    with pytest.raises(Malformed, match="before the TLS handshake"):
        AnswerReader(to_connect=True).feed(b"HTTP/1.1 200 OK\r\n\r\nx")
    answer = AnswerReader(to_connect=True).feed(b"HTTP/1.1 407 No\r\n\r\nwhy")
    assert answer is not None


FLOODS = {
    "body": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 100),
    "trailers": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 100),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 100),
}


@pytest.mark.parametrize(("first", "again"), FLOODS.values(), ids=FLOODS)
def test_an_answer_has_an_end(first: bytes, again: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answer, "ANSWER_LIMIT", 100_000)
    reader = AnswerReader()
    reader.feed(first)
    with pytest.raises(Malformed, match="has more than"):
        for _ in range(1000):
            reader.feed(again)
    assert reader.received <= 110_000


def test_the_largest_answer_of_dynamodb_is_below_the_limit() -> None:
    """16 MB of items, each byte of which takes as much JSON as it can."""
    null_in_a_list, control_character = len('{"NULL":true},') / 2, len("\\u0001")
    assert 16 * 2**20 * max(null_in_a_list, control_character) < http_answer.ANSWER_LIMIT


def test_an_answer_does_not_show_its_body() -> None:
    assert repr(read(SIZED)) == "HttpAnswer(status=200, is_reusable=True)"


@pytest.mark.parametrize(
    "whole",
    [
        b"\x15\x03\x01\x00\x02\x02\x16\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 134217729\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000,
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n",
    ],
)
def test_what_is_plainly_no_answer_is_malformed(whole: bytes) -> None:
    with pytest.raises(Malformed):
        AnswerReader().feed(whole)
