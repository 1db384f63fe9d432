"""``factory``: builds valid entities for tests, each with a key and unique values of its own."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from itertools import count
from string import ascii_lowercase
from types import NoneType
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, Union
from uuid import UUID

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from dynaorm.argument import check_kind, check_plain_function
from dynaorm.entity.codec.of_type import fields_of
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.marker import OneOf, tree_of_field
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import NaiveDatetime, plain_class
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, is_record, type_tree
from dynaorm.errors import DynaormError, UnknownField, UsageError
from dynaorm.plan.inspection import image_of

Bounds: TypeAlias = Mapping[str, Any]
"""What annotations demand of a value, by the names that pydantic uses: ``{"ge": 0, "max_length": 8}``."""

Count: TypeAlias = Callable[[int, Bounds, str], Any]
"""The value of a type with a number, from 1, and for a field with a name. Values differ, if the bounds allow for it."""

NO_BOUNDS: Final[Bounds] = {}
_LONGEST: Final = 64
BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)
_BOUNDS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "decimal_places",
)  # fmt: skip


def type_of_field(info: FieldInfo) -> TypeTree:
    """The type of a pydantic field."""
    if any(isinstance(one, OneOf) for one in info.metadata):
        return tree_of_field(info)
    return type_tree(Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation)


def counted(
    name: str, tree: TypeTree, number: int, around: Bounds = NO_BOUNDS, *, whole: bool = False
) -> Any:
    """The value of a type for the field ``name`` with a number, another one for each number where the type has so many.

    A container has the least size, and a record only the fields that it needs; ``whole``: all that are not None.
    """
    bounds = bounds_of(tree, around)
    if tree.origin is Union:
        return counted(name, tree.members[0], number, bounds, whole=whole) if tree.members else None
    if tree.origin is Literal:
        return next((argument for argument in tree.arguments if argument is not None), None)
    kind = tree.origin
    if not isinstance(kind, type):
        return _text(number, bounds, name)
    if issubclass(kind, Enum):
        return next(iter(kind))
    if kind in CONTAINERS:
        return _counted_container(name, tree, number, bounds, whole=whole)
    if (inner := inner_of(tree)) is not None:
        return counted(name, inner, number, whole=whole)
    if is_record(kind):
        return {
            one.name: counted(one.name, one.tree, number, one.bounds, whole=whole)
            for one in record_fields(tree)
            if one.is_required or (whole and not one.defaults_to_none)
        }
    base = base_of(kind)
    return COUNTED[base](number, bounds, name) if base is not None else _text(number, bounds, name)


def choices(tree: TypeTree) -> Sequence[Any]:
    """The values of a type that has few; nothing for any other type."""
    if tree.origin is Union:
        return next((found for part in tree.parts if (found := choices(part))), ())
    if tree.origin is Literal:
        return tree.arguments
    if not isinstance(tree.origin, type):
        return ()
    return tuple(tree.origin) if issubclass(tree.origin, Enum) else (False, True) * (tree.origin is bool)


# -- what a type is made of --------------------------------------------------------------------------------------------


def bounds_of(tree: TypeTree, around: Bounds) -> Bounds:
    """The bounds of a type, and those around it that its own do not replace."""
    return {**around, **_bounds_in(tree.metadata)}


def _bounds_in(metadata: Iterable[object]) -> Bounds:
    found: dict[str, Any] = {}
    for beside in metadata:
        for one in beside.metadata if isinstance(beside, FieldInfo) else (beside,):
            if not isinstance(one, type):
                told = {name: getattr(one, name, None) for name in _BOUNDS}
                found = {**{name: bound for name, bound in told.items() if bound is not None}, **found}
    return found


def inner_of(tree: TypeTree) -> TypeTree | None:
    """The type whose values pydantic makes those of a class of: of ``Secret[X]`` and root models; else None."""
    if issubclass(tree.origin, Secret) and tree.parts:
        return tree.parts[0]
    is_root = issubclass(tree.origin, BaseModel) and tree.origin.__pydantic_root_model__
    return tree.fields["root"].tree if is_root else None


class RecordField(NamedTuple):
    """A field of a record: of a model, a dataclass, a typed dict or a named tuple."""

    name: str
    tree: TypeTree
    bounds: Bounds
    is_required: bool
    defaults_to_none: bool


def record_fields(tree: TypeTree) -> Iterator[RecordField]:
    """The fields of a record, as its tree has them, which contains itself where the type does."""
    for one in fields_of(tree.origin, tree.variables):
        if one.name in tree.fields:
            part = tree.fields[one.name]
            yield RecordField(
                one.name, part.tree, _bounds_in(part.metadata), one.required, one.defaults_to_none
            )


def base_of(kind: type) -> type | None:
    """The type with a row in ``COUNTED`` that a class is, or the nearest one that it inherits from."""
    return next((base for base in plain_class(kind).__mro__ if base in COUNTED), None)


def _counted_container(name: str, tree: TypeTree, number: int, bounds: Bounds, *, whole: bool) -> Any:
    """A container of the least size, with elements that differ."""
    if tree.origin is tuple and Ellipsis not in tree.arguments:
        return tuple(counted(name, part, number, whole=whole) for part in tree.parts)
    least = range(number, number + bounds.get("min_length", 0))
    rows = [[counted(name, part, each, whole=whole) for part in tree.parts] for each in least]
    return dict(rows) if CONTAINERS[tree.origin] is dict else [row[0] for row in rows]


# -- the values of types that are not made of others -------------------------------------------------------------------


def _text(number: int, bounds: Bounds, name: str) -> str:
    most = bounds.get("max_length")
    text = f"{name}-{number}"
    text = text if most is None or len(text) <= most else str(number)
    text = text.rjust(bounds.get("min_length", 0), "0")
    return _matching(text, number, bounds, name) if "pattern" in bounds else text


def _matching(text: str, number: int, bounds: Bounds, name: str) -> str:
    """A text that matches a pattern, if one of those that most patterns allow does; otherwise the given one."""
    least, most = bounds.get("min_length", 0), bounds.get("max_length", _LONGEST)
    try:
        matches = re.compile(bounds["pattern"]).search
    except re.error:  # pydantic has another dialect
        return text
    fitting = (one for one in _guesses(text, number, name) if least <= len(one) <= most and matches(one))
    return next(fitting, text)


def _guesses(text: str, number: int, name: str) -> Iterator[str]:
    """Texts that differ from number to number: words, digits, letters, and what is often written in texts."""
    letter = ascii_lowercase[number % len(ascii_lowercase)]
    word = "".join(one for one in name if one.isalnum())
    day = (BEGIN + timedelta(days=number)).date().isoformat()
    yield from (text, text.upper(), f"{word}{number}", f"{word}{letter}", f"{word}{letter}".upper())
    yield from (f"{letter}{number}", f"{letter}{number}".upper(), f"{name}-{number}@example.com", day)
    yield from (f"https://example.com/{number}", f"+1555{number:07d}", str(UUID(int=number)), f"1.0.{number}")
    for length in range(1, _LONGEST):
        yield str(number).zfill(length)
        yield letter.rjust(length, "a")
        yield letter.rjust(length, "a").upper()


def _number(number: int, bounds: Bounds, _: str = "") -> int:
    """A number within its bounds, as long as there are any."""
    step = int(bounds.get("multiple_of", 1)) or 1
    least = bounds.get("ge", bounds["gt"] + 1 if "gt" in bounds else 0)
    most = bounds.get("le", bounds["lt"] - 1 if "lt" in bounds else None)
    found = -(-int(least) // step) * step + number * step
    return found if most is None or found <= most else int(most) // step * step


def without_zone(at: datetime) -> datetime:
    return at.replace(tzinfo=None)


def _ksuids(kind: type[Ksuid | KsuidMs]) -> Count:
    return lambda number, *_: kind(BEGIN, number.to_bytes(kind.PAYLOAD_LENGTH_IN_BYTES, "big"))


COUNTED: Final[Mapping[type, Count]] = {
    NoneType: lambda *_: None,
    str: _text,
    bool: lambda *_: False,
    int: _number,
    float: lambda number, bounds, _: float(_number(number, bounds)),
    Decimal: lambda number, bounds, _: Decimal(_number(number, bounds)),
    NaiveDatetime: lambda number, *_: without_zone(BEGIN + timedelta(seconds=number)),
    datetime: lambda number, *_: BEGIN + timedelta(seconds=number),
    date: lambda number, *_: BEGIN.date() + timedelta(days=number),
    time: lambda number, *_: (BEGIN + timedelta(seconds=number)).time(),
    timedelta: lambda number, *_: timedelta(seconds=number),
    UUID: lambda number, *_: UUID(int=number),
    Ksuid: _ksuids(Ksuid),
    KsuidMs: _ksuids(KsuidMs),
    bytes: lambda number, *_: str(number).encode(),
    SecretStr: lambda number, bounds, _: SecretStr(_text(number, bounds, "secret")),
    SecretBytes: lambda number, *_: SecretBytes(str(number).encode()),
    IPv4Address: lambda number, *_: IPv4Address(number),
    IPv6Address: lambda number, *_: IPv6Address(number),
}


E = TypeVar("E")

FAR: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""When made entities begin to expire."""


