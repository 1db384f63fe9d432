"""The values that are made up for a type: one that counts up, another one for each number.

``COUNTED`` has a row for each type that is not made of others. All other types are made of the values of their parts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from string import ascii_lowercase
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, Union
from uuid import UUID

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from dynaorm.entity.annotation import tree_of_field
from dynaorm.entity.codec.declared import fields_of
from dynaorm.entity.marker import OneOf
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.of_type import plain_class
from dynaorm.entity.text.scalar import NaiveDatetime
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, is_record, type_tree

Bounds: TypeAlias = Mapping[str, Any]
"""What annotations demand of a value, by the names that pydantic uses: ``{"ge": 0, "max_length": 8}``."""

Count: TypeAlias = Callable[[int, Bounds, str], Any]
"""The value of a type with a number, from 1, and for a field with a name. Values differ, if the bounds allow for it."""

NO_BOUNDS: Final[Bounds] = {}
_LONGEST: Final = 64
BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)
_BOUNDS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "decimal_places",
)  # fmt: skip


def type_of_field(info: FieldInfo) -> TypeTree:
    """The type of a pydantic field."""
    if any(isinstance(one, OneOf) for one in info.metadata):
        return tree_of_field(info)
    return type_tree(Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation)


def counted(
    name: str, tree: TypeTree, number: int, around: Bounds = NO_BOUNDS, *, whole: bool = False
) -> Any:
    """The value of a type for the field ``name`` with a number, another one for each number where the type has so many.

    A container has the least size, and a record only the fields that it needs; ``whole``: all that are not None.
    """
    bounds = bounds_of(tree, around)
    if tree.origin is Union:
        return counted(name, tree.members[0], number, bounds, whole=whole) if tree.members else None
    if tree.origin is Literal:
        return next((one for one in tree.arguments if one is not None), None)
    kind = tree.origin
    if not isinstance(kind, type):
        return _text(number, bounds, name)
    if issubclass(kind, Enum):
        return next(iter(kind))
    if kind in CONTAINERS:
        return _counted_container(name, tree, number, bounds, whole=whole)
    if (inner := inner_of(tree)) is not None:
        return counted(name, inner, number, whole=whole)
    if is_record(kind):
        return {
            one.name: counted(one.name, one.tree, number, one.bounds, whole=whole)
            for one in record_fields(tree)
            if one.is_required or (whole and not one.defaults_to_none)
        }
    base = base_of(kind)
    return COUNTED[base](number, bounds, name) if base is not None else _text(number, bounds, name)


def choices(tree: TypeTree) -> Sequence[Any]:
    """The values of a type that has few; nothing for any other type."""
    if tree.origin is Union:
        return next((found for one in tree.parts if (found := choices(one))), ())
    if tree.origin is Literal:
        return tree.arguments
    if not isinstance(tree.origin, type):
        return ()
    return tuple(tree.origin) if issubclass(tree.origin, Enum) else (False, True) * (tree.origin is bool)


# -- what a type is made of --------------------------------------------------------------------------------------------


def bounds_of(tree: TypeTree, around: Bounds) -> Bounds:
    """The bounds of a type, and those around it that its own do not replace."""
    return {**around, **_bounds_in(tree.metadata)}


def _bounds_in(metadata: Iterable[object]) -> Bounds:
    found: dict[str, Any] = {}
    for beside in metadata:
        for one in beside.metadata if isinstance(beside, FieldInfo) else (beside,):
            if not isinstance(one, type):
                told = {name: getattr(one, name, None) for name in _BOUNDS}
                found = {**{name: bound for name, bound in told.items() if bound is not None}, **found}
    return found


def inner_of(tree: TypeTree) -> TypeTree | None:
    """The type whose values pydantic makes those of a class of: of ``Secret[X]`` and root models; else None."""
    if issubclass(tree.origin, Secret) and tree.parts:
        return tree.parts[0]
    is_root = issubclass(tree.origin, BaseModel) and tree.origin.__pydantic_root_model__
    return tree.fields["root"].tree if is_root else None


class RecordField(NamedTuple):
    """A field of a record: of a model, a dataclass, a typed dict or a named tuple."""

    name: str
    tree: TypeTree
    bounds: Bounds
    is_required: bool
    defaults_to_none: bool


def record_fields(tree: TypeTree) -> Iterator[RecordField]:
    """The fields of a record, as its tree has them, which contains itself where the type does."""
    for one in fields_of(tree.origin, tree.variables):
        if one.name in tree.fields:
            part = tree.fields[one.name]
            yield RecordField(
                one.name, part.tree, _bounds_in(part.metadata), one.required, one.defaults_to_none
            )


def base_of(kind: type) -> type | None:
    """The type with a row in ``COUNTED`` that a class is, or the nearest one that it inherits from."""
    return next((base for base in plain_class(kind).__mro__ if base in COUNTED), None)


def _counted_container(name: str, tree: TypeTree, number: int, bounds: Bounds, *, whole: bool) -> Any:
    """A container of the least size, with elements that differ."""
    if tree.origin is tuple and Ellipsis not in tree.arguments:
        return tuple(counted(name, one, number, whole=whole) for one in tree.parts)
    least = range(number, number + bounds.get("min_length", 0))
    rows = [[counted(name, one, each, whole=whole) for one in tree.parts] for each in least]
    return dict(rows) if CONTAINERS[tree.origin] is dict else [row[0] for row in rows]


# -- the values of types that are not made of others -------------------------------------------------------------------


def _text(number: int, bounds: Bounds, name: str) -> str:
    most = bounds.get("max_length")
    text = f"{name}-{number}"
    text = text if most is None or len(text) <= most else str(number)
    text = text.rjust(bounds.get("min_length", 0), "0")
    return _matching(text, number, bounds, name) if "pattern" in bounds else text


def _matching(text: str, number: int, bounds: Bounds, name: str) -> str:
    """A text that matches a pattern, if one of those that most patterns allow does; otherwise the given one."""
    least, most = bounds.get("min_length", 0), bounds.get("max_length", _LONGEST)
    try:
        matches = re.compile(bounds["pattern"]).search
    except re.error:  # pydantic has another dialect
        return text
    fitting = (one for one in _guesses(text, number, name) if least <= len(one) <= most and matches(one))
    return next(fitting, text)


def _guesses(text: str, number: int, name: str) -> Iterator[str]:
    """Texts that differ from number to number: words, digits, letters, and what is often written in texts."""
    letter = ascii_lowercase[number % len(ascii_lowercase)]
    word = "".join(one for one in name if one.isalnum())
    day = (BEGIN + timedelta(days=number)).date().isoformat()
    yield from (text, text.upper(), f"{word}{number}", f"{word}{letter}", f"{word}{letter}".upper())
    yield from (f"{letter}{number}", f"{letter}{number}".upper(), f"{name}-{number}@example.com", day)
    yield from (f"https://example.com/{number}", f"+1555{number:07d}", str(UUID(int=number)), f"1.0.{number}")
    for length in range(1, _LONGEST):
        yield str(number).zfill(length)
        yield letter.rjust(length, "a")
        yield letter.rjust(length, "a").upper()


def _number(number: int, bounds: Bounds, _: str = "") -> int:
    """A number within its bounds, as long as there are any."""
    step = int(bounds.get("multiple_of", 1)) or 1
    least = bounds.get("ge", bounds["gt"] + 1 if "gt" in bounds else 0)
    most = bounds.get("le", bounds["lt"] - 1 if "lt" in bounds else None)
    found = -(-int(least) // step) * step + number * step
    return found if most is None or found <= most else int(most) // step * step


def without_zone(at: datetime) -> datetime:
    return at.replace(tzinfo=None)


def _ksuids(kind: type[Ksuid | KsuidMs]) -> Count:
    return lambda number, *_: kind(BEGIN, number.to_bytes(kind.PAYLOAD_LENGTH_IN_BYTES, "big"))


COUNTED: Final[Mapping[type, Count]] = {
    NoneType: lambda *_: None,
    str: _text,
    bool: lambda *_: False,
    int: _number,
    float: lambda number, bounds, _: float(_number(number, bounds)),
    Decimal: lambda number, bounds, _: Decimal(_number(number, bounds)),
    NaiveDatetime: lambda number, *_: without_zone(BEGIN + timedelta(seconds=number)),
    datetime: lambda number, *_: BEGIN + timedelta(seconds=number),
    date: lambda number, *_: BEGIN.date() + timedelta(days=number),
    time: lambda number, *_: (BEGIN + timedelta(seconds=number)).time(),
    timedelta: lambda number, *_: timedelta(seconds=number),
    UUID: lambda number, *_: UUID(int=number),
    Ksuid: _ksuids(Ksuid),
    KsuidMs: _ksuids(KsuidMs),
    bytes: lambda number, *_: str(number).encode(),
    SecretStr: lambda number, bounds, _: SecretStr(_text(number, bounds, "secret")),
    SecretBytes: lambda number, *_: SecretBytes(str(number).encode()),
    IPv4Address: lambda number, *_: IPv4Address(number),
    IPv6Address: lambda number, *_: IPv6Address(number),
}
