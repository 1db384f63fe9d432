"""``entities``: a hypothesis strategy for valid entities that can be stored side by side.

hypothesis is imported when the strategy is made.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from dynaorm.description.factory import built, faults_in, problems_in
from dynaorm.description.made_values import type_of_field
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.type_tree import TypeTree
from dynaorm.errors import DynaormError, UnknownField, UsageError
from dynaorm.late import late
from dynaorm.plan.item_of import image_of
from dynaorm.testing.values import drawn, times

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:
    late(globals(), hypothesis="hypothesis", st="hypothesis.strategies")

E = TypeVar("E")

_ATTEMPTS: Final = 5


def entities(entity: type[E], /, **values: Any) -> "st.SearchStrategy[E]":
    """A hypothesis strategy for new entities of a class: valid, storable, and unique within an example.

    No two entities that one example draws have the same key or the same unique value, so that all of them can be saved.
    Totals begin at their defaults, and so does a field with ``ExpiresAt()`` that has one. A required field with
    ``ExpiresAt()`` gets a time from the year 2100 on.

    Args:
        entity: the class.
        **values: strategies or fixed values of fields, for example ``email=st.emails()``.

    Raises:
        UnknownField: a keyword is not a field of the class.
        UsageError: the class is not mapped to a table; while entities are drawn: a fixed value is not valid.

    Examples:
        ```python
        @given(users=st.lists(entities(User), max_size=5))
        def test_all_are_found(users: list[User]) -> None: ...
        ```
    """
    mapping = mapping_of(entity)
    for name in values:
        if name not in mapping.fields:
            raise UnknownField(entity=entity.__name__, field=name, known=tuple(mapping.fields))
    left = {*mapping.maintained}
    if mapping.expires is not None and not mapping.expires.required:
        left.add(mapping.expires.name)
    fields = {
        name: _given(values[name]) if name in values else _drawn(mapping, name, type_of_field(info))
        for name, info in mapping.entity.model_fields.items()
        if name in values or name not in left
    }
    return _unique(mapping, st.fixed_dictionaries(fields), values)


def _given(value: Any) -> "st.SearchStrategy[Any]":
    return value if isinstance(value, st.SearchStrategy) else st.just(value)


def _drawn(mapping: EntityMapping, name: str, tree: TypeTree) -> "st.SearchStrategy[Any]":
    if mapping.expires is not None and mapping.expires.name == name:
        return times(2100, 2200)
    # A key attribute has no empty values.
    return drawn(tree, {"min_length": 1} if name in mapping.key_fields else {})


def _unique(
    mapping: EntityMapping, fields: "st.SearchStrategy[dict[str, Any]]", given: Mapping[str, Any]
) -> "st.SearchStrategy[Any]":
    @st.composite
    def draw_one(draw: "st.DrawFn") -> Any:
        taken: set[object] = draw(st.shared(st.builds(set), key="dynaorm.testing.entities"))
        for _ in range(_ATTEMPTS):
            entity = _valid(mapping, draw(fields), given)
            if entity is None:
                continue
            claims = _claims(mapping, entity)
            if not claims & taken:
                taken |= claims
                return entity
        return hypothesis.reject()

    return draw_one()


def _valid(mapping: EntityMapping, values: dict[str, Any], given: Mapping[str, Any]) -> Any:
    """The entity with these values; None if they are not valid together, or cannot be stored.

    Raises UsageError for a value of the caller that is not valid. A strategy may draw another one.
    """
    try:
        return built(mapping, values, given)
    except ValidationError as problem:
        fixed = {name for name, value in given.items() if not isinstance(value, st.SearchStrategy)}
        if wrong := sorted(faults_in(problem) & fixed):
            raise UsageError(
                problem=f"entities({mapping.entity.__name__}) cannot draw one: {problems_in(problem, fixed)}",
                remedy=f"give {' and '.join(wrong)} what the field allows, or a strategy of that",
            ) from problem
    except DynaormError:
        pass
    return None


def _claims(mapping: EntityMapping, entity: Any) -> set[object]:
    """The key and the unique values of an entity."""
    item = image_of(entity)
    found: set[object] = {(mapping.table.name, identity(mapping.key_of(item)))}
    return found | {(mapping.table.guards.name, key) for _, key, _ in claims(mapping, mapping.subject(item))}
