"""Random classes, rows of them with attributes missing, and random conditions in ``F`` and in Python."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Annotated, Any, Final, TypeAlias

from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from dynaorm import Attribute, Entity, F, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.item.condition import Condition
from dynaorm.item.path import Path
from dynaorm.plan.values import new_image
from tests.dynamodb_json import AttributeValue

NOTHING: Final = object()
"""The value of what has none."""


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
SAMPLES: Final[Mapping[Any, tuple[Any, ...]]] = {
    int: (0, 5, 50, -1),
    str: ("", "a", "ab", "b"),
    bool: (False, True),
    Decimal: (Decimal(0), Decimal("1.5")),
    float: (0.0, 2.5),
    bytes: (b"", b"a", b"ab"),
    datetime: (NOON, datetime(2023, 1, 1, tzinfo=UTC)),
    date: (date(2024, 1, 1), date(2023, 1, 1)),
    Colour: (Colour.RED, Colour.BLUE),
    list[int]: ([], [1], [1, 2]),
    list[str]: ([], ["a"], ["ab", "a"]),
    set[str]: (set(), {"a"}, {"a", "b"}),
    set[int]: (set(), {1}),
    dict[str, int]: ({}, {"k": 1}, {"k": 2, "j": 1}),
}
PIECES: Final[Mapping[Any, list[Any]]] = {
    str: ["a", "b"],
    bytes: [b"a"],
    list[int]: [1, 5],
    list[str]: ["a"],
    set[str]: ["a"],
    set[int]: [1, 5],
}
ORDERED: Final = frozenset({int, str, Decimal, float, bytes, datetime, date})
SIZED: Final = frozenset({str, bytes, list[int], list[str], set[str], set[int], dict[str, int]})
SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# -- random classes ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldSpec:
    """A field of a random class: its type, whether it may be None, and what its absence means.

    Attributes:
        kind: a type of ``SAMPLES``, or the fields of a nested model.
        absence: ``required``, ``default`` or ``factory``.
        default: the value of either.
        formerly: it has had another attribute name.
    """

    name: str
    kind: Any
    nullable: bool
    absence: str
    default: Any
    formerly: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Its attribute names, the present one first."""
        return (self.name, f"old_{self.name}", f"older_{self.name}") if self.formerly else (self.name,)

    @property
    def is_set(self) -> bool:
        return self.kind in (set[str], set[int])

    @property
    def may_be_absent(self) -> bool:
        return self.absence != "required" or self.nullable or self.is_set


@st.composite
def fields(draw: st.DrawFn, depth: int = 0) -> tuple[FieldSpec, ...]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([*SAMPLES, "model", "model"] if depth < 2 else [*SAMPLES]))
        if kind == "model":
            kind = draw(fields(depth + 1))
        nullable, absence = (
            draw(st.booleans()),
            draw(st.sampled_from(["required", "default", "default", "factory"])),
        )
        spec = FieldSpec(f"{'fgh'[depth]}{number}", kind, nullable, absence, None, draw(st.booleans()))
        default = draw(values(spec)) if absence != "required" else None
        found.append(FieldSpec(spec.name, kind, nullable, absence, default, spec.formerly))
    return tuple(found)


def values(spec: FieldSpec) -> st.SearchStrategy[Any]:
    """Values of a field; those of nested models as dicts."""
    if isinstance(spec.kind, tuple):
        plain: st.SearchStrategy[Any] = st.fixed_dictionaries({one.name: values(one) for one in spec.kind})
    else:
        plain = st.sampled_from(SAMPLES[spec.kind])
    return st.none() | plain if spec.nullable else plain


