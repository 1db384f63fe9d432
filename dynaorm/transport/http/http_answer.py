"""Reads one HTTP/1.1 answer from bytes as they arrive. It has no socket, so that tests can cut the bytes anywhere.

Rule 1. Bytes that are not a valid answer are ``Malformed``: half a reply must never pass for a whole one.
Rule 2. A connection is used again only if the end of the answer is certain and no byte follows it.
Rule 3. Every answer has an end: head, interim answers, chunks and trailers count towards one limit.

Source: RFC 9112 (HTTP/1.1), sections 4 to 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from itertools import count
from types import MappingProxyType
from typing import Protocol

from dynaorm.record import record

HEAD_LIMIT = 65_536
"""The most bytes of a head, interim answers (1xx) before it included. DynamoDB's heads have about 400."""

ANSWER_LIMIT = 134_217_728
"""The most bytes of an answer (128 MiB).

A BatchGetItem returns at most 16 MB, which as JSON can take seven times as many bytes: two bytes of an item become
``{"NULL":true},``, and one control character becomes ``\\u0001``.
"""

_FRAMING = frozenset({"content-length", "transfer-encoding"})
_DECIDING = ("date", "x-amzn-requestid", "x-amz-crc32")
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Malformed(ValueError):
    """The bytes are not a whole HTTP answer."""


