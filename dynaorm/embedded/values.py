"""Attribute values as DynamoDB stores them: checked, and numbers in their canonical text.

Source: Amazon DynamoDB Developer Guide, "Constraints in Amazon DynamoDB".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from dynaorm.embedded.refusal import invalid, invalid_parameter
from dynaorm.flow.call import Refusal
from dynaorm.item.value import AttributeValue, number_text

_NESTING_LIMIT: Final = 32
_KINDS: Final[Mapping[str, Any]] = {
    "S": str,
    "N": str,
    "B": bytes,
    "BOOL": bool,
    "NULL": bool,
    "SS": list,
    "NS": list,
    "BS": list,
    "L": list,
    "M": dict,
}


def stored_values(values: Mapping[str, Any], depth: int = 1) -> dict[str, AttributeValue]:
    """Attribute values by name, as they are stored. Raises Refusal for a value that DynamoDB does not store."""
    return {name: _stored(value, depth) for name, value in values.items()}


def given_values(values: Mapping[str, Any]) -> Mapping[str, AttributeValue]:
    """The values of placeholders, as they are stored. Raises Refusal, with the placeholder."""
    given = {}
    for placeholder, value in values.items():
        try:
            given[placeholder] = _stored(value, 1)
        except Refusal as refusal:
            raise invalid(
                f"ExpressionAttributeValues contains invalid value: {refusal.message} for key {placeholder}"
            ) from None
    return given


def number_problem(problem: ValueError) -> str:
    """DynamoDB's message for a number that it does not store."""
    if "digit" in str(problem) and "126" not in str(problem):
        return "Attempting to store more than 38 significant digits in a Number"
    return "Number overflow. Attempting to store a number with magnitude larger than supported range"


def _stored(value: Any, depth: int) -> AttributeValue:
    if type(value) is not dict or len(value) != 1:
        many = "has more than one datatypes set" if value else "is empty"
        raise invalid(f"Supplied AttributeValue {many}, must contain exactly one of the supported datatypes")
    content: Any
    ((tag, content),) = value.items()
    if tag == "S" and type(content) is str and content.isascii():
        return value  # most values
    if not isinstance(content, _KINDS.get(tag, ())):
        raise invalid(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
            if tag not in _KINDS
            else f"{tag} of an attribute value is a {type(content).__name__}"
        )
    if tag in ("L", "M") and content and depth == _NESTING_LIMIT:
        raise invalid(
            "Nesting Levels have exceeded supported limits: "
            "Attributes in the item have nested levels beyond supported limit"
        )
    if tag == "L":
        return {tag: [_stored(element, depth + 1) for element in content]}
    if tag == "M":
        return {tag: stored_values(content, depth + 1)}
    change = _CHANGES.get(tag)
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
        raise invalid(f"The parameter cannot be converted to a numeric value: {text}") from None
    except ValueError as problem:
        raise invalid(number_problem(problem)) from None


def _null(content: bool) -> bool:
    if not content:
        raise invalid_parameter("Null attribute value types must have the value of true")
    return content


def _members(kind: str, member: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    def change(members: list[Any]) -> list[Any]:
        if not members:
            raise invalid_parameter(f"An {kind} set  may not be empty")
        members = [*map(member, members)]
        if len(set(members)) < len(members):
            raise invalid_parameter(f"Input collection [{', '.join(map(str, members))}] contains duplicates.")
        return members

    return change


_CHANGES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "S": _text,
    "N": _number,
    "NULL": _null,
    "SS": _members("string", _text),
    "NS": _members("number", _number),
    "BS": _members("binary", bytes),
}
