"""What entities of a class are in or not, as ``when=`` says: places in indexes, unique values, totals.

Rule 1. A condition decides by the values that it compares fields with, and by those beside them. Of a function, these
        are the constants in its code, and its fields are the names there.
Rule 2. Values are only tried. Whether an entity is in, the code says that saves run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from itertools import chain, combinations, islice, product
from typing import Any, Final

from dynaorm.description.factory import choices, counted, type_of_field
from dynaorm.entity.mapping.derive import claims, placed_in
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.place import IndexMapping
from dynaorm.entity.mapping.stored import StoredValues
from dynaorm.entity.mapping.when import When
from dynaorm.entity.type_tree import TypeTree
from dynaorm.errors import DynaormError
from dynaorm.item.condition import (
    And,
    Attr,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    IsIn,
    Not,
    Or,
    SizeOf,
)
from dynaorm.item.path import Path
from dynaorm.plan.inspection import image_of
from dynaorm.record import record

_MOST: Final = 300
"""So many sets of values are tried: a function may hold for no entity."""

_FAR_APART: Final = (0, 1, 1000)
"""The numbers of made values by which two fields can differ, and at which functions look."""

Holds = Callable[[StoredValues], bool]


@record
class Membership:
    """What an entity of a class is in or not.

    Attributes:
        name: the declaration: the place, the constraint or the total.
        fields: the fields that decide, as far as that is known.
        operands: by field, what it is compared with, each with the steps into the field.
        holds: whether a stored entity is in.
    """

    name: str
    fields: tuple[str, ...]
    operands: Mapping[str, tuple[tuple[Path, Any], ...]]
    holds: Holds

    def has(self, mapping: EntityMapping, entity: Any) -> bool:
        """Whether an entity is in. A function that cannot say so of these values says no."""
        try:
            return self.holds(mapping.subject(image_of(entity)))
        except (DynaormError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return False

    def attempts(self, mapping: EntityMapping) -> Iterator[dict[str, Any]]:
        """Values to try, in place of made ones: none, then of one field, of two, and so on."""
        own = {name: [*self._values(mapping, name)] for name in self.fields}
        some = chain.from_iterable(combinations(self.fields, size) for size in range(len(own) + 1))
        found = (
            dict(zip(names, values, strict=True))
            for names in some
            for values in product(*(own[one] for one in names))
        )
        return islice(found, _MOST)

    def _values(self, mapping: EntityMapping, name: str) -> Iterator[Any]:
        info = mapping.entity.model_fields[name]
        tree = type_of_field(info)
        for steps, operand in self.operands.get(name, ()):
            yield from _inside(name, tree, steps, operand)
        yield from choices(tree)
        yield from (counted(name, tree, number, whole=True) for number in _FAR_APART)
        yield None


def memberships(mapping: EntityMapping) -> Iterator[Membership]:
    """What entities of a class may be in, or not."""
    for place in mapping.indexes.values():
        optional = {name for name in place.key_fields if _may_be_none(mapping, name)}
        if place.when is not None or optional:
            # Places of one index exclude each other.
            whens = [one.when for one in mapping.places[place.name].places if one.when is not None]
            yield _membership(mapping, place.attribute_name, whens, _is_in(mapping, place), also=optional)
    for name, constraint in mapping.constraints.items():
        if constraint.when is not None:
            yield _membership(
                mapping, name, [constraint.when], _claims(mapping, name), also=constraint.fields
            )
    for name, total in mapping.aggregates.items():
        if total.when is not None:
            yield _membership(mapping, name, [total.when], total.when.holds)


def _may_be_none(mapping: EntityMapping, name: str) -> bool:
    field = mapping.fields.get(name)
    return field is not None and field.codec.nullable


def _is_in(mapping: EntityMapping, place: IndexMapping) -> Holds:
    def holds(values: StoredValues) -> bool:
        placed = placed_in(mapping, mapping.places[place.name], values)
        return placed is not None and placed[0] is place

    return holds


def _claims(mapping: EntityMapping, name: str) -> Holds:
    return lambda values: any(one == name for one, _, _ in claims(mapping, values))


def _membership(
    mapping: EntityMapping, name: str, whens: Iterable[When], holds: Holds, *, also: Iterable[str] = ()
) -> Membership:
    operands: dict[str, list[tuple[Path, Any]]] = {}
    for path, operand in (found for one in whens for found in _compared(one, mapping)):
        operands.setdefault(str(path[0]), []).append((path[1:], operand))
    left = mapping.managed
    named = [*operands, *also]
    # What is computed may depend on any field.
    fields = named if {*named} <= {*mapping.fields} else [*mapping.fields]
    known = tuple(one for one in dict.fromkeys(fields) if one in mapping.fields and one not in left)
    return Membership(name, known, {one: tuple(some) for one, some in operands.items()}, holds)


# -- what is compared --------------------------------------------------------------------------------------------------


@record
class _Size:
    """A size that a field is compared with."""

    number: int


def _compared(when: When, mapping: EntityMapping) -> Iterator[tuple[Path, Any]]:
    """The paths that a condition looks at, each with a value; ``None`` where it is compared with none."""
    if isinstance(when.given, Condition):
        yield from _in_condition(when.given)
        return
    code = getattr(when.given, "__code__", None)
    names = [one for one in mapping.fields if code is not None and one in code.co_names]
    constants = (
        [one for one in code.co_consts if isinstance(one, str | int | float)] if code is not None else []
    )
    for name in names or mapping.fields:
        yield (name,), None
        for one in constants:
            yield (name,), one
            if isinstance(one, int):
                yield (name,), _Size(one)


def _in_condition(condition: Condition) -> Iterator[tuple[Path, Any]]:
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _in_condition(part)
        case Not(part):
            yield from _in_condition(part)
        case Compare(left, _, right):
            yield from _sides(left, right)
        case Between(operand, low, high):
            yield from _sides(operand, low, high)
        case IsIn(operand, values):
            yield from _sides(operand, *values)
        case BeginsWith(path, value) | Contains(path, value):
            yield from _sides(Attr(path), value)
        case _:
            yield from ((path, None) for path in condition._paths())


def _sides(left: Attr | SizeOf, *right: Any) -> Iterator[tuple[Path, Any]]:
    for one in right:
        if isinstance(one, Attr | SizeOf):
            yield from ((side.path, None) for side in (left, one))
        else:
            yield left.path, _Size(one) if isinstance(left, SizeOf) and isinstance(one, int) else one


# -- values of a field -------------------------------------------------------------------------------------------------


def _inside(name: str, tree: TypeTree, steps: Path, operand: Any) -> Iterator[Any]:
    """Values of a field that have a value, or one beside it, at some steps into it."""
    if not steps:
        yield from _beside(name, tree, operand)
        return
    for value in _beside(name, tree, operand):
        whole: Any = counted(name, tree, 1, whole=True)
        inner = whole
        for step in steps[:-1]:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner[steps[-1]] = value
            yield whole


def _beside(name: str, tree: TypeTree, value: Any) -> Iterator[Any]:
    """A value, and those beside it; also as the only member of a collection."""
    if isinstance(value, _Size):
        for size in range(max(value.number - 1, 0), value.number + 2):
            yield counted(name, tree, 1, {"min_length": size, "max_length": size})
        return
    yield value
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float | Decimal):
        yield from (value - 1, value + 1)
    elif isinstance(value, date):
        yield from (value - timedelta(days=1), value + timedelta(days=1))
    elif isinstance(value, str):
        yield from (f"{value}x", value[:-1], [value])
