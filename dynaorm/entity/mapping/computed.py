"""Values of an entity that are no fields of their own: pydantic's computed fields, and fields of nested records.

Rule 1. They are computed from the fields whenever a key is rendered, never taken from an object: a cached property may
        be older than the fields that it was made of.
Rule 2. A computed field may look at every field of the class, or at those that ``Computed(of=...)`` names: its function
        gets no others. A nested field depends on the field that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel

from dynaorm.entity.codec.value import optional, text_codec
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.template import KeyValueError
from dynaorm.entity.text.scalar import Scalar
from dynaorm.failure import ValueErrorWithRemedy
from dynaorm.record import record

_REMEDY: Final = "correct the function, or the fields that it looks at"


class NotComputed(KeyValueError):
    """The function of a computed field fails."""

    has_value = False


@record
class ComputedValue:
    """A value that templates, constraints, totals and queries name like a field.

    Attributes:
        name: ``month`` for a computed field, ``address.city`` for a nested one.
        scalar: its type.
        nullable: it may be None.
        fields: the fields that it depends on.
        value: computes it from the values of these fields.
        is_told: the declaration says what it depends on.
    """

    name: str
    scalar: Scalar
    nullable: bool
    fields: frozenset[str]
    value: Callable[[Mapping[str, Any]], Any]
    is_told: bool = False

    @property
    def is_nested(self) -> bool:
        """Whether it is a field of a nested record."""
        return "." in self.name

    @property
    def as_field(self) -> FieldMapping:
        """A field with its values, for conditions that are evaluated in memory. No attribute has such a name."""
        codec = text_codec(self.scalar.name, self.scalar.tag, self.scalar.to_text, self.scalar.from_text)
        return FieldMapping(
            self.name,
            f"\0{self.name}",
            optional(codec) if self.nullable else codec,
            required=not self.nullable,
            defaults_to_none=self.nullable,
        )

    def computed(self, values: Mapping[str, Any], *, is_hidden: bool) -> Any:
        """The value. ``is_hidden``: the message does not say why it cannot be computed, which could show a secret.

        Raises:
            NotComputed: its function fails.
        """
        try:
            return self.value(values)
        except Exception as problem:  # noqa: BLE001 - a function of the user's may raise anything
            text = "" if is_hidden else f": {problem}"
            cause = None if is_hidden else problem
            wrong = f"cannot be computed ({type(problem).__name__}{text})"
            raise NotComputed.of(self.name, None, ValueErrorWithRemedy(wrong, _REMEDY)) from cause


def with_computed(
    computed: Mapping[str, ComputedValue],
    values: Mapping[str, Any],
    names: Iterable[str],
    secret: AbstractSet[str],
) -> Mapping[str, Any]:
    """Field values with those of the computed ones among some names. Raises KeyValueError.

    ``secret``: the secret fields of the class.
    """
    wanted = [computed[one] for one in names if one in computed]
    return {**values, **{one.name: one.computed(values, is_hidden=bool(secret)) for one in wanted}}


def computed_field_value(
    entity: type[BaseModel], name: str, looks_at: frozenset[str]
) -> Callable[[Mapping[str, Any]], Any]:
    """Computes a pydantic computed field from the values of the fields that it looks at."""
    declared = entity.model_computed_fields[name].wrapped_property
    # A cached property would look for a cached value.
    function: Any = declared.func if isinstance(declared, cached_property) else declared.fget

    def value(values: Mapping[str, Any]) -> Any:
        try:
            return function(_object(entity, values, looks_at))
        except AttributeError as problem:
            if problem.name in looks_at or problem.name not in entity.model_fields:
                raise
            raise AttributeError(
                f"it looks at {problem.name}, which Computed(of=...) does not name"
            ) from problem

    return value


def _object(entity: type[BaseModel], values: Mapping[str, Any], looks_at: frozenset[str]) -> BaseModel:
    """An object with the values of some fields, which were validated before."""
    made = entity.__new__(entity)
    fields = {name: values[name] for name in entity.model_fields if name in looks_at and name in values}
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", set(fields))
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def nested_value(path: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    """Looks up a nested field; None where the record, or one around it, is None."""

    def value(values: Mapping[str, Any]) -> Any:
        found: Any = values[path[0]]
        for step in path[1:]:
            if found is None:
                return None
            found = found.get(step) if isinstance(found, Mapping) else getattr(found, step)
        return found

    return value
