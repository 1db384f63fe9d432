"""The class of a stored item: an entity class, a guard or token item, a version, a tombstone, or unknown.

Rule 1. An item with a type attribute is of the class it names, by its present or a former name. Otherwise its key
        decides, unless it could be a key of several classes.
Rule 2. An item whose key looks like a guard item's is a guard, because a class whose key is a bare field refuses such
        values. If the class has opted out with ``{field:raw}``, the item is a guard only if it has no attributes but
        those of a guard.
Rule 3. Classes are looked up by the literal text that their keys begin with, so that a hundred classes cost no more
        than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, TypeAlias

from dynaorm.entity.declare.catalog import (
    cached_per_table,
    catalog_of,
    check_not_redeclared,
    class_named,
    class_of_other_type,
    is_guard_of_others,
    stored_class,
    type_in,
)
from dynaorm.entity.internal_items import is_token_item, more_than_a_guard
from dynaorm.entity.key_part import KeyPart
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.errors import DecodeError
from dynaorm.failure import RedactedDict, shown
from dynaorm.item.value import Item
from dynaorm.record import record

# How many classes a message lists.
_LISTED: Final = 5


class NotAnEntity(Enum):
    """The kinds of items that are not entities."""

    GUARD = "guard"
    TOKEN = "token"
    VERSION = "version"
    TOMBSTONE = "tombstone"
    UNKNOWN = "unknown"


def classify(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    """The class of an item, or its kind if it is not an entity. Only its key and type attribute are needed."""
    tag = type_in(table, item)
    if tag is None:
        return _by_shape(table, item)
    found = class_named(table, tag.get("S", ""))
    if found is None and is_guard_of_others(table, item):
        return NotAnEntity.GUARD
    if found is None and "S" in tag:
        found = class_of_other_type(table, item)
    if found is None:
        return NotAnEntity.UNKNOWN
    return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found


def class_of(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    """The class of an item. An item without its whole primary key is of no class."""
    is_whole = all(key.kind in item.get(key.name, ()) for key in table.keys)
    return classify(table, item) if is_whole else NotAnEntity.UNKNOWN


def live_class(mapping: EntityMapping, item: Item | None, now: float) -> EntityMapping | None:
    """The class of an item under a key of ``mapping``, or None where reads find nothing.

    Reads find nothing where there is no item, or it has expired, is a tombstone, or belongs to another class.

    Raises:
        UsageError: the class was declared again.
    """
    if item is None or mapping.is_tombstone(item):
        return None
    stored = stored_class(mapping, item)
    if stored is None or not issubclass(stored.entity, mapping.entity):
        check_not_redeclared(mapping)
        return None
    return None if stored.is_expired(item, now) else stored


def unknown_item(table: Table, item: Item) -> DecodeError:
    """The error of an item of no declared class. It masks key attributes in which a class has a secret field."""
    mappings = catalog_of(table).mappings.values()
    tag = type_in(table, item)
    if tag is not None:
        reason = f"{table.type_attribute} is {shown(tag.get('S', tag))}, which no declared class is called"
    else:
        texts = [f"{one.entity.__name__} {_key_text(one)}" for one in mappings]
        more = f", and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
        reason = f"its key is that of no declared class ({', '.join(texts[:_LISTED])}{more})"
    secret = frozenset(name for one in mappings for name in one.secrets.keys)
    key = {name: item[name] for name in table.key_names}
    return DecodeError(
        entity=str(table),
        key=RedactedDict(key, secret) if secret else key,
        problems=(f"{reason}; declare one, import its module, or correct the item",),
    )


def _key_text(mapping: EntityMapping) -> str:
    return ", ".join(f"{part.attribute.name}={part.text!r}" for part in mapping.primary_parts)


def _by_shape(table: Table, item: Item) -> EntityMapping | NotAnEntity:
    if is_token_item(table, item):
        return NotAnEntity.TOKEN
    shapes = key_beginnings(table)
    candidates = shapes.candidates(item)
    matching = [mapping for mapping in candidates if mapping.key_matches(item)]
    # Only the type attribute, which the item lacks, tells classes apart whose keys are alike.
    found = matching[0] if len(matching) == 1 else None
    if found is None and is_guard_of_others(table, item):
        return NotAnEntity.GUARD
    if shapes.is_like_guard(item) and (found is None or _is_guard(found, item)):
        return NotAnEntity.GUARD
    if found is not None:
        return NotAnEntity.TOMBSTONE if found.is_tombstone(item) else found
    return (
        NotAnEntity.VERSION
        if any(version_number_in(mapping, item) is not None for mapping in candidates)
        else NotAnEntity.UNKNOWN
    )


def _is_guard(mapping: EntityMapping, item: Item) -> bool:
    """Whether an item is a guard although its key matches this class; the key looks like a guard's."""
    return any(part.is_single_field for part in mapping.primary_parts) or not more_than_a_guard(
        mapping.table, item
    )


