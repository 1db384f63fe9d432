"""The scalars of types, for tests that need one."""

from collections.abc import Mapping
from typing import Any

from dynaorm.entity.text.scalar import Scalar, scalar_of


def scalar(annotation: Any) -> Scalar:
    found = scalar_of(annotation)
    assert found is not None
    return found


def scalars_of(types: Mapping[str, Any]) -> dict[str, Scalar]:
    """Field names and types to field names and scalars."""
    return {name: scalar(kind) for name, kind in types.items()}
