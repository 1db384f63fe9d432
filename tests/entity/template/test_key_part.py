"""Key parts: limits in UTF-8 bytes, and what of an index is written."""

from typing import Annotated

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, Table
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.template import KeyValueError

TABLE = Table("app", indexes=[GlobalIndex("GSI1"), GlobalIndex("ByOwner", pk="owner", sk="PK")])


class Note(Entity, table=TABLE, pk="NOTE#{slug}", sk="{title}"):
    slug: str
    title: str
    owner: str | None = None
    label: Annotated[str | None, Attribute("Label")] = None
    by_label = Index("GSI1", pk="{label}", sk="{title}")
    by_owner = Index("ByOwner")


def test_keys_are_measured_in_bytes_of_utf8() -> None:
    partition, sort = mapping_of(Note).partition, mapping_of(Note).sort
    assert sort is not None
    # PK is the sort key of ByOwner, too, and has its limit.
    assert partition.value({"slug": "x" * 1019}) == {"S": "NOTE#" + "x" * 1019}
    assert sort.value({"title": "é" * 512}) == {"S": "é" * 512}
    with pytest.raises(
        KeyValueError, match=r"'NOTE#\{slug\}' renders a key of 1025 bytes, more than the 1024 allowed"
    ):
        partition.value({"slug": "x" * 1020})
    with pytest.raises(
        KeyValueError, match=r"'\{title\}' renders a key of 1026 bytes, more than the 1024 allowed"
    ):
        sort.value({"title": "é" * 513})
    with pytest.raises(KeyValueError, match=r"'\{title\}' renders an empty key"):
        sort.value({"title": ""})


def test_a_key_without_fields_is_the_same_for_every_entity_and_a_new_value_each_time() -> None:
    class Option(Entity, table=Table("keys-constant"), pk="SETTINGS", sk="{name}"):
        name: str

    partition = mapping_of(Option).partition
    partition.value({"name": "a"})["S"] = "changed"  # type: ignore[index]
    assert partition.value({"name": "b"}) == {"S": "SETTINGS"}
    assert mapping_of(Option).sort.constant is None  # type: ignore[union-attr]
