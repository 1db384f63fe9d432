"""Cursors: the position of a walk as URL-safe text that works for one query only.

Rule 1. A cursor comes from outside: anything but a cursor of the same query is refused. Each position has exactly one
        text, so any other text is damaged.
Rule 2. With a secret a cursor is signed, so that a client can neither make one up nor change one.
"""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import InvalidCursor
from dynaorm.item.value import Item, number_text
from dynaorm.record import record

Start: TypeAlias = Item | Literal[True] | None

_SIGNATURE_BYTES: Final = 16
_FINGERPRINT: Final = 22  # characters: 128 bits


@record
class Position:
    """The position of a walk.

    Attributes:
        key_queries: for each key query the key to continue after; None: from its beginning; True: it is finished.
        returned: the number of entities returned so far, which counts for a limit.
    """

    key_queries: tuple[Start, ...]
    returned: int = 0


def fingerprint_of(requests: Sequence[Mapping[str, Any]], extra: Sequence[object] = ()) -> str:
    """A fingerprint of a query, the same in every process."""
    text = json.dumps([list(requests), list(extra)], sort_keys=True, default=_spelled)
    digest = hashlib.sha256(text.encode()).digest()
    return urlsafe_b64encode(digest).decode()[:_FINGERPRINT]


def _spelled(value: object) -> object:
    """A form for values that JSON does not have. The order of a set differs between processes."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, AbstractSet):
        return {"set": sorted(json.dumps(one, sort_keys=True, default=_spelled) for one in value)}
    return dict(value) if isinstance(value, Mapping) else repr(value)


def encode_cursor(position: Position, fingerprint: str, secret: bytes | None = None) -> str:
    """The cursor of a position."""
    text = _content(position, fingerprint)
    return _base64(text if secret is None else _signature(text, secret) + text)


def _content(position: Position, fingerprint: str) -> bytes:
    key_queries = [
        one if one is None or one is True else {name: _written(value) for name, value in one.items()}
        for one in position.key_queries
    ]
    return json.dumps([fingerprint, position.returned, key_queries], separators=(",", ":")).encode()


def _written(value: Mapping[str, Any]) -> list[str]:
    ((kind, content),) = value.items()
    if kind == "B":
        return [kind, b64encode(content).decode()]
    return [kind, number_text(Decimal(content)) if kind == "N" else content]


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _signature(text: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, text, "sha256")[:_SIGNATURE_BYTES]


def decode_cursor(
    text: object, fingerprint: str, keys: Sequence[KeyAttribute], secret: bytes | None = None
) -> Position:
    """The position of a cursor; ``keys`` are the attributes that each of its keys must have.

    Raises:
        InvalidCursor: it is damaged, not signed with the secret, or belongs to another query.
    """
    if not isinstance(text, str):
        raise InvalidCursor(problem=f"a cursor is a str, and got {type(text).__name__}")
    content = _unpacked(text, secret)
    kinds = {key.name: key.kind for key in keys}
    try:
        found, returned, key_queries = json.loads(content)
        is_ours = found == fingerprint
        position = Position(tuple(_start(one, kinds) for one in key_queries), returned) if is_ours else None
    except (ValueError, TypeError, RecursionError) as problem:
        raise _damaged() from problem
    if position is None:
        raise InvalidCursor(problem="the cursor belongs to another query")
    if type(returned) is not int or returned < 0 or _content(position, fingerprint) != content:
        raise _damaged()
    return position


def _damaged() -> InvalidCursor:
    return InvalidCursor(problem="the cursor is damaged")


def _unpacked(text: str, secret: bytes | None) -> bytes:
    try:
        content = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError as problem:
        raise _damaged() from problem
    # Base64 has several texts for the same bytes; accept one.
    if _base64(content) != text:
        raise _damaged()
    if secret is None:
        return content
    signature, rest = content[:_SIGNATURE_BYTES], content[_SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(rest, secret)):
        raise InvalidCursor(problem="the cursor was not made by this service")
    return rest


def _start(written: Any, kinds: Mapping[str, str]) -> Start:
    if written is None or written is True:
        return True if written else None
    if not isinstance(written, dict) or written.keys() != kinds.keys():
        raise ValueError(written)
    return {name: _value(one, kinds[name]) for name, one in written.items()}


def _value(written: Any, expected: str) -> Mapping[str, Any]:
    kind, content = written
    if kind != expected or not isinstance(content, str) or not content:
        raise ValueError(written)
    if kind == "B":
        return {kind: b64decode(content, validate=True)}
    if kind == "N":
        try:
            return {kind: number_text(Decimal(content))}
        except InvalidOperation as problem:
            raise ValueError(written) from problem
    content.encode()
    return {kind: content}
