"""Which attribute values DynamoDB stores: not every one that is well formed.

Source: Amazon DynamoDB Developer Guide, "Supported data types and naming rules": numbers have up to 38 digits, sets are
not empty and have no value twice, and a null is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.failure import with_article
from dynaorm.item.value import AttributeValue, decimal_text
from dynaorm.item.well_formed import is_value


def unstorable(value: object) -> str:
    """Why DynamoDB does not store a value, as the end of ``is encoded as ...``; empty if it does.

    It does not quote the value, which may be a secret.

    Examples:
        >>> unstorable({"N": "abc"}), unstorable({"SS": []}), unstorable({"M": {"a": {"N": "1.5"}}})
        ('N that is no number', 'SS that is empty', '')

    Raises:
        RecursionError: it is nested deeper than DynamoDB allows.
    """
    if not is_value(value):
        return f"{with_article(type(value).__name__)} that is no attribute value"
    return _problem(value)  # type: ignore[arg-type]  # is_value says so


def _problem(value: AttributeValue) -> str:
    ((kind, inner),) = value.items()
    check = _CHECKS.get(kind)
    return "" if check is None else check(inner)


def _of_text(text: str) -> str:
    return "" if text.isascii() or _is_utf8(text) else "S with a lone surrogate, which UTF-8 cannot encode"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_number(text: str) -> str:
    return "" if _number(text) is not None else "N that is no number"


def _number(text: str) -> Decimal | None:
    # Decimal takes more than DynamoDB does: digits of other scripts, underscores and spaces.
    if not text.isascii() or "_" in text or text != text.strip():
        return None
    try:
        found = Decimal(text)
        decimal_text(found)
    except (InvalidOperation, ValueError):
        return None
    return found


def _of_set(kind: str, key: Callable[[Any], Any]) -> Callable[[list[Any]], str]:
    def problem(members: list[Any]) -> str:
        if not members:
            return f"{kind} that is empty"
        keys = [key(one) for one in members]
        if None in keys:
            return f"{kind} with a member that is no {'number' if kind == 'NS' else 'text'}"
        return "" if len(set(keys)) == len(keys) else f"{kind} with a member twice"

    return problem


def _of_map(members: Mapping[Any, AttributeValue]) -> str:
    for name, one in members.items():
        if not isinstance(name, str) or _of_text(name):
            return "M with a name that is no text"
        if found := _problem(one):
            return f"M with {found}"
    return ""


def _of_list(elements: list[AttributeValue]) -> str:
    found = next(filter(None, map(_problem, elements)), "")
    return f"L with {found}" if found else ""


_CHECKS: Final[Mapping[str, Callable[[Any], str]]] = {
    "S": _of_text,
    "N": _of_number,
    "SS": _of_set("SS", lambda one: one if not _of_text(one) else None),
    "NS": _of_set("NS", _number),
    "BS": _of_set("BS", bytes),
    "NULL": lambda is_null: "" if is_null else "NULL that is not true",
    "M": _of_map,
    "L": _of_list,
}
