"""Turns a class into a mapping, or refuses it with every problem of its declaration and the remedy for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, Final, Literal

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dynaorm.entity.annotation import Marked, marked
from dynaorm.entity.codec.expiry import EXPIRIES, is_expiry
from dynaorm.entity.codec.of_type import Codec, Unstorable, codec_of
from dynaorm.entity.codec.type_name import other_type_codec
from dynaorm.entity.codec.value import optional
from dynaorm.entity.codec.vector import searched_codec, vector_codec
from dynaorm.entity.core_schema import is_model_of_fields, validates_default
from dynaorm.entity.declare.aggregates import aggregate_conflicts, aggregates_of
from dynaorm.entity.declare.choices import choice_problems
from dynaorm.entity.declare.computed import computed_marks, marker_problems
from dynaorm.entity.declare.conditions import with_conditions
from dynaorm.entity.declare.constraints import constraints_of
from dynaorm.entity.declare.item_type import type_problems
from dynaorm.entity.declare.keys import KeysOf, attribute_of, fields_for_keys, keys_of, vector_index_of
from dynaorm.entity.declare.options import ClassOptions
from dynaorm.entity.declare.prefixes import prefix_conflicts, prefix_problems, prefixed_codec
from dynaorm.entity.declare.registry import conflicts, register
from dynaorm.entity.declare.stored import stored_places
from dynaorm.entity.declare.times import expiry_problems, kept_time_problems
from dynaorm.entity.declare.vectors import vector_problems
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.index import Index
from dynaorm.entity.mapping.aggregate import Aggregate, AggregateMapping
from dynaorm.entity.mapping.field import FieldAroundRevision, FieldMapping, around_problem
from dynaorm.entity.mapping.mapping import MAPPING, EntityMapping
from dynaorm.entity.mapping.place import StoredPlace
from dynaorm.entity.mapping.type_names import TypeNames
from dynaorm.entity.marker import (
    MARKERS,
    Attribute,
    Computed,
    CreatedAt,
    ExpiresAt,
    InKey,
    OneOf,
    Stored,
    UpdatedAt,
    Vector,
    Versioned,
)
from dynaorm.entity.revision import NestedRevision
from dynaorm.entity.table import Table
from dynaorm.entity.template.version import BOOKKEEPING, VERSION, Versioning
from dynaorm.errors import DeclarationError
from dynaorm.item.prefix import Prefix
from dynaorm.record import record

# Modules may be imported in several threads. A class that joins a table is compared with every class that has joined.
_JOINING: Final = threading.RLock()


def declare(entity: type[BaseModel], options: ClassOptions) -> None:
    """Map a class whose fields are complete. The class joins its table.

    Raises:
        DeclarationError: with every problem of the class. The table is unchanged.
    """
    marks = {name: marked(name, info) for name, info in entity.model_fields.items()}
    problems = [*options.problems, *_class_problems(entity, marks)]
    if options.table is None:
        raise DeclarationError(entity=entity.__name__, problems=tuple(problems))
    keys = fields_for_keys(entity, options, marks, problems)
    keys_of(entity, options, keys)
    keys.problems += vector_problems(marks, keys)
    keys.problems += choice_problems({**marks, **computed_marks(entity)}, keys)
    aggregates = aggregates_of(entity, keys)
    mapping = _Draft(entity, options, options.table, marks, keys, aggregates).mapping()
    with _JOINING:
        if mapping is not None:
            mapping = with_conditions(mapping, problems)
            problems += [*_family_problems(mapping), *conflicts(mapping), *aggregate_conflicts(mapping)]
            problems += prefix_conflicts(mapping)
        if problems or mapping is None:
            raise DeclarationError(entity=entity.__name__, problems=tuple(dict.fromkeys(problems)))
        # First, because other threads may meet the class as soon as it has joined.
        setattr(entity, MAPPING, mapping)
        register(mapping)


def _class_problems(entity: type[BaseModel], marks: Mapping[str, Marked]) -> Iterator[str]:
    for name, mark in marks.items():
        yield from mark.problems
        if mark.find(Computed):
            yield f"{name}: Computed() says what a computed field looks at, and this field is stored; drop it"
        if mark.find(Stored):
            yield f"{name}: Stored() keeps a computed field, and this field is stored anyway; drop it"
    yield from marker_problems(computed_marks(entity), entity.model_fields)
    yield from _dropped_markers(entity, marks)
    if entity.model_config.get("extra") == "allow":
        yield "extra='allow' takes fields without a type, which cannot be stored; declare a dict field"
    if not is_model_of_fields(entity):
        yield (
            "its __get_pydantic_core_schema__() gives another schema than that of its fields; let it return what "
            "handler(source) gives, or write validators"
        )


def _dropped_markers(entity: type[BaseModel], marks: Mapping[str, Marked]) -> Iterator[str]:
    declared: dict[tuple[str, str], str] = {}
    for base in entity.__mro__[1:]:
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        for name in base.model_fields.keys() & marks.keys():
            present = {type(marker) for marker in marks[name].markers}
            for marker in marked(name, base.model_fields[name]).markers:
                if type(marker) not in present:
                    # The last base with a marker is the one that declared it.
                    declared[name, type(marker).__name__] = base.__name__
    for (name, kind), base_name in sorted(declared.items()):
        yield (
            f"{name}: its annotation drops the {kind}() that {base_name} declared; "
            f"repeat the marker, or drop the annotation"
        )


def _family_problems(mapping: EntityMapping) -> Iterator[str]:
    if mapping.root is not mapping.entity and mapping.table.type_attribute is None:
        yield (
            f"{mapping.table} has no type attribute, so {mapping.entity.__name__} could not be told from "
            f"{mapping.root.__name__}; give the table one, or the class a table= and keys of its own"
        )


@record
class _Draft:
    """A mapping under construction. Each step compiles one part, and adds its problems to ``keys.problems``."""

    entity: type[BaseModel]
    options: ClassOptions
    table: Table
    marks: Mapping[str, Marked]
    keys: KeysOf
    aggregates: Mapping[str, AggregateMapping]

    def mapping(self) -> EntityMapping | None:
        """The mapping, complete unless there are problems; None without a complete primary key."""
        fields = {name: found for name in self.marks if (found := self._field(name)) is not None}
        constraints = constraints_of(self.entity, self.options, self.marks, self.keys)
        versioning = self._versioning()
        expires = self._expires(fields)
        for one in fields.values():
            self.keys.problems += self._attribute_problems(one)
        self.keys.problems += self._shared_attributes(fields)
        stored = self._stored(fields)
        others = (*(one.attribute for one in stored.values()), *self._reserved())
        self.keys.problems += prefix_problems(fields, others, self.table)
        if self.keys.partition is None or len(self.keys.primary) != len(self.table.keys):
            return None
        return EntityMapping(
            entity=self.entity,
            name=self.options.name,
            table=self.table,
            root=self.options.root or self.entity,
            fields=fields,
            partition=self.keys.partition,
            sort=self.keys.sort,
            indexes=self.keys.indexes,
            constraints=constraints,
            versioning=versioning,
            expires=expires,
            expiry=self._expiry(expires),
            aggregates=self.aggregates,
            created=self._times(fields, CreatedAt),
            updated=self._times(fields, UpdatedAt),
            computed=self.keys.computed,
            stored=stored,
            formerly=self.options.formerly,
            type_names=self._type_names(fields),
        )

    # -- fields ----------------------------------------------------------------------------------------------------

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
        none_is_absent = static_none or (info.is_required() and codec.nullable)
        has_static_value = not (info.is_required() or static_none or info.default_factory)
        # Pydantic takes such a default as it is, so nothing else would find one that no write can store.
        if has_static_value and not validates_default(self.entity, name):
            self._check_default(name, codec, default)
        attribute, in_key = attribute_of(name, mark, self.table), self._in_key(name, mark)
        if has_static_value and isinstance(attribute, Prefix) and default:
            # An empty dict is no attribute either, so absence could mean both.
            self.keys.problems.append(
                f"{name}: its default {default!r} could not be told from an empty dict, because both would be "
                "absent; write = {}, and let the program give new entities their members"
            )
        return self._kind_of_field(attribute, is_stored=not in_key)(
            name=name,
            attribute=attribute,
            codec=codec,
            formerly=next((one.formerly for one in mark.find(Attribute)), ()),
            default=default,
            required=info.is_required(),
            none_is_absent=none_is_absent,
            # Absence can mean only one of None and the empty set.
            empty_is_absent=(codec.is_set or isinstance(attribute, Prefix)) and not none_is_absent,
            in_key=in_key,
            versioned=bool(mark.find(Versioned)),
            exact=codec.exact and not (mark.find(ExpiresAt) or mark.find(Vector)),
        )

    def _kind_of_field(self, attribute: str, *, is_stored: bool) -> Callable[..., FieldMapping]:
        revision = self.table.revision
        if is_stored and isinstance(revision, NestedRevision) and revision.attribute == attribute:
            return partial(FieldAroundRevision, revision=revision)
        return FieldMapping

    def _check_default(self, name: str, codec: Codec, default: object) -> None:
        if isinstance(default, MARKERS):
            return
        try:
            codec.encode(default)
        except ValueError as problem:
            self.keys.problems.append(
                f"{name}: its default {default!r} could not be stored: it {problem}; change the default or the type"
            )

    def _in_key(self, name: str, mark: Marked) -> bool:
        by_table = self.table.key_fields == "in_key" and name in self.keys.in_primary_key
        if mark.find(InKey) and name not in self.keys.lossless:
            self.keys.problems.append(
                f"{name}: InKey(), but the field cannot be read back exactly from any key of the class; "
                f"write {{{name}}} without a spec in pk= or sk=, or store the field"
            )
        return bool(mark.find(InKey)) or by_table

    def _codec(self, name: str, mark: Marked) -> Codec | None:
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
            if (index := vector_index_of(mark, self.table)) is not None:
                return vector_codec(mark.tree, index)
            info = self.entity.model_fields[name]
            strict = bool(self.entity.model_config.get("strict"))
            codec = codec_of(mark.tree, (*mark.metadata, *mark.find(Attribute), info), strict=strict)
            attribute = attribute_of(name, mark, self.table)
            if attribute == self._type_attribute and not _choices(mark):
                codec = other_type_codec(codec, self.table, self.options.name)
            if isinstance(attribute, Prefix):
                return prefixed_codec(codec)
            return searched_codec(codec) if attribute in self.table.searched else codec
        except Unstorable as problem:
            self.keys.problems.append(f"{name}: {problem}")
            return None

    # -- attribute names -------------------------------------------------------------------------------------------

    @property
    def _type_attribute(self) -> str | None:
        """The type attribute, if it is a field of the class; None where dynaorm writes it."""
        is_own = self.options.is_told or self.options.takes_others
        return self.table.type_attribute if is_own else None

    def _type_names(self, fields: Mapping[str, FieldMapping]) -> TypeNames:
        """What the type attribute says of the class's items."""
        options, problems = self.options, self.keys.problems
        field = next((one for one in fields.values() if one.attribute == self._type_attribute), None)
        if options.is_told or options.takes_others:
            problems += type_problems(options, self.table, field)
        if field is None:
            return TypeNames((options.name, *options.formerly), takes_others=options.takes_others)
        choices = tuple(str(field.codec.encode(one).get("S")) for one in _choices(self.marks[field.name]))
        if choices and options.takes_others:
            problems.append(
                f"{field.name}: has only some types, and name='*' takes all others; write name=None"
            )
        return TypeNames(choices, field.name, takes_others=not choices)

    def _attribute_problems(self, one: FieldMapping) -> Iterator[str]:
        if self.options.versioned and one.name == VERSION:
            yield f"{VERSION}: a versioned class stores the version's number under this name; rename the field"
            return
        if one.in_key:
            return
        if not one.attribute:
            yield f"{one.name}: Attribute('') is no name; write Attribute(\"Name\")"
        if isinstance(one, FieldAroundRevision) and (problem := around_problem(one)):
            yield f"{one.name}: {problem}"
        reserved = self._reserved()
        for attribute in one.attributes:
            if attribute in reserved:
                yield (
                    f"{one.name}: {attribute!r} holds {reserved[attribute]} in {self.table}; "
                    f"store the field under another name with Attribute(...)"
                )
        yield from self._key_attribute_problems(one)

    def _key_attribute_problems(self, one: FieldMapping) -> Iterator[str]:
        """The problems of a field stored in a key attribute of the table or an index."""
        for former in one.formerly:
            if former in self.table.kinds:
                yield f"{one.name}: formerly={former!r} is a key attribute, which a save cannot rename; drop it"
        kind = self.table.kinds.get(one.attribute)
        if kind is None:
            return
        if one.attribute in self.keys.made_up:
            yield (
                f"{one.name}: {one.attribute!r} is a key attribute with a template of its own; write the template "
                f"as {{{one.name}}}, or store the field under another name with Attribute(...)"
            )
            return
        of_table = {key.name for key in self.table.keys}
        if self.options.versioned and one.attribute not in of_table | self.table.searched.keys():
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

    def _reserved(self) -> dict[str, str]:
        revision = self.table.revision
        known = (
            (None if self._type_attribute else self.table.type_attribute, "the entity's name"),
            (None if revision is None or revision.is_nested else revision.attribute, "the revision"),
        )
        reserved = {name: what for name, what in known if name is not None}
        return {**reserved, **BOOKKEEPING} if self.options.versioned else reserved

    def _shared_attributes(self, fields: Mapping[str, FieldMapping]) -> Iterator[str]:
        taken: dict[str, str] = {}
        for one in fields.values():
            for attribute in () if one.in_key else one.attributes:
                if attribute in taken:
                    yield (
                        f"{one.name}: is stored as {attribute!r}, and so is {taken[attribute]}; "
                        f"rename one with Attribute(...)"
                    )
                taken[attribute] = one.name

    def _stored(self, fields: Mapping[str, FieldMapping]) -> dict[str, StoredPlace]:
        """The computed fields that are kept as attributes, by name."""
        found = dict(stored_places(computed_marks(self.entity), self.keys))
        taken = {name: one.name for one in fields.values() for name in one.attributes if not one.in_key}
        taken = {**dict.fromkeys(self.table.kinds, "a key attribute"), **self._reserved(), **taken}
        for name, one in found.items():
            if (holds := taken.setdefault(one.attribute, name)) != name:
                self.keys.problems.append(
                    f"{name}: {one.attribute!r} holds {holds} in {self.table}; "
                    f"keep it under another name with Stored(...)"
                )
        return found

    # -- versions, expiry ------------------------------------------------------------------------------------------

    def _versioning(self) -> Versioning | None:
        partial = frozenset(name for name, mark in self.marks.items() if mark.find(Versioned))
        if not self.options.versioned:
            self.keys.problems += [
                f"{name}: Versioned() in a class without versions; add versioned=True"
                for name in sorted(partial)
            ]
            return None
        self.keys.problems += [
            f"{reserved!r} is a key attribute of {self.table}, and a versioned class stores {what} there; "
            f"rename the key, or drop versioned="
            for reserved, what in BOOKKEEPING.items()
            if reserved in self.table.kinds
        ]
        if self.keys.version_template is None:
            return None
        return Versioning(self.keys.version_template, partial or None)

    def _times(self, fields: Mapping[str, FieldMapping], kind: type) -> tuple[FieldMapping, ...]:
        marked_ones = {name: mark for name, mark in self.marks.items() if mark.find(kind)}
        self.keys.problems += kept_time_problems(self.entity, kind.__name__, marked_ones, self.keys.primary)
        return tuple(fields[name] for name in marked_ones if name in fields)

    def _expires(self, fields: Mapping[str, FieldMapping]) -> FieldMapping | None:
        names = [name for name, mark in self.marks.items() if mark.find(ExpiresAt) and name in fields]
        has_versions = bool(self.options.versioned)
        self.keys.problems += expiry_problems(names, self.keys.primary, has_versions=has_versions)
        return fields[names[0]] if names else None

    def _expiry(self, field: FieldMapping | None) -> Expiry | None:
        return (
            None if field is None else Expiry(field.attribute, self.marks[field.name].find(ExpiresAt)[0].unit)
        )


def _choices(mark: Marked) -> tuple[Any, ...]:
    """The only values of a field; none where it takes any."""
    tree, given = mark.tree.without_none, [value for one in mark.find(OneOf) for value in one.values]
    if tree.origin is Literal:
        given += tree.arguments
    elif isinstance(tree.plain, type) and issubclass(tree.plain, Enum):
        given += tree.plain
    return tuple(given)
