"""The catalog of a table: the classes stored in it, and those that store guard items or totals in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dynaorm.entity.key_part import DELETED, VERSION_TYPE
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table, TableRules
from dynaorm.entity.text.scalar import may_meet
from dynaorm.errors import UsageError
from dynaorm.item.value import AttributeValue, Item
from dynaorm.late import late
from dynaorm.record import record

if TYPE_CHECKING:
    from dynaorm.item import condition
else:
    late(globals(), condition="dynaorm.item.condition")

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
        memo: the results of ``cached_per_table``.
    """

    mappings: Mapping[str, EntityMapping] = field(default_factory=dict)
    guarded: Mapping[ClassIdentity, EntityMapping] = field(default_factory=dict)
    counted: Mapping[ClassIdentity, EntityMapping] = field(default_factory=dict)
    memo: dict[object, Any] = field(default_factory=dict, repr=False)

    def name_in_a_pickle(self, table: Table) -> tuple[Any, ...]:
        """One of its classes, or a class with guard items in it."""
        for one in self.mappings.values():
            return _table_of, (one,)
        for one in self.guarded.values():
            return _guard_table_of, (one,)
        return TableRules.name_in_a_pickle(self, table)


def _table_of(mapping: EntityMapping) -> Table:
    return mapping.table


def _guard_table_of(mapping: EntityMapping) -> Table:
    return mapping.table.guards


def catalog_of(table: Table) -> Catalog:
    """The catalog of a table, as of now."""
    rules = table.rules
    return rules if isinstance(rules, Catalog) else Catalog()


def cached_per_table(table: Table, build: Callable[[Table], T]) -> T:
    """``build(table)``, called once until another class joins the table: for lookup structures of higher floors."""
    memo = catalog_of(table).memo
    if build not in memo:
        memo[build] = build(table)
    found: T = memo[build]
    return found


def neither_table_nor_class(named: str) -> UsageError:
    """The error for a name or a value that should be a table or a class."""
    return UsageError(
        problem=f"{named} is neither a Table nor an entity class", remedy="name a Table or an entity class"
    )


def type_in(table: Table, item: Item) -> AttributeValue | None:
    """The value of an item's type attribute; None where it has none."""
    attribute = table.type_attribute
    return item.get(attribute) if attribute is not None else None


def names_of(mapping: EntityMapping) -> tuple[str, ...]:
    """The values of the type attribute that a class declares: its name, then its former ones, or those of its field."""
    return mapping.type_names.names


def class_named(table: Table, name: object) -> EntityMapping | None:
    """The class that declares a value of the type attribute, as its name or a former one; None for no class."""
    return cached_per_table(table, _by_type).get(str(name))


def _by_type(table: Table) -> dict[str, EntityMapping]:
    return {name: mapping for mapping in catalog_of(table).mappings.values() for name in names_of(mapping)}


def class_called(table: Table, name: str) -> EntityMapping | None:
    """The class of this name or former name, whatever its items have in the type attribute; None for no class."""
    return catalog_of(table).mappings.get(name) or class_named(table, name)


def class_of_type(mapping: EntityMapping, tag: AttributeValue) -> EntityMapping | None:
    """The class that the type of an item under a key of ``mapping`` means; None for no class."""
    if "S" not in tag:
        return None
    return class_named(mapping.table, tag["S"]) or cached_per_table(mapping.table, _open).get(mapping.root)


def class_of_other_type(table: Table, item: Item) -> EntityMapping | None:
    """The class that takes an item whose type no class declares, by its key; None for no class."""
    found = (one for one in cached_per_table(table, _open).values() if one.key_matches(item))
    return next(found, None)


def _open(table: Table) -> dict[type, EntityMapping]:
    """The classes that take types that nobody declared, by their roots."""
    return {one.root: one for one in catalog_of(table).mappings.values() if one.type_names.accepts_unknown}


def of_type(mappings: Iterable[EntityMapping], attribute: str) -> condition.Condition:
    """The condition that an item is of one of these classes."""
    mappings = tuple(mappings)
    if any(one.type_names.accepts_unknown for one in mappings):
        others = not_of_others(mappings, attribute)
        return condition.exists(attribute) if others is None else condition.exists(attribute) & others
    names = [{"S": name} for mapping in mappings for name in names_of(mapping)]
    if len(names) == 1:
        return condition.equals(attribute, names[0])
    return condition.IsIn(condition.Attr((attribute,)), tuple(names))


def not_of_others(mappings: Iterable[EntityMapping], attribute: str) -> condition.Condition | None:
    """The condition that the type of an item is not that of another class of the table; None without another."""
    mappings = tuple(mappings)
    own = {name for mapping in mappings for name in names_of(mapping)}
    declared = (name for one in catalog_of(mappings[0].table).mappings.values() for name in names_of(one))
    others = tuple({"S": name} for name in declared if name not in own)
    return ~condition.IsIn(condition.Attr((attribute,)), others) if others else None


def entities_of(mapping: EntityMapping, revision: condition.Condition | None) -> condition.Condition | None:
    """The condition that an item is an entity of a class: of its type, with such a revision, and not deleted."""
    attribute = mapping.table.type_attribute
    if attribute is not None:  # what a deletion leaves has none
        return condition.all_of(of_type([mapping], attribute), revision)
    return condition.all_of(revision, None if mapping.versioning is None else condition.missing(DELETED))


