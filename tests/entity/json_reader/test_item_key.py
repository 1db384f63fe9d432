"""Fields that are stored in keys alone, and keys that are compared with those of entities."""

from datetime import date
from typing import Annotated, Any

import pytest

from dynaorm import BinaryKey, Entity, GlobalIndex, Index, InKey, NumberKey, Table
from dynaorm.entity.json_reader.answer import json_reader_of
from dynaorm.entity.json_reader.model import InKeyField, key_comparison
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.state import state_of
from dynaorm.item.json_body import Body, encode_body
from dynaorm.item.value import Item

APP = Table("app", indexes=[GlobalIndex("GSI1")])


class Visit(Entity, table=APP, pk="V#{name}", sk="{day}#{number:02d}"):
    name: Annotated[str, InKey()]
    day: Annotated[date, InKey()]
    number: Annotated[int, InKey()] = 7
    city: Annotated[str | None, InKey()] = "default"
    note: str = ""
    by_city = Index("GSI1", pk="CITY#{city}", sk="{day}")


class Blob(Entity, table=Table("blobs", pk=BinaryKey("PK"), sk=NumberKey("SK")), pk="{raw}", sk="{number}"):
    raw: Annotated[bytes, InKey()]
    number: Annotated[int, InKey()]


VISIT: Item = {
    "PK": {"S": "V#a%23"},
    "SK": {"S": "2024-02-29#05"},
    "_type": {"S": "Visit"},
    "note": {"S": "x"},
}
BLOB: Item = {"PK": {"B": b"\xff"}, "SK": {"N": "5"}, "_type": {"S": "Blob"}}


def read(entity: type[Entity], item: Item) -> Any:
    reader = json_reader_of(mapping_of(entity).table, (entity,), "GetItem")
    assert reader is not None
    found = reader.read(Body(encode_body({"Item": item})), None)
    assert found is not None
    return found.found[0]


@pytest.mark.parametrize(
    ("entity", "item"),
    [
        (Visit, VISIT),
        (Visit, {**VISIT, "GSI1PK": {"S": "CITY#Rome"}, "GSI1SK": {"S": "2024-02-29"}}),
        (Blob, BLOB),
    ],
    ids=["no index", "an index", "binary"],
)
def test_fields_are_read_from_the_keys_as_the_codecs_read_them(entity: type[Entity], item: Item) -> None:
    found, expected = read(entity, item), mapping_of(entity).loader.hydrate(item)
    assert type(found) is entity
    assert (found, found.model_fields_set) == (expected, expected.model_fields_set)
    assert state_of(found) == state_of(expected)


@pytest.mark.parametrize(
    "damage",
    [{"PK": {"S": "W#a"}}, {"PK": {"S": "V#a#"}}, {"SK": {"S": "2024-02-30#05"}}, {"GSI1PK": {"S": "x"}}],
)
def test_an_item_with_a_key_of_another_class_is_left_to_the_codecs(damage: Item) -> None:
    assert read(Visit, {**VISIT, **damage}) == {**VISIT, **damage}


def test_a_field_of_an_index_key_is_none_without_the_attribute() -> None:
    part = mapping_of(Visit).indexes["by_city"].partition[0]
    assert InKeyField("city", part, is_primary=False).value_in(None) is None
    with pytest.raises(ValueError, match="another class"):
        InKeyField("city", part, is_primary=True).value_in(None)


def test_keys_are_equal_if_the_entity_renders_the_contents_of_the_item() -> None:
    mapping = mapping_of(Blob)
    has_key = key_comparison(mapping, mapping.primary_parts)
    blob = Blob(raw=b"\xff", number=5)
    contents = [{"PK": "/w==", "SK": "5"}, {"PK": "/w==", "SK": "6"}, {"PK": "/w=="}, {}]
    assert [has_key(blob, one) for one in contents] == [True, False, False, False]
