"""Conditions in words."""

import pytest

from dynaorm import F
from dynaorm.failure import MASK
from dynaorm.item.condition import Condition
from dynaorm.item.condition_text import condition_text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F.status == "open", "F.status == 'open'"),
        (F["Total Sum"] != 3, "F['Total Sum'] != 3"),
        (F.address.city.begins_with("x"), "F.address.city.begins_with('x')"),
        (F.tags[0].contains("a"), "F.tags[0].contains('a')"),
        (F.tags.size() > 3, "F.tags.size() > 3"),
        (F.start < F.end, "F.start < F.end"),
        (F.n.between(1, F.most), "F.n.between(1, F.most)"),
        (F.n.is_in(1, 2), "F.n.is_in(1, 2)"),
        (F.a.exists() & ~F.b.missing(), "(F.a.exists()) & (~(F.b.missing()))"),
        ((F.a == 1) | (F.a == 2), "(F.a == 1) | (F.a == 2)"),
    ],
)
def test_a_condition_is_shown_as_it_was_written(condition: Condition, text: str) -> None:
    assert condition_text(condition) == text


def test_values_that_are_compared_with_a_secret_are_masked() -> None:
    condition = (F.token == "s") & (F.n == 1) & F.token.is_in("a", F.other)
    assert condition_text(condition, frozenset({"token"})) == (
        f"(F.token == {MASK}) & (F.n == 1) & (F.token.is_in({MASK}, F.other))"
    )
