"""The only values of a field: those of a Literal or an Enum, and those of ``OneOf``, with what is wrong with that.

A query asks each value of ``OneOf``, so a partition key must have the field as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal

from dynaorm.entity.annotation import Marked
from dynaorm.entity.declare.class_keys import KeysOf
from dynaorm.entity.marker import Attribute, OneOf


def choice_problems(marks: Mapping[str, Marked], keys: KeysOf) -> Iterator[str]:
    """One sentence for each field with ``OneOf`` that no query would ask for. ``marks``: also of computed fields."""
    partitions = [keys.partition, *(part for place in keys.indexes.values() for part in place.partition)]
    asked = {name for part in partitions if part is not None for name in part.fields}
    for name, mark in marks.items():
        if not mark.find(OneOf):
            continue
        if any(one.encode or one.codec for one in mark.find(Attribute)):
            yield f"{name}: OneOf() says the values as they are stored; drop the codec of Attribute(...)"
        if keys.partition is not None and name not in asked:
            yield (
                f"{name}: OneOf() lets a query ask each value, and no partition key of the class has the field; "
                f"name it in pk=, or write a Literal"
            )


def choices_of(mark: Marked) -> tuple[Any, ...]:
    """The only values of a field; none where it takes any."""
    tree, given = mark.tree.without_none, [value for one in mark.find(OneOf) for value in one.values]
    if tree.origin is Literal:
        given += tree.arguments
    elif isinstance(tree.plain, type) and issubclass(tree.plain, Enum):
        given += tree.plain
    return tuple(given)
