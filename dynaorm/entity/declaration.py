"""What ``Index`` and ``Aggregate`` have in common: a declaration in a class body that is not a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    from dynaorm.item.condition import Condition

# A text cannot be joined with "|" where it is used, and importing the class would load what most requests do without.
GivenWhen: TypeAlias = Union["Condition", Callable[[Any], bool]]
"""What ``when=`` takes: a condition of ``F``, or a pure function of the entity."""


class Declaration(property):
    """A class attribute, annotated as ``ClassVar`` or not at all.

    It derives from ``property`` so that pydantic does not make it a field.
    """

    def __init__(self) -> None:
        super().__init__()
        self.attribute_name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute_name = name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        # A field annotated with the declaration's own class gets this far; ``declare`` refuses it with a clear error.
        return core_schema.any_schema()


D = TypeVar("D", bound=Declaration)


def declarations_of(entity: type, kind: type[D]) -> Iterator[tuple[str, D]]:
    """The declarations of one kind in a class and its bases, by attribute name."""
    seen: set[str] = set()
    for base in entity.__mro__:
        for name, value in vars(base).items():
            if name not in seen and isinstance(value, kind):
                yield name, value
            seen.add(name)
