"""What is wrong with a class whose own field says its type, or that takes the types that nobody declared."""

from __future__ import annotations

from collections.abc import Iterator

from dynaorm.entity.codec.type_name import why_no_type
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.table import Table


def type_problems(options: ClassOptions, table: Table, field: FieldMapping | None) -> Iterator[str]:
    """One sentence for each reason. ``field``: the one that is stored as the type attribute."""
    said = "name=None" if options.is_told else "name='*'"
    if table.type_attribute is None:
        yield f"{said}: {table} has no type attribute; write Table(type_attribute=...), or drop {said}"
        return
    if field is None:
        if options.is_told:
            yield (
                f"name=None: no field is stored as {table.type_attribute!r}, the type attribute of {table}; declare "
                f"kind: Annotated[str, Attribute({table.type_attribute!r})], or drop name=None"
            )
        return
    if options.formerly:
        yield f"formerly= renames what dynaorm writes, and {field.name} says the type; drop it"
    if options.versioned:
        yield f"{field.name}: says the type, and versions have none; store it under another name, or drop versioned="
    if field.in_key or field.formerly or (why := why_no_type(field.codec)):
        why = why_no_type(field.codec) or "store it under this name alone"
        yield f"{field.name}: is the type of every item of the class, a text; {why}"