def declared(specs: tuple[FieldSpec, ...], base: type[BaseModel] | None = None, **options: Any) -> Any:
    found: dict[str, Any] = {"row": (str, ...)} if base is not None else {}
    for spec in specs:
        kind = declared(spec.kind) if isinstance(spec.kind, tuple) else spec.kind
        is_model = isinstance(spec.kind, tuple) and spec.default is not None
        default = kind(**spec.default) if is_model else spec.default
        annotation = kind | None if spec.nullable else kind
        if spec.formerly:
            annotation = Annotated[annotation, Attribute(spec.name, formerly=spec.names[1:])]
        if spec.absence == "required":
            found[spec.name] = (annotation, ...)
        elif spec.absence == "default":
            found[spec.name] = (annotation, default)
        else:
            found[spec.name] = (annotation, Field(default_factory=lambda default=default: default))
    if base is None:
        return create_model("Nested", **found)
    return create_model("Thing", __base__=base, __cls_kwargs__=options, **found)


# -- random rows -------------------------------------------------------------------------------------------------------


def _thinned(draw: st.DrawFn, stored: dict[str, Any], specs: tuple[FieldSpec, ...]) -> dict[str, Any]:
    """The attributes without some that may be absent, and some under former names."""
    found = dict(stored)
    for spec in specs:
        if spec.name not in found:
            if (
                spec.nullable
                and not (spec.absence == "default" and spec.default is not None)
                and draw(st.booleans())
            ):
                found[spec.name] = {"NULL": True}
            continue
        value = found.pop(spec.name)
        if spec.may_be_absent and draw(st.integers(0, 2)):
            continue
        if isinstance(spec.kind, tuple) and "M" in value:
            value = {"M": _thinned(draw, value["M"], spec.kind)}
        name = draw(st.sampled_from(spec.names))
        found[name] = value
    return found


# -- random conditions -------------------------------------------------------------------------------------------------


Get: TypeAlias = Callable[[Path], Any]
Stored: TypeAlias = Callable[[Path], bool]


@dataclass(frozen=True)
class Asked:
    """A condition for dynaorm, and the same in Python: given the value of a path, and whether it is stored."""

    condition: Condition
    python: Callable[[Get, Stored], bool]
    text: str


def _leaf_paths(specs: tuple[FieldSpec, ...], before: Path = ()) -> Iterator[tuple[Path, FieldSpec]]:
    for spec in specs:
        yield (*before, spec.name), spec
        if isinstance(spec.kind, tuple):
            yield from _leaf_paths(spec.kind, (*before, spec.name))


def _f(path: Path) -> Any:
    found: Any = F
    for step in path:
        found = found[step]
    return found


def _compared(sign: str, left: Any, right: Any) -> bool:
    if left in (None, NOTHING) or right in (None, NOTHING):
        return False
    return bool(SIGNS[sign](left, right))


def _equal(left: Any, right: Any) -> bool:
    return left is not NOTHING and right is not NOTHING and bool(left == right)


def _length(value: Any) -> Any:
    return NOTHING if value is None or value is NOTHING else len(value)


@dataclass(frozen=True)
class _Draft:
    """All that a condition may be made of: fields, values of them, and Python's view of both."""

    f: Any
    g: Any
    path: Path
    second: Path
    value: Any
    other: Any
    high: Any
    wanted: tuple[Any, ...]
    sign: str
    number: int
    piece: Any


def _is_text(value: Any) -> bool:
    return value is not None and value is not NOTHING