def version_number_in(mapping: EntityMapping, item: Item) -> int | None:
    """The number of the version that an item's key is of; None if it is no key of a version of this class."""
    if mapping.versioning is None or mapping.sort is None or not mapping.partition.matches(item):
        return None
    stored = item.get(mapping.sort.attribute.name, {}).get(mapping.sort.attribute.kind)
    return None if stored is None else mapping.versioning.template.number_in(stored)


# -- looking up classes by the beginning of a key ----------------------------------------------------------------------

_Beginning: TypeAlias = tuple[str, ...]


@record
class KeyBeginnings:
    """The classes of a table, by what their keys begin with.

    Attributes:
        names: the table's key attributes.
        classes: the classes, by the literal texts that the parts of their primary keys begin with.
        lengths: the lengths of these texts.
        constraints: the names that guard items begin with.
    """

    names: tuple[str, ...]
    classes: Mapping[_Beginning, tuple[EntityMapping, ...]]
    lengths: tuple[tuple[int, ...], ...]
    constraints: frozenset[str]

    def candidates(self, item: Item) -> list[EntityMapping]:
        """The classes that may have a key like this item's."""
        texts = [item.get(name, {}).get("S", "") for name in self.names]
        beginnings = dict.fromkeys(
            tuple(text[:length] for text, length in zip(texts, lengths, strict=True))
            for lengths in self.lengths
        )
        return [mapping for one in beginnings for mapping in self.classes.get(one, ())]

    def is_like_guard(self, item: Item) -> bool:
        """Whether all key attributes are the same text, which begins with the name of a constraint."""
        if not self.constraints:
            return False
        first, *others = (item.get(name, {}).get("S") for name in self.names)
        if first is None or any(other != first for other in others):
            return False
        name, found, _ = first.partition("#")
        return bool(found) and name in self.constraints


def key_beginnings(table: Table) -> KeyBeginnings:
    """What the keys of a table's classes begin with."""
    return cached_per_table(table, _key_beginnings)


def _key_beginnings(table: Table) -> KeyBeginnings:
    classes: dict[_Beginning, tuple[EntityMapping, ...]] = {}
    for mapping in _families(table):
        beginning = tuple(literal_beginning(part) for part in mapping.primary_parts)
        classes[beginning] = (*classes.get(beginning, ()), mapping)
    return KeyBeginnings(
        names=table.key_names,
        classes=classes,
        lengths=tuple(dict.fromkeys(tuple(map(len, beginning)) for beginning in classes)),
        constraints=frozenset(
            name
            for mapping in catalog_of(table).guarded.values()
            for name, one in mapping.constraints.items()
            if not one.parts
        ),
    )


def _families(table: Table) -> Iterable[EntityMapping]:
    """One class of each family, because a family shares its keys: the root, if it is complete."""
    found: dict[type, EntityMapping] = {}
    for mapping in catalog_of(table).mappings.values():
        if mapping.root is mapping.entity or mapping.root not in found:
            found[mapping.root] = mapping
    return found.values()


def literal_beginning(part: KeyPart) -> str:
    """The literal text that begins all keys of a class, including those of its versions."""
    if part.attribute.kind != "S":
        return ""
    literal, template = "", part.template
    if part.version is not None:
        literal, found, _ = part.version.text.partition("{sk}")[0].partition("{version}")
        if found:
            return literal
    if template is None:
        return literal
    return literal + (template.pieces[0].before if template.pieces else template.after)
