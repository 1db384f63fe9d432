"""Hypothesis strategies: for the values of a type, and for entities that can be stored side by side.

hypothesis is imported when a strategy is made.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, Union

from pydantic import SecretBytes, SecretStr, ValidationError
from typing_extensions import is_typeddict

from dynaorm.description.factory import (
    NO_BOUNDS,
    Bounds,
    base_of,
    bounds_of,
    built,
    faults_in,
    inner_of,
    problems_in,
    record_fields,
    type_of_field,
    without_zone,
)
from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import NaiveDatetime
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, is_record
from dynaorm.errors import DynaormError, UnknownField, UsageError
from dynaorm.late import late
from dynaorm.plan.inspection import image_of

if TYPE_CHECKING:
    from hypothesis import strategies as st
else:
    late(globals(), st="hypothesis.strategies")

# ``DRAWN`` has a row for each type that is not made of others and whose values hypothesis alone would not draw so
# that DynamoDB can store them. All other types are made of the values of their parts.


_FAR: Final = 10**9
_SMALLEST: Final = 1e-130  # of a DynamoDB number


def drawn(tree: TypeTree, around: Bounds = NO_BOUNDS) -> "st.SearchStrategy[Any]":
    """Values of a type that DynamoDB can store. What breaks a finer rule of the class is sorted out later."""
    return _drawn(tree, around, {})


_Strategies: TypeAlias = "dict[tuple[int, str], st.SearchStrategy[Any]]"


def _drawn(tree: TypeTree, around: Bounds, strategies: _Strategies) -> "st.SearchStrategy[Any]":
    bounds = bounds_of(tree, around)
    key = (id(tree), repr(bounds))
    if key not in strategies:  # a type may contain itself
        strategies[key] = st.deferred(lambda: found)
        found = _strategy(tree, bounds, strategies)
        strategies[key] = found
    return strategies[key]


def _strategy(tree: TypeTree, bounds: Bounds, strategies: _Strategies) -> "st.SearchStrategy[Any]":
    kind = tree.origin
    if kind is Union:
        return st.one_of([_drawn(part, bounds, strategies) for part in tree.parts])
    if kind is Literal:
        return st.sampled_from(tree.arguments)
    if kind is Any:
        return _any_text(bounds)
    if not isinstance(kind, type):
        return st.from_type(tree.plain)
    if kind in CONTAINERS and tree.arguments:
        return _drawn_container(tree, bounds, strategies)
    if (inner := inner_of(tree)) is not None:
        return _drawn(inner, NO_BOUNDS, strategies)
    if is_record(kind):
        fields = {one.name: _drawn(one.tree, one.bounds, strategies) for one in record_fields(tree)}
        optional = {one.name for one in record_fields(tree) if is_typeddict(kind) and not one.is_required}
        return st.fixed_dictionaries(
            {name: one for name, one in fields.items() if name not in optional},
            optional={name: fields[name] for name in optional},
        )
    base = None if issubclass(kind, Enum) else base_of(kind)
    draw = DRAWN.get(base) if base is not None else None
    return draw(bounds) if draw is not None else st.from_type(tree.plain)


def _drawn_container(tree: TypeTree, bounds: Bounds, strategies: _Strategies) -> "st.SearchStrategy[Any]":
    inner = [_drawn(part, NO_BOUNDS, strategies) for part in tree.parts]
    kind, least = CONTAINERS[tree.origin], bounds.get("min_length", 0)
    size = {"min_size": least, "max_size": bounds.get("max_length", least + 3)}
    if kind is dict:
        return st.dictionaries(inner[0], inner[1], **size)
    if kind is tuple and Ellipsis not in tree.arguments:
        return st.tuples(*inner)
    return (st.sets if kind in (set, frozenset) else st.lists)(inner[0], **size)


# -- the values of types that are not made of others -------------------------------------------------------------------


def _any_text(bounds: Bounds) -> "st.SearchStrategy[str]":
    return st.from_regex(str(bounds["pattern"])) if "pattern" in bounds else st.text(**_size(bounds))


def _size(bounds: Bounds) -> dict[str, Any]:
    return {"min_size": bounds.get("min_length", 0), "max_size": bounds.get("max_length", 20)}


def _range(bounds: Bounds) -> tuple[Any, Any]:
    low, high = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if low is None:
        low = -_FAR if high is None or high >= -_FAR else high - _FAR
    if high is None:
        high = _FAR if low <= _FAR else low + _FAR
    return low, high


def _any_int(bounds: Bounds) -> "st.SearchStrategy[int]":
    (low, high), step = _range(bounds), bounds.get("multiple_of", 1)
    return st.integers(-(-int(low) // step), int(high) // step).map(lambda number: number * step)


def _any_float(bounds: Bounds) -> "st.SearchStrategy[float]":
    low, high = map(float, _range(bounds))
    found = st.floats(low, high, allow_nan=False, allow_infinity=False, allow_subnormal=False)
    return found.filter(lambda number: number == 0 or abs(number) >= _SMALLEST)


def _any_decimal(bounds: Bounds) -> "st.SearchStrategy[Decimal]":
    return st.decimals(*_range(bounds), places=bounds.get("decimal_places", 3))


def times(first: int, last: int) -> "st.SearchStrategy[datetime]":
    """Times in UTC from the beginning of one year to that of another."""
    return st.datetimes(datetime(first, 1, 1), datetime(last, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


def _any_ksuid(kind: type[Ksuid | KsuidMs]) -> "Callable[[Bounds], st.SearchStrategy[Any]]":
    length = kind.PAYLOAD_LENGTH_IN_BYTES
    return lambda _: st.builds(
        kind, datetime=times(2015, 2100), payload=st.binary(min_size=length, max_size=length)
    )


DRAWN: "Final[Mapping[type, Callable[[Bounds], st.SearchStrategy[Any]]]]" = {
    str: _any_text,
    int: _any_int,
    float: _any_float,
    Decimal: _any_decimal,
    NaiveDatetime: lambda _: times(1970, 2100).map(without_zone),
    datetime: lambda _: times(1970, 2100),
    Ksuid: _any_ksuid(Ksuid),
    KsuidMs: _any_ksuid(KsuidMs),
    bytes: lambda bounds: st.binary(**_size(bounds)),
    SecretStr: lambda bounds: st.text(**_size(bounds)).map(SecretStr),
    SecretBytes: lambda bounds: st.binary(**_size(bounds)).map(SecretBytes),
}


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
        name: _given(values[name]) if name in values else _drawn_entities(mapping, name, type_of_field(info))
        for name, info in mapping.entity.model_fields.items()
        if name in values or name not in left
    }
    return _unique(mapping, st.fixed_dictionaries(fields), values)


def _given(value: Any) -> "st.SearchStrategy[Any]":
    return value if isinstance(value, st.SearchStrategy) else st.just(value)


def _drawn_entities(mapping: EntityMapping, name: str, tree: TypeTree) -> "st.SearchStrategy[Any]":
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
