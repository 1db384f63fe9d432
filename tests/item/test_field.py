"""``F`` names any field, and its comparisons and changes are values."""

import copy
import inspect
import pickle
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import F
from dynaorm.item.condition import (
    Attr,
    Compare,
    Exists,
    IsIn,
    Missing,
    Or,
)
from dynaorm.item.field import FieldPath

METHODS = [name for name in vars(FieldPath) if not name.startswith("_")] + ["between", "is_in"]


@pytest.mark.parametrize("name", METHODS)
def test_a_field_may_be_called_like_a_method(name: str) -> None:
    assert getattr(F, name).exists() == F[name].exists() == Exists((name,))
    assert F.nested[name].missing() == Missing(("nested", name))


@pytest.mark.parametrize("value", ["x", 1, 1.5, Decimal(1), date(2024, 1, 1), b"x"], ids=repr)
def test_a_value_on_the_left_is_compared_the_other_way_round(value: Any) -> None:
    assert (value == F.a) == Compare(Attr(("a",)), "=", value)
    assert (value != F.a) == Compare(Attr(("a",)), "<>", value)
    assert (value < F.a) == Compare(Attr(("a",)), ">", value)
    assert (value >= F.a) == Compare(Attr(("a",)), "<=", value)


def test_none_is_compared_like_any_value() -> None:
    assert (F.a == None) == Compare(Attr(("a",)), "=", None)  # noqa: E711
    assert (F.a != None) == Compare(Attr(("a",)), "<>", None)  # noqa: E711
    assert F.a.is_in([None, 1]) == Or((Compare(Attr(("a",)), "=", None), IsIn(Attr(("a",)), (1,))))


@pytest.mark.parametrize("value", ["open", b"open", {"a": 1}, 5], ids=repr)
def test_one_value_is_not_taken_for_several(value: object) -> None:
    assert F.status.is_in(value) == IsIn(Attr(("status",)), (value,))


def test_values_are_given_one_by_one_or_as_one_collection() -> None:
    assert F.a.is_in(1, 2) == F.a.is_in([1, 2]) == F.a.is_in((1, 2)) == F.a.is_in(iter([1, 2]))
    assert F.a.is_in([1], [2]) == IsIn(Attr(("a",)), ([1], [2]))
    assert F.a.is_in() == F.a.is_in([]) == IsIn(Attr(("a",)), ())


def test_a_path_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"F\.active has no truth value.*F\.active == True"):
        bool(F.active)


def test_a_path_is_not_searched_by_python() -> None:
    with pytest.raises(TypeError, match=r"F\.tags\.contains\('x'\)"):
        "x" in F.tags  # noqa: B015  # the mistake under test


@pytest.mark.parametrize("start", [F, F.tags], ids=repr)
def test_a_path_is_not_iterated(start: Any) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(start)


@pytest.mark.parametrize("step", [None, True, slice(1), [1], F.tags], ids=repr)
def test_a_part_is_a_name_an_index_or_a_key(step: Any) -> None:
    with pytest.raises(
        TypeError, match="a part by name, an int for an element by index, or the key of a dict"
    ):
        F.tags[step]


def test_the_first_step_is_a_name() -> None:
    with pytest.raises(TypeError, match="use a str, the name of a field"):
        F[0]  # type: ignore[index]  # the mistake under test


@pytest.mark.parametrize("start", [F, F.address], ids=repr)
@pytest.mark.parametrize("name", ["__wrapped__", "__deepcopy__", "_repr_html_", "__fspath__", "_x"])
def test_names_that_python_asks_for_are_no_fields(start: object, name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(start, name)


@pytest.mark.parametrize("path", [F, F.a.b[0]["set"], F.a.size()], ids=repr)
def test_a_path_survives_copying_pickling_and_inspection(path: object) -> None:
    for again in (copy.copy(path), copy.deepcopy(path), pickle.loads(pickle.dumps(path))):
        assert repr(again) == repr(path)
    assert not callable(path)
    assert not inspect.isawaitable(path)
    inspect.getmembers(path)


@pytest.mark.parametrize("path", [F.a, F.a.size()], ids=repr)
def test_a_path_has_no_hash(path: object) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(path)


@given(st.lists(st.text(min_size=1) | st.integers(0, 99), max_size=4), st.text(min_size=1))
def test_what_a_path_shows_is_the_path(rest: list[str | int], name: str) -> None:
    path = F[name]
    for step in rest:
        path = path[step]
    assert eval(repr(path), {"F": F}).exists() == path.exists() == Exists((name, *rest))
