"""The catalog of a table: the classes stored in it, and those that store guard items or totals in it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeAlias, TypeVar

from dynaorm.entity.mapping.mapping import VERSION_TYPE, EntityMapping
from dynaorm.entity.table import Table, TableRules
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

ClassIdentity: TypeAlias = tuple[str, str, str]
"""The module, qualified name and entity name of a class: a class statement that runs again declares the same class."""

T = TypeVar("T")


@record(eq=False)
class Catalog(TableRules):
    """The classes of a table. The registry replaces it as a whole whenever a class joins.

    Attributes:
        mappings: the classes stored in the table, by entity name.
        guarded: the classes whose guard items are stored in the table.
        counted: the classes that maintain totals in the table.
        memo: the results of ``derived``.
    """

    mappings: Mapping[str, EntityMapping] = field(default_factory=dict)
    guarded: Mapping[ClassIdentity, EntityMapping] = field(default_factory=dict)
    counted: Mapping[ClassIdentity, EntityMapping] = field(default_factory=dict)
    memo: dict[object, Any] = field(default_factory=dict, repr=False)


def catalog_of(table: Table) -> Catalog:
    """The catalog of a table, as of now."""
    rules = table.rules
    return rules if isinstance(rules, Catalog) else Catalog()


def derived(table: Table, build: Callable[[Table], T]) -> T:
    """``build(table)``, called once until another class joins the table: for lookup structures of higher floors."""
    memo = catalog_of(table).memo
    if build not in memo:
        memo[build] = build(table)
    found: T = memo[build]
    return found


def type_in(table: Table, item: Item) -> AttributeValue | None:
    """The value of an item's type attribute; None where it has none."""
    attribute = table.type_attribute
    return item.get(attribute) if attribute is not None else None


def are_several(mapping: EntityMapping) -> bool:
    """Whether other classes share the keys of this one."""
    return mapping.root in derived(mapping.table, _roots_of_several)


def _roots_of_several(table: Table) -> frozenset[type]:
    roots = [one.root for one in catalog_of(table).mappings.values()]
    return frozenset(root for root in roots if roots.count(root) > 1)


def version_class(mapping: EntityMapping, item: Item) -> EntityMapping | None:
    """The class that a version or a tombstone under a key of ``mapping`` names; None if it names none."""
    found = catalog_of(mapping.table).mappings.get(item.get(VERSION_TYPE, {}).get("S", ""))
    return found if found is not None and issubclass(found.entity, mapping.root) else None


def stored_class(mapping: EntityMapping, item: Item) -> EntityMapping | None:
    """The class of an item under a key of ``mapping``: the class itself or one of its family; None for any other.

    An item without a type attribute belongs to ``mapping``.
    """
    tag = type_in(mapping.table, item)
    if tag is None:
        return mapping
    found = catalog_of(mapping.table).mappings.get(tag.get("S", ""))
    return found if found is not None and issubclass(found.entity, mapping.root) else None
