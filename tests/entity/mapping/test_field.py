"""How a field is stored, and what an absent attribute means."""

from typing import Any

import pytest

from dynaorm import Entity, Table
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.mapping import mapping_of


class Item(Entity, table=Table("app"), pk="ITEM#{slug}", sk="A"):
    slug: str
    required_or_none: str | None
    none: str | None = None
    text: str | None = "text"
    sloppy: str = None  # type: ignore[assignment]
    labels: set[str]
    maybe_labels: set[str] | None = None
    other_labels: set[str] | None = {"x"}  # noqa: RUF012


def field(name: str) -> FieldMapping:
    return mapping_of(Item).fields[name]


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("required_or_none", None, None),
        ("none", None, None),
        ("none", "", {"S": ""}),
        ("text", None, {"NULL": True}),
        ("text", "x", {"S": "x"}),
        ("sloppy", None, None),
        ("labels", set(), None),
        ("labels", {"b", "a"}, {"SS": ["a", "b"]}),
        ("maybe_labels", None, None),
        ("maybe_labels", set(), {"L": []}),
        ("other_labels", None, {"NULL": True}),
        ("other_labels", set(), None),
    ],
)
def test_none_and_empty_sets_are_stored_so_that_they_read_back(name: str, value: Any, stored: Any) -> None:
    assert field(name).encode(value) == stored
    item = {} if stored is None else {name: stored}
    assert field(name).value_in(item) == value