@record(quick=True)
class HttpAnswer:
    """One answer, with the headers that decide something; ``is_reusable``: whether its connection is.

    The names of headers are in lower case.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    is_reusable: bool


class AnswerReader:
    """Takes bytes until an answer is complete; one reader per answer.

    Args:
        to_connect: the answer is a proxy's to CONNECT. It ends with its head: a tunnel follows, or nothing of use.

    Attributes:
        received: the bytes taken so far.
    """

    # Most readers read one usual answer, and set none of these.
    received = 0
    _interim = 0
    _head = b""
    _status = 0
    _headers: Mapping[str, str] = MappingProxyType({})
    _keeps_alive = False
    _body: _Body | None = None

    def __init__(self, *, to_connect: bool = False) -> None:
        self._to_connect = to_connect

    def feed(self, data: bytes) -> HttpAnswer | None:
        """Take some bytes; the answer once it is complete. Raises Malformed."""
        is_first = not self.received
        self.received += len(data)
        if self.received > ANSWER_LIMIT:
            raise Malformed(f"the answer has more than {ANSWER_LIMIT} bytes")
        if is_first and not self._to_connect and (answer := _usual(data)) is not None:
            return answer
        if self._body is None:
            self._head += data
            if not self._begin():
                return None
            data, self._head = self._head, b""
        assert self._body is not None
        rest = self._body.feed(data)
        if rest and self._to_connect and self._status < 300:
            raise Malformed("bytes came through the tunnel before the TLS handshake")
        # Rule 2.
        return None if rest is None else self._answer(self._body, is_reusable=not rest)

    def end(self) -> HttpAnswer:
        """The answer that the end of the connection completes. Raises Malformed if the answer is cut short."""
        if isinstance(self._body, _Endless):
            return self._answer(self._body, is_reusable=False)
        raise Malformed("the connection was closed before the whole answer came")

    def _answer(self, body: _Body, *, is_reusable: bool) -> HttpAnswer:
        return HttpAnswer(self._status, self._headers, body.content(), is_reusable and self._keeps_alive)

    def _begin(self) -> bool:
        """Read the head if it is complete; the bytes after it stay."""
        while True:
            end = self._head.find(b"\r\n\r\n")
            if self._interim + (len(self._head) if end < 0 else end) > HEAD_LIMIT:
                raise Malformed(f"the head of the answer has more than {HEAD_LIMIT} bytes")
            if end < 0:
                return False
            # In Latin-1, every byte is a character: what a head may hold is decided below, not by an error of the
            # codec.
            first, *lines = self._head[:end].decode("latin-1").split("\r\n")
            self._head = self._head[end + 4 :]
            self._interim += end + 4
            version, self._status = _status_of(first)
            if self._status >= 200:
                break
        headers = _headers_of(lines)
        self._headers = {name: headers[name] for name in _DECIDING if name in headers}
        self._body = self._body_of(headers)
        connection = headers.get("connection", "").lower()
        # With both headers of _FRAMING, chunks decide, and the connection must be closed (RFC 9112, section 6.3): a
        # proxy may have found another end.
        self._keeps_alive = (
            version == "HTTP/1.1" and "close" not in connection and not headers.keys() >= _FRAMING
        )
        return True

    def _body_of(self, headers: Mapping[str, str]) -> _Body:
        if self._status in (204, 304) or self._to_connect:
            return _Sized(0)
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is not None:
            if coding.lower() != "chunked":
                raise Malformed(f"the answer is encoded as {coding!r}")
            return _Chunked()
        if length is None:
            return _Endless()
        # ``int`` raises an error of its own for some thousand digits.
        if not length.isdecimal() or len(length) > 15 or int(length) > ANSWER_LIMIT:
            raise Malformed(f"the answer's length is {length[:20]!r}")
        return _Sized(int(length))


# The head that DynamoDB itself sends. One pattern reads it in half the time. A dot is the fastest of all sets.
_USUAL = (
    r"HTTP/1\.1 (200|400) .*\r\n"
    r"Server: .*\r\nDate: (.*)\r\nContent-Type: .*\r\n"
    r"Content-Length: ([0-9]{1,8})\r\nConnection: keep-alive\r\n"
    r"x-amzn-RequestId: (.*)\r\nx-amz-crc32: ([0-9]*)\r\n\r\n"
)
_answers = count()


@cache
def _usual_head() -> re.Pattern[str]:
    return re.compile(_USUAL)


def _usual(data: bytes) -> HttpAnswer | None:
    """The answer, if the data is a whole answer with the head that DynamoDB sends."""
    # The first answer is read without the pattern: to compile it takes as long as to read some dozen answers.
    if not next(_answers):
        return None
    head = data[:1024].decode("latin-1")
    match = _usual_head().match(head)
    if match is None or "\0" in head:
        return None
    status, date, length, request_id, checksum = match.groups()
    body = data[match.end() :]
    if length != str(len(body)):
        return None
    headers = {"date": date.strip(), "x-amzn-requestid": request_id.strip(), "x-amz-crc32": checksum}
    return HttpAnswer(200 if status == "200" else 400, headers, body, True)


def _status_of(line: str) -> tuple[str, int]:
    version, _, rest = line.partition(" ")
    code, after = rest[:3], rest[3:4]
    if version not in ("HTTP/1.1", "HTTP/1.0") or len(code) < 3 or not code.isdecimal() or after.strip():
        raise Malformed(f"an answer cannot begin with {line[:100]!r}")
    status = int(code)
    if status < 100 or status == 101:
        raise Malformed(f"HTTP {status} is not an answer to this request")
    return version, status


def _headers_of(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        # A blank before the colon, or a line that continues another, is read differently by different programs (RFC
        # 9112, section 5).
        if not colon or not name or name != name.strip() or "\n" in line or "\0" in line:
            raise Malformed(f"an answer's header cannot be {line[:100]!r}")
        name, value = name.lower(), value.strip()
        if name in headers and headers[name] != value:
            if name in _FRAMING:
                raise Malformed(f"the answer has two headers {name}: {headers[name]!r} and {value!r}")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    return headers


class _Body(Protocol):
    def feed(self, data: bytes) -> bytes | None:
        """Take some bytes; once the body is complete, those after it."""
        ...

    def content(self) -> bytes: ...


class _Sized:
    """A body whose length is known."""

    def __init__(self, length: int) -> None:
        self._missing = length
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        missing = self._missing
        if len(data) > missing:
            self._parts.append(data[:missing])
            return data[missing:]
        if data:
            self._parts.append(data)
        self._missing = missing - len(data)
        return None if self._missing else b""

    def content(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


class _Endless:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        self._parts.append(data)
        return None

    def content(self) -> bytes:
        return b"".join(self._parts)


class _Chunked:
    """A body of chunks. Each begins with its length and ends with a line end; trailers follow the last one."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._content = bytearray()
        self._missing = 0
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes | None:
        waiting, at = self._waiting, 0
        waiting += data
        while True:
            if self._missing:
                taken = waiting[at : at + self._missing]
                at += len(taken)
                if not self._take(taken):
                    break
            end = waiting.find(b"\r\n", at)
            if end < 0:
                break
            line, at = bytes(waiting[at:end]), end + 2
            if not self._in_trailers:
                self._begin(line)
            elif not line:
                return bytes(waiting[at:])
        del waiting[:at]
        if len(waiting) > HEAD_LIMIT:
            raise Malformed(f"a line between chunks has more than {HEAD_LIMIT} bytes")
        return None

    def content(self) -> bytes:
        return bytes(self._content)

    def _take(self, part: bytearray) -> bool:
        """Take a part of a chunk, its line end included; whether the chunk is complete."""
        self._content += part
        self._missing -= len(part)
        if self._missing:
            return False
        if not self._content.endswith(b"\r\n"):
            raise Malformed("a chunk does not end where its length says")
        del self._content[-2:]
        return True

    def _begin(self, line: bytes) -> None:
        digits = line.partition(b";")[0].strip()
        if not digits or len(digits) > 12 or not _HEX.issuperset(digits):
            raise Malformed(f"a chunk's length cannot be {line[:100]!r}")
        length = int(digits, 16)
        if length:
            self._missing = length + 2
        else:
            self._in_trailers = True
