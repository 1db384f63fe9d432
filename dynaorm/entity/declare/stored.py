"""Compiles the computed fields that are kept as attributes (``Stored``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dynaorm.entity.annotation import Marked
from dynaorm.entity.codec.of_type import Unstorable, codec_of
from dynaorm.entity.declare.class_keys import KeysOf
from dynaorm.entity.mapping.place import StoredPlace
from dynaorm.entity.marker import Stored


def stored_places(marks: Mapping[str, Marked], keys: KeysOf) -> Iterator[tuple[str, StoredPlace]]:
    """The attributes of computed fields with ``Stored``, by the fields' names. ``marks``: of all computed fields."""
    for name, mark in marks.items():
        for marker in mark.find(Stored):
            if name not in keys.computed:
                keys.problems.append(
                    f"{name}: Stored() needs a type whose values have one text; return a str, int, date or the like"
                )
                continue
            try:
                codec = codec_of(mark.tree, mark.metadata)
            except Unstorable as problem:
                keys.problems.append(f"{name}: {problem}")
                continue
            yield (
                name,
                StoredPlace(
                    name=f"the stored {name}",
                    attribute_name=name,
                    partition=(),
                    sort=(),
                    key_fields=keys.stored([name]),
                    is_computed=True,
                    attribute=marker.name or name,
                    codec=codec,
                ),
            )
