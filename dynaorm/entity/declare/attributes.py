"""Which attributes a class may store its fields in: no two things have one, and a key attribute has its own type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from dynaorm.entity.declare.computed import computed_marks
from dynaorm.entity.declare.fields import stored_places
from dynaorm.entity.declare.keys import KeyBuilder
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.place import StoredComputedField
from dynaorm.entity.table import Table
from dynaorm.entity.template import BOOKKEEPING, VERSION


def reserved_attributes(options: ClassOptions, table: Table) -> dict[str, str]:
    """The attributes that dynaorm writes into every item of a class, and what each holds."""
    revision = table.revision
    known = (
        (None if options.own_type else table.type_attribute, "the entity's name"),
        (None if revision is None else revision.attribute, "the revision"),
    )
    reserved = {name: what for name, what in known if name is not None}
    return {**reserved, **BOOKKEEPING} if options.versioned else reserved


def attribute_problems(
    fields: Mapping[str, FieldMapping], options: ClassOptions, keys: KeyBuilder
) -> Iterator[str]:
    """Why some fields cannot be stored in their attributes, one sentence each."""
    for one in fields.values():
        yield from _problems_of(one, options, keys)
    yield from _shared(fields)


def _problems_of(one: FieldMapping, options: ClassOptions, keys: KeyBuilder) -> Iterator[str]:
    if options.versioned and one.name == VERSION:
        yield f"{VERSION}: a versioned class stores the version's number under this name; rename the field"
        return
    if one.in_key:
        return
    if not one.attribute:
        yield f"{one.name}: Attribute('') is no name; write Attribute(\"Name\")"
    reserved = reserved_attributes(options, keys.table)
    for attribute in one.attributes:
        if attribute in reserved:
            yield (
                f"{one.name}: {attribute!r} holds {reserved[attribute]} in {keys.table}; "
                f"store the field under another name with Attribute(...)"
            )
    yield from _key_attribute_problems(one, options, keys)


def _key_attribute_problems(one: FieldMapping, options: ClassOptions, keys: KeyBuilder) -> Iterator[str]:
    """The problems of a field stored in a key attribute of the table or an index."""
    for former in one.formerly:
        if former in keys.table.kinds:
            yield f"{one.name}: formerly={former!r} is a key attribute, which a save cannot rename; drop it"
    kind = keys.table.kinds.get(one.attribute)
    if kind is None:
        return
    if one.attribute in keys.made_up:
        yield (
            f"{one.name}: {one.attribute!r} is a key attribute with a template of its own; write the template "
            f"as {{{one.name}}}, or store the field under another name with Attribute(...)"
        )
        return
    of_table = {key.name for key in keys.table.keys}
    if options.versioned and one.attribute not in of_table | keys.table.searched.keys():
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


def _shared(fields: Mapping[str, FieldMapping]) -> Iterator[str]:
    taken: dict[str, str] = {}
    for one in fields.values():
        for attribute in () if one.in_key else one.attributes:
            if attribute in taken:
                yield (
                    f"{one.name}: is stored as {attribute!r}, and so is {taken[attribute]}; "
                    f"rename one with Attribute(...)"
                )
            taken[attribute] = one.name


def stored_fields(
    entity: type[BaseModel], options: ClassOptions, fields: Mapping[str, FieldMapping], keys: KeyBuilder
) -> dict[str, StoredComputedField]:
    """The computed fields that are kept as attributes, by name."""
    found = dict(stored_places(computed_marks(entity), keys))
    taken = {name: one.name for one in fields.values() for name in one.attributes if not one.in_key}
    taken = {
        **dict.fromkeys(keys.table.kinds, "a key attribute"),
        **reserved_attributes(options, keys.table),
        **taken,
    }
    for name, one in found.items():
        if (holds := taken.setdefault(one.attribute, name)) != name:
            keys.problems.append(
                f"{name}: {one.attribute!r} holds {holds} in {keys.table}; "
                f"keep it under another name with Stored(...)"
            )
    return found
