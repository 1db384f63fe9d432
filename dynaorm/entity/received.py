"""Items that come in: those of a class with a prefix get maps in place of the attributes that begin with it.

Rule 1. Whatever brings items in passes them here once, before anything else looks at them. The reverse happens where a
        request is built (``item/path.py``).
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from dynaorm.entity.classify import NotAnEntity, class_of, key_beginnings, version_number_in
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of, class_called
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table
from dynaorm.entity.template.version import VERSION_TYPE
from dynaorm.item.path import Prefix, nest_prefixes
from dynaorm.item.value import Item

AnyItem = TypeVar("AnyItem", Item, Item | None)


def received(table: Table, item: AnyItem) -> AnyItem:
    """An item as DynamoDB has it, in the form in which all rules of its class see it."""
    known = prefixes_in(table)
    if not known or item is None:
        return item
    found = _class_of(table, item)
    prefixes = None if found is None else known.get(found)
    return nest_prefixes(item, prefixes) if prefixes else item


def each_received(table: Table, items: Sequence[AnyItem]) -> Sequence[AnyItem]:
    """The same for some items."""
    return [received(table, item) for item in items] if prefixes_in(table) else items


def prefixes_in(table: Table) -> Mapping[EntityMapping, tuple[Prefix, ...]]:
    """The prefixes of a table's classes; those that have none are left out."""
    return cached_per_table(table, _prefixes)


def _prefixes(table: Table) -> dict[EntityMapping, tuple[Prefix, ...]]:
    return {one: one.prefixes for one in catalog_of(table).mappings.values() if one.prefixes}


def _class_of(table: Table, item: Item) -> EntityMapping | None:
    """The class whose fields an item has, be it an entity or a version; None for other items."""
    found = class_of(table, item)
    if not isinstance(found, NotAnEntity):
        return found
    if found is not NotAnEntity.VERSION:
        return None
    family = key_beginnings(table).candidates(item)
    named = class_called(table, item.get(VERSION_TYPE, {}).get("S", ""))
    return named or next((one for one in family if version_number_in(one, item) is not None), None)
