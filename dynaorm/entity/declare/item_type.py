"""What the type attribute says of the items of a class, and what is wrong where a field or nobody declares that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dynaorm.entity.codec.type_name import why_no_type
from dynaorm.entity.declare.fields import choices_of
from dynaorm.entity.declare.keys import KeyBuilder
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import Discriminator
from dynaorm.entity.marker import AnnotatedField
from dynaorm.entity.table import Table


def type_names_of(
    options: ClassOptions,
    marks: Mapping[str, AnnotatedField],
    fields: Mapping[str, FieldMapping],
    keys: KeyBuilder,
) -> Discriminator:
    """What the type attribute says of the class's items."""
    problems = keys.problems
    field = next((one for one in fields.values() if one.attribute == options.own_type), None)
    if options.is_told:
        problems += _problems(options, keys.table, field)
    if field is None:
        return Discriminator((options.name, *options.formerly))
    choices = tuple(str(field.codec.encode(one).get("S")) for one in choices_of(marks[field.name]))
    return Discriminator(choices, field.name, takes_others=not choices)


def _problems(options: ClassOptions, table: Table, field: FieldMapping | None) -> Iterator[str]:
    """One sentence for each reason. ``field``: the one that is stored as the type attribute."""
    if table.type_attribute is None:
        yield f"name=None: {table} has no type attribute; write Table(type_attribute=...), or drop name=None"
        return
    if field is None:
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
