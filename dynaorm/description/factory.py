"""``factory``: builds valid entities for tests, each with a key and unique values of its own."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from dynaorm.argument import check_kind, check_plain_function
from dynaorm.description.made_values import choices, counted, type_of_field
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.errors import DynaormError, UnknownField, UsageError
from dynaorm.plan.item_of import image_of

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
    return frozenset(str(one["loc"][0]) for one in problem.errors(include_input=False) if one["loc"])


def problems_in(problem: ValidationError | DynaormError, given: Collection[str] = ()) -> str:
    """Why an entity could not be built, without its values, which may be secret.

    ``given``: the fields with values of the caller. If one of these is wrong, nothing is said of the others.
    """
    if isinstance(problem, DynaormError):
        return str(problem)
    errors = problem.errors(include_input=False)
    own = [one for one in errors if one["loc"] and one["loc"][0] in given]
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in own or errors)
