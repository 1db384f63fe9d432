"""The bodies of DynamoDB's requests and replies: JSON with binary values in base64."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import PydanticSerializationError, from_json, to_json

from dynaorm.failure import counted
from dynaorm.item.value import Item, is_item
from dynaorm.late import late

if TYPE_CHECKING:
    import json
else:
    # Most requests and replies need none of it.
    late(globals(), json="json")

# The B comes first because quotes are everywhere, and a B is rare.
_BINARY = re.compile(rb'B(?<="B)S?"')


class Body(Mapping[str, Any]):
    """The body of a reply as bytes, parsed when it is first accessed. A faster parser can read ``raw`` instead.

    Args:
        raw: a JSON object.
        request_id: the identifier that DynamoDB gave the request; "" if it gave none.
        parse: what parses it, and raises for anything else.
    """

    __slots__ = ("_content", "parse", "raw", "request_id")

    def __init__(
        self, raw: bytes, request_id: str = "", parse: Callable[[bytes], dict[str, Any]] | None = None
    ) -> None:
        self.raw = raw
        self.request_id = request_id
        self.parse = parse or decode_object
        self._content: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"<Body of {counted(len(self.raw), 'byte')}>"

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """The parsed reply in the low-level form, with bytes for binary values. Raises what ``parse`` raises."""
        if self._content is None:
            self._content = self.parse(self.raw)
        return self._content


class Request(dict[str, Any]):
    """The parameters of a request, which are not changed any more, with the body that they become.

    The body tells the size of what is sent, and every attempt sends it.

    Args:
        parameters: the parameters, in the low-level form.
        body: their body, if it is known.

    Raises:
        TypeError: a value is neither JSON nor bytes.
    """

    __slots__ = ("body",)

    def __init__(self, parameters: Mapping[str, Any], body: bytes | None = None) -> None:
        dict.__init__(self, parameters)
        self.body = _encoded(parameters) if body is None else body


def encode_body(request: Mapping[str, Any]) -> bytes:
    """The body of a request in the low-level form.

    Raises:
        TypeError: a value is neither JSON nor bytes.
    """
    return request.body if isinstance(request, Request) else _encoded(request)


def _encoded(request: Mapping[str, Any]) -> bytes:
    try:
        body = to_json(request, bytes_mode="base64")
    # It knows no Mapping but dict, and refuses half a surrogate pair, which json escapes.
    except PydanticSerializationError:
        return _encoder()(request).encode("ascii")
    # to_json is nearly three times as fast, but writes base64 in the URL alphabet, which DynamoDB does not read.
    return _encoder()(request).encode("ascii") if _BINARY.search(body) else body


def decode_body(body: bytes) -> Any:
    """A parsed body in the low-level form, with bytes for binary values.

    Raises:
        ValueError: it is not JSON, or a binary value is not base64.
    """
    is_binary = _BINARY.search(body) is not None
    if not is_binary:
        # It takes half the time of json, and a tenth for the empty reply to a write. It refuses half a surrogate pair.
        try:
            return from_json(body)
        except ValueError:
            pass
    try:
        return json.loads(body, object_hook=_with_bytes if is_binary else None)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except Base64Error as error:
        raise ValueError(f"a binary value is not base64: {error}") from None


def decode_object(body: bytes) -> dict[str, Any]:
    """The parsed body of a reply. Raises ValueError as ``decode_body`` does, and for JSON that is no object."""
    if body == b"{}":  # the reply to most writes
        return {}
    content = decode_body(body)
    # An empty list or null would look like an empty reply.
    if not isinstance(content, dict):
        raise ValueError(f"a reply is a JSON object, not {type(content).__name__}")
    return content


def decode_item(text: bytes) -> Item:
    """The item of a text that was cut out of valid JSON: without the ``{`` at its beginning.

    The ``}}`` at its end may be missing, or anything may follow it. A binary value that is not base64 stays a text: no
    field has read it, and it is stored as it is.
    """
    decode = _decoder(is_binary=_BINARY.search(text) is not None)
    item: Item = decode(f"{{{text.decode()}}}}}")[0]
    return item


def with_bytes(value: Any) -> Any:
    """A part of a body parsed as plain JSON, with bytes for binary values. Raises ValueError for other than base64."""
    if isinstance(value, dict):
        return _with_bytes({name: with_bytes(one) for name, one in value.items()})
    return [with_bytes(one) for one in value] if isinstance(value, list) else value


def _plain(value: object) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be sent; give its attribute value")


@cache
def _encoder() -> Callable[[Any], str]:
    # Requests have no cycles, and checking for them takes a fifth of the time.
    return json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_plain).encode


@cache
def _decoder(*, is_binary: bool) -> Callable[[str], tuple[Any, int]]:
    return json.JSONDecoder(object_hook=_with_bytes_or_text if is_binary else None).raw_decode


def _with_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """A JSON object, decoded if it is a binary value. For an attribute named B, the value under B is not a str."""
    if len(value) == 1:
        text = value.get("B")
        if isinstance(text, str):
            return {"B": b64decode(text, validate=True)}
        texts = value.get("BS")
        if isinstance(texts, list) and all(isinstance(each, str) for each in texts):
            return {"BS": [b64decode(each, validate=True) for each in texts]}
    return value


def _with_bytes_or_text(value: dict[str, Any]) -> dict[str, Any]:
    try:
        return _with_bytes(value)
    except ValueError:
        return value


# Items as lines of text, in DynamoDB JSON: ``{"Item":{"PK":{"S":"USER#1"}}}``.
#
# Rule 1. The lines are those of an export to S3, and what an import from S3 takes (Amazon DynamoDB Developer Guide,
#         "DynamoDB table export output format", "Amazon S3 import formats for DynamoDB").
# Rule 2. An item has one line: attributes, members of maps and elements of sets are sorted.


ITEM: Final = "Item"
_SETS: Final = ("SS", "NS", "BS")


def item_line(item: Item) -> bytes:
    """The line of an item, with its end."""
    return encode_body({ITEM: _members(item)}) + b"\n"


def item_in(line: bytes) -> dict[str, Any]:
    """The item of a line. Members beside ``Item`` are left out.

    Raises:
        ValueError: it is no line of an item. The message says what is wrong, and quotes nothing.
    """
    try:
        found = decode_body(line)
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not isinstance(found, dict) or ITEM not in found:
        raise ValueError(f"it is no JSON object with the member {ITEM!r}")
    item = found[ITEM]
    try:
        is_whole = is_item(item)
    except RecursionError:
        is_whole = False
    if not is_whole:
        raise ValueError(f"its {ITEM!r} is not in DynamoDB JSON")
    assert isinstance(item, dict)
    return item


def _members(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(members[name]) for name in sorted(members)}


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    ((tag, content),) = value.items()
    if tag == "M":
        return {tag: _members(content)}
    if tag == "L":
        return {tag: [_value(one) for one in content]}
    return {tag: sorted(content) if tag in _SETS else content}
