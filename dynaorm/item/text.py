"""Text that is safe to print, and values as people read them."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from dynaorm.failure import MASK
from dynaorm.item.value import AttributeValue


def printable(text: str) -> str:
    r"""The text with every control, format and separator character escaped, as ``\n``, ``\x1b`` or ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


# Values as people read them, in one line each: in pictures of tables, on the command line, in plans.
#
# Rule 1. A text stands as it is. One that could be taken for something else is in quotes: ``''``, ``'12'``,
#         ``'null'``.
# Rule 2. A time in UTC is ``2024-06-01 09:30:00``, with a fraction of a second only if there is one.
# Rule 3. No value is ``null``, bytes are ``0x00ff``, lists are in brackets, maps and sets in braces; sets are sorted.
# Rule 4. A secret is ``**********``, whatever its type.
# Rule 5. A key is verbatim. In the name of an entity, values are as Python writes them: all but numbers in quotes.


_TIME: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)?")
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_WORDS: Final = frozenset({"", "null", "true", "false"})
# Those of datetime; a TTL attribute may hold any number.
_LAST_SECOND: Final = 253_402_300_799


def value_text(value: AttributeValue, *, is_expiry: bool = False) -> str:
    """An attribute value, without its type. ``is_expiry``: a number is a time."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return plain_text(content)
        case "N":
            return _expiry_text(content) if is_expiry else str(content)
        case "L":
            return _list_text(map(value_text, content))
        case "M":
            return _map_text({name: value_text(one) for name, one in content.items()})
        case "SS" | "NS" | "BS":
            return _set_text(value_text({kind[0]: one}) for one in content)
        case "BOOL":
            return "true" if content else "false"
        case "B":
            return _bytes_text(content)
    return "null"


def field_text(value: Any) -> str:
    """The value of a field, of Python's own types. Any other is as ``str`` writes it."""
    if isinstance(value, Enum):
        return field_text(value.value)
    if isinstance(value, Mapping):
        return _map_text({str(name): field_text(one) for name, one in value.items()})
    if isinstance(value, AbstractSet):
        return _set_text(map(field_text, value))
    if isinstance(value, list | tuple):
        return _list_text(map(field_text, value))
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".")
    if isinstance(value, bytes | bytearray):
        return _bytes_text(value)
    return str(value) if isinstance(value, int | float | Decimal) else plain_text(str(value))


def plain_text(text: str) -> str:
    """A text, or a time as any program writes it in ISO 8601."""
    if found := _TIME.fullmatch(text):
        day, at, fraction, zone = found.groups(default="")
        at += fraction.rstrip("0").rstrip(".")
        return f"{day} {at}" if day and zone else f"{day}{'T' if day else ''}{at}{zone}"
    is_other = text in _WORDS or text != text.strip() or text.startswith("'") or _NUMBER.fullmatch(text)
    return repr(text) if is_other and text != MASK else text


def time_text(at: datetime) -> str:
    """A time in UTC. One without a time zone is as ISO 8601 writes it, with a ``T``."""
    in_utc = at if at.utcoffset() is None else at.astimezone(UTC)
    return plain_text(in_utc.isoformat())


def key_text(value: AttributeValue) -> str:
    """The value of a key attribute, verbatim; bytes as ``0x00ff``."""
    ((kind, content),) = value.items()
    return _bytes_text(content) if kind == "B" else str(content)


def name_text(value: Any) -> str:
    """The value of a key field in the name of an entity: ``Event(kind='a', at='2024-06-01 09:30:00', number=7)``."""
    if isinstance(value, Enum):
        return name_text(value.value)
    if value is None or isinstance(value, int | float | Decimal):
        return str(value)
    return repr(value if isinstance(value, str) and not _TIME.fullmatch(value) else field_text(value))


def _list_text(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _set_text(texts: Iterable[str]) -> str:
    return f"{{{', '.join(sorted(texts))}}}"


def _map_text(texts: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}: {text}' for name, text in texts.items())}}}"


def _bytes_text(content: bytes | bytearray) -> str:
    return f"0x{bytes(content).hex()}"


def _expiry_text(seconds: str) -> str:
    try:
        number = int(float(seconds))
    except (ValueError, OverflowError):
        return seconds
    if not 0 <= number <= _LAST_SECOND:
        return seconds
    return time_text(datetime.fromtimestamp(number, UTC))
