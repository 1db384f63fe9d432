"""Whose item is it: the class a stored item belongs to, or why it belongs to none.

Rule 1. The type attribute decides where an item has one; the shape of its key where it has none.
Rule 2. What looks like a guard item is one: a class whose key is a bare field refuses such values. Only where the class
        has opted out, with ``{field:raw}``, is it a guard if it holds nothing that a guard does not.
Rule 3. The classes of a table are looked up by what their keys begin with, so that a hundred classes cost no more
        than one.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from dynaorm.entity.mapping.constraint import OWNER
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.entity.template.key_part import KeyPart
from dynaorm.item.value import Item
from dynaorm.record import record


class NotAnEntity(Enum):
    """An item that is no entity."""

    GUARD = "guard"
    VERSION = "version"
    TOMBSTONE = "tombstone"
    UNKNOWN = "unknown"


def classify(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    """The class of an item of a table, or what else it is. The item's keys (and type attribute) are enough."""
    attribute = table.type_attribute
    tag = item.get(attribute) if attribute is not None else None
    if tag is None:
        return _by_shape(table, item)
    found: EntityMapping | None = table.mappings.get(tag.get("S", ""))
    if found is None:
        return NotAnEntity.UNKNOWN
    return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found


def live_class(mapping: EntityMapping, item: Item | None, now: float) -> EntityMapping | None:
    """The class of an item under a key of ``mapping``, or None where reads find nothing.

    Reads find nothing where there is no item, or it has expired, is a tombstone, or belongs to another class.
    """
    if item is None or mapping.is_tombstone(item):
        return None
    stored = mapping.stored_class(item)
    if stored is None or not issubclass(stored.entity, mapping.entity) or stored.is_expired(item, now):
        return None
    return stored


def _by_shape(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    shapes = _shapes_of(table)
    candidates = shapes.candidates(item)
    found = next((mapping for mapping in candidates if has_key_of(mapping, item)), None)
    if shapes.is_like_guard(item) and (found is None or _is_guard(found, item)):
        return NotAnEntity.GUARD
    if found is not None:
        return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found
    return (
        NotAnEntity.VERSION
        if any(_is_version(mapping, item) for mapping in candidates)
        else NotAnEntity.UNKNOWN
    )


def has_key_of(mapping: EntityMapping, item: Item) -> bool:
    """Whether the primary key of an item is one that a class renders."""
    return all(_part_fits(part, item) for part in mapping.primary_parts)


def _part_fits(part: KeyPart, item: Item) -> bool:
    stored = _stored(part, item)
    return stored is not None and part.match(stored) is not None


def _is_guard(mapping: EntityMapping, item: Item) -> bool:
    """Whether what looks like a guard, and has a key of this class, is one."""
    if any(part.bare for part in mapping.primary_parts):
        return True
    return item.keys() <= {*mapping.table.key_names, OWNER, mapping.table.ttl_attribute}


def _is_version(mapping: EntityMapping, item: Item) -> bool:
    if mapping.versioning is None or mapping.sort is None or not _part_fits(mapping.partition, item):
        return False
    stored = _stored(mapping.sort, item)
    return stored is not None and mapping.versioning.template.number_in(stored) is not None


def _stored(part: KeyPart, item: Item) -> str | bytes | None:
    return item.get(part.attribute.name, {}).get(part.attribute.kind)


# -- looking up by what a key begins with ------------------------------------------------------------------------------

_Beginning: TypeAlias = tuple[str, ...]


@record
class _Shapes:
    """What tells the items of a table apart; made anew when a class has joined, so ``mappings`` is another dict.

    Attributes:
        mappings, guarded: those of the table it was made of.
        names: the table's key attributes.
        by_beginning: its classes by the literal texts that the parts of their primary keys begin with.
        lengths: how long these texts are.
        constraints: the names that guard items begin with.
    """

    mappings: Mapping[str, Any]
    guarded: Mapping[object, Any]
    names: tuple[str, ...]
    by_beginning: Mapping[_Beginning, tuple[EntityMapping, ...]]
    lengths: tuple[tuple[int, ...], ...]
    constraints: frozenset[str]

    def candidates(self, item: Item) -> list[EntityMapping]:
        """The classes whose key may be this item's."""
        texts = [item.get(name, {}).get("S", "") for name in self.names]
        beginnings = dict.fromkeys(
            tuple(text[:length] for text, length in zip(texts, lengths, strict=True))
            for lengths in self.lengths
        )
        return [mapping for one in beginnings for mapping in self.by_beginning.get(one, ())]

    def is_like_guard(self, item: Item) -> bool:
        """Whether all key attributes are one text, and it begins with a constraint's name."""
        first, *others = (item.get(name, {}).get("S") for name in self.names)
        if first is None or any(other != first for other in others):
            return False
        name, found, _ = first.partition("#")
        return bool(found) and name in self.constraints


def _shapes_of(table: Table) -> _Shapes:
    found = table.shapes
    if isinstance(found, _Shapes) and found.mappings is table.mappings and found.guarded is table.guarded:
        return found
    table.shapes = shapes = _shapes(table)
    return shapes


def _shapes(table: Table) -> _Shapes:
    by_beginning: dict[_Beginning, tuple[EntityMapping, ...]] = {}
    for mapping in _families(table):
        beginning = tuple(literal_beginning(part) for part in mapping.primary_parts)
        by_beginning[beginning] = (*by_beginning.get(beginning, ()), mapping)
    lengths = dict.fromkeys(tuple(map(len, beginning)) for beginning in by_beginning)
    return _Shapes(
        mappings=table.mappings,
        guarded=table.guarded,
        names=table.key_names,
        by_beginning=by_beginning,
        lengths=tuple(lengths),
        constraints=frozenset(name for one in table.guarded.values() for name in one.constraints),
    )


def _families(table: Table) -> Iterable[EntityMapping]:
    """One class of each family, whose keys are those of all: the root, unless it is yet to be completed."""
    found: dict[type, EntityMapping] = {}
    for mapping in table.mappings.values():
        if mapping.root is mapping.entity or mapping.root not in found:
            found[mapping.root] = mapping
    return found.values()


def literal_beginning(part: KeyPart) -> str:
    """The literal text that the keys of a class begin with, those of versions included."""
    if part.attribute.kind != "S":
        return ""
    literal, template = "", part.template
    if part.version is not None:
        literal, found, _ = part.version.head.partition("{version}")
        if found:
            return literal
    if template is None:
        return literal
    return literal + (template.pieces[0].before if template.pieces else template.after)
