"""Placeholders are numbered in the order asked for, and a name has one."""

from hypothesis import given
from hypothesis import strategies as st

from dynaorm.item.placeholder import Placeholders


def test_a_path_becomes_placeholders_and_indexes() -> None:
    placeholders = Placeholders()
    assert placeholders.path(("a", "b", 3, 0, "c")) == "#n0.#n1[3][0].#n2"
    assert placeholders.names == {"#n0": "a", "#n1": "b", "#n2": "c"}


def test_a_name_asked_for_again_has_the_same_placeholder() -> None:
    placeholders = Placeholders()
    assert [placeholders.name("a"), placeholders.name("b"), placeholders.path(("a", "a"))] == [
        "#n0",
        "#n1",
        "#n0.#n0",
    ]
    assert placeholders.names == {"#n0": "a", "#n1": "b"}


def test_every_value_has_a_placeholder_of_its_own() -> None:
    placeholders = Placeholders()
    assert [placeholders.value({"S": "a"}), placeholders.value({"S": "a"})] == [":v0", ":v1"]
    assert placeholders.values == {":v0": {"S": "a"}, ":v1": {"S": "a"}}


@given(st.lists(st.text(min_size=1)))
def test_names_never_share_a_placeholder(names: list[str]) -> None:
    placeholders = Placeholders()
    found = {name: placeholders.name(name) for name in names}
    assert {placeholder: name for name, placeholder in found.items()} == placeholders.names
