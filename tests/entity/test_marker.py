"""Markers are immutable values that compare by their arguments."""

import pytest

from dynaorm import Attribute, ExpiresAt, InKey, Unique, Versioned


def test_markers_that_say_the_same_are_equal() -> None:
    assert Unique("email", scope=("tenant",)) == Unique("email", scope=("tenant",)) != Unique("email")
    assert (Versioned(), InKey(), ExpiresAt()) == (Versioned(), InKey(), ExpiresAt())
    assert Attribute("A", formerly=("B",)) == Attribute("A", ("B",)) != Attribute("A")


def test_one_name_needs_no_tuple() -> None:
    assert Unique(scope="tenant").scope == ("tenant",)
    assert Attribute("A", formerly="B").formerly == ("B",)


def test_a_marker_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Unique().name = "email"  # type: ignore[misc]
