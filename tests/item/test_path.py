"""Document paths: which overlap, and what an item stores at one."""

import pytest

from dynaorm.item.condition import Exists, Missing, holds
from dynaorm.item.path import Path, overlaps, value_at
from dynaorm.item.value import AttributeValue, Item


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        (("a",), ("a",), True),
        (("a",), ("a", "b"), True),
        (("a", 0, "b"), ("a", 0), True),
        (("a",), ("ab",), False),
        (("a", "b"), ("a", "c"), False),
        (("a", 0), ("a", 1), False),
        (("a", 0), ("a", "0"), False),
    ],
)
def test_paths_overlap_where_one_leads_through_the_other(left: Path, right: Path, outcome: bool) -> None:
    assert overlaps(left, right) == overlaps(right, left) == outcome


ITEM: Item = {"a": {"L": [{"M": {"b": {"S": "x"}}}]}, "text": {"S": "abc"}, "nothing": {"NULL": True}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a", 0, "b"), {"S": "x"}),
        (("nothing",), {"NULL": True}),
        (("a", 1), None),
        (("a", "b"), None),
        (("a", 0, "c"), None),
        (("a", 0, "b", "c"), None),
        (("text", 0), None),
        (("nothing", "b"), None),
        (("b", 0), None),
    ],
)
def test_a_path_through_what_is_no_map_or_list_leads_nowhere(
    path: Path, value: AttributeValue | None
) -> None:
    assert value_at(ITEM, path) == value
    assert holds(Exists(path), ITEM) is (value is not None)
    assert holds(Missing(path), ITEM) is (value is None)
