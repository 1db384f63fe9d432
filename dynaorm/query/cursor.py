"""Cursors: where a walk stands, as text that fits into a URL and works for one query alone.

Rule 1. A cursor is data from outside: whatever is not a cursor of this very query is refused, and never used. There is
        one text for each position, so what this module would not have written is damaged.
Rule 2. With a secret it is signed, so that a client can neither make one up nor change one.
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
    """Where a walk stands.

    Attributes:
        strands: for each strand the key after which to go on; None: from its beginning; True: it is finished.
        returned: how many entities were returned so far, which counts for a limit.
    """

    key_queries: tuple[Start, ...]
    returned: int = 0


def fingerprint_of(requests: Sequence[Mapping[str, Any]], extra: Sequence[object] = ()) -> str:
    """What tells one query from another; the same in every process."""
    text = json.dumps([list(requests), list(extra)], sort_keys=True, default=_spelled)
    digest = hashlib.sha256(text.encode()).digest()
    return urlsafe_b64encode(digest).decode()[:_FINGERPRINT]


def _spelled(value: object) -> object:
    """What JSON has no form for. A set's own order is another in every process."""
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
    """The position a cursor tells of; ``keys`` are the attributes each of its keys has to have.

    Raises:
        InvalidCursor: it is damaged, not signed by us, or another query's.
    """
    if not isinstance(text, str):
        raise InvalidCursor(problem=f"a cursor is a text, and {type(text).__name__} is none")
    content = _unpacked(text, secret)
    kinds = {key.name: key.kind for key in keys}
    try:
        found, returned, key_queries = json.loads(content)
        is_ours = found == fingerprint
        position = Position(tuple(_start(one, kinds) for one in key_queries), returned) if is_ours else None
    except (ValueError, TypeError, RecursionError) as problem:
        raise _damaged() from problem
    if position is None:
        raise InvalidCursor(problem="the cursor is that of another query")
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
    # One text for one cursor: base64 would let others pass.
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
