"""``F``: paths of field names, and the conditions and changes made from them.

Rule 1. A field may have any name, so ``F`` has no public attributes of its own. A field called like a method of a path
        (``set``, ``size``) is written in brackets: ``F.address["set"]``.
Rule 2. A path belongs to no class. Names, values and types are checked when the path is used in a call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from keyword import iskeyword
from typing import Any, ClassVar, Final, NoReturn

from dynaorm.failure import MASK, shown
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    IsIn,
    Missing,
    Not,
    Operand,
    Or,
    SizeOf,
)
from dynaorm.item.path import Path
from dynaorm.item.update import AddTo, Append, Change, Discard, Prepend, Remove, SetIfMissing, SetTo


class Comparable:
    """One side of a comparison: a field, or the size of a field."""

    __slots__ = ("_operand",)

    def __init__(self, operand: Operand) -> None:
        self._operand = operand

    # Comparing two paths returns a condition, not a bool. So a path cannot have a hash.
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]  # see above
        return Compare(self._operand, "=", _side(other))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]  # see above
        return Compare(self._operand, "<>", _side(other))

    def __lt__(self, other: object) -> Condition:
        return Compare(self._operand, "<", _side(other))

    def __le__(self, other: object) -> Condition:
        return Compare(self._operand, "<=", _side(other))

    def __gt__(self, other: object) -> Condition:
        return Compare(self._operand, ">", _side(other))

    def __ge__(self, other: object) -> Condition:
        return Compare(self._operand, ">=", _side(other))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} has no truth value because DynamoDB evaluates it; compare it, as in {self!r} == True"
        )

    def between(self, low: object, high: object) -> Condition:
        """At least ``low`` and at most ``high``."""
        return Between(self._operand, _side(low), _side(high))

    def is_in(self, *values: object) -> Condition:
        """One of these values, given one by one or as one collection: ``is_in(1, 2)``, ``is_in([1, 2])``.

        Without values it matches nothing.
        """
        wanted = listed(values)
        # None may be stored as the absence of the attribute, which IN does not find.
        present = IsIn(self._operand, tuple(_side(value) for value in wanted if value is not None))
        return present if len(present.values) == len(wanted) else (self == None) | present  # noqa: E711


def listed(values: tuple[object, ...]) -> tuple[object, ...]:
    """Values that were given one by one, or as one collection or iterator. A str, bytes or dict is one value."""
    if len(values) != 1 or isinstance(values[0], (str, bytes, bytearray, Mapping)):
        return values
    if isinstance(values[0], (set, frozenset)):
        return tuple(sorted(values[0], key=repr))  # texts have another order in each process
    return tuple(values[0]) if isinstance(values[0], (Collection, Iterator)) else values


class FieldSize(Comparable):
    """The size of a field: characters of a text, bytes of a binary, elements of a set, list or dict."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{_spelled(self._operand.path)}.size()"


