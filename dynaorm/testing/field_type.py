"""The type of a field, taken apart: what it is without annotations, and the bounds that its annotations set."""

from collections.abc import Mapping
from datetime import datetime
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from dynaorm.entity.text.scalar import NaiveDatetime
from dynaorm.record import record

_BOUNDS: Final = (
    "ge",
    "gt",
    "le",
    "lt",
    "multiple_of",
    "min_length",
    "max_length",
    "pattern",
    "decimal_places",
)


@record
class FieldType:
    """A type without annotations.

    Attributes:
        plain: a class, or a generic such as ``list[int]``.
        bounds: what its annotations demand, by the names that pydantic uses: ``{"ge": 0, "max_length": 8}``.
    """

    plain: Any
    bounds: Mapping[str, Any]

    @property
    def origin(self) -> Any:
        """The class of a generic: ``list`` for ``list[int]``, ``Union`` for all unions; otherwise the class itself."""
        origin = get_origin(self.plain)
        return Union if origin is UnionType else origin or self.plain

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of a generic: ``(int,)`` for ``list[int]``."""
        return get_args(self.plain)


def type_of_field(info: FieldInfo) -> FieldType:
    """The type of a pydantic field."""
    return field_type(Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation)


def field_type(annotation: Any) -> FieldType:
    """A type, with or without annotations."""
    bounds: dict[str, Any] = {}
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            for one in metadata:
                found = one.metadata if isinstance(one, FieldInfo) else [one]
                bounds = {**_bounds(found), **bounds}
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        else:
            return FieldType(_plain(annotation), bounds)


def _plain(annotation: Any) -> Any:
    """The type itself, in place of pydantic's names for the two kinds of times."""
    if annotation is pydantic.AwareDatetime:
        return datetime
    return NaiveDatetime if annotation is pydantic.NaiveDatetime else annotation


def _bounds(metadata: list[Any]) -> dict[str, Any]:
    return {
        name: value
        for one in metadata
        for name in _BOUNDS
        if not isinstance(one, type) and (value := getattr(one, name, None)) is not None
    }