_Python: TypeAlias = Callable[[_Draft, Get, Stored], bool]
MAKERS: Final[Mapping[str, tuple[Callable[[_Draft], Condition], _Python]]] = {
    "exists": (lambda one: one.f.exists(), lambda one, _, stored: stored(one.path)),
    "missing": (lambda one: one.f.missing(), lambda one, _, stored: not stored(one.path)),
    "none": (lambda one: one.f == None, lambda one, get, _: _equal(get(one.path), None)),  # noqa: E711
    "not none": (lambda one: one.f != None, lambda one, get, _: not _equal(get(one.path), None)),  # noqa: E711
    "==": (lambda one: one.f == one.value, lambda one, get, _: _equal(get(one.path), one.value)),
    "!=": (lambda one: one.f != one.value, lambda one, get, _: not _equal(get(one.path), one.value)),
    "in": (
        lambda one: one.f.is_in(one.wanted),
        lambda one, get, _: any(_equal(get(one.path), each) for each in one.wanted),
    ),
    "<": (
        lambda one: SIGNS[one.sign](one.f, one.other),
        lambda one, get, _: _compared(one.sign, get(one.path), one.other),
    ),
    "between": (
        lambda one: one.f.between(one.other, one.high),
        lambda one, get, _: (
            _compared(">=", get(one.path), one.other) and _compared("<=", get(one.path), one.high)
        ),
    ),
    "size": (
        lambda one: SIGNS[one.sign](one.f.size(), one.number),
        lambda one, get, _: _compared(one.sign, _length(get(one.path)), one.number),
    ),
    "size !=": (
        lambda one: one.f.size() != one.number,
        lambda one, get, _: not _equal(_length(get(one.path)), one.number),
    ),
    "begins": (
        lambda one: one.f.begins_with(one.other),
        lambda one, get, _: _is_text(get(one.path)) and get(one.path).startswith(one.other),
    ),
    "contains": (
        lambda one: one.f.contains(one.piece),
        lambda one, get, _: _is_text(get(one.path)) and one.piece in get(one.path),
    ),
    "== path": (lambda one: one.f == one.g, lambda one, get, _: _equal(get(one.path), get(one.second))),
    "!= path": (lambda one: one.f != one.g, lambda one, get, _: not _equal(get(one.path), get(one.second))),
    "< path": (
        lambda one: SIGNS[one.sign](one.f, one.g),
        lambda one, get, _: _compared(one.sign, get(one.path), get(one.second)),
    ),
    "between paths": (
        lambda one: one.f.between(one.g, one.high),
        lambda one, get, _: (
            _compared(">=", get(one.path), get(one.second)) and _compared("<=", get(one.path), one.high)
        ),
    ),
    "in paths": (
        lambda one: one.f.is_in([one.g, one.other]),
        lambda one, get, _: _equal(get(one.path), get(one.second)) or _equal(get(one.path), one.other),
    ),
    "begins path": (
        lambda one: one.f.begins_with(one.g),
        lambda one, get, _: (
            _is_text(get(one.path))
            and _is_text(get(one.second))
            and get(one.path).startswith(get(one.second))
        ),
    ),
    "contains path": (
        lambda one: one.f.contains(one.g),
        lambda one, get, _: (
            _is_text(get(one.path)) and _is_text(get(one.second)) and get(one.second) in get(one.path)
        ),
    ),
}
"""How a condition is written with ``F``, and what it means in Python."""


def _choices(spec: FieldSpec) -> list[str]:
    found = ["exists", "missing", *(["none", "not none"] if spec.nullable else [])]
    if isinstance(spec.kind, tuple):
        return found
    found += ["==", "==", "!=", "!=", "in", "== path", "!= path", "in paths"]
    found += ["<", "between", "< path", "between paths"] if spec.kind in ORDERED else []
    found += ["size", "size !="] if spec.kind in SIZED else []
    found += ["begins", "begins path", "contains path"] if spec.kind in (str, bytes) else []
    return [*found, "contains"] if spec.kind in PIECES else found


