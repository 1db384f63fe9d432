"""``factory``: builds valid entities for tests, each with a key and unique values of its own."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from dynaorm.describe.made_values import choices, counted, type_of_field
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.errors import DynaormError, UnknownField, UsageError
from dynaorm.plan.item_of import item_of

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
        given = {
            name: value(number) if callable(value) and not isinstance(value, type) else value
            for name, value in {**self._values, **values}.items()
        }
        for name, info in self._mapping.entity.model_fields.items():
            is_made = info.is_required() or (name in self._counted and info.default_factory is None)
            if name not in given and is_made:
                made[name] = self._made(name, type_of_field(info), number)
        entity = self._built({**given, **made})
        self._claim(entity, made)
        return entity

    def _made(self, name: str, tree: TypeTree, number: int) -> Any:
        expires = self._mapping.expires
        if expires is not None and expires.name == name:
            return FAR + timedelta(seconds=number)
        few = choices(tree) if name in self._counted else ()
        return few[(number - 1) % len(few)] if few else counted(name, tree, number)

    def _claim(self, entity: E, made: Mapping[str, Any]) -> None:
        """Refuse a key or unique value of an earlier entity, if it is made of a value that the caller did not give."""
        mapping, item = self._mapping, item_of(entity)
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

    def _built(self, given: dict[str, Any]) -> E:
        name = self._entity.__name__
        try:
            entity: E = built(self._mapping, given)
        except (ValidationError, DynaormError) as problem:
            raise UsageError(
                problem=f"factory({name}) cannot build one: {problems_in(problem)}",
                remedy=f"give the field a value or a function: factory({name}, field=lambda n: ...)",
            ) from problem
        return entity

    def _check(self, values: dict[str, Any]) -> None:
        known = tuple(self._mapping.fields)
        for name in values:
            if name not in known:
                raise UnknownField(entity=self._entity.__name__, field=name, known=known)


def built(mapping: EntityMapping, given: Mapping[str, Any]) -> Any:
    """A new entity of these values that can be stored. Raises ValidationError, DynaormError."""
    # Fields are given by their own names, whatever aliases they have.
    entity = mapping.entity.__pydantic_validator__.validate_python(dict(given), by_alias=False, by_name=True)
    item_of(entity)
    return entity


def problems_in(problem: ValidationError | DynaormError) -> str:
    """Why an entity could not be built, without its values, which may be secret."""
    if isinstance(problem, DynaormError):
        return str(problem)
    found = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors(include_input=False))
    return "; ".join(found)
