"""Turns the annotated fields of a class into their mappings: codec, default, and how absence is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dynaorm.entity.codec.expiry import EXPIRIES, is_expiry
from dynaorm.entity.codec.of_type import Codec, UnsupportedType, codec_of
from dynaorm.entity.codec.type_name import other_type_codec
from dynaorm.entity.codec.value import optional
from dynaorm.entity.codec.vector import searched_codec, vector_codec
from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.declare.keys import KeyBuilder, attribute_of, vector_index_of
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.place import StoredComputedField
from dynaorm.entity.marker import (
    MARKERS,
    AnnotatedField,
    Attribute,
    CreatedAt,
    ExpiresAt,
    InKey,
    OneOf,
    Stored,
    Unique,
    UpdatedAt,
    Vector,
    Versioned,
)
from dynaorm.entity.table import Index
from dynaorm.entity.template import KeyPart
from dynaorm.record import record


def kept_time_problems(
    entity: type[BaseModel], kind: str, marks: Mapping[str, AnnotatedField], primary: Collection[KeyPart]
) -> Iterator[str]:
    """The problems of the fields with one of the two markers, one sentence each."""
    for name, mark in marks.items():
        info = entity.model_fields[name]
        has_none = mark.tree.accepts_none and not info.is_required() and info.default is None
        if not is_expiry(mark.tree) or not has_none or info.default_factory is not None:
            yield (
                f"{name}: {kind}() needs a time that is None before the first write; "
                f"write Annotated[datetime | None, {kind}()] = None"
            )
        if any(name in part.fields for part in primary):
            yield (
                f"{name}: {kind}() is set by the write, so the primary key cannot be made of it; "
                f"use a field with a default_factory there"
            )
        for other in (ExpiresAt, InKey, Unique, *((UpdatedAt,) if kind == CreatedAt.__name__ else ())):
            if mark.find(other):
                yield f"{name}: {kind}() and {other.__name__}() exclude each other; use a field for each"


def expiry_problems(
    names: Sequence[str], primary: Collection[KeyPart], *, has_versions: bool
) -> Iterator[str]:
    """The problems of the fields with ``ExpiresAt()``, one sentence each."""
    if len(names) > 1:
        yield f"{' and '.join(names)} are both ExpiresAt(), and a table has one TTL attribute; keep one"
    for name in names:
        if any(name in part.fields for part in primary):
            yield (
                f"{name}: ExpiresAt() is not stored exactly, so the primary key cannot be made of it; "
                f"use another field there"
            )
    if names and has_versions:
        yield f"{names[0]}: a versioned class cannot expire; drop ExpiresAt() or versioned="


def choice_problems(marks: Mapping[str, AnnotatedField], keys: KeyBuilder) -> Iterator[str]:
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


def choices_of(mark: AnnotatedField) -> tuple[Any, ...]:
    """The only values of a field; none where it takes any."""
    tree, given = mark.tree.without_none, [value for one in mark.find(OneOf) for value in one.values]
    if tree.origin is Literal:
        given += tree.arguments
    elif isinstance(tree.plain, type) and issubclass(tree.plain, Enum):
        given += tree.plain
    return tuple(given)


@record
class FieldCompiler:
    """Compiles the fields of a class, and adds their problems to ``keys.problems``.

    Attributes:
        entity: the class.
        options: the keywords of its statement.
        marks: its fields, as they are annotated.
        keys: its keys.
    """

    entity: type[BaseModel]
    options: ClassOptions
    marks: Mapping[str, AnnotatedField]
    keys: KeyBuilder

    def fields(self) -> dict[str, FieldMapping]:
        """The mappings of the fields that have one."""
        return {name: found for name in self.marks if (found := self._field(name)) is not None}

    def _field(self, name: str) -> FieldMapping | None:
        mark, info = self.marks[name], self.entity.model_fields[name]
        if mark.tree.plain in (Index, Aggregate):
            kind = mark.tree.name
            self.keys.problems.append(
                f"{name}: an {kind} is not a field; write {name}: ClassVar = {kind}(...)"
            )
            return None
        codec = None if mark.problems else self._codec(name, mark)
        if codec is None:
            return None
        default = None if info.default is PydanticUndefined else info.default
        static_none = not info.is_required() and info.default_factory is None and default is None
        has_static_value = not (info.is_required() or static_none or info.default_factory)
        # Pydantic takes such a default as it is, so nothing else would find one that no write can store.
        if has_static_value and not validates_default(self.entity, name):
            self._check_default(name, codec, default)
        attribute, in_key = attribute_of(name, mark, self.keys.table), self._in_key(name, mark)
        return FieldMapping(
            name=name,
            attribute=attribute,
            codec=codec,
            formerly=next((one.formerly for one in mark.find(Attribute)), ()),
            default=default,
            required=info.is_required(),
            defaults_to_none=static_none,
            in_key=in_key,
            versioned=bool(mark.find(Versioned)),
            exact=codec.exact and not (mark.find(ExpiresAt) or mark.find(Vector)),
        )

    def _check_default(self, name: str, codec: Codec, default: object) -> None:
        if isinstance(default, MARKERS):
            return
        try:
            codec.encode(default)
        except ValueError as problem:
            self.keys.problems.append(
                f"{name}: its default {default!r} could not be stored: it {problem}; change the default or the type"
            )

    def _in_key(self, name: str, mark: AnnotatedField) -> bool:
        by_table = self.keys.table.key_fields == "in_key" and name in self.keys.in_primary_key
        if mark.find(InKey) and name not in self.keys.lossless:
            self.keys.problems.append(
                f"{name}: InKey(), but the field cannot be read back exactly from any key of the class; "
                f"write {{{name}}} without a spec in pk= or sk=, or store the field"
            )
        return bool(mark.find(InKey)) or by_table

    def _codec(self, name: str, mark: AnnotatedField) -> Codec | None:
        attribute = next(iter(mark.find(Attribute)), None)
        if mark.find(ExpiresAt):
            if attribute is not None and attribute.codec is not None:
                self.keys.problems.append(f"{name}: ExpiresAt() says how it is stored; drop codec=")
            if is_expiry(mark.tree):
                codec = EXPIRIES[mark.find(ExpiresAt)[0].unit]
                return optional(codec) if mark.tree.accepts_none else codec
            self.keys.problems.append(
                f"{name}: ExpiresAt() needs a field that is a time; write datetime | None"
            )
            return None
        try:
            if (index := vector_index_of(mark, self.keys.table)) is not None:
                return vector_codec(mark.tree, index)
            info = self.entity.model_fields[name]
            strict = bool(self.entity.model_config.get("strict"))
            codec = codec_of(mark.tree, (*mark.metadata, *mark.find(Attribute), info), strict=strict)
            attribute = attribute_of(name, mark, self.keys.table)
            if attribute == self.options.own_type and not choices_of(mark):
                codec = other_type_codec(codec, self.keys.table, self.options.name)
            return searched_codec(codec) if attribute in self.keys.table.searched else codec
        except UnsupportedType as problem:
            self.keys.problems.append(f"{name}: {problem}")
            return None


def stored_places(
    marks: Mapping[str, AnnotatedField], keys: KeyBuilder
) -> Iterator[tuple[str, StoredComputedField]]:
    """The attributes of computed fields with ``Stored``, by the fields' names. ``marks``: of all computed fields."""
    for name, mark in marks.items():
        for marker in mark.find(Stored):
            if name not in keys.computed:
                keys.problems.append(
                    f"{name}: Stored() needs a type whose values have one text; return a str, int, date or the like"
                )
                continue
            try:
                codec = codec_of(mark.tree, mark.metadata)
            except UnsupportedType as problem:
                keys.problems.append(f"{name}: {problem}")
                continue
            yield (
                name,
                StoredComputedField(
                    name=f"the stored {name}",
                    attribute_name=name,
                    partition=(),
                    sort=(),
                    key_fields=keys.stored([name]),
                    is_computed=True,
                    attribute=marker.name or name,
                    codec=codec,
                ),
            )
