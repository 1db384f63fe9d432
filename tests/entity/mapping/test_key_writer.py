"""A primary key that the class's own function writes is the one that its templates render."""

import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Entity, Table
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.errors import InvalidValue
from dynaorm.item.value import AttributeValue


class Text(str):
    __slots__ = ()


def declared(number: int, pk: str, sk: str) -> EntityMapping:
    annotations = {"__annotations__": {"name": str, "count": int}, "__module__": __name__}
    table = Table(f"written-{number}")
    made: Any = types.new_class(
        "Note", (Entity,), {"table": table, "pk": pk, "sk": sk}, lambda own: own.update(annotations)
    )
    return mapping_of(made)


MAPPINGS = [
    declared(number, *keys)
    for number, keys in enumerate(
        [
            ("{name}", "NOTE"),
            ("NOTE#{name}", "{count!s}"),
            ("NOTE#{name}|x", "{count:03d}#{name}"),
            ("NOTE", "#{name:raw}"),
            ("NOTE", "é{name:upper}"),
        ]
    )
]
TEXTS = st.text("a#|%é\ud800", max_size=4) | st.sampled_from(["x" * 2100, Text("a"), Text("#")])


@pytest.mark.parametrize("mapping", MAPPINGS, ids=lambda one: f"{one.partition.text} {one.sort.text}")
@given(name=TEXTS | st.none() | st.just(1), count=st.integers(-5, 5) | st.none() | st.just("x"))
def test_a_key_is_written_as_its_templates_render_it(mapping: EntityMapping, name: Any, count: Any) -> None:
    values = {"name": name, "count": count}
    assert key_of(mapping, values) == rendered(mapping, values)


def key_of(mapping: EntityMapping, values: dict[str, Any]) -> dict[str, AttributeValue] | None:
    try:
        return mapping.primary_key.rendered(values)
    except InvalidValue:
        return None


def rendered(mapping: EntityMapping, values: dict[str, Any]) -> dict[str, AttributeValue] | None:
    key: dict[str, AttributeValue] = {}
    for part in mapping.primary_parts:
        try:
            value = part.value(values)
        except ValueError:
            return None
        if value is None:
            return None
        key[part.attribute.name] = value
    return key