class FieldPath(Comparable):
    """A field, or a part of one: ``F.address.city``, ``F["name"]``, ``F.tags[0]``, ``F.days[date(2024, 1, 1)]``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> FieldPath:
        _refuse_private(self, name)
        return FieldPath(Attr((*self._operand.path, name)))

    def __getitem__(self, step: Any) -> FieldPath:
        if isinstance(step, bool | slice | None) or type(step).__hash__ is None:
            raise TypeError(
                f"{self!r}[{shown(step)}]: use a str for a part by name, an int for an element by index, "
                "or the key of a dict"
            )
        return FieldPath(Attr((*self._operand.path, step)))

    # Without these two, Python would iterate by calling __getitem__ with 0, 1, 2, ... without end.
    __iter__: ClassVar[None] = None

    def __contains__(self, element: object) -> NoReturn:
        raise TypeError(f"`in` is evaluated by Python, not by DynamoDB; write {self!r}.contains({element!r})")

    def __repr__(self) -> str:
        return _spelled(self._operand.path)

    def begins_with(self, prefix: object) -> Condition:
        """The text or binary begins with this prefix."""
        return BeginsWith(self._operand.path, _side(prefix))

    def contains(self, value: object) -> Condition:
        """The list or set contains this element, or the text contains this substring."""
        return Contains(self._operand.path, _side(value))

    def exists(self) -> Condition:
        """The attribute is stored; NULL counts as stored."""
        return Exists(self._operand.path)

    def missing(self) -> Condition:
        """The attribute is not stored."""
        return Missing(self._operand.path)

    def size(self) -> FieldSize:
        """The size, for comparison with a number."""
        return FieldSize(SizeOf(self._operand.path))

    def set(self, value: object) -> Change:
        """Store this value."""
        return SetTo(self._operand.path, value)

    def set_if_missing(self, value: object) -> Change:
        """Store this value unless the attribute is already stored."""
        return SetIfMissing(self._operand.path, value)

    def add(self, value: object) -> Change:
        """Add to a number, or add one member or a set of them to a set. A negative value subtracts.

        A missing attribute counts as its default, or as 0.
        """
        return AddTo(self._operand.path, value)

    def remove(self) -> Change:
        """Remove the attribute, or the element of a list."""
        return Remove(self._operand.path)

    def append(self, *values: object) -> Change:
        """Add these to the end of a list. One list is taken for its elements, unless elements are lists."""
        return Append(self._operand.path, values)

    def prepend(self, *values: object) -> Change:
        """Add these to the start of a list, in this order. One list is taken as ``append`` takes it."""
        return Prepend(self._operand.path, values)

    def discard(self, *values: object) -> Change:
        """Remove these from a set; elements it does not contain are ignored."""
        return Discard(self._operand.path, values)


class Fields:
    """The fields of any class; the call that uses the condition or change decides which."""

    __slots__ = ()

    def __getattr__(self, name: str) -> FieldPath:
        _refuse_private(self, name)
        return FieldPath(Attr((name,)))

    def __getitem__(self, name: str) -> FieldPath:
        if not isinstance(name, str):
            raise TypeError(f"F[{shown(name)}]: use a str, the name of a field")
        return FieldPath(Attr((name,)))

    __iter__: ClassVar[None] = None

    def __repr__(self) -> str:
        return "F"


F: Final = Fields()
"""``F.status == "open"`` is a condition, ``F.visits.add(1)`` a change."""


def _refuse_private(start: object, name: str) -> None:
    # pickle, copy, inspect and notebooks look for such attributes on every object.
    if name.startswith("_"):
        raise AttributeError(
            f"{type(start).__name__!r} object has no attribute {name!r}; for a field of this name write F[{name!r}]"
        )


def _side(value: object) -> object:
    return value._operand if isinstance(value, Comparable) else value


# ASCII only, because Python normalises other identifiers: a micro sign becomes a mu.
_PLAIN_NAME: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)


def _spelled(path: Path) -> str:
    text = "F"
    for step in path:
        is_plain = isinstance(step, str) and _PLAIN_NAME.fullmatch(step) and not iskeyword(step)
        is_taken = text != "F" and hasattr(FieldPath, str(step))
        text += f".{step}" if is_plain and not is_taken else f"[{step!r}]"
    return text


_NOTHING: Final[AbstractSet[str]] = frozenset()
_SIGNS: Final = {"=": "==", "<>": "!="}


def condition_text(condition: Condition, secret: AbstractSet[str] = _NOTHING) -> str:
    """A condition on fields, as it was written. Values compared with the fields in ``secret`` are masked."""
    if isinstance(condition, And | Or):
        sign = " & " if isinstance(condition, And) else " | "
        return sign.join(f"({condition_text(part, secret)})" for part in condition.parts)
    if isinstance(condition, Not):
        return f"~({condition_text(condition.part, secret)})"
    return _of_one_field(condition, secret)


def _of_one_field(condition: Condition, secret: AbstractSet[str]) -> str:
    match condition:
        case Compare(left, operator, right):
            (value,) = _values(left.path, [right], secret)
            return f"{_operand(left)} {_SIGNS.get(operator, operator)} {value}"
        case Between(operand, low, high):
            return f"{_operand(operand)}.between({', '.join(_values(operand.path, [low, high], secret))})"
        case IsIn(operand, values):
            return f"{_operand(operand)}.is_in({', '.join(_values(operand.path, values, secret))})"
        case BeginsWith(path, value) | Contains(path, value):
            called = "begins_with" if isinstance(condition, BeginsWith) else "contains"
            return f"{_operand(Attr(path))}.{called}({', '.join(_values(path, [value], secret))})"
        case Exists(path):
            return f"{_operand(Attr(path))}.exists()"
        case Missing(path):
            return f"{_operand(Attr(path))}.missing()"
    return repr(condition)


def _operand(operand: Attr | SizeOf) -> str:
    return repr(FieldPath(operand) if isinstance(operand, Attr) else FieldSize(operand))


def _values(path: Path, values: Iterable[Any], secret: AbstractSet[str]) -> list[str]:
    """What a path is compared with: paths, or values."""
    return [
        _operand(value) if isinstance(value, Attr | SizeOf) else MASK if path[0] in secret else repr(value)
        for value in values
    ]
