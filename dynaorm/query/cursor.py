"""Cursors: the position of a walk as URL-safe text that works for one query only.

Rule 1. A cursor comes from outside: anything but a cursor of the same query is refused. Each position has exactly one
        text, so any other text is damaged.
Rule 2. With a secret a cursor is signed, so that a client can neither make one up nor change one, and encrypted, so
        that it does not show the key in it. As in SIV (RFC 5297), the signature of the text is the nonce of the
        cipher, here the output of SHAKE256 for the secret and the nonce. Equal positions have equal cursors.
"""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import InvalidCursor
from dynaorm.item.value import Item, number_text
from dynaorm.record import record

_SIGNATURE_BYTES: Final = 16
_FINGERPRINT: Final = 22  # characters: 128 bits


@record
class Position:
    """The position of a walk.

    Attributes:
        number: the number of the key query that continues after ``key``.
        key: the key of the last item; None for the beginning of the key query.
        returned: the number of entities returned so far, which counts for a limit.
    """

    number: int
    key: Item | None
    returned: int = 0


def fingerprint_of(parts: Sequence[object]) -> str:
    """A fingerprint of what makes up a query, the same in every process."""
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
    return urlsafe_b64encode(digest).decode()[:_FINGERPRINT]


def encode_cursor(position: Position, fingerprint: str, secret: bytes | None = None) -> str:
    """The cursor of a position."""
    text = _content(position, fingerprint)
    if secret is None:
        return _base64(text)
    signature = _signature(text, secret)
    return _base64(signature + _ciphered(text, signature, secret))


def _content(position: Position, fingerprint: str) -> bytes:
    key = None
    if position.key is not None:
        key = [_written(value) for _, value in sorted(position.key.items())]
    return json.dumps([fingerprint, position.number, key, position.returned], separators=(",", ":")).encode()


def _written(value: Mapping[str, Any]) -> str:
    ((kind, content),) = value.items()
    if kind == "B":
        return b64encode(content).decode()
    return number_text(Decimal(content)) if kind == "N" else str(content)


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


def _signature(text: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, text, "sha256")[:_SIGNATURE_BYTES]


def _ciphered(text: bytes, nonce: bytes, secret: bytes) -> bytes:
    """The text encrypted, or an encrypted text decrypted."""
    key = hmac.digest(secret, b"dynaorm cursor cipher", "sha256")
    stream = hashlib.shake_256(key + nonce).digest(len(text))
    return bytes(one ^ other for one, other in zip(text, stream, strict=True))


def decode_cursor(
    text: object, fingerprint: str, keys: Sequence[KeyAttribute], secret: bytes | None = None
) -> Position:
    """The position of a cursor; ``keys`` are the attributes of its key.

    Raises:
        InvalidCursor: it is damaged, not signed with the secret, or belongs to another query.
    """
    if not isinstance(text, str):
        raise InvalidCursor(problem=f"a cursor is a str, and got {type(text).__name__}")
    content = _unpacked(text, secret)
    try:
        found, number, key, returned = json.loads(content)
        is_ours = found == fingerprint
        position = Position(number, _key(key, keys), returned) if is_ours else None
    except (ValueError, TypeError, RecursionError) as problem:
        raise _damaged() from problem
    if position is None:
        raise InvalidCursor(problem="the cursor belongs to another query")
    are_counts = all(type(one) is int and one >= 0 for one in (number, returned))
    if not are_counts or _content(position, fingerprint) != content:
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
    signature, encrypted = content[:_SIGNATURE_BYTES], content[_SIGNATURE_BYTES:]
    rest = _ciphered(encrypted, signature, secret)
    if not hmac.compare_digest(signature, _signature(rest, secret)):
        raise InvalidCursor(problem="the cursor was not made by this service")
    return rest


def _key(written: Any, keys: Sequence[KeyAttribute]) -> Item | None:
    if written is None:
        return None
    ordered = sorted(keys, key=lambda one: one.name)
    return {key.name: _value(one, key.kind) for key, one in zip(ordered, written, strict=True)}


def _value(content: Any, kind: str) -> Mapping[str, Any]:
    if not isinstance(content, str) or not content:
        raise ValueError(content)
    if kind == "B":
        return {kind: b64decode(content, validate=True)}
    if kind == "N":
        try:
            return {kind: number_text(Decimal(content))}
        except InvalidOperation as problem:
            raise ValueError(content) from problem
    content.encode()
    return {kind: content}
