"""The text of a type, as its author would write it."""

from enum import Enum
from types import NoneType
from typing import Any, Literal, Union, get_args

from dynaorm.entity.type_tree import TypeTree, type_tree


def type_text(annotation: Any) -> str:
    """A type without markers and modules: ``str | None``, ``list[Address]``."""
    return _text(type_tree(annotation), ())


def _text(tree: TypeTree, around: tuple[TypeTree, ...]) -> str:
    # A type may contain itself.
    if tree in around:
        return "..."
    around = (*around, tree)
    if tree.origin is Union:
        return " | ".join(_text(one, around) for one in tree.parts)
    if tree.origin is Literal:
        return f"Literal[{', '.join(map(value_text, tree.arguments))}]"
    if tree.plain is NoneType:
        return "None"
    if not isinstance(tree.origin, type):
        return str(tree.plain).replace("typing.", "")
    parts = [_text(one, around) for one in tree.parts]
    if Ellipsis in get_args(tree.plain):
        parts.append("...")
    return f"{tree.origin.__name__}[{', '.join(parts)}]" if parts else tree.origin.__name__


def value_text(value: object) -> str:
    """A value as Python text."""
    return f"{type(value).__name__}.{value.name}" if isinstance(value, Enum) else repr(value)
