"""Attribute values as people read them: one line of text each."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from dynaorm.item.value import AttributeValue

_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)")
# Those of datetime; a TTL attribute may hold any number.
_LAST_SECOND: Final = 253_402_300_799


def value_text(value: AttributeValue) -> str:
    """An attribute value as text, without its type: lists in brackets, maps and sets in braces, bytes as ``0x``."""
    ((kind, content),) = value.items()
    if kind == "L":
        return f"[{', '.join(map(value_text, content))}]"
    if kind == "M":
        return f"{{{', '.join(f'{name}: {value_text(one)}' for name, one in content.items())}}}"
    if kind in ("SS", "NS", "BS"):
        return f"{{{', '.join(_sorted(kind, content))}}}"
    if kind == "BOOL":
        return "true" if content else "false"
    if kind == "NULL":
        return "null"
    return f"0x{bytes(content).hex()}" if kind == "B" else str(content)


def _sorted(kind: str, members: Iterable[str | bytes]) -> list[str]:
    """The members of a set, which has no order, in the same order every time."""
    return sorted(value_text({kind[0]: one}) for one in members)


def short_text(value: AttributeValue, *, is_expiry: bool) -> str:
    """The same, with quotes for the empty text, and with times, also of an expiry, as ``2024-06-01 09:30:00``: UTC."""
    text = value_text(value) or "''"  # otherwise nobody would see that it is there
    if is_expiry and "N" in value:
        return _expiry(text)
    found = _TIME.fullmatch(text) if "S" in value else None
    return f"{found[1]} {found[2]}" if found is not None else text


def _expiry(seconds: str) -> str:
    try:
        number = int(float(seconds))
    except (ValueError, OverflowError):
        return seconds
    if not 0 <= number <= _LAST_SECOND:
        return seconds
    return datetime.fromtimestamp(number, UTC).strftime("%Y-%m-%d %H:%M:%S")
