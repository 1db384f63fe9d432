"""Attribute values as DynamoDB stores them, and keys as bytes in its order.

Rule 1. Values are checked, and numbers have their canonical text (Amazon DynamoDB Developer Guide, "Constraints in
        Amazon DynamoDB").
Rule 2. A part of a key ends with a mark that sorts before every other byte of a longer part. So keys of several parts
        sort part by part, and what begins with a prefix is one range.
Rule 3. Numbers sort by value: a sign, the exponent, the digits; those of negative numbers upside down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.embedded import rules
from dynaorm.flow.call import Refusal
from dynaorm.item.value import AttributeValue, number_text

END: Final = b"\0\1"
_LEAST_EXPONENT: Final = -130
_UPSIDE_DOWN: Final = bytes.maketrans(b"0123456789", b"9876543210")
_NESTING_LIMIT: Final = 32
_ONE_TYPE: Final = "must contain exactly one of the supported datatypes"


def stored_values(values: Mapping[str, Any], depth: int = 1) -> dict[str, AttributeValue]:
    """Attribute values by name, as they are stored. Raises Refusal for a value that DynamoDB does not store."""
    return {
        # Most values are texts.
        name: value
        if type(value) is dict and type(text := value.get("S")) is str and text.isascii() and len(value) == 1
        else _stored(value, depth)
        for name, value in values.items()
    }


def given_values(values: Mapping[str, Any]) -> Mapping[str, AttributeValue]:
    """The values of placeholders, as they are stored. Raises Refusal, with the placeholder."""
    given = {}
    for placeholder, value in values.items():
        try:
            given[placeholder] = _stored(value, 1)
        except Refusal as refusal:
            problem = f"invalid value: {refusal.message} for key {placeholder}"
            raise rules.invalid(f"ExpressionAttributeValues contains {problem}") from None
    return given


def number_problem(problem: str) -> str:
    """DynamoDB's message for a number that it does not store."""
    if "digit" in problem and "126" not in problem:
        return "Attempting to store more than 38 significant digits in a Number"
    return "Number overflow. Attempting to store a number with magnitude larger than supported range"


def _stored(value: Any, depth: int) -> AttributeValue:
    tag, content = next(iter(value.items())) if type(value) is dict and len(value) == 1 else ("", None)
    kind, change = _KINDS.get(tag, (None, None))
    if kind is None or not isinstance(content, kind):
        many = isinstance(value, dict) and len(value) > 1
        wrong = (
            "has more than one datatypes set"
            if many
            else f"has {tag} of another type"
            if kind
            else "is empty"
        )
        raise rules.invalid(f"Supplied AttributeValue {wrong}, {_ONE_TYPE}")
    if content and depth == _NESTING_LIMIT and tag in ("L", "M"):
        what = "Attributes in the item have nested levels beyond supported limit"
        raise rules.invalid(f"Nesting Levels have exceeded supported limits: {what}")
    if tag == "M":
        return {tag: stored_values(content, depth + 1)}
    if tag == "L":
        return {tag: [_stored(element, depth + 1) for element in content]}
    return value if change is None else {tag: change(content)}


def _text(content: Any) -> str:
    try:
        content.encode()
    except (AttributeError, UnicodeEncodeError):
        raise Refusal("SerializationException", "a string is not UTF-8") from None
    text: str = content
    return text


def _number(text: str) -> str:
    try:
        # Decimal takes more than DynamoDB does: digits of other scripts, and underscores.
        return number_text(Decimal("" if "_" in text or not text.isascii() else text.strip()))
    except InvalidOperation:
        raise rules.invalid(f"The parameter cannot be converted to a numeric value: {text}") from None
    except ValueError as problem:
        raise rules.invalid(number_problem(str(problem))) from None


def _null(content: bool) -> bool:
    if not content:
        raise rules.invalid_parameter("Null attribute value types must have the value of true")
    return content


def _members(kind: str, member: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    def change(members: list[Any]) -> list[Any]:
        if not members:
            raise rules.invalid_parameter(f"An {kind} set  may not be empty")
        members = [*map(member, members)]
        if len(set(members)) < len(members):
            raise rules.invalid_parameter(
                f"Input collection [{', '.join(map(str, members))}] contains duplicates."
            )
        return members

    return change


_KINDS: Final[Mapping[str, tuple[Any, Callable[[Any], Any] | None]]] = {
    "S": (str, _text),
    "N": (str, _number),
    "B": (bytes, None),
    "BOOL": (bool, None),
    "NULL": (bool, _null),
    "SS": (list, _members("string", _text)),
    "NS": (list, _members("number", _number)),
    "BS": (list, _members("binary", bytes)),
    "L": (list, None),
    "M": (dict, None),
}


def key_bytes(kind: str, content: Any, end: bytes = END) -> bytes:
    """The bytes of one part of a key. Without the ``end``: what all begin with that begin with this text or binary."""
    if kind != "N":
        raw: bytes = content.encode() if kind == "S" else content
        return raw.replace(b"\0", b"\0\2") + end
    number = Decimal(content)
    if not number:
        return b"\2" + end
    exponent = number.adjusted() - _LEAST_EXPONENT
    spelled = bytes(48 + digit for digit in number.as_tuple().digits).strip(b"0")
    if number < 0:
        part = b"\1" + bytes([255 - exponent]) + spelled.translate(_UPSIDE_DOWN) + b"\xff"
    else:
        part = b"\3" + bytes([exponent]) + spelled
    return part.replace(b"\0", b"\0\2") + end


def after(prefix: bytes) -> bytes | None:
    """The least bytes behind all that begin with a prefix; None for no end."""
    prefix = prefix.rstrip(b"\xff")
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
