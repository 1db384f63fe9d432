"""The names in a class body that are Python's or pydantic's own, under which nothing can be declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from typing_extensions import Format, get_annotations

from dynaorm.entity.declaration import Declaration
from dynaorm.failure import shown


def misnamed(body: Mapping[str, Any]) -> Iterator[str]:
    """The declarations of a class body under such names, and the values in place of methods."""
    for name, value in body.items():
        if isinstance(value, Declaration) and _is_taken(name):
            kind = type(value).__name__.removesuffix("Of")
            yield f"{name}: the name is Python's or pydantic's own; give the {kind} another"
        elif _hides_a_method(name, value):
            yield f"{name}={shown(value)} hides what every class has; drop it, or give a function"


def misnamed_fields(entity: type[BaseModel]) -> Iterator[str]:
    """The annotations of a class and its bases under such names."""
    for base in entity.__mro__:
        if issubclass(base, BaseModel) and base is not BaseModel:
            yield from misnamed_in(get_annotations(base, format=Format.FORWARDREF))


def misnamed_in(annotations: Mapping[str, Any]) -> Iterator[str]:
    """The same among the annotations of one class."""
    for name, annotation in annotations.items():
        # pydantic makes no field of a name with two underscores, and says nothing.
        if _is_taken(name) and "ClassVar" not in str(annotation):
            yield f"{name}: the name is Python's or pydantic's own; give the field another"


def _is_taken(name: str) -> bool:
    return name.startswith("__") or (name.startswith("model_") and hasattr(BaseModel, name))


def _hides_a_method(name: str, value: object) -> bool:
    # Python itself takes None: there is no such method. A configuration is a value.
    is_method = value is None or callable(value) or hasattr(type(value), "__get__")
    if is_method or name == "model_config" or not _is_taken(name):
        return False
    return name.startswith("model_") or callable(getattr(BaseModel, name, None))
