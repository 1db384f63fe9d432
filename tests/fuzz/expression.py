"""Expressions of DynamoDB, read back into the conditions that dynaorm renders them from."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    HasType,
    IsIn,
    Missing,
    Not,
    Or,
    SizeOf,
)
from dynaorm.item.path import Path

_TOKEN: Final = re.compile(r"[#:]?\w+|<>|<=|>=|[=<>(),.\[\]]")
_FUNCTIONS: Final[Mapping[str, Callable[[Path, Any], Condition]]] = {
    "attribute_exists": lambda path, _: Exists(path),
    "attribute_not_exists": lambda path, _: Missing(path),
    "attribute_type": lambda path, value: HasType(path, value["S"]),
    "begins_with": BeginsWith,
    "contains": Contains,
}


def condition_in(request: Mapping[str, Any], name: str) -> Condition | None:
    """The condition of a request's ``KeyConditionExpression`` or ``FilterExpression``; None without one."""
    if (text := request.get(name)) is None:
        return None
    parser = _Parser(text, request)
    found = parser.disjunction()
    assert parser.is_at_end, text
    return found


@cache
def tokens_of(text: str) -> tuple[str, ...]:
    """The placeholders, words and signs of an expression."""
    found = tuple(_TOKEN.findall(text))
    assert "".join(found) == text.replace(" ", ""), text
    return found


class _Parser:
    """Reads one expression from left to right."""

    def __init__(self, text: str, request: Mapping[str, Any]) -> None:
        self._left = list(reversed(tokens_of(text)))
        self._names: Mapping[str, str] = request.get("ExpressionAttributeNames", {})
        self._values: Mapping[str, Any] = request.get("ExpressionAttributeValues", {})

    @property
    def is_at_end(self) -> bool:
        return not self._left

    def _takes(self, *expected: str) -> bool:
        """Whether one of some tokens is next, which it then passes."""
        is_next = bool(self._left) and self._left[-1] in expected
        if is_next:
            self._left.pop()
        return is_next

    def disjunction(self) -> Condition:
        parts = [self._conjunction()]
        while self._takes("OR"):
            parts.append(self._conjunction())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _conjunction(self) -> Condition:
        parts = [self._part()]
        while self._takes("AND"):
            parts.append(self._part())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def _part(self) -> Condition:
        if self._takes("NOT"):
            return Not(self._part())
        if self._takes("("):
            found = self.disjunction()
            assert self._takes(")")
            return found
        if make := _FUNCTIONS.get(self._left[-1]):
            self._left.pop()
            path, *values = self._arguments()
            return make(path.path, values[0] if values else None)
        left, sign = self._operand(), self._left.pop()
        if sign == "BETWEEN":
            low, _, high = self._operand(), self._takes("AND"), self._operand()
            return Between(left, low, high)
        if sign == "IN":
            return IsIn(left, tuple(self._arguments()))
        return Compare(left, sign, self._operand())

    def _arguments(self) -> list[Any]:
        assert self._takes("(")
        found = [self._operand()]
        while self._takes(","):
            found.append(self._operand())
        assert self._takes(")")
        return found

    def _operand(self) -> Any:
        if self._takes("size"):
            return SizeOf(self._arguments()[0].path)
        one = self._left.pop()
        if one in self._values:
            return self._values[one]
        path: list[str | int] = [self._names[one]]
        while self._left and self._left[-1] in (".", "["):
            is_member = self._left.pop() == "."
            step = self._left.pop()
            path.append(self._names[step] if is_member else int(step))
            assert is_member or self._takes("]")
        return Attr(tuple(path))
