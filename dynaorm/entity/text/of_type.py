"""Which scalar a type has: the one text of its values, found behind aliases, ``Annotated`` and ``X | None``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, Final, Literal

import pydantic

from dynaorm.entity.text.scalar import SCALARS, STR, NaiveDatetime, Scalar, ksuid_scalar, opaque
from dynaorm.entity.type_tree import type_tree
from dynaorm.record import replace

_KSUIDS: Final = "dynaorm.entity.text.ksuid"
"""The module of KSUIDs, by its name: a class that has none of them does not import it."""

# pydantic's names for constrained types, whose values are those of a plain type.
_PYDANTIC: Final[Mapping[Any, type]] = {
    pydantic.AwareDatetime: datetime,
    pydantic.NaiveDatetime: NaiveDatetime,
    pydantic.PastDatetime: datetime,
    pydantic.FutureDatetime: datetime,
    pydantic.PastDate: date,
    pydantic.FutureDate: date,
}


def scalar_of(annotation: Any) -> Scalar | None:
    """The scalar of a type; None if it has none. ``X | None``, ``Annotated`` and aliases count as X.

    Examples:
        >>> scalar_of(int | None).to_text(5), scalar_of(date).to_text(date(2024, 2, 29)), scalar_of(list[int])
        ('5', '2024-02-29', None)
    """
    tree = type_tree(annotation).without_none
    if tree.origin is Literal:
        return _literal(tree.arguments)
    return _class_scalar(tree.plain) if isinstance(tree.plain, type) else None


def _class_scalar(kind: type) -> Scalar | None:
    if issubclass(kind, Enum):
        return _enum(kind)
    if is_of_networks(kind):
        return _network_scalar(kind)
    if (ksuid := next((base for base in kind.__mro__ if base.__module__ == _KSUIDS), None)) is not None:
        return ksuid_scalar(ksuid)
    return next((SCALARS[base] for base in plain_class(kind).__mro__ if base in SCALARS), None)


def plain_class(kind: type) -> type:
    """The class that has the values of a class: another one than itself for pydantic's names of constrained types."""
    return _PYDANTIC.get(kind, kind)


def is_of_networks(kind: type) -> bool:
    """Whether a class belongs to ``pydantic.networks``. Checks the name, so that this module need not be imported."""
    return any(base.__module__ == "pydantic.networks" for base in kind.__mro__)


def _network_scalar(kind: type) -> Scalar | None:
    if issubclass(kind, pydantic.AnyUrl):
        return opaque(kind)
    return STR if kind is pydantic.EmailStr else None


# -- types of a few values ---------------------------------------------------------------------------------------------


def _enum(kind: type[Enum]) -> Scalar | None:
    inner = _shared_scalar([member.value for member in kind])
    if inner is None:
        return None
    texts = {inner.to_text(member.value): member for member in kind}

    def to_text(value: Any) -> str:
        if isinstance(value, kind):
            return inner.to_text(value.value)
        # With use_enum_values pydantic stores the value instead of the member.
        text = inner.to_text(value)
        if text not in texts:
            raise ValueError(f"is {value!r}, which is not a value of {kind.__name__}")
        return text

    return _chosen(kind.__name__, inner, to_text, texts)


def _literal(values: tuple[Any, ...]) -> Scalar | None:
    members = [value for value in values if value is not None]
    plain = [value.value if isinstance(value, Enum) else value for value in members]
    inner = _shared_scalar(plain)
    if inner is None:
        return None
    texts = {inner.to_text(one): member for one, member in zip(plain, members, strict=True)}

    def to_text(value: Any) -> str:
        text = inner.to_text(value.value if isinstance(value, Enum) else value)
        if text not in texts:
            raise ValueError(f"is {value!r}, not one of {', '.join(map(repr, members))}")
        return text

    return _chosen("Literal", inner, to_text, texts)


def _shared_scalar(values: Iterable[Any]) -> Scalar | None:
    kinds = {_class_scalar(type(value)) for value in values}
    return kinds.pop() if len(kinds) == 1 else None


def _chosen(name: str, inner: Scalar, to_text: Callable[[Any], str], texts: Mapping[str, Any]) -> Scalar:
    def from_text(text: str) -> Any:
        try:
            return texts[text]
        except KeyError:
            raise ValueError(f"{text!r} is not a value of {name}") from None

    pattern = "|".join(map(re.escape, texts))
    return replace(inner, name=name, to_text=to_text, from_text=from_text, pattern=pattern)
