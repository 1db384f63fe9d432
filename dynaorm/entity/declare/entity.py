"""Turns a class into a mapping, or refuses it with every problem of its declaration and the remedy for each."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import BaseModel

from dynaorm.entity.core_schema import is_model_of_fields
from dynaorm.entity.declare.aggregates import aggregate_conflicts, aggregates_of
from dynaorm.entity.declare.attributes import attribute_problems, stored_fields
from dynaorm.entity.declare.computed import computed_marks, marker_problems
from dynaorm.entity.declare.conditions import with_conditions
from dynaorm.entity.declare.constraints import constraints_of
from dynaorm.entity.declare.fields import FieldCompiler, choice_problems, expiry_problems, kept_time_problems
from dynaorm.entity.declare.item_type import type_names_of
from dynaorm.entity.declare.keys import KeyBuilder, fields_for_keys, keys_of
from dynaorm.entity.declare.options import ClassOptions, misnamed_fields
from dynaorm.entity.declare.registry import conflicts, register
from dynaorm.entity.declare.vectors import vector_problems
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import MAPPING, EntityMapping
from dynaorm.entity.marker import (
    AnnotatedField,
    Computed,
    CreatedAt,
    ExpiresAt,
    Stored,
    UpdatedAt,
    Versioned,
    parse_markers,
)
from dynaorm.entity.table import Table
from dynaorm.entity.template import BOOKKEEPING, Versioning
from dynaorm.errors import DeclarationError
from dynaorm.failure import shown
from dynaorm.record import record

# Modules may be imported in several threads. A class that joins a table is compared with every class that has joined.
_JOINING: Final = threading.RLock()


def declare(entity: type[BaseModel], options: ClassOptions) -> None:
    """Map a class whose fields are complete. The class joins its table.

    Raises:
        DeclarationError: with every problem of the class. The table is unchanged.
    """
    marks = {name: parse_markers(name, info) for name, info in entity.model_fields.items()}
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
        if problems or mapping is None:
            raise DeclarationError(entity=entity.__name__, problems=tuple(dict.fromkeys(problems)))
        # First, because other threads may meet the class as soon as it has joined.
        setattr(entity, MAPPING, mapping)
        register(mapping)


def _class_problems(entity: type[BaseModel], marks: Mapping[str, AnnotatedField]) -> Iterator[str]:
    for name, mark in marks.items():
        yield from mark.problems
        if mark.find(Computed):
            yield f"{name}: Computed() says what a computed field looks at, and this field is stored; drop it"
        if mark.find(Stored):
            yield f"{name}: Stored() keeps a computed field, and this field is stored anyway; drop it"
    yield from misnamed_fields(entity)
    yield from marker_problems(computed_marks(entity), entity.model_fields)
    yield from _dropped_markers(entity, marks)
    if entity.model_config.get("extra") == "allow":
        yield "extra='allow' takes fields without a type, which cannot be stored; declare a dict field"
    frozen: object = entity.model_config.get("frozen")
    if not isinstance(frozen, bool | None):
        # pydantic looks at it last, when the class has joined its table.
        yield f"frozen={shown(frozen)} is neither True nor False; write one of them"
    if not is_model_of_fields(entity):
        yield (
            "its __get_pydantic_core_schema__() gives another schema than that of its fields; let it return what "
            "handler(source) gives, or write validators"
        )


def _dropped_markers(entity: type[BaseModel], marks: Mapping[str, AnnotatedField]) -> Iterator[str]:
    declared: dict[tuple[str, str], str] = {}
    for base in entity.__mro__[1:]:
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        for name in base.model_fields.keys() & marks.keys():
            present = {type(marker) for marker in marks[name].markers}
            for marker in parse_markers(name, base.model_fields[name]).markers:
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
    marks: Mapping[str, AnnotatedField]
    keys: KeyBuilder
    aggregates: Mapping[str, AggregateMapping]

    def mapping(self) -> EntityMapping | None:
        """The mapping, complete unless there are problems; None without a complete primary key."""
        fields = FieldCompiler(self.entity, self.options, self.marks, self.keys).fields()
        constraints = constraints_of(self.entity, self.options, self.marks, self.keys)
        versioning = self._versioning()
        expires = self._expires(fields)
        self.keys.problems += attribute_problems(fields, self.options, self.keys)
        stored = stored_fields(self.entity, self.options, fields, self.keys)
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
            undeclared=self.keys.undeclared,
            stored=stored,
            formerly=self.options.formerly,
            type_names=type_names_of(self.options, self.marks, fields, self.keys),
        )

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
