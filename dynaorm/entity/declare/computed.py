"""Finds what declarations may name besides fields: computed fields, and fields of nested records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dynaorm.entity.mapping.computed import ComputedValue, computed_field_value, nested_value
from dynaorm.entity.marker import AnnotatedField, Computed, OneOf, Stored, Unique, parse_markers
from dynaorm.entity.text.scalar import scalar_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.failure import suggestion

_IN_BRACES: Final = re.compile(r"\{([^\W\d]\w*(?:\.[^\W\d]\w*)+)")


def computed_marks(entity: type[BaseModel]) -> dict[str, AnnotatedField]:
    """The types of computed fields without their markers, and the markers."""
    found = entity.model_computed_fields.items()
    return {name: parse_markers(name, FieldInfo.from_annotation(info.return_type)) for name, info in found}


def marker_problems(marks: Mapping[str, AnnotatedField], fields: Iterable[str]) -> Iterator[str]:
    """Why computed fields cannot have some markers, one sentence each. ``fields``: those of the class."""
    for name, mark in marks.items():
        yield from mark.problems
        for marker in mark.markers:
            if isinstance(marker, Computed):
                for one in marker.of:
                    if one not in fields:
                        yield f"{name}: Computed(of=...) names {one!r}; {suggestion(one, fields)}"
            elif not isinstance(marker, Unique | OneOf | Stored):
                kind = type(marker).__name__
                yield f"{name}: {kind}() says how a field is stored, and a computed field is not stored; drop it"


def computed_fields(entity: type[BaseModel]) -> Iterator[ComputedValue]:
    """The computed fields of a class whose values have one text."""
    marks = computed_marks(entity)
    for name in entity.model_computed_fields:
        if (scalar := marks[name].scalar) is not None:
            named = [field for marker in marks[name].find(Computed) for field in marker.of]
            fields = frozenset(named or entity.model_fields)
            nullable, value = (
                marks[name].tree.accepts_none,
                computed_field_value(entity, name, fields),
            )
            yield ComputedValue(name, scalar, nullable, fields, value, is_told=bool(named))


def nested_names(template: Any) -> Iterator[str]:
    """The names of nested fields in a template, or in each of several."""
    for text in template if isinstance(template, tuple) else (template,):
        if isinstance(text, str):
            yield from _IN_BRACES.findall(text)


def nested_fields(types: Mapping[str, TypeTree], names: Iterable[Any]) -> Iterator[ComputedValue]:
    """The nested fields among some names: those that exist, and whose values can be written as text."""
    for name in dict.fromkeys(name for name in names if isinstance(name, str) and "." in name):
        path = tuple(name.split("."))
        found, nullable = types.get(path[0]), False
        for step in path[1:]:
            nullable |= found is not None and found.accepts_none
            part = found.without_none.member(step) if found is not None else None
            found = None if part is None else part.tree
        if found is not None and (scalar := scalar_of(found)) is not None:
            nullable, fields = nullable or found.accepts_none, frozenset(path[:1])
            yield ComputedValue(name, scalar, nullable, fields, nested_value(path), is_told=True)