def constraint_at(table: Table, key: Item) -> str:
    """The name of the constraint whose guard items have a key like this one."""
    named = str(key[table.pk.name].get("S", "")).partition("#")[0]
    found = [one for one in cached_per_table(table, _constraints_with_keys) if one.matches(key)]
    # A template that loses a part of the value ({x:upper}) matches more than it renders.
    rendered = [one.name for one in found if _is_rendered(one, key)]
    if rendered or not found:
        return rendered[0] if rendered else named
    return (
        named
        if any(named in one.constraints for one in catalog_of(table).guarded.values())
        else found[0].name
    )


def _is_rendered(constraint: Constraint, key: Item) -> bool:
    """Whether the key of a guard item that a constraint matches is one that it renders."""
    return all(may_meet((key[part.attribute.name]["S"],), part.shape) for part in constraint.parts)


def _constraints_with_keys(table: Table) -> list[Constraint]:
    """The constraints whose guard items have key templates of their own."""
    guarded = catalog_of(table).guarded.values()
    return [one for mapping in guarded for one in mapping.constraints.values() if one.parts]


def is_guard_of_others(table: Table, item: Item) -> bool:
    """Whether the key of an item is that of a guard item that another library writes too."""
    return any(one.matches(item) for one in cached_per_table(table, _constraints_with_keys))


def are_several(mapping: EntityMapping) -> bool:
    """Whether other classes share the keys of this one."""
    return mapping.root in cached_per_table(mapping.table, _roots_of_several)


def _roots_of_several(table: Table) -> frozenset[type]:
    roots = [mapping.root for mapping in catalog_of(table).mappings.values()]
    return frozenset(root for root in roots if roots.count(root) > 1)


def version_class(mapping: EntityMapping, item: Item) -> EntityMapping | None:
    """The class that a version or a tombstone under a key of ``mapping`` names; None if it names none."""
    found = class_called(mapping.table, item.get(VERSION_TYPE, {}).get("S", ""))
    return found if found is not None and issubclass(found.entity, mapping.root) else None


def stored_class(mapping: EntityMapping, item: Item) -> EntityMapping | None:
    """The class of an item under a key of ``mapping``: the class itself or one of its family; None for any other.

    An item without a type attribute belongs to ``mapping``.

    Raises:
        DecodeError: it has no type attribute, and its key could be that of another class, too.
    """
    tag = type_in(mapping.table, item)
    if tag is None:
        _refuse_ambiguous(mapping, item)
        return mapping
    found = class_of_type(mapping, tag)
    return found if found is not None and issubclass(found.entity, mapping.root) else None


def check_not_redeclared(mapping: EntityMapping) -> None:
    """Raises UsageError for a class that was declared again, or whose base was: reads find the items of the new one."""
    current = catalog_of(mapping.table).mappings.get(mapping.name)
    if current is None or current.entity is not mapping.entity:
        raise UsageError(
            problem=f"{mapping.entity.__name__} was declared again, or its base class was, and this is the old class",
            remedy="use the new one; if only the base class is new, declare this class again",
        )


def has_expired(mapping: EntityMapping, item: Item, now: float) -> bool:
    """Whether an item under a key of ``mapping`` has expired, whatever class it is of."""
    tag = type_in(mapping.table, item)
    stored = class_of_type(mapping, tag) if tag is not None else None
    return (stored or mapping).is_expired(item, now)


# -- classes whose keys could meet -------------------------------------------------------------------------------------


def keys_may_meet(left: EntityMapping, right: EntityMapping) -> bool:
    """Whether a key of one class could be a key of the other."""
    return all(
        may_meet(a.shape, b.shape) for a, b in zip(left.primary_parts, right.primary_parts, strict=True)
    )


def overlapping_classes(mapping: EntityMapping) -> tuple[EntityMapping, ...]:
    """The classes of other families whose keys could meet those of this one. The type attribute tells them apart."""
    return cached_per_table(mapping.table, _rivals).get(mapping.root, ())


def _rivals(table: Table) -> dict[type, tuple[EntityMapping, ...]]:
    known = catalog_of(table).mappings.values()
    families = {one.root: one for one in known}.values()
    return {
        one.root: tuple(other for other in known if other.root is not one.root and keys_may_meet(one, other))
        for one in families
    }


def expiring(mapping: EntityMapping) -> tuple[EntityMapping, ...]:
    """The classes with expiry times whose items may be stored under a key of this one, its own family among them."""
    return cached_per_table(mapping.table, _expiring).get(mapping.root, ())


def _expiring(table: Table) -> dict[type, tuple[EntityMapping, ...]]:
    known = catalog_of(table).mappings.values()
    return {
        one.root: tuple(
            other
            for other in known
            if other.expires is not None and (other.root is one.root or other in overlapping_classes(one))
        )
        for one in known
    }


def _refuse_ambiguous(mapping: EntityMapping, item: Item) -> None:
    others = [one.entity.__name__ for one in overlapping_classes(mapping) if one.key_matches(item)]
    if others:
        attribute = mapping.table.type_attribute
        problem = f"{attribute}: is absent, and the key could be that of {', '.join(others)}"
        raise mapping.errors.unreadable(item, (problem,))
