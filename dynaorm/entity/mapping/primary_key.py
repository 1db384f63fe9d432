"""Renders the primary key of an entity from its field values, or says why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.computed import ComputedValue, with_computed
from dynaorm.entity.mapping.key_writer import KeyWriter, key_writer_of, write_no_key
from dynaorm.entity.mapping.secret import ClassErrors
from dynaorm.entity.table import Table
from dynaorm.entity.template import KeyValueError
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue
from dynaorm.record import record


@record(eq=False)
class PrimaryKey:
    """The primary key of a class.

    Attributes:
        table: the table.
        parts: the partition key, then the sort key if there is one.
        fields: the fields in it, computed and nested ones too.
        computed: all computed and nested fields that templates of the class name.
        errors: makes the errors of the class.
    """

    table: Table
    parts: tuple[KeyPart, ...]
    fields: tuple[str, ...]
    computed: Mapping[str, ComputedValue]
    errors: ClassErrors

    def of(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The key of an entity with these field values. Raises InvalidValue as ``rendered`` does."""
        if self.computed:
            values = self.with_computed(values, self.fields)
        return self._write(values) or self._templated(values)

    def rendered(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        """The key with these parts. Raises InvalidValue if a part is None or cannot be part of a key."""
        return self._write(values) or self._templated(values)

    def with_computed(self, values: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
        """Field values with those of the computed ones among some names. Raises InvalidValue."""
        try:
            return with_computed(self.computed, values, names, self.errors.secrets.fields)
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)

    @cached_property
    def _write(self) -> KeyWriter:
        return write_no_key if self.errors.secrets.keys else key_writer_of(self.parts, self.table)

    def _templated(self, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
        key: dict[str, AttributeValue] = {}
        try:
            for part in self.parts:
                value = part.value(values)
                if value is None:
                    raise self._missing(part, values)
                self._refuse_reserved(part, value)
                key[part.attribute.name] = value
        except KeyValueError as problem:
            raise self.errors.invalid_key(problem) from self.errors.cause_of(problem.field, problem)
        return self.errors.secrets.hiding_key(key)

    def _missing(self, part: KeyPart, values: Mapping[str, Any]) -> InvalidValue:
        name = next(name for name in part.fields if values.get(name) is None)
        is_field = name in self.errors.entity.model_fields
        remedy = "give it a value" if is_field else "set the fields that it is made of"
        return self.errors.invalid(name, None, f"is part of the primary key {part.text!r}", remedy)

    def _refuse_reserved(self, part: KeyPart, value: AttributeValue) -> None:
        """Raises InvalidValue for a bare value, which is not escaped, that is the key of a guard, version or token."""
        if not part.is_single_field or part.attribute.kind != "S":
            return
        name, text = part.fields[0], str(value["S"])
        if (reserved := self.table.rules.reserved_for(part.attribute, text)) is not None:
            remedy = f"use a template with literal text, or {{{name}:raw}}"
            raise self.errors.invalid(name, text, f"would be the key of {reserved}", remedy)