@st.composite
def leaves(draw: st.DrawFn, specs: tuple[FieldSpec, ...]) -> Asked:
    paths = list(_leaf_paths(specs))
    path, spec = draw(st.sampled_from(paths))
    others = [one for one, its in paths if its.kind == spec.kind and one != path]
    choice = draw(st.sampled_from([one for one in _choices(spec) if others or "path" not in one]))
    samples = st.none() if isinstance(spec.kind, tuple) else st.sampled_from(SAMPLES[spec.kind])
    second = draw(st.sampled_from(others)) if others else path
    number = draw(st.integers(0, 2))
    wanted = draw(st.lists(samples, max_size=3)) + ([None] if spec.nullable and number else [])
    one = _Draft(
        f=_f(path),
        g=_f(second),
        path=path,
        second=second,
        value=draw(st.none() | samples) if spec.nullable else draw(samples),
        other=draw(samples),
        high=draw(samples),
        wanted=tuple(wanted),
        sign=draw(st.sampled_from([*SIGNS])),
        number=number,
        piece=draw(st.sampled_from(PIECES[spec.kind])) if choice == "contains" else None,
    )
    write, mean = MAKERS[choice]
    return Asked(write(one), lambda get, stored: mean(one, get, stored), f"{choice} {one}")


def conditions(specs: tuple[FieldSpec, ...]) -> st.SearchStrategy[Asked]:
    return st.recursive(
        leaves(specs),
        lambda inner: st.one_of(
            st.builds(
                lambda one, two: Asked(
                    one.condition & two.condition,
                    lambda get, stored: one.python(get, stored) and two.python(get, stored),
                    f"({one.text} & {two.text})",
                ),
                inner,
                inner,
            ),
            st.builds(
                lambda one, two: Asked(
                    one.condition | two.condition,
                    lambda get, stored: one.python(get, stored) or two.python(get, stored),
                    f"({one.text} | {two.text})",
                ),
                inner,
                inner,
            ),
            st.builds(
                lambda one: Asked(
                    ~one.condition, lambda get, stored: not one.python(get, stored), f"~({one.text})"
                ),
                inner,
            ),
        ),
        max_leaves=3,
    )


# -- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A class, rows of it, and conditions on them."""

    specs: tuple[FieldSpec, ...]
    rows: tuple[dict[str, Any], ...]
    asked: tuple[Asked, ...]
    mapping: EntityMapping = field(repr=False)


numbers = count()


@st.composite
def cases(draw: st.DrawFn) -> Case:
    specs = draw(fields())
    table = Table(f"defaults-{next(numbers)}")
    entity = declared(specs, Entity, table=table, pk="ROW#{row}", sk="R")
    mapping = mapping_of(entity)
    rows = []
    for number in range(draw(st.integers(1, 4))):
        given = {one.name: draw(values(one)) for one in specs}
        one = entity(row=str(number), **given)
        key = mapping.primary_key.of(vars(one))
        rows.append(_thinned(draw, new_image(mapping, key, vars(one)), specs))
    asked = draw(st.lists(conditions(specs), min_size=1, max_size=4))
    return Case(specs, tuple(rows), tuple(asked), mapping)


def _spec_at(specs: tuple[FieldSpec, ...], path: Path) -> FieldSpec:
    spec = next(one for one in specs if one.name == path[0])
    return _spec_at(spec.kind, path[1:]) if len(path) > 1 else spec


def _stored_under(spec: FieldSpec, within: AttributeValue | None) -> AttributeValue | None:
    attributes = within.get("M", {}) if within is not None else {}
    return next((attributes[name] for name in spec.names if name in attributes), None)


def by_python(case: Case, asked: Asked, row: Mapping[str, Any]) -> bool:
    """What Python says of the loaded entity."""
    entity = case.mapping.loader.hydrate(row)

    def get(path: Path) -> Any:
        value: Any = entity
        stored: AttributeValue | None = {"M": row}
        for place, step in enumerate(path):
            spec = _spec_at(case.specs, path[: place + 1])
            was_stored, stored = stored is not None, _stored_under(spec, stored)
            has_no_value = was_stored and stored is None and spec.absence == "factory" and not spec.is_set
            if value is None or has_no_value:
                return NOTHING
            value = getattr(value, str(step))
        return value

    def is_stored(path: Path) -> bool:
        found: AttributeValue | None = {"M": row}
        for place in range(len(path)):
            found = _stored_under(_spec_at(case.specs, path[: place + 1]), found)
        return found is not None

    return asked.python(get, is_stored)
