"""The bodies of DynamoDB's requests and replies: JSON, in which binary values are base64."""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

_BINARY = re.compile(rb'"BS?"')


class Body(Mapping[str, Any]):
    """A reply as it came, taken apart when it is first looked into.

    Who can do better with the bytes than take them apart reads ``raw``.

    Args:
        raw: a JSON object; whether it is one is seen when it is looked into.
    """

    __slots__ = ("_content", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._content: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Body of {len(self.raw)} bytes>"

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """What it says, in the low-level form, binary values as bytes. Raises ValueError where it is no JSON object."""
        if self._content is None:
            content = decode_body(self.raw)
            # An empty list or null would look like a reply without anything in it.
            if not isinstance(content, dict):
                raise ValueError(f"a reply is a JSON object, not {type(content).__name__}")
            self._content = content
        return self._content


def encode_body(request: Mapping[str, Any]) -> bytes:
    """The body of a request in the low-level form.

    Raises:
        TypeError: it holds what is neither JSON nor bytes.
    """
    try:
        body = to_json(request, bytes_mode="base64")
    except PydanticSerializationError:
        return _encode(request).encode("ascii")
    # It writes base64 in the alphabet of URLs, which is another. Nearly three times as fast, it is worth the try.
    return _encode(request).encode("ascii") if _BINARY.search(body) else body


def decode_body(body: bytes) -> Any:
    """What a body says, in the low-level form, binary values as bytes.

    Raises:
        ValueError: it is no JSON, or a binary value no base64.
    """
    # A hook is a call for every attribute value, and few tables have binary ones.
    hook = _with_bytes if _BINARY.search(body) else None
    try:
        return json.loads(body, object_hook=hook)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except Base64Error as error:
        raise ValueError(f"a binary value is no base64: {error}") from None


def _plain(value: object) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of {type(value).__name__} cannot be sent: give its attribute value")


# Requests have no cycles, and looking for them costs a fifth.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_plain).encode


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """The value, or its bytes. An attribute that is itself named B has a map under its name, not a text."""
    if len(value) == 1:
        text = value.get("B")
        if isinstance(text, str):
            return {"B": b64decode(text, validate=True)}
        texts = value.get("BS")
        if isinstance(texts, list) and all(isinstance(each, str) for each in texts):
            return {"BS": [b64decode(each, validate=True) for each in texts]}
    return value