def factory(entity: type[E], /, **values: Any) -> "Factory[E]":
    """A builder of entities for tests. Call it for each entity, with the values that matter.

    Fields with a default keep it. All other fields, and those that are unique, get values of their type that count up:
    ``name-1``, ``name-2``. So no two entities of a factory have the same key or the same unique value, unless you give
    it. A required field with ``ExpiresAt()`` gets a time in the year 2100.

    Args:
        entity: the class.
        **values: values of fields, or functions that take the number of the entity: ``code=lambda n: f"A{n:04d}"``.

    Raises:
        UnknownField: a keyword is not a field of the class.
        UsageError: the class is not mapped to a table.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.testing import factory
        >>> class User(Entity, table=Table("app"), pk="USER#{user_id}", sk="U"):
        ...     user_id: str
        ...     age: int = 0
        >>> make = factory(User, age=lambda n: 20 + n)
        >>> make(), make(age=7)
        (User(user_id='user_id-1', age=21), User(user_id='user_id-2', age=7))
    """
    return Factory(entity, values)


class Factory(Generic[E]):
    """Builds entities. Create it with ``factory``.

    Args:
        entity: the class.
        values: values of fields, or functions of the number.

    Examples:
        >>> make = factory(User, visits=lambda number: number * 10)
        >>> make().visits, make(visits=7).visits
        (10, 7)
    """

    def __init__(self, entity: type[E], values: dict[str, Any]) -> None:
        self._entity = entity
        self._mapping = mapping_of(entity)
        self._values = values
        self._numbers = count(1)
        unique = (constraint.fields for constraint in self._mapping.constraints.values())
        self._counted = {*self._mapping.key_fields, *(name for fields in unique for name in fields)}
        self._taken: set[Any] = set()
        self._check(values)

    def __call__(self, **values: Any) -> E:
        """Build the next entity.

        Raises:
            UnknownField: a keyword is not a field of the class.
            UsageError: the values are not valid together, or cannot be stored, or an earlier entity has the same key or
                unique value; the message says which to give.
        """
        self._check(values)
        number = next(self._numbers)
        made: dict[str, Any] = {}
        given = {name: self._called(name, one, number) for name, one in {**self._values, **values}.items()}
        for name, info in self._mapping.entity.model_fields.items():
            is_made = info.is_required() or (name in self._counted and info.default_factory is None)
            if name not in given and is_made:
                made[name] = self._made(name, type_of_field(info), number)
        entity = self._built({**given, **made}, given)
        self._claim(entity, made)
        return entity

    def _made(self, name: str, tree: TypeTree, number: int) -> Any:
        expires = self._mapping.expires
        if expires is not None and expires.name == name:
            return FAR + timedelta(seconds=number)
        few = choices(tree) if name in self._counted else ()
        return few[(number - 1) % len(few)] if few else counted_for(self._mapping, name, tree, number)

    def _claim(self, entity: E, made: Mapping[str, Any]) -> None:
        """Refuse a key or unique value of an earlier entity, if it is made of a value that the caller did not give."""
        mapping, item = self._mapping, image_of(entity)
        found: set[tuple[tuple[str, ...], Any]] = {(mapping.key_fields, identity(mapping.key_of(item)))}
        for constraint, key, _ in claims(mapping, mapping.subject(item)):
            found.add((mapping.constraints[constraint].fields, key))
        for fields, _ in sorted(found & self._taken, key=repr):
            if names := [name for name in fields if name in made]:
                same, name = ", ".join(names), mapping.entity.__name__
                raise UsageError(
                    problem=f"factory({name}) cannot build another one: an earlier one has the same {same}",
                    remedy=f"give it a value or a function: factory({name}, {names[0]}=lambda n: ...)",
                )
        self._taken |= found

    def _called(self, field: str, value: Any, number: int) -> Any:
        """A value, or what a function makes of the number."""
        if not callable(value) or isinstance(value, type):
            return value
        check_plain_function(f"factory({self._entity.__name__}, {field}={{}})", value, takes=1)
        return value(number)

    def _built(self, values: dict[str, Any], given: Collection[str]) -> E:
        name = self._entity.__name__
        try:
            entity: E = built(self._mapping, values, given)
        except (ValidationError, DynaormError) as problem:
            wrong = sorted(faults_in(problem)) if isinstance(problem, ValidationError) else []
            own = [one for one in wrong if one in given]
            remedy = (
                f"give {' and '.join(own)} what the field allows"
                if own
                else (
                    f"give the field a value or a function: factory({name}, {(*wrong, 'field')[0]}=lambda n: ...)"
                )
            )
            raise UsageError(
                problem=f"factory({name}) cannot build one: {problems_in(problem, given)}", remedy=remedy
            ) from problem
        return entity

    def _check(self, values: dict[str, Any]) -> None:
        check_kind("values={}", values, dict, "a dict", remedy="give values by the names of fields")
        known = tuple(self._mapping.fields)
        for name in values:
            check_kind("values= has the name {}, which", name, str, "a str")
            if name not in known:
                raise UnknownField(entity=self._entity.__name__, field=name, known=known)


