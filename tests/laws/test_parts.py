"""Law: a change of a part of a field has the result that changing a loaded entity has.

The maps that lead to the part may be absent, NULL or without members that have a default. Keys of dicts are those of
the dicts. What is not changed stays as it is stored.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from dynaorm import Entity, F, Key, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.item.field import FieldPath
from dynaorm.item.update import Change
from dynaorm.plan.edit import check_changes, created, edited_image, validate_changes
from dynaorm.plan.without_reading import edit_without_reading
from tests.laws.nested_values import AV, m

app = Table("parts")
DAY = date(2024, 1, 1)


class Inner(BaseModel):
    count: int = 0
    marks: set[str] = set()
    notes: list[str] = []


class Outer(BaseModel):
    inner: Inner = Field(default_factory=lambda: Inner(count=5))
    maybe: Inner | None = None
    days: dict[date, Inner] = {}


class Holder(Entity, table=app, pk="HOLDER#{name}", sk="H"):
    name: str
    plain: Outer = Outer(inner=Inner(count=7, notes=["default"]))
    made: Outer = Field(default_factory=lambda: Outer(maybe=Inner(count=9, marks={"a"})))
    optional: Outer | None = None
    numbered: dict[int, Inner] = Field(default_factory=dict)


MAPPING = mapping_of(Holder)
KEY: AV = {
    "PK": {"S": "HOLDER#n"},
    "SK": {"S": "H"},
    "_type": {"S": "Holder"},
    "_rev": {"S": "1"},
    "name": {"S": "n"},
}
NULL: AV = {"NULL": True}


def map_of(**members: st.SearchStrategy[AV]) -> st.SearchStrategy[AV]:
    """Maps with some of these members."""
    return st.fixed_dictionaries({}, optional=members).map(lambda found: {"M": found})


INNER = map_of(
    count=st.sampled_from([{"N": "1"}, {"N": "2"}]),
    marks=st.sampled_from([{"SS": ["a"]}, {"SS": ["a", "b"]}]),
    notes=st.just({"L": [{"S": "x"}]}),
    unknown=st.just({"S": "kept"}),
)
OUTER = map_of(
    inner=INNER,
    maybe=INNER | st.just(NULL),
    days=map_of(**{"2024-01-01": INNER, "2024-01-02": INNER}),
    unknown=st.just({"S": "kept"}),
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "plain": OUTER,
        "made": OUTER,
        "optional": OUTER | st.just(NULL),
        "numbered": map_of(**{"5": INNER, "6": INNER}),
    },
).map(lambda found: {**KEY, **found})


class Missing(Exception):
    """A step leads to nothing."""


class Step(NamedTuple):
    """One step to a part: as a path, and in an object, where it may make what is missing."""

    path: Callable[[FieldPath], FieldPath]
    of: Callable[[Any, bool], Any]


def member(name: str, kind: type[BaseModel]) -> Step:
    def of(whole: Any, makes: bool) -> Any:
        if getattr(whole, name) is None:
            setattr(whole, name, _new(kind, makes=makes))
        return getattr(whole, name)

    return Step(lambda path: path[name], of)


def key(key: object) -> Step:
    def of(whole: Any, makes: bool) -> Any:
        if key not in whole:
            whole[key] = _new(Inner, makes=makes)
        return whole[key]

    return Step(lambda path: path[key], of)


def _new(kind: type[BaseModel], *, makes: bool) -> BaseModel:
    if not makes:
        raise Missing
    return kind()


DICT = Step(lambda path: path.days, lambda whole, _: whole.days)
NUMBERED = Step(lambda path: path.numbered, lambda whole, _: whole.numbered)
INNERS = [[member("inner", Inner)], [member("maybe", Inner)], [DICT, key(DAY)]]
PLACES = [[member(name, Outer), *rest] for name in ("plain", "made", "optional") for rest in INNERS]
PLACES += [[NUMBERED, key(5)], [NUMBERED, key(7)]]
LEAVES: dict[str, tuple[Callable[[FieldPath], Change], Callable[[Any], Any]]] = {
    "set": (lambda path: path.count.set(3), lambda held: setattr(held, "count", 3)),
    "add to a number": (lambda path: path["count"].add(2), lambda held: setattr(held, "count", held.count + 2)),
    "append": (lambda path: path.notes.append("y"), lambda held: held.notes.append("y")),
    "add to a set": (lambda path: path.marks.add({"b", "c"}), lambda held: held.marks.update({"b", "c"})),
    "discard": (lambda path: path.marks.discard("a"), lambda held: held.marks.discard("a")),
    "discard all": (lambda path: path.marks.discard({"a", "b"}), lambda held: held.marks.difference_update({"a", "b"})),
}  # fmt: skip


def change_of(place: list[Step], leaf: str) -> tuple[Change, ...]:
    path: Any = F
    for step in place:
        path = step.path(path)
    changes = (LEAVES[leaf][0](path),)
    check_changes(MAPPING, changes)
    return validate_changes(MAPPING, changes)


def changed(holder: Holder, place: list[Step], leaf: str) -> Holder:
    """The object after the same change. Raises Missing."""
    held: Any = holder
    for step in place:
        held = step.of(held, not leaf.startswith("discard"))
    LEAVES[leaf][1](held)
    return holder


@given(ITEMS, st.sampled_from(PLACES), st.sampled_from(sorted(LEAVES)))
def test_an_update_of_a_part_is_that_of_a_loaded_entity(item: AV, place: list[Step], leaf: str) -> None:
    changes = change_of(place, leaf)
    try:
        expected = changed(MAPPING.loader.hydrate(item), place, leaf)
    except Missing:
        with pytest.raises(UsageError, match=r"the path leads through .*; set the whole field"):
            edited_image(MAPPING, item, changes)
        return
    image, _ = edited_image(MAPPING, item, changes)
    assert MAPPING.loader.hydrate(image) == expected
    name = str(changes[0].path[0])
    assert {one: image.get(one) for one in item if one != name} == {
        one: item[one] for one in item if one != name
    }
    assert unknown(image.get(name, m())) == unknown(item.get(name, m()))


def unknown(stored: Mapping[str, Any]) -> dict[str, AV]:
    """The members that no class knows, by their paths."""
    found: dict[str, AV] = {}
    for name, one in stored.get("M", {}).items():
        found |= (
            {name: one} if name == "unknown" else {f"{name}.{rest}": x for rest, x in unknown(one).items()}
        )
    return found


@given(st.sampled_from(PLACES), st.sampled_from(sorted(LEAVES)))
def test_an_upsert_of_a_part_creates_a_changed_new_entity(place: list[Step], leaf: str) -> None:
    changes = change_of(place, leaf)
    try:
        expected = changed(Holder(name="n"), place, leaf)
    except Missing:
        with pytest.raises(UsageError, match=r"the path leads through .*; set the whole field"):
            created(MAPPING, Key(Holder, name="n"), changes)
        return
    assert Holder(**created(MAPPING, Key(Holder, name="n"), changes)) == expected


@given(st.sampled_from(PLACES), st.sampled_from(["add to a set", "discard"]))
def test_a_change_of_a_nested_set_reads_first(place: list[Step], leaf: str) -> None:
    primary = {name: KEY[name] for name in ("PK", "SK")}
    assert isinstance(edit_without_reading(MAPPING, primary, change_of(place, leaf)), str)
