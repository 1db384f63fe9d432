"""Reads at random, as data."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.laws.classes import Declared, Row, levels, values_of

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
METHODS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@dataclass(frozen=True)
class Chain:
    """A read.

    Attributes:
        kind: query, collection or scan.
        classes: the classes that are read.
        index: the attribute of the index; None for the table.
        more: other places in the same index, each a class and the attribute of its place.
        equal: fields and the values they may have; one value is given as it is, another number as any_of.
        bounds: operator and value for one field.
        filters: a field, an operator and a value.
    """

    kind: str
    classes: tuple[str, ...]
    index: str | None
    more: tuple[tuple[str, str], ...] = ()
    equal: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    bounds: tuple[tuple[str, str, Any], ...] = ()
    filters: tuple[tuple[str, str, Any], ...] = ()
    descending: bool = False
    limit: int | None = None
    expired: bool = False
    segments: int = 1

    @property
    def sources(self) -> tuple[tuple[str, str | None], ...]:
        """The classes and places that are read."""
        return (*((name, self.index) for name in self.classes), *self.more)


def key_texts(declared: Declared, name: str, index: str | None) -> tuple[str, str | None]:
    """The templates of a class's key: partition and sort."""
    spec = declared.spec(declared.classes[name])
    if index is None:
        return spec.pk, spec.sk
    found = dict(spec.indexes)[index]
    if found.name == "Own":
        return "{" + spec.own("c") + "}", "{" + spec.own("at") + "}"
    if found.name == "LSI1":
        return spec.pk, found.sk
    assert found.pk is not None
    return found.pk, found.sk


@st.composite
def chains(draw: st.DrawFn, declared: Declared, drawn: Sequence[Row]) -> Chain:
    """Any read that the classes allow."""
    names = list(declared.classes)
    first = draw(st.sampled_from(names))
    places = [None, *(at for at, _ in declared.spec(declared.classes[first]).indexes)]
    index = draw(st.sampled_from(places))
    kind = draw(st.sampled_from(["query", "query", "collection", "collection", "scan"]))
    classes, more = [first], tuple[tuple[str, str], ...]()
    if kind == "collection":
        others = [
            one
            for one in names
            if one != first and _index_name(declared, one, index) == _index_name(declared, first, index)
        ]
        classes += draw(st.lists(st.sampled_from(others), unique=True, max_size=2)) if others else []
        places_beside = [
            (one, at)
            for one in names
            for at, place in declared.spec(declared.classes[one]).indexes
            if place.name == _index_name(declared, first, index) and (at != index or one not in classes)
        ]
        if places_beside:
            more = tuple(draw(st.lists(st.sampled_from(places_beside), unique=True, max_size=2)))
    filters = draw(_filters(declared, drawn))
    common: dict[str, Any] = {"filters": filters, "expired": draw(st.booleans())}
    common["limit"] = draw(st.none() | st.integers(0, 6))
    if kind == "scan":
        return Chain(kind, (first,), index, segments=draw(st.sampled_from([1, 3])), **common)
    equal, bounds = draw(_on_key(declared, classes, index, drawn))
    return Chain(kind, tuple(classes), index, more, equal, bounds, descending=draw(st.booleans()), **common)


def _index_name(declared: Declared, name: str, index: str | None) -> object:
    if index is None:
        return ""
    found = dict(declared.spec(declared.classes[name]).indexes).get(index)
    return found.name if found is not None else None


@st.composite
def _filters(draw: st.DrawFn, declared: Declared, drawn: Sequence[Row]) -> tuple[tuple[str, str, Any], ...]:
    """A condition on a field by a name that all classes have, or on a revision that is a number."""
    if not draw(st.booleans()):
        return ()
    if declared.schema.revision and draw(st.booleans()):
        return (
            (
                declared.schema.revision,
                draw(st.sampled_from([*OPERATORS, "==", "!="])),
                draw(st.integers(0, 3)),
            ),
        )
    fields = [("at", "< <= > >= == !="), ("row", "< >"), ("size", "< >= == !="), ("flag", "== !=")]
    if any(row.bare for row in drawn):
        fields.pop()  # what an absent attribute means to a condition is a law of its own
    name, operators = draw(st.sampled_from(fields))
    value = draw(st.integers(0, 12)) if name == "row" else draw(values_of(name))
    return ((name, draw(st.sampled_from(operators.split())), value),)


@st.composite
def _on_key(
    draw: st.DrawFn, declared: Declared, classes: Sequence[str], index: str | None, drawn: Sequence[Row]
) -> tuple[Any, Any]:
    """Values for the fields of a key, from the left, and bounds on the next one."""
    named = draw(st.sampled_from(list(classes)))
    pk, sk = key_texts(declared, named, index)
    equal: dict[str, tuple[Any, ...]] = {}
    for name, spec in levels([pk]):
        if not (spec.startswith("shard") or name == "part") or draw(st.booleans()):
            equal[name] = draw(_choices(declared, named, name, drawn))
    bounds: list[tuple[str, str, Any]] = []
    for name, _ in levels([sk]):
        if name in equal:
            continue
        step = draw(st.sampled_from(["equal", "bound", "stop"]))
        if step == "equal":
            equal[name] = draw(_choices(declared, named, name, drawn))
            continue
        if step == "bound":
            bounds = draw(_bounds_of(declared, named, name))
        break
    return tuple(equal.items()), tuple(bounds)


def pool_name(declared: Declared, kind: str, name: str) -> str:
    spec = declared.spec(declared.classes[kind])
    return next((pool for pool, own in spec.renamed if own == name), name)


def _choices(
    declared: Declared, kind: str, name: str, drawn: Sequence[Row]
) -> st.SearchStrategy[tuple[Any, ...]]:
    """One value or several, mostly such as some row has."""
    pool = pool_name(declared, kind, name)
    stored = [row.value(pool) for row in drawn]
    values = st.sampled_from(stored) if stored else values_of(pool)
    return st.lists(values, min_size=1, max_size=1).map(tuple) | st.lists(
        values | values_of(pool), max_size=3
    ).map(tuple)


@st.composite
def _bounds_of(draw: st.DrawFn, declared: Declared, kind: str, name: str) -> list[tuple[str, str, Any]]:
    pool = pool_name(declared, kind, name)
    values = values_of(pool)
    shape = draw(st.sampled_from(["low", "high", "both", "between", "prefix"]))
    if shape == "prefix" and pool in ("b", "c", "a", "size"):
        return [(name, "begins_with", draw(st.sampled_from(["x", "1", "y", "X", "sm"])))]
    low, high = draw(st.sampled_from([">", ">="])), draw(st.sampled_from(["<", "<="]))
    if shape == "between":
        return [(name, "between", (draw(values), draw(values)))]
    found = [(name, low, draw(values))] if shape in ("low", "both") else []
    return found + ([(name, high, draw(values))] if shape in ("high", "both", "prefix") else [])
