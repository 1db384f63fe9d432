"""Types that can be declared, made up together with values of theirs."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypeAlias, cast
from uuid import UUID

from hypothesis import strategies as st
from pydantic import ConfigDict, Field, NaiveDatetime, SecretBytes, SecretStr, TypeAdapter, create_model
from typing_extensions import TypedDict

from dynaorm import Ksuid, KsuidMs

Sample: TypeAlias = tuple[Any, Any]
"""A type, and a value of it."""

Kind: TypeAlias = tuple[Any, "st.SearchStrategy[Any]"]
"""A type, and its values."""


# To type checkers these are no classes to be called with a type that is a variable.
LIST: Final[Any] = list
TUPLE: Final[Any] = tuple
DICT: Final[Any] = dict
SET: Final[Any] = set
FROZENSET: Final[Any] = frozenset


class Colour(Enum):
    RED = "red"
    SEVEN = 7
    DAY = date(2024, 2, 29)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or 1e-130 <= abs(x) < 1e125)
DECIMALS = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**28) + 1, 10**28 - 1),
    st.integers(-90, 90),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
FIRST = datetime(2, 1, 1, tzinfo=UTC).replace(tzinfo=None)
LAST = datetime(9998, 12, 31, tzinfo=UTC).replace(tzinfo=None)

BY_TAG: dict[str, list[Kind]] = {
    "S": [
        (str, TEXTS),
        (UUID, st.uuids()),
        (date, st.dates()),
        (datetime, st.datetimes(FIRST, LAST, timezones=ZONES)),
        (NaiveDatetime, st.datetimes(FIRST, LAST)),
        (time, st.times(timezones=st.one_of(st.none(), ZONES))),
        (Ksuid, st.binary(min_size=20, max_size=20).map(Ksuid.from_bytes)),
        (KsuidMs, st.binary(min_size=20, max_size=20).map(KsuidMs.from_bytes)),
        (Literal["a", "b"], st.sampled_from(["a", "b"])),
        (SecretStr, TEXTS.map(SecretStr)),
    ],
    "N": [
        (int, st.integers(-(10**38) + 1, 10**38 - 1)),
        (Decimal, DECIMALS),
        (float, FLOATS),
        (timedelta, st.timedeltas()),
        (Level, st.sampled_from(Level)),
        (int | float, st.integers(-(10**15), 10**15) | FLOATS.filter(lambda x: abs(x) < 1e15)),
    ],
    "BOOL": [(bool, st.booleans())],
    "B": [(bytes, st.binary(max_size=5)), (SecretBytes, st.binary(max_size=5).map(SecretBytes))],
}
MIXED: list[Kind] = [
    (Colour, st.sampled_from(Colour)),
    (Literal[1, "1", True], st.sampled_from([1, "1", True])),
]
SETTABLE: list[Kind] = [kind for tag in ("S", "N", "B") for kind in BY_TAG[tag]]
KEYS: list[Kind] = [kind for kind in (*BY_TAG["S"], *BY_TAG["N"]) if kind[0] is not SecretStr]
LEAVES = st.sampled_from([*SETTABLE, *BY_TAG["BOOL"], *MIXED])


def _pair(one: Kind, other: Kind) -> Kind:
    return TUPLE[one[0], other[0]], st.tuples(one[1], other[1])


def _optional(one: Kind) -> Kind:
    return one[0] | None, st.none() | one[1]


def _model(strict: bool, kinds: list[Kind], defaults: list[bool]) -> Kind:
    fields: dict[str, Any] = {}
    for index, ((annotation, values), with_default) in enumerate(zip(kinds, defaults, strict=True)):
        alias = f"Alias{index}"
        fields[f"f{index}"] = (
            annotation,
            Field(default_factory=_default_of(values), alias=alias) if with_default else Field(alias=alias),
        )
    model = create_model("Generated", __config__=ConfigDict(strict=strict), **fields)
    named = st.fixed_dictionaries({f"f{index}": values for index, (_, values) in enumerate(kinds)})
    return model, named.map(lambda values: _made(model, values))


def _made(kind: Any, values: Any) -> Any:
    return TypeAdapter(kind).validate_python(values, strict=False, by_name=True, by_alias=False)


def _default_of(values: "st.SearchStrategy[Any]") -> Callable[[], Any]:
    """Never used: the fields are given. It makes them fields with a default."""
    return lambda: values


def _dataclass(kinds: list[Kind]) -> Kind:
    made = dataclasses.make_dataclass("Made", [(f"f{index}", kind) for index, (kind, _) in enumerate(kinds)])
    return made, st.builds(made, **{f"f{index}": values for index, (_, values) in enumerate(kinds)})


def _typed_dict(kinds: list[Kind], optional: Kind) -> Kind:
    keys: dict[str, Any] = {f"f{index}": kind for index, (kind, _) in enumerate(kinds)}
    made = cast(Any, TypedDict)("Typed", {**keys, "more": NotRequired[optional[0]]})
    required: dict[str, Any] = {f"f{index}": values for index, (_, values) in enumerate(kinds)}
    return made, st.fixed_dictionaries(required, optional={"more": optional[1]})


def _named_tuple(kinds: list[Kind]) -> Kind:
    made = cast(Any, NamedTuple)("Named", [(f"f{index}", kind) for index, (kind, _) in enumerate(kinds)])
    return made, st.builds(made, *(values for _, values in kinds))


def _union(members: list[Kind]) -> Kind:
    annotation: Any = members[0][0]
    for member, _ in members[1:]:
        annotation |= member
    return annotation, st.one_of([values for _, values in members])


UNIONS = st.builds(
    lambda text, number, other, more: _union([text, number, other, *more]),
    st.sampled_from(BY_TAG["S"]).filter(lambda kind: isinstance(kind[0], type)),
    st.sampled_from(BY_TAG["N"]).filter(lambda kind: isinstance(kind[0], type)),
    st.sampled_from(BY_TAG["B"]),
    st.just([(list[bool], st.lists(st.booleans()))]) | st.just([]),
)


def _extended(inner: "st.SearchStrategy[Kind]") -> "st.SearchStrategy[Kind]":
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(lambda one: (LIST[one[0]], st.lists(one[1], max_size=3))),
        inner.map(lambda one: (TUPLE[one[0], ...], st.lists(one[1], max_size=3).map(tuple))),
        st.builds(_pair, inner, inner),
        inner.map(_optional),
        st.builds(
            lambda key, one: (DICT[key[0], one[0]], st.dictionaries(key[1], one[1], max_size=3)),
            st.sampled_from(KEYS),
            inner,
        ),
        st.builds(
            lambda strict, kinds, defaults: _model(strict, kinds, defaults[: len(kinds)]),
            st.booleans(),
            several,
            st.lists(st.booleans(), min_size=3, max_size=3),
        ),
        several.map(_dataclass),
        st.builds(_typed_dict, several, inner),
        several.map(_named_tuple),
    )


SETS = st.sampled_from(SETTABLE).flatmap(
    lambda one: st.sampled_from(
        [(SET[one[0]], st.sets(one[1], max_size=3)), (FROZENSET[one[0]], st.frozensets(one[1], max_size=3))]
    )
)
KINDS = st.recursive(LEAVES | SETS | UNIONS, _extended, max_leaves=5)
SAMPLES = KINDS.flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1]))
