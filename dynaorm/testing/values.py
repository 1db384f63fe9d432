"""The values that tests make up for a type: one that counts up, and a hypothesis strategy for any.

``VALUES`` has a row for each type that is not made of others. All other types are made of the values of their parts.
hypothesis is imported when a strategy is made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeAlias, Union
from uuid import UUID

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from dynaorm.entity.codec.declared import fields_of
from dynaorm.entity.text.ksuid import Ksuid, KsuidMs
from dynaorm.entity.text.of_type import plain_class
from dynaorm.entity.text.scalar import NaiveDatetime
from dynaorm.entity.type_tree import CONTAINERS, TypeTree, is_record, type_tree
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from hypothesis import strategies as st
else:
    late(globals(), st="hypothesis.strategies")

Bounds: TypeAlias = Mapping[str, Any]
"""What annotations demand of a value, by the names that pydantic uses: ``{"ge": 0, "max_length": 8}``."""

_BOUNDS: Final = (
    "ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "decimal_places",
)  # fmt: skip
_NONE: Final[Bounds] = {}
_SMALLEST: Final = 1e-130  # of a DynamoDB number
_BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)


@record
class Values:
    """The values of a type.

    Attributes:
        counted: the one with a number, from 1. They differ, if the bounds allow for it. The name is that of the field.
        drawn: a strategy for those within bounds; None for the one that hypothesis has for the type.
    """

    counted: Callable[[int, Bounds, str], Any]
    drawn: "Callable[[Bounds], st.SearchStrategy[Any]] | None" = None


def type_of_field(info: FieldInfo) -> TypeTree:
    """The type of a pydantic field."""
    return type_tree(Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation)


# -- what a type is made of --------------------------------------------------------------------------------------------


def counted(name: str, tree: TypeTree, number: int, around: Bounds = _NONE) -> Any:
    """The value of a type for the field ``name`` with a number, another one for each number where the type has so many.

    A container has the least size, and a record only the fields that it needs.
    """
    bounds = _bounds(tree, around)
    if tree.origin is Union:
        return counted(name, tree.members[0], number, bounds) if tree.members else None
    if tree.origin is Literal:
        return next((one for one in tree.arguments if one is not None), None)
    kind = tree.origin
    if not isinstance(kind, type):
        return _text(number, bounds, name)
    if issubclass(kind, Enum):
        return next(iter(kind))
    if kind in CONTAINERS:
        return _counted_container(name, tree, number, bounds)
    if (inner := _inner(tree)) is not None:
        return counted(name, inner, number)
    if is_record(kind):
        fields = {one.name: one for one in _fields(tree) if one.is_required}
        return {name: counted(name, one.tree, number, one.bounds) for name, one in fields.items()}
    row = _row(kind)
    return row.counted(number, bounds, name) if row is not None else _text(number, bounds, name)


def choices(tree: TypeTree) -> Sequence[Any]:
    """The values of a type that has few; nothing for any other type."""
    if tree.origin is Union:
        return next((found for one in tree.parts if (found := choices(one))), ())
    if tree.origin is Literal:
        return tree.arguments
    if not isinstance(tree.origin, type):
        return ()
    return tuple(tree.origin) if issubclass(tree.origin, Enum) else (False, True) * (tree.origin is bool)


def drawn(tree: TypeTree, around: Bounds = _NONE) -> "st.SearchStrategy[Any]":
    """Values of a type that DynamoDB can store. What breaks a finer rule of the class is sorted out later."""
    return _drawn(tree, around, {})


_Known: TypeAlias = "dict[tuple[int, str], st.SearchStrategy[Any]]"


def _drawn(tree: TypeTree, around: Bounds, known: _Known) -> "st.SearchStrategy[Any]":
    bounds = _bounds(tree, around)
    key = (id(tree), repr(bounds))
    if key not in known:  # a type may contain itself
        known[key] = st.deferred(lambda: found)
        found = _strategy(tree, bounds, known)
        known[key] = found
    return known[key]


def _strategy(tree: TypeTree, bounds: Bounds, known: _Known) -> "st.SearchStrategy[Any]":
    kind = tree.origin
    if kind is Union:
        return st.one_of([_drawn(one, bounds, known) for one in tree.parts])
    if kind is Literal:
        return st.sampled_from(tree.arguments)
    if kind is Any:
        return _any_text(bounds)
    if not isinstance(kind, type):
        return st.from_type(tree.plain)
    if kind in CONTAINERS and tree.arguments:
        return _drawn_container(tree, bounds, known)
    if (inner := _inner(tree)) is not None:
        return _drawn(inner, _NONE, known)
    if is_record(kind):
        fields = {one.name: _drawn(one.tree, one.bounds, known) for one in _fields(tree)}
        optional = {one.name for one in _fields(tree) if is_typeddict(kind) and not one.is_required}
        return st.fixed_dictionaries(
            {name: one for name, one in fields.items() if name not in optional},
            optional={name: fields[name] for name in optional},
        )
    row = None if issubclass(kind, Enum) else _row(kind)
    return row.drawn(bounds) if row is not None and row.drawn is not None else st.from_type(tree.plain)


def _bounds(tree: TypeTree, around: Bounds) -> Bounds:
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


def _inner(tree: TypeTree) -> TypeTree | None:
    """The type whose values pydantic makes those of a class of: of ``Secret[X]`` and root models; else None."""
    if issubclass(tree.origin, Secret) and tree.parts:
        return tree.parts[0]
    is_root = issubclass(tree.origin, BaseModel) and tree.origin.__pydantic_root_model__
    return tree.fields["root"].tree if is_root else None


class _Field(NamedTuple):
    name: str
    tree: TypeTree
    bounds: Bounds
    is_required: bool


def _fields(tree: TypeTree) -> Iterator[_Field]:
    """The fields of a record, as its tree has them, which contains itself where the type does."""
    for one in fields_of(tree.origin, tree.variables):
        if one.name in tree.fields:
            inner, metadata = tree.fields[one.name]
            yield _Field(one.name, inner, _bounds_in(metadata), one.required)


def _row(kind: type) -> Values | None:
    return next((VALUES[base] for base in plain_class(kind).__mro__ if base in VALUES), None)


def _counted_container(name: str, tree: TypeTree, number: int, bounds: Bounds) -> Any:
    """A container of the least size, with elements that differ."""
    if tree.origin is tuple and Ellipsis not in tree.arguments:
        return tuple(counted(name, one, number) for one in tree.parts)
    least = range(number, number + bounds.get("min_length", 0))
    rows = [[counted(name, one, each) for one in tree.parts] for each in least]
    return dict(rows) if CONTAINERS[tree.origin] is dict else [row[0] for row in rows]


def _drawn_container(tree: TypeTree, bounds: Bounds, known: _Known) -> "st.SearchStrategy[Any]":
    inner = [_drawn(one, _NONE, known) for one in tree.parts]
    kind, least = CONTAINERS[tree.origin], bounds.get("min_length", 0)
    size = {"min_size": least, "max_size": bounds.get("max_length", least + 3)}
    if kind is dict:
        return st.dictionaries(inner[0], inner[1], **size)
    if kind is tuple and Ellipsis not in tree.arguments:
        return st.tuples(*inner)
    return (st.sets if kind in (set, frozenset) else st.lists)(inner[0], **size)


# -- the values of types that are not made of others -------------------------------------------------------------------


def _text(number: int, bounds: Bounds, name: str) -> str:
    most = bounds.get("max_length")
    text = f"{name}-{number}"
    text = text if most is None or len(text) <= most else str(number)
    return text.rjust(bounds.get("min_length", 0), "0")


def _any_text(bounds: Bounds) -> "st.SearchStrategy[str]":
    return st.from_regex(str(bounds["pattern"])) if "pattern" in bounds else st.text(**_size(bounds))


def _size(bounds: Bounds) -> dict[str, Any]:
    return {"min_size": bounds.get("min_length", 0), "max_size": bounds.get("max_length", 20)}


def _number(number: int, bounds: Bounds, _: str = "") -> int:
    """A number within its bounds, as long as there are any."""
    step = int(bounds.get("multiple_of", 1)) or 1
    least = bounds.get("ge", bounds["gt"] + 1 if "gt" in bounds else 0)
    most = bounds.get("le", bounds["lt"] - 1 if "lt" in bounds else None)
    found = -(-int(least) // step) * step + number * step
    return found if most is None or found <= most else int(most) // step * step


def _range(bounds: Bounds) -> tuple[Any, Any]:
    return bounds.get("ge", bounds.get("gt", -(10**9))), bounds.get("le", bounds.get("lt", 10**9))


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


def _without_zone(at: datetime) -> datetime:
    return at.replace(tzinfo=None)


def _ksuids(kind: type[Ksuid | KsuidMs]) -> Values:
    length = kind.PAYLOAD_LENGTH_IN_BYTES

    def any_ksuid(_: Bounds) -> "st.SearchStrategy[Any]":
        return st.builds(
            kind, datetime=times(2015, 2100), payload=st.binary(min_size=length, max_size=length)
        )

    return Values(lambda number, *_: kind(_BEGIN, number.to_bytes(length, "big")), any_ksuid)


VALUES: Final[Mapping[type, Values]] = {
    NoneType: Values(lambda *_: None),
    str: Values(_text, _any_text),
    bool: Values(lambda *_: False),
    int: Values(_number, _any_int),
    float: Values(lambda number, bounds, _: float(_number(number, bounds)), _any_float),
    Decimal: Values(lambda number, bounds, _: Decimal(_number(number, bounds)), _any_decimal),
    NaiveDatetime: Values(
        lambda number, *_: _without_zone(_BEGIN + timedelta(seconds=number)),
        lambda _: times(1970, 2100).map(_without_zone),
    ),
    datetime: Values(lambda number, *_: _BEGIN + timedelta(seconds=number), lambda _: times(1970, 2100)),
    date: Values(lambda number, *_: _BEGIN.date() + timedelta(days=number)),
    time: Values(lambda number, *_: (_BEGIN + timedelta(seconds=number)).time()),
    timedelta: Values(lambda number, *_: timedelta(seconds=number)),
    UUID: Values(lambda number, *_: UUID(int=number)),
    Ksuid: _ksuids(Ksuid),
    KsuidMs: _ksuids(KsuidMs),
    bytes: Values(lambda number, *_: str(number).encode(), lambda bounds: st.binary(**_size(bounds))),
    SecretStr: Values(
        lambda number, bounds, _: SecretStr(_text(number, bounds, "secret")),
        lambda bounds: st.text(**_size(bounds)).map(SecretStr),
    ),
    SecretBytes: Values(
        lambda number, *_: SecretBytes(str(number).encode()),
        lambda bounds: st.binary(**_size(bounds)).map(SecretBytes),
    ),
    IPv4Address: Values(lambda number, *_: IPv4Address(number)),
    IPv6Address: Values(lambda number, *_: IPv6Address(number)),
}
