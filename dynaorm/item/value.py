"""Attribute values in DynamoDB's form: the canonical text of numbers, sets, and the equality of two values.

Rule 1. A number has one text: plain digits up to 40 of them, ``1.5E-90`` beyond; no superfluous zeros, no ``-0``.
Rule 2. Two values are equal if DynamoDB's ``=`` says so: ``1.50`` equals ``1.5``, and a set has no order. A value of a
        form that DynamoDB does not have equals only itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final, TypeAlias, TypeGuard

from dynaorm.failure import counted, with_article

AttributeValue: TypeAlias = Mapping[str, Any]
"""One attribute value in the low-level form: ``{"S": "text"}``, ``{"N": "1.5"}``, ``{"L": [...]}``."""

Item: TypeAlias = Mapping[str, AttributeValue]
"""Attribute names and values: a stored item, or a primary key."""

SET_TAGS: Final[Mapping[str, str]] = {"S": "SS", "N": "NS", "B": "BS"}
"""The type of a set, by the type of its elements."""

EXACT: Final = Context(prec=300, traps=[Inexact])
"""Adds numbers exactly: two numbers of DynamoDB's together span fewer than 300 digits."""

# Amazon DynamoDB Developer Guide, "Constraints in DynamoDB": 38 significant digits, 1E-130 to 9.99...E+125.
NUMBER_DIGITS: Final = 38
_SMALLEST: Final = -130
_LARGEST: Final = 125
_SHORT_INT: Final = 10**NUMBER_DIGITS
_TOO_LARGE_INT: Final = 10 ** (_LARGEST + 1)
_PLAIN: Final = 40


def number_text(value: int | Decimal | float) -> str:
    """The exact canonical text of a number; for a float, the shortest decimal that reads back as the same float.

    Examples:
        >>> number_text(Decimal("1.50")), number_text(-0.0), number_text(0.1), number_text(Decimal("1E-90"))
        ('1.5', '0', '0.1', '1E-90')

    Raises:
        ValueError: it is not a finite number, is a bool, has more than 38 significant digits, or is outside DynamoDB's
            range.
    """
    if isinstance(value, int):
        if isinstance(value, bool):
            raise ValueError(f"{value!r} is a bool, not a number")
        if -_SHORT_INT < value < _SHORT_INT:
            # Not ``str``: a subclass, such as an enum of ints, may give another text.
            return int.__repr__(value)
        if not -_TOO_LARGE_INT < value < _TOO_LARGE_INT:
            raise ValueError(
                "an integer of more than 126 digits is larger than DynamoDB's largest number, 9.99E+125"
            )
        return decimal_text(Decimal(value))
    if isinstance(value, float):
        text = float.__repr__(value)
        if "e" in text or "n" in text:  # 1e-07, nan, inf
            return decimal_text(Decimal(text))
        return text.removesuffix(".0") if value else "0"
    if isinstance(value, Decimal):
        return decimal_text(value)
    raise ValueError(f"{value!r} is not a number")


def decimal_text(value: Decimal) -> str:
    """``number_text`` of a Decimal."""
    text = str(value)
    if len(text) <= NUMBER_DIGITS and text[-1] in "123456789" and text.replace(".", "", 1).isdecimal():
        return text  # the fast path: most numbers already have their canonical text
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a finite number, and DynamoDB stores only finite ones")
    spelled = "".join(map(str, digits)).lstrip("0")
    significant = spelled.rstrip("0")
    if not significant:
        return "0"
    if len(significant) > NUMBER_DIGITS:
        raise ValueError(
            f"{value} has {counted(len(significant), 'significant digit')}, and DynamoDB stores at most {NUMBER_DIGITS}"
        )
    exponent += len(spelled) - len(significant)
    adjusted = exponent + len(significant) - 1
    if not _SMALLEST <= adjusted <= _LARGEST:
        raise ValueError(f"{value} is outside DynamoDB's range for numbers, 1E-130 to 9.99E+125")
    return ("-" if sign else "") + _spelled(significant, exponent, adjusted)