def counted_for(
    mapping: EntityMapping, name: str, tree: TypeTree, number: int, *, whole: bool = False
) -> Any:
    """The value of a field with a number. What says the type of an item is none that a class of the table declares."""
    value = counted(name, tree, number, whole=whole)
    if name != mapping.type_names.field:
        return value
    declared = mapping.table.rules.types
    # Each number gives another value, so one more than are declared suffice.
    others = (counted(name, tree, number + step, whole=whole) for step in range(len(declared) + 1))
    return next((one for one in others if declared.get(str(one), mapping.name) == mapping.name), value)


def built(mapping: EntityMapping, values: Mapping[str, Any], given: Collection[str] = ()) -> Any:
    """A new entity of these values that can be stored.

    Args:
        mapping: the class.
        values: the values of its fields.
        given: the fields whose values are the caller's own. All others are made, of simple types: a list for a set, a
            dict for a record. A strict class takes them all the same.

    Raises:
        ValidationError, DynaormError: there is no such entity.
    """

    def validated(strict: bool | None) -> Any:
        # Fields are given by their own names, whatever aliases they have.
        validator = mapping.entity.__pydantic_validator__
        try:
            return validator.validate_python(dict(values), by_alias=False, by_name=True, strict=strict)
        except ValidationError:
            raise
        except Exception as raised:  # noqa: BLE001 - a function of the user's may raise anything
            raise mapping.errors.refused(raised, values) from mapping.errors.cause_of_refusal(raised)

    try:
        entity = validated(None)
    except ValidationError as problem:
        if not faults_in(problem).isdisjoint(given):
            raise
        entity = validated(False)
    image_of(entity)
    return entity


def faults_in(problem: ValidationError) -> frozenset[str]:
    """The fields whose values are not valid."""
    return frozenset(str(error["loc"][0]) for error in problem.errors(include_input=False) if error["loc"])


def problems_in(problem: ValidationError | DynaormError, given: Collection[str] = ()) -> str:
    """Why an entity could not be built, without its values, which may be secret.

    ``given``: the fields with values of the caller. If one of these is wrong, nothing is said of the others.
    """
    if isinstance(problem, DynaormError):
        return str(problem)
    errors = problem.errors(include_input=False)
    own = [error for error in errors if error["loc"] and error["loc"][0] in given]
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in own or errors)
