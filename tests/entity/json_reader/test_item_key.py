"""Fields that are stored in keys alone, and keys that are compared with those of entities."""

from datetime import date
from typing import Annotated

import pytest

from dynaorm import BinaryKey, Entity, GlobalIndex, Index, InKey, NumberKey, Table
from dynaorm.entity.json_reader.item_key import InKeyField, key_comparison
from dynaorm.entity.mapping.mapping import mapping_of

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
