"""Values of a stored item are decoded when they are first read."""

from typing import Annotated

import pytest

from dynaorm import Attribute, Entity, InKey, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import DecodeError
from dynaorm.item.value import Item


class Note(Entity, table=Table("notes"), pk="NOTE#{note_id}", sk="{place}"):
    note_id: Annotated[str, InKey()]
    place: Annotated[str, Attribute("Place", formerly=("old_place",))]
    stars: int = 3
    tags: frozenset[str] = frozenset()


ITEM: Item = {
    "PK": {"S": "NOTE#1"},
    "SK": {"S": "here"},
    "old_place": {"S": "here"},
    "stars": {"S": "many"},
}


def test_values_come_from_attributes_former_names_keys_and_defaults() -> None:
    values = mapping_of(Note).subject({**ITEM, "stars": {"N": "5"}})
    assert dict(values) == {"note_id": "1", "place": "here", "stars": 5, "tags": frozenset()}
    assert len(values) == 4
    assert mapping_of(Note).subject({name: ITEM[name] for name in ("PK", "SK")})["stars"] == 3


def test_only_what_is_asked_for_has_to_be_readable() -> None:
    values = mapping_of(Note).subject(ITEM)
    assert values["place"] == "here"
    with pytest.raises(DecodeError, match="stars"):
        values["stars"]
    with pytest.raises(DecodeError, match="stars"):
        values["note_id"]
