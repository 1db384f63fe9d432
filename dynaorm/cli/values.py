"""Values of fields as they are written on the command line, and as commands show them.

``number=5`` is text, ``number:=5`` is JSON.

Rule 1. A text becomes a value of the field's type, as pydantic reads a text. So ``name=null`` is the text "null", and
        ``name:=null`` is no value.
Rule 2. A beginning of a time (``2026``, ``2026-01``, ``2026-01-05``) names a span: ``--ge`` begins with it, ``--le``
        ends with it.
Rule 3. A time without a time zone is in UTC.
Rule 4. Secret fields are masked, also in keys.
"""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, NamedTuple

from pydantic import (
    AwareDatetime,
    BaseModel,
    NaiveDatetime,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import SchemaSerializer, core_schema, to_jsonable_python

from dynaorm.description.classes import type_text
from dynaorm.entity.key import Key, key_texts
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.type_tree import Part, TypeTree, type_tree
from dynaorm.errors import UnknownField, UsageError
from dynaorm.failure import MASK
from dynaorm.item.text import field_text, name_text, printable
from dynaorm.plan.inspection import inspect
from dynaorm.query.query_spec import any_of
from dynaorm.record import record

_PLAIN: Final = SchemaSerializer(core_schema.any_schema())
_YEAR: Final = re.compile(r"\d{4}")
_TIME: Final = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")


class Assignment(NamedTuple):
    """One ``field=text`` or ``field:=json``."""

    name: str
    text: str
    is_json: bool


def assignment(given: str) -> Assignment:
    """The parts of an assignment. Raises UsageError if it is none."""
    name, sign, text = given.partition("=")
    is_json = name.endswith(":")
    name = name.removesuffix(":")
    if not sign or not name:
        raise UsageError(
            problem=f"{given!r} gives no field a value",
            remedy="write field=value, or field:=json such as field:=null",
        )
    return Assignment(name, text, is_json)


def values_of(mapping: EntityMapping, given: Iterable[str]) -> dict[str, Any]:
    """The value of each field that is given; ``any_of(...)`` for one that is given several times.

    Raises:
        UnknownField: the class has no such field.
        UsageError: a text is no assignment, or does not fit its field.
    """
    found: dict[str, list[Any]] = {}
    for one in map(assignment, given):
        found.setdefault(one.name, []).append(value_of(mapping, one))
    return {name: some[0] if len(some) == 1 else any_of(*some) for name, some in found.items()}


def single_values(mapping: EntityMapping, given: Iterable[str]) -> dict[str, Any]:
    """The same, where a field has one value. Raises as ``values_of``, and UsageError for a field given twice."""
    given = list(given)
    names = [assignment(one).name for one in given]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(problem=f"{twice} is given twice", remedy="give each field one value")
    return values_of(mapping, given)


def value_of(mapping: EntityMapping, one: Assignment) -> Any:
    """The value of an assignment. Raises UnknownField, UsageError."""
    adapter = _adapter(mapping, one.name)
    if not one.is_json and _time_type(mapping, one.name) is not None and _YEAR.fullmatch(one.text):
        # pydantic would take it for seconds since 1970.
        raise UsageError(
            problem=f"{one.name}={one.text} is a year, and no time",
            remedy=f"write --ge {one.name}={one.text} for its days",
        )
    read: Callable[[str], Any] = adapter.validate_json if one.is_json else adapter.validate_strings
    try:
        value = read(one.text)
    except ValidationError as problem:
        raise _misfit(mapping, one, problem) from None
    is_naive = isinstance(value, datetime) and value.tzinfo is None
    return value.replace(tzinfo=UTC) if is_naive and _time_type(mapping, one.name) is datetime else value


def bound_of(mapping: EntityMapping, operator: str, given: str) -> tuple[str, str, Any]:
    """The operator, field and value of ``--ge field=value`` and its like. Raises UnknownField, UsageError."""
    one = assignment(given)
    if operator == "begins_with":
        _adapter(mapping, one.name)
        return operator, one.name, one.text
    kind = _time_type(mapping, one.name)
    found = _TIME.fullmatch(one.text) if kind is not None and not one.is_json else None
    if kind is None or found is None or (kind is date and found[3]):
        return operator, one.name, value_of(mapping, one)
    try:
        begin, end = _span(*(None if part is None else int(part) for part in found.groups()))
    except ValueError:
        raise UsageError(
            problem=f"{given} is not a time: there is no {one.text}", remedy="write a date such as 2026-01-31"
        ) from None
    # Up to the end of a span is before the next one begins; after it is from there on.
    operator, day = {"le": ("lt", end), "gt": ("ge", end)}.get(operator, (operator, begin))
    return operator, one.name, day if kind is date else _midnight(day, kind)


def moment_of(option: str, text: str) -> datetime:
    """The time of an option, in UTC if it says nothing else; the beginning of a day. Raises UsageError."""
    try:
        if found := _TIME.fullmatch(text):
            return _midnight(
                _span(*(None if part is None else int(part) for part in found.groups()))[0], datetime
            )
        moment = TypeAdapter(datetime).validate_strings(text)
    except ValueError:
        raise UsageError(problem=f"{option} {text} is not a time", remedy="write 2026-01-31T12:00Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _span(year: int | None, month: int | None, day: int | None) -> tuple[date, date]:
    """The first day of a year, a month or a day, and the day after its last one."""
    assert year is not None
    first = date(year, 1 if month is None else month, 1 if day is None else day)
    if day is not None:
        return first, first + timedelta(days=1)
    if month is not None:
        return first, date(year + month // 12, month % 12 + 1, 1)
    return first, date(year + 1, 1, 1)


def _midnight(day: date, kind: type) -> datetime:
    return datetime.combine(day, time(), None if kind is NaiveDatetime else UTC)


def _time_type(mapping: EntityMapping, name: str) -> type | None:
    """The type of a field whose values are days or times; None for another one."""
    found = [one.plain for one in _part(mapping, name).tree.alternatives if _is_time(one.plain)]
    return None if len(found) != 1 else datetime if found[0] is AwareDatetime else found[0]


def _is_time(kind: Any) -> bool:
    return kind in (AwareDatetime, NaiveDatetime) or (isinstance(kind, type) and issubclass(kind, date))


@functools.cache
def _adapter(mapping: EntityMapping, name: str) -> TypeAdapter[Any]:
    part = _part(mapping, name)
    written = part.tree.written
    return TypeAdapter(Annotated[written, *part.metadata] if part.metadata else written)


def _part(mapping: EntityMapping, name: str) -> Part:
    """The type of a field, computed field, or nested field. Raises UnknownField."""
    entity = mapping.entity
    if name not in entity.model_fields and name in entity.model_computed_fields:
        return Part(type_tree(entity.model_computed_fields[name].return_type))
    found = Part(type_tree(entity))
    steps = name.split(".")
    for depth, step in enumerate(steps):
        members = (alternative.member(step) for alternative in found.tree.alternatives)
        part = next((member for member in members if member is not None), None)
        if part is None and any(_is_dict(alternative) for alternative in found.tree.alternatives):
            outer = ".".join(steps[:depth])
            raise UsageError(
                problem=f"{name} is a member of the dict {entity.__name__}.{outer}, and the command line names fields",
                remedy=f"write the whole dict, {outer}:=JSON, or use a program: F.{outer}[{step!r}]",
            )
        if part is None:
            known = tuple(dict.fromkeys((*entity.model_fields, *mapping.computed)))
            raise UnknownField(entity=entity.__name__, field=name, known=known)
        found = part
    return found


def _is_dict(tree: TypeTree) -> bool:
    return isinstance(tree.origin, type) and issubclass(tree.origin, Mapping) and not tree.fields


def _misfit(mapping: EntityMapping, one: Assignment, problem: ValidationError) -> UsageError:
    first = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    is_secret = mapping.secrets.include(one.name.partition(".")[0])
    sign, shown = ":=" if one.is_json else "=", MASK if is_secret else one.text
    kind = type_text(_part(mapping, one.name).tree)
    how = f"write {one.name}=VALUE for a value of {kind}, {one.name}:=JSON for JSON, {one.name}:=null for no value"
    return UsageError(
        problem=f"{one.name}{sign}{shown} does not fit {mapping.entity.__name__}.{one.name}: {first['msg']}",
        remedy=how,
    )


# -- as commands show them ---------------------------------------------------------------------------------------------


@record
class EntityFormatter:
    """How a command shows entities.

    Attributes:
        secrets: show the values of secret fields.
    """

    secrets: bool = False

    def name(self, key: Key[Any]) -> str:
        """An entity by its key: ``User(user_id='u1')``."""
        named = "?" if key.entity is None else key.entity.__name__
        texts = key_texts(key, name_text)
        if self.secrets:
            texts |= {name: name_text(_revealed(value)) for name, value in key.fields.items()}
        return printable(f"{named}({', '.join(f'{name}={text}' for name, text in texts.items())})")

    def values(self, mapping: EntityMapping, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of fields as JSON has them."""
        return {name: self._value(mapping, name, value) for name, value in values.items()}

    def texts(self, mapping: EntityMapping, values: Mapping[str, Any]) -> dict[str, str]:
        """The values of fields as text."""
        plain = {name: self._plain(mapping, name, value) for name, value in values.items()}
        return {name: printable(field_text(value)) for name, value in plain.items()}

    def entity(self, entity: Any) -> dict[str, Any]:
        """An entity as a JSON object, which begins as a line of ``load`` does: ``{"User": {...}, "key": {...}}``."""
        mapping, state = mapping_of(type(entity)), inspect(entity)
        assert state.key is not None  # it was loaded
        beside = {"key": self.key(state.key), "revision": state.revision, "version": state.version}
        known = {name: value for name, value in beside.items() if value is not None and name != mapping.name}
        return {mapping.name: self.values(mapping, fields_of(entity)), **known}

    def key(self, key: Key[Any]) -> dict[str, Any]:
        """The primary key of an entity in DynamoDB JSON."""
        hidden = (
            frozenset[str]() if key.entity is None or self.secrets else mapping_of(key.entity).secrets.keys
        )
        return {
            name: MASK if name in hidden else to_jsonable_python(dict(value), bytes_mode="base64")
            for name, value in key.primary_key.items()
        }

    def line(self, entity: Any) -> str:
        """An entity in one line: its name, and the values of its other fields that have one."""
        state = inspect(entity)
        assert state.key is not None
        others = {
            name: value
            for name, value in fields_of(entity).items()
            if name not in state.key.fields and value is not None
        }
        return "  ".join([self.name(state.key), *assigned(self.texts(mapping_of(type(entity)), others))])

    def _value(self, mapping: EntityMapping, name: str, value: Any) -> Any:
        plain = self._plain(mapping, name, value)
        return to_jsonable_python(_ordered(plain), bytes_mode="base64", fallback=str)

    def _plain(self, mapping: EntityMapping, name: str, value: Any) -> Any:
        """A value made of Python's own types, with records as dicts; a mask for a secret."""
        if value is not None and mapping.secrets.include(name):
            if not self.secrets:
                return MASK
            value = _revealed(value)
        return _PLAIN.to_python(value)


def fields_of(entity: Any) -> dict[str, Any]:
    """The fields of an entity with their values."""
    held = vars(entity)
    return {name: held[name] for name in type(entity).model_fields if name in held}


def assigned(texts: Mapping[str, str]) -> list[str]:
    """Values as ``name=text``."""
    return [f"{name}={text}" for name, text in texts.items()]


def _ordered(value: Any) -> Any:
    """A value with its sets, which have no order, in the same order every time."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, dict):
        return {name: _ordered(one) for name, one in value.items()}
    return [*map(_ordered, value)] if isinstance(value, list | tuple) else value


def _revealed(value: Any) -> Any:
    """A value with its secrets in plain text."""
    if isinstance(value, Secret | SecretStr | SecretBytes):
        return _revealed(value.get_secret_value())
    if isinstance(value, BaseModel):
        return {name: _revealed(one) for name, one in vars(value).items()}
    if isinstance(value, Mapping):
        return {name: _revealed(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_revealed(one) for one in value]
    return value
