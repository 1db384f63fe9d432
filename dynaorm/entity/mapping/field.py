"""One field of an entity: its attribute, and conversion between its values and attribute values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel

from dynaorm.entity.codec.value import StoredField, optional, text_codec
from dynaorm.entity.core_schema import (
    definitions_of,
    has_own_code,
    is_function,
    looks_beside,
    path_to_fields,
)
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.template import KeyValueError
from dynaorm.entity.text.scalar import Scalar
from dynaorm.failure import MASK, ValueErrorWithRemedy, shown
from dynaorm.item.value import Item
from dynaorm.record import record


@record
class FieldMapping(StoredField):
    """A field of an entity.

    Attributes:
        in_key: the field is stored in a key alone.
        versioned: changing it writes a version.
        exact: decoding gives back exactly the value that was encoded. False for expiry times, which are stored in whole
            seconds, for vectors, and for values that have a codec of their own or a part with one.
    """

    in_key: bool = False
    versioned: bool = False
    exact: bool = True

    def value_in(self, item: Item) -> Any:
        """The decoded value; the static default if the attribute is absent."""
        found = self.stored_in(item) or self.implied
        return self.default if found is None else self.codec.decode(found)


# The fields that are stored in keys alone: their values are read back by matching a stored key with its template.


@record(eq=False)
class KeyFields:
    """The fields of a class that are stored in keys alone.

    Attributes:
        parts: the keys to read, in this order, and the fields that each has.
        names: the fields.
        primary: the primary key, from which other fields could be read, too.
    """

    parts: tuple[tuple[KeyPart, frozenset[str]], ...]
    names: tuple[str, ...]
    primary: tuple[KeyPart, ...]

    def values_in(self, item: Item, secret: frozenset[str]) -> tuple[dict[str, Any], list[str]]:
        """The values in the keys of an item, None for a field without a stored key; and the problems of these keys.

        The problems do not show the key attributes in ``secret``.
        """
        values: dict[str, Any] = dict.fromkeys(self.names)
        strange: list[KeyPart] = []
        for part, names in self.parts:
            missing = [name for name in names if values[name] is None]
            stored = item.get(part.attribute.name)
            if stored is None or not missing:
                continue
            key = stored.get(part.attribute.kind)
            matched = part.match(key) if key is not None else None
            if matched is None:
                strange.append(part)
            else:
                values |= {name: matched[name] for name in missing if name in matched}
        return values, list(self._problems(strange, values, item, secret))

    def _problems(
        self, strange: Iterable[KeyPart], values: Mapping[str, Any], item: Item, secret: frozenset[str]
    ) -> Iterator[str]:
        for part in strange:
            attribute = part.attribute.name
            missing = [name for name in part.fields if name in values and values[name] is None]
            text = MASK if attribute in secret else shown(next(iter(item[attribute].values()), None))
            if missing:
                yield (
                    f"{', '.join(missing)}: cannot be read from {attribute}, which is {text}, not a key that "
                    f"{part.text!r} renders"
                )

    def place_of(self, name: str, *, is_missing: bool = False) -> str:
        """Where a field is read from, for messages; empty for a field that is stored as an attribute.

        With ``is_missing``, also where it could be read from, because other writers often store it in the key alone.
        """
        for part, names in self.parts:
            if name in names:
                return f"; it is read from {part.attribute.name}, by {part.text!r}"
        for part in self.primary if is_missing else ():
            if name in part.lossless:
                return f"; if {part.attribute.name} alone has it, declare it with InKey()"
        return ""


def key_fields_of(names: Sequence[str], primary: Sequence[KeyPart], more: Iterable[KeyPart]) -> KeyFields:
    """The fields with these names, and the keys that they can be read from exactly: the primary key, then others."""
    found = ((part, part.lossless.intersection(names)) for part in (*primary, *more))
    return KeyFields(tuple((part, held) for part, held in found if held), tuple(names), tuple(primary))


# Values of an entity that are no fields of their own: pydantic's computed fields, and fields of nested records.
#
# Rule 1. They are computed from the fields whenever a key is rendered, never taken from an object: a cached property
#         may be older than the fields that it was made of.
# Rule 2. A computed field may look at every field of the class, or at those that ``Computed(of=...)`` names: its
#         function gets no others. A nested field depends on the field that it is in.

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
    wanted = [computed[name] for name in names if name in computed]
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


# Dependence: which values follow from a field, besides its own.
#
# Rule 1. A field's loaded value depends on its own attribute and on the fields at which its validators and its factory
#         may look: pydantic shows them those that are declared before it. A rule of the class may look at every field,
#         and change it.
# Rule 2. Keys, guards, versions and totals depend on the fields that they are made of, and on all that these depend
#         on.


@record(eq=False)
class Dependence:
    """What depends on what in one class.

    Attributes:
        fields: all fields of the class.
        looks_at: for each field, all other fields that its loaded value depends on; also for computed and nested ones.
        seen_by: the same the other way: for each field, all others whose loaded values depend on it.
        made: the fields that a factory makes of others if they are absent.
        derived: for each key, index, constraint, total, version and expiry of the class, the fields that it is made of.
        without_factories: the same for items in which no field is absent, so that no factory makes a value; None if
            no factory is shown other fields.
    """

    fields: frozenset[str]
    looks_at: Mapping[str, frozenset[str]]
    seen_by: Mapping[str, frozenset[str]]
    made: frozenset[str]
    derived: tuple[frozenset[str], ...]
    without_factories: Dependence | None = None

    def dependents(self, touched: Iterable[str]) -> frozenset[str]:
        """Every field, also computed and nested ones, whose loaded value may change because one of these changes.

        The touched ones are among them.
        """
        touched = frozenset(touched)
        return touched.union(*(self.seen_by.get(name, _NONE) for name in touched))

    def judged_by(self, touched: Iterable[str]) -> frozenset[str]:
        """Every field whose stored value has a part in judging a write that touches these; none that is computed.

        These are the fields that the write may change, those at which their validators may look, and those that
        decide, together with them, about a key, an index, a guard, a total or a version.
        """
        changed = self.dependents(touched) & self.fields
        found = changed.union(*(one for one in self.derived if not one.isdisjoint(changed)))
        return found.union(*(self.looks_at.get(name, _NONE) for name in found))

    @property
    def in_items(self) -> Dependence:
        """What depends on what in items in which no field is absent."""
        return self if self.without_factories is None else self.without_factories

    def looking(self, names: Iterable[str]) -> frozenset[str]:
        """Those of some fields whose loaded values depend on other fields, too; none that is computed."""
        return frozenset(name for name in names if name in self.fields and self.looks_at[name])


_NONE: Final[frozenset[str]] = frozenset()


def dependence_of(
    entity: type[BaseModel], computed: Mapping[str, ComputedValue], derived: tuple[frozenset[str], ...]
) -> Dependence:
    """What depends on what in a class whose fields are complete. ``derived`` is as in ``Dependence``."""
    info = entity.model_fields
    fields = frozenset(info)
    looks_at = dict.fromkeys(entity.model_computed_fields, fields)
    looks_at |= {name: one.fields for name, one in computed.items()}
    made = frozenset(name for name in fields if info[name].default_factory_takes_validated_data)
    found, other = ({**_looks_at(entity, factories=factories), **looks_at} for factories in (True, False))
    # A write by key requires what a factory would make to be stored, and then asks what follows without factories.
    without = _compiled(other, fields, made, derived=derived) if made else None
    return _compiled(found, fields, made, derived=derived, without=without)


def _compiled(
    looks_at: Mapping[str, frozenset[str]],
    fields: frozenset[str],
    made: frozenset[str],
    *,
    derived: tuple[frozenset[str], ...],
    without: Dependence | None = None,
) -> Dependence:
    closed = {name: _reached(name, looks_at) for name in looks_at}
    seen_by = {name: frozenset(one for one, seen in closed.items() if name in seen) for name in fields}
    return Dependence(fields, closed, seen_by, made, derived, without)


def _looks_at(entity: type[BaseModel], *, factories: bool) -> dict[str, frozenset[str]]:
    """For each field, the other fields at which its validators may look; with ``factories``, or its factory."""
    schema: Any = entity.__pydantic_core_schema__
    path, definitions = path_to_fields(schema), definitions_of(schema)
    declared = path[-1]["fields"]
    # A rule of the class (Rule 1).
    if any(is_function(one) or has_own_code(one) for one in path):
        return {name: frozenset(declared.keys() - {name}) for name in declared}
    found, before = {}, frozenset[str]()
    for name, field in declared.items():
        is_looking = looks_beside(field["schema"], definitions, factories=factories)
        found[name] = before if is_looking else _NONE
        before |= {name}
    return found


def _reached(name: str, looks_at: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What a field looks at, and what these look at in turn."""
    waiting, seen = [*looks_at[name]], set[str]()
    while waiting:
        if (one := waiting.pop()) not in seen:
            seen.add(one)
            waiting += looks_at.get(one, ())
    return frozenset(seen - {name})
