"""Keys as bytes whose order is DynamoDB's, and the range of them that a key condition allows.

Rule 1. A part ends with a mark that sorts before every other byte of a longer part. So keys of several parts sort part
        by part, and what begins with a prefix is one range.
Rule 2. Numbers sort by value: a sign, the exponent, the digits; those of negative numbers upside down.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

_END: Final = b"\0\1"
_ZERO: Final = b"\2"
_LEAST_EXPONENT: Final = -130
_UPSIDE_DOWN: Final = bytes.maketrans(b"0123456789", b"9876543210")


def part_of_key(kind: str, content: Any) -> bytes:
    """The bytes of one part of a key, of one side: partition or sort."""
    return beginning(kind, content) + _END


def beginning(kind: str, content: Any) -> bytes:
    """What the bytes of all parts begin with that begin with a value."""
    raw: bytes = content.encode() if kind == "S" else content if kind == "B" else _number(content)
    return raw.replace(b"\0", b"\0\2")


def after(prefix: bytes) -> bytes | None:
    """The least bytes behind all that begin with a prefix; None for no end."""
    prefix = prefix.rstrip(b"\xff")
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None


def _number(text: str) -> bytes:
    number = Decimal(text)
    sign, digits, _ = number.as_tuple()
    if not number:
        return _ZERO
    exponent = number.adjusted() - _LEAST_EXPONENT
    spelled = bytes(48 + digit for digit in digits).strip(b"0")
    if sign:
        return b"\1" + bytes([255 - exponent]) + spelled.translate(_UPSIDE_DOWN) + b"\xff"
    return b"\3" + bytes([exponent]) + spelled
