"""Turns the annotated fields of a class into their mappings, and says which attributes they may have.

No two things have one attribute, and a key attribute has its own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

from pydantic_core import PydanticUndefined

from dynaorm.entity.codec.of_type import Codec, UnsupportedType, codec_of
from dynaorm.entity.codec.special import (
    EXPIRIES,
    is_expiry,
    other_type_codec,
    searched_codec,
    vector_codec,
    why_no_type,
)
from dynaorm.entity.codec.value import optional
from dynaorm.entity.core_schema import validates_default
from dynaorm.entity.declare.draft import Draft
from dynaorm.entity.key_part import VERSION
from dynaorm.entity.mapping.aggregate import Aggregate
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.index_places import StoredComputedField
from dynaorm.entity.mapping.mapping import Discriminator
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


def fields(draft: Draft) -> Iterator[str]:
    """Compiles the fields of the class."""
    for name, mark in draft.marks.items():
        if mark.tree.plain in (Index, Aggregate):
            kind = mark.tree.name
            yield f"{name}: an {kind} is not a field; write {name}: ClassVar = {kind}(...)"
        elif not mark.problems:
            try:
                codec = _codec_of(draft, name, mark)
            except UnsupportedType as problem:
                yield f"{name}: {problem}"
            else:
                yield from _field(draft, name, codec)


def _codec_of(draft: Draft, name: str, mark: AnnotatedField) -> Codec:
    """Raises UnsupportedType."""
    if markers := mark.find(ExpiresAt):
        if not is_expiry(mark.tree):
            raise UnsupportedType("ExpiresAt() needs a field that is a time; write datetime | None")
        codec = EXPIRIES[markers[0].unit]
        return optional(codec) if mark.tree.accepts_none else codec
    if (index := draft.vector_index_of(mark)) is not None:
        return vector_codec(mark.tree, index)
    metadata = (*mark.metadata, *mark.find(Attribute), draft.entity.model_fields[name])
    codec = codec_of(mark.tree, metadata, strict=bool(draft.entity.model_config.get("strict")))
    attribute = draft.attributes[name]
    if attribute == draft.options.own_type and not _choices_of(mark):
        codec = other_type_codec(codec, draft.table, draft.options.name)
    return searched_codec(codec) if attribute in draft.table.searched else codec


def _field(draft: Draft, name: str, codec: Codec) -> Iterator[str]:
    mark, info, attribute = draft.marks[name], draft.entity.model_fields[name], draft.attributes[name]
    marker: Attribute | None = next(iter(mark.find(Attribute)), None)
    if mark.find(ExpiresAt) and marker is not None and marker.codec is not None:
        yield f"{name}: ExpiresAt() says how it is stored; drop codec="
    default = None if info.default is PydanticUndefined else info.default
    static_none = not info.is_required() and info.default_factory is None and default is None
    has_static_value = not (info.is_required() or static_none or info.default_factory)
    if has_static_value:
        yield from _default(draft, name, codec)
    if mark.find(InKey) and name not in draft.lossless:
        yield (
            f"{name}: InKey(), but the field cannot be read back exactly from any key of the class; "
            f"write {{{name}}} without a spec in pk= or sk=, or store the field"
        )
    by_table = draft.table.key_fields == "in_key" and name in draft.in_primary_key
    draft.fields[name] = FieldMapping(
        name=name,
        attribute=attribute,
        codec=codec,
        formerly=() if marker is None else marker.formerly,
        default=default,
        required=info.is_required(),
        defaults_to_none=static_none,
        in_key=bool(mark.find(InKey)) or by_table,
        versioned=bool(mark.find(Versioned)),
        exact=codec.exact and not (mark.find(ExpiresAt) or mark.find(Vector)),
    )


def _default(draft: Draft, name: str, codec: Codec) -> Iterator[str]:
    default = draft.entity.model_fields[name].default
    # Pydantic takes such a default as it is, so nothing else would find one that no write can store.
    if not validates_default(draft.entity, name) and not isinstance(default, MARKERS):
        try:
            codec.encode(default)
        except ValueError as problem:
            yield f"{name}: its default {default!r} could not be stored: it {problem}; change the default or the type"


def _choices_of(mark: AnnotatedField) -> tuple[Any, ...]:
    """The only values of a field; none where it takes any."""
    tree, given = mark.tree.without_none, [value for one in mark.find(OneOf) for value in one.values]
    if tree.origin is Literal:
        given += tree.arguments
    elif isinstance(tree.plain, type) and issubclass(tree.plain, Enum):
        given += tree.plain
    return tuple(given)


# -- what is refused


def kept_times(draft: Draft) -> Iterator[str]:
    """Refuses fields that the write cannot set to its time."""
    for kind in (CreatedAt, UpdatedAt):
        for name, mark in draft.marks.items():
            if mark.find(kind):
                yield from _kept_time(draft, name, mark, kind.__name__)


def _kept_time(draft: Draft, name: str, mark: AnnotatedField, kind: str) -> Iterator[str]:
    info = draft.entity.model_fields[name]
    has_none = mark.tree.accepts_none and not info.is_required() and info.default is None
    if not is_expiry(mark.tree) or not has_none or info.default_factory is not None:
        yield (
            f"{name}: {kind}() needs a time that is None before the first write; "
            f"write Annotated[datetime | None, {kind}()] = None"
        )
    if any(name in part.fields for part in draft.primary):
        yield (
            f"{name}: {kind}() is set by the write, so the primary key cannot be made of it; "
            f"use a field with a default_factory there"
        )
    for other in (ExpiresAt, InKey, Unique, *((UpdatedAt,) if kind == CreatedAt.__name__ else ())):
        if mark.find(other):
            yield f"{name}: {kind}() and {other.__name__}() exclude each other; use a field for each"


def expiry(draft: Draft) -> Iterator[str]:
    """Refuses times of expiry that cannot be one."""
    names = [name for name in draft.fields if draft.marks[name].find(ExpiresAt)]
    if len(names) > 1:
        yield f"{' and '.join(names)} are both ExpiresAt(), and a table has one TTL attribute; keep one"
    for name in names:
        if any(name in part.fields for part in draft.primary):
            yield (
                f"{name}: ExpiresAt() is not stored exactly, so the primary key cannot be made of it; "
                f"use another field there"
            )
    if names and draft.options.versioned:
        yield f"{names[0]}: a versioned class cannot expire; drop ExpiresAt() or versioned="


def attributes(draft: Draft) -> Iterator[str]:
    """Refuses fields that cannot be stored in their attributes."""
    for one in draft.fields.values():
        yield from _attribute(draft, one)
    taken: dict[str, str] = {}
    for one in draft.fields.values():
        for attribute in () if one.in_key else one.attributes:
            if attribute in taken:
                yield (
                    f"{one.name}: is stored as {attribute!r}, and so is {taken[attribute]}; "
                    f"rename one with Attribute(...)"
                )
            taken[attribute] = one.name


def _attribute(draft: Draft, one: FieldMapping) -> Iterator[str]:
    if draft.options.versioned and one.name == VERSION:
        yield f"{VERSION}: a versioned class stores the version's number under this name; rename the field"
        return
    if one.in_key:
        return
    if not one.attribute:
        yield f"{one.name}: Attribute('') is not a name; write Attribute(\"Name\")"
    for attribute in one.attributes:
        if attribute in draft.reserved:
            yield (
                f"{one.name}: {attribute!r} holds {draft.reserved[attribute]} in {draft.table}; "
                f"store the field under another name with Attribute(...)"
            )
    yield from _key_attribute(draft, one)


def _key_attribute(draft: Draft, one: FieldMapping) -> Iterator[str]:
    """The problems of a field stored in a key attribute of the table or an index."""
    for former in one.formerly:
        if former in draft.table.kinds:
            yield f"{one.name}: formerly={former!r} is a key attribute, which a save cannot rename; drop it"
    kind = draft.table.kinds.get(one.attribute)
    if kind is None:
        return
    if one.attribute in draft.synthetic:
        yield (
            f"{one.name}: {one.attribute!r} is a key attribute with a template of its own; write the template "
            f"as {{{one.name}}}, or store the field under another name with Attribute(...)"
        )
        return
    of_table = {key.name for key in draft.table.keys}
    if draft.options.versioned and one.attribute not in of_table | draft.table.searched.keys():
        yield (
            f"{one.name}: {one.attribute!r} is the key of an index, and every version would repeat it; "
            f"key the index by an attribute of its own, or store the field under another name"
        )
    if (tags := one.codec.tags - {"NULL"}) and tags != {kind}:
        yield (
            f"{one.name}: {one.attribute!r} is a key attribute of type {kind}, which this field's type is not; "
            f"change the type, or store the field under another name with Attribute(...)"
        )
    if one.codec.nullable and not one.none_is_absent:
        yield (
            f"{one.name}: {one.attribute!r} is an index key, which cannot be NULL, but None is not the "
            f"field's default; write = None"
        )


def stored_places(draft: Draft) -> Iterator[str]:
    """Compiles the computed fields that are kept as attributes."""
    taken = {name: one.name for one in draft.fields.values() for name in one.attributes if not one.in_key}
    taken = {**dict.fromkeys(draft.table.kinds, "a key attribute"), **draft.reserved, **taken}
    for name, mark in draft.computed_marks.items():
        for marker in mark.find(Stored):
            if name not in draft.computed:
                yield f"{name}: Stored() needs a type whose values have one text; return a str, int, date or the like"
                continue
            attribute = marker.name or name
            if (holds := taken.setdefault(attribute, name)) != name:
                yield (
                    f"{name}: {attribute!r} holds {holds} in {draft.table}; "
                    f"keep it under another name with Stored(...)"
                )
            try:
                codec = codec_of(mark.tree, mark.metadata)
            except UnsupportedType as problem:
                yield f"{name}: {problem}"
                continue
            draft.stored_places[name] = StoredComputedField(
                name=f"the stored {name}",
                attribute_name=name,
                partition=(),
                sort=(),
                key_fields=draft.stored([name]),
                is_computed=True,
                attribute=attribute,
                codec=codec,
            )


def _field_of_type(draft: Draft) -> FieldMapping | None:
    """The field that is the type attribute; None where dynaorm writes that."""
    own_type = draft.options.own_type
    return next((field for field in draft.fields.values() if field.attribute == own_type), None)


def item_type(draft: Draft) -> Iterator[str]:
    """Refuses a type attribute that a field, or nobody, cannot say."""
    table, field = draft.table, _field_of_type(draft)
    if not draft.options.is_told:
        return
    if table.type_attribute is None:
        yield f"name=None: {table} has no type attribute; write Table(type_attribute=...), or drop name=None"
    elif field is not None:
        yield from _type_field(draft, field)
    else:
        yield (
            f"name=None: no field is stored as {table.type_attribute!r}, the type attribute of {table}; declare "
            f"kind: Annotated[str, Attribute({table.type_attribute!r})], or drop name=None"
        )


def _type_field(draft: Draft, field: FieldMapping) -> Iterator[str]:
    if draft.options.formerly:
        yield f"formerly= renames what dynaorm writes, and {field.name} says the type; drop it"
    if draft.options.versioned:
        yield f"{field.name}: says the type, and versions have none; store it under another name, or drop versioned="
    if field.in_key or field.formerly or why_no_type(field.codec):
        why = why_no_type(field.codec) or "store it under this name alone"
        yield f"{field.name}: is the type of every item of the class, a text; {why}"


def type_names_of(draft: Draft) -> Discriminator:
    """What the type attribute says of the class's items."""
    options, field = draft.options, _field_of_type(draft)
    if field is None:
        return Discriminator((options.name, *options.formerly))
    choices = tuple(str(field.codec.encode(value).get("S")) for value in _choices_of(draft.marks[field.name]))
    return Discriminator(choices, field.name, accepts_unknown=not choices)
