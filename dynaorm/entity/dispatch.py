"""Whose item is it: the class a stored item belongs to, or why it belongs to none.

Rule 1. The type attribute decides where an item has one; the shape of its key where it has none.
Rule 2. The classes of a table are looked up by what their keys begin with, so that a hundred classes cost no more
        than one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dynaorm.entity.keys import KeyPart
from dynaorm.entity.mapping import DELETED, EntityMapping
from dynaorm.entity.table import Table
from dynaorm.item.value import Item


class Stray(Enum):
    """An item that is no entity."""

    GUARD = "guard"
    VERSION = "version"
    TOMBSTONE = "tombstone"
    UNKNOWN = "unknown"


def classify(table: Table, item: Item) -> EntityMapping | Stray:
    """The class of an item of a table, or what else it is. The item's keys (and type attribute) are enough."""
    attribute = table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    if tag is not None:
        found: EntityMapping | None = table.mappings.get(str(tag.get("S")))
        if found is None:
            return Stray.UNKNOWN
        return Stray.TOMBSTONE if found.is_tombstone(item) else found
    return _by_shape(table, item)


def _by_shape(table: Table, item: Item) -> EntityMapping | Stray:
    shapes = _shapes_of(table)
    for mapping in shapes.candidates(item):
        if _fits(mapping, item):
            return Stray.TOMBSTONE if mapping.versioning is not None and DELETED in item else mapping
    if _is_guard(table, item, shapes):
        return Stray.GUARD
    if any(_is_version(mapping, item) for mapping in shapes.candidates(item)):
        return Stray.VERSION
    return Stray.UNKNOWN


def _parts(mapping: EntityMapping) -> tuple[KeyPart, ...]:
    return (mapping.partition,) if mapping.sort is None else (mapping.partition, mapping.sort)


def _fits(mapping: EntityMapping, item: Item) -> bool:
    for part in _parts(mapping):
        stored = item.get(part.attribute.name, {}).get(part.attribute.kind)
        if stored is None or part.match(stored) is None:
            return False
    return True


def _is_guard(table: Table, item: Item, shapes: "_Shapes") -> bool:
    texts = {item.get(key.name, {}).get("S") for key in table.keys}
    if len(texts) != 1:
        return False
    (text,) = texts
    return isinstance(text, str) and text.partition("#")[0] in shapes.constraints and "#" in text


def _is_version(mapping: EntityMapping, item: Item) -> bool:
    if mapping.versioning is None or mapping.sort is None:
        return False
    template, attribute = mapping.versioning.template, mapping.sort.attribute
    stored = item.get(attribute.name, {}).get(attribute.kind)
    if stored is None or template.number_in(stored) is None:
        return False
    first = mapping.partition
    return first.match(item[first.attribute.name][first.attribute.kind]) is not None


# -- looking up by what a key begins with ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shapes:
    """The classes of a table by the literal text their partition keys begin with."""

    mappings: dict[str, Any]
    guarded: dict[object, Any]
    by_beginning: dict[str, list[EntityMapping]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()
    constraints: frozenset[str] = frozenset()

    def candidates(self, item: Item) -> Iterator[EntityMapping]:
        """The classes whose keys may be this item's, those with the longest beginning first."""
        for text in dict.fromkeys(self._texts(item)):
            yield from self.by_beginning.get(text, ())

    def _texts(self, item: Item) -> Iterator[str]:
        first = next(iter(self.mappings.values()), None)
        if first is None:
            return
        stored = item.get(first.table.pk.name, {}).get("S", "")
        for length in self.lengths:
            yield str(stored)[:length]


def _shapes_of(table: Table) -> _Shapes:
    found = table.shapes
    if isinstance(found, _Shapes) and found.mappings is table.mappings and found.guarded is table.guarded:
        return found
    shapes = _Shapes(table.mappings, table.guarded)
    for mapping in table.mappings.values():
        if mapping.root is mapping.entity or mapping.root not in {
            one.entity for one in table.mappings.values()
        }:
            shapes.by_beginning.setdefault(_beginning(mapping.partition), []).append(mapping)
    shapes.lengths = tuple(sorted({len(text) for text in shapes.by_beginning}, reverse=True))
    shapes.constraints = frozenset(name for guarded in table.guarded.values() for name in guarded.constraints)
    table.shapes = shapes
    return shapes


def _beginning(part: KeyPart) -> str:
    template = part.template
    if template is None or part.attribute.kind != "S":
        return ""
    return template.pieces[0].before if template.pieces else template.after
