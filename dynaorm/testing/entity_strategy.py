"""``entities``: a hypothesis strategy for valid entities that can be stored side by side.

hypothesis is imported when the strategy is made.
"""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from dynaorm.entity.key import identity
from dynaorm.entity.mapping.derive import claims
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.scalar import NaiveDatetime
from dynaorm.errors import DynaormError, UnknownField
from dynaorm.late import late
from dynaorm.plan.stored_item import item_of
from dynaorm.testing.field_type import FieldType, field_type, type_of_field

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:
    late(globals(), hypothesis="hypothesis", st="hypothesis.strategies")

E = TypeVar("E")

_ATTEMPTS = 5


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
        UsageError: the class is not mapped to a table.

    Example::

        @given(users=st.lists(entities(User), max_size=5))
        def test_all_are_found(users: list[User]) -> None: ...
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
    return _unique(mapping, st.fixed_dictionaries(fields))


def _given(value: Any) -> "st.SearchStrategy[Any]":
    return value if isinstance(value, st.SearchStrategy) else st.just(value)


def _drawn(mapping: EntityMapping, name: str, kind: FieldType) -> "st.SearchStrategy[Any]":
    if mapping.expires is not None and mapping.expires.name == name:
        return _times(2100, 2200)
    return _strategy(kind, name in mapping.key_fields)


def _unique(mapping: EntityMapping, fields: "st.SearchStrategy[dict[str, Any]]") -> "st.SearchStrategy[Any]":
    @st.composite
    def draw_one(draw: "st.DrawFn") -> Any:
        taken: set[object] = draw(st.shared(st.builds(set), key="dynaorm.testing.entities"))
        for _ in range(_ATTEMPTS):
            entity = _valid(mapping, draw(fields))
            if entity is None:
                continue
            claims = _claims(mapping, entity)
            if not claims & taken:
                taken |= claims
                return entity
        return hypothesis.reject()

    return draw_one()


def _valid(mapping: EntityMapping, values: dict[str, Any]) -> Any:
    """The entity with these values; None if they are not valid together, or cannot be stored."""
    try:
        entity = mapping.entity.__pydantic_validator__.validate_python(values, by_alias=False, by_name=True)
        item_of(entity)
    except (ValidationError, DynaormError):
        return None
    return entity


def _claims(mapping: EntityMapping, entity: Any) -> set[object]:
    """The key and the unique values of an entity."""
    item = item_of(entity)
    found: set[object] = {(mapping.table.name, identity(mapping.key_of(item)))}
    return found | {(mapping.table.guards.name, key) for _, key, _ in claims(mapping, mapping.subject(item))}


# -- values of a type --------------------------------------------------------------------------------------------------


def _strategy(kind: FieldType, is_in_key: bool = False) -> "st.SearchStrategy[Any]":
    """Values of a type that DynamoDB can store. What breaks a finer rule of the class is sorted out later."""
    origin = kind.origin
    if origin is Union:
        return st.one_of([_strategy(field_type(one), is_in_key) for one in kind.arguments])
    if origin is Literal:
        return st.sampled_from(kind.arguments)
    if not isinstance(origin, type):
        return st.from_type(kind.plain)
    if issubclass(origin, list | set | frozenset | dict | tuple) and kind.arguments:
        return _several(kind)
    if issubclass(origin, BaseModel):
        fields = {name: _strategy(type_of_field(info)) for name, info in origin.model_fields.items()}
        return st.fixed_dictionaries(fields)
    return _scalar(kind, origin, is_in_key)


def _several(kind: FieldType) -> "st.SearchStrategy[Any]":
    inner = [_strategy(field_type(one)) for one in kind.arguments if one is not ...]
    least = kind.bounds.get("min_length", 0)
    size = {"min_size": least, "max_size": kind.bounds.get("max_length", least + 3)}
    if kind.origin is dict:
        return st.dictionaries(inner[0], inner[1], **size)
    if kind.origin is tuple and ... not in kind.arguments:
        return st.tuples(*inner)
    if issubclass(kind.origin, set | frozenset):
        return st.sets(inner[0], **size)
    return st.lists(inner[0], **size)


def _scalar(kind: FieldType, origin: type, is_in_key: bool) -> "st.SearchStrategy[Any]":
    bounds = kind.bounds
    size = {
        "min_size": max(bounds.get("min_length", 0), int(is_in_key)),
        "max_size": bounds.get("max_length", 20),
    }
    if issubclass(origin, SecretStr):
        return st.builds(origin, st.text(**size))
    if issubclass(origin, SecretBytes):
        return st.builds(origin, st.binary(**size))
    if issubclass(origin, str) and not issubclass(origin, Enum):
        return st.from_regex(bounds["pattern"]) if "pattern" in bounds else st.text(**size)
    if issubclass(origin, bytes):
        return st.binary(**size)
    if issubclass(origin, datetime):
        found = _times(1970, 2100)
        return found.map(lambda at: at.replace(tzinfo=None)) if origin is NaiveDatetime else found
    if issubclass(origin, Ksuid | KsuidMs):
        length = origin.PAYLOAD_LENGTH_IN_BYTES
        payload = st.binary(min_size=length, max_size=length)
        return st.builds(origin, datetime=_times(2015, 2100), payload=payload)
    if issubclass(origin, int | float | Decimal) and not issubclass(origin, bool | Enum):
        return _number(kind, origin)
    return st.from_type(kind.plain)


def _times(first: int, last: int) -> "st.SearchStrategy[datetime]":
    """Times in UTC from the beginning of one year to that of another."""
    return st.datetimes(datetime(first, 1, 1), datetime(last, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


def _number(kind: FieldType, origin: type) -> "st.SearchStrategy[Any]":
    bounds = kind.bounds
    low = bounds.get("ge", bounds.get("gt", -(10**9)))
    high = bounds.get("le", bounds.get("lt", 10**9))
    if issubclass(origin, int):
        step = bounds.get("multiple_of", 1)
        return st.integers(-(-int(low) // step), int(high) // step).map(lambda number: number * step)
    if issubclass(origin, float):
        return st.floats(
            float(low), float(high), allow_nan=False, allow_infinity=False, allow_subnormal=False
        )
    return st.decimals(low, high, places=bounds.get("decimal_places", 3))