def _spelled(significant: str, exponent: int, adjusted: int) -> str:
    if exponent >= 0 and adjusted < _PLAIN:
        return significant + "0" * exponent
    if adjusted >= 0:
        if exponent < 0:
            return f"{significant[: adjusted + 1]}.{significant[adjusted + 1 :]}"
    elif -exponent < _PLAIN - 1:
        return "0." + significant.rjust(-exponent, "0")
    mantissa = significant[0] + ("." + significant[1:] if len(significant) > 1 else "")
    return f"{mantissa}E{adjusted:+d}"


def same(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    """Whether two attribute values are equal in DynamoDB. None stands for an absent attribute.

    Examples:
        >>> same({"N": "1.50"}, {"N": "1.5"}), same({"SS": ["a", "b"]}, {"SS": ["b", "a"]})
        (True, True)
    """
    if left == right:
        return True
    if left is None or right is None:
        return False
    try:
        ((tag, one),) = left.items()
        ((other_tag, other),) = right.items()
        compare = _COMPARED.get(tag)
        return tag == other_tag and compare is not None and compare(one, other)
    except (AttributeError, TypeError, ValueError, ArithmeticError):
        return False


def set_of(members: Iterable[AttributeValue]) -> AttributeValue:
    """The set of some attribute values, sorted.

    Raises:
        ValueError: they are not all strings, all numbers or all binary.
    """
    pairs = [pair for member in members for pair in member.items()]
    tags = sorted({tag for tag, _ in pairs})
    if len(tags) != 1 or tags[0] not in SET_TAGS:
        raise ValueError(
            f"a DynamoDB set holds only strings, only numbers or only binary, not {' and '.join(tags)}"
        )
    # Sorted, because a repeated request must have the same bytes (TransactWriteItems with a client request token).
    return {SET_TAGS[tags[0]]: sorted({content for _, content in pairs})}


def same_items(one: Item | None, other: Item | None) -> bool:
    """Whether two items are equal in DynamoDB: all their attributes are. None stands for an absent item."""
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())


# The types in which equal values can have different contents.
_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "N": lambda one, other: Decimal(one) == Decimal(other),
    "NS": lambda one, other: set(map(Decimal, one)) == set(map(Decimal, other)),
    "SS": lambda one, other: frozenset(one) == frozenset(other),
    "BS": lambda one, other: frozenset(one) == frozenset(other),
    "L": lambda one, other: len(one) == len(other) and all(map(same, one, other)),
    "M": same_items,
}


_Check: TypeAlias = tuple[type, Callable[[Any], bool] | None]


def is_item(value: object) -> TypeGuard[Item]:
    """Whether it is a dict of attribute values. Raises RecursionError if it is nested deeper than DynamoDB allows."""
    return isinstance(value, dict) and all(map(is_value, value.values()))


def is_value(value: object) -> bool:
    """Whether it is an attribute value."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, inner),) = value.items()
    if kind not in _VALUES:
        return False
    of, is_valid = _VALUES[kind]
    return isinstance(inner, of) and (is_valid is None or is_valid(inner))


def is_list_of(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether a value is a list, and all its elements are valid."""
    return lambda value: isinstance(value, list) and all(map(is_valid, value))


_are_texts: Final[_Check] = (list, is_list_of(lambda one: isinstance(one, str)))

_VALUES: Final[Mapping[object, _Check]] = {
    "S": (str, None),
    "N": (str, None),
    "B": (bytes, None),
    "SS": _are_texts,
    "NS": _are_texts,
    "BS": (list, is_list_of(lambda one: isinstance(one, bytes))),
    "M": (dict, is_item),
    "L": (list, is_list_of(is_value)),
    "BOOL": (bool, None),
    "NULL": (bool, None),
}


# Which attribute values DynamoDB stores: not every one that is well formed.
#
# Source: Amazon DynamoDB Developer Guide, "Supported data types and naming rules": numbers have up to 38 digits, sets
# are not empty and have no value twice, and a null is true.


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
        return f"{with_article(type(value).__name__)} that is not an attribute value"
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
    return "" if _number(text) is not None else "N that is not a number"


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
        keys = [key(member) for member in members]
        if None in keys:
            return f"{kind} with a member that is no {'number' if kind == 'NS' else 'text'}"
        return "" if len(set(keys)) == len(keys) else f"{kind} with a member twice"

    return problem


def _of_map(members: Mapping[Any, AttributeValue]) -> str:
    for name, one in members.items():
        if not isinstance(name, str) or _of_text(name):
            return "M with a name that is not text"
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
