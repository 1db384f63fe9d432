"""Registers the classes of a table: which of them there are, and what follows from all of them together.

A class statement that runs again (in a notebook cell or a test) replaces the class it declared before: two classes with
the same module, qualified name and entity name are one class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from dynaorm.entity.declare.catalog import Catalog, ClassIdentity, catalog_of, names_of
from dynaorm.entity.declare.options import declared_options
from dynaorm.entity.expiry import Expiry
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.entity.table_index import KeyAttribute
from dynaorm.entity.token_item import TOKEN_PREFIX

N = TypeVar("N")


def register(mapping: EntityMapping) -> None:
    """Add a class without ``conflicts`` to its table. It replaces an earlier declaration of itself."""
    table, home, targets = mapping.table, mapping.table.guards, _targets(mapping)
    former = [one for one in catalog_of(table).mappings.values() if replaces(mapping, one)]
    # An earlier declaration leaves the tables, too, in which only that one kept totals.
    for one in dict.fromkeys((table, home, *_targets(*former), *targets)):
        known = catalog_of(one)
        _update(
            one,
            mappings=_joined(known.mappings, mapping, mapping.name) if one is table else known.mappings,
            guarded=_joined(known.guarded, mapping, identity(mapping.entity))
            if one is home
            else known.guarded,
            counted=_joined(known.counted, mapping, identity(mapping.entity) if one in targets else None),
        )


def _joined(
    known: Mapping[N, EntityMapping], mapping: EntityMapping, name: N | None
) -> dict[N, EntityMapping]:
    """The known classes without those that this one replaces, and with this one if a name is given."""
    others = {each: one for each, one in known.items() if not replaces(mapping, one)}
    return others if name is None else {**others, name: mapping}


def _targets(*sources: EntityMapping) -> list[Table]:
    """The tables that store the totals over some classes."""
    found = (mapping_of(one.target).table for source in sources for one in source.aggregates.values())
    return list(dict.fromkeys(found))


def _update(
    table: Table,
    mappings: Mapping[str, EntityMapping],
    guarded: Mapping[ClassIdentity, EntityMapping],
    counted: Mapping[ClassIdentity, EntityMapping],
) -> None:
    """Replace the catalog of a table, with everything that follows from its classes."""
    reserved = [(table.pk.name, re.compile(TOKEN_PREFIX), "a token item")]
    reserved += [
        (key.name, begins, f"a guard item of {claim.name!r}")
        for claim, _ in claims_of(guarded)
        for key, begins in _reserved_by(claim, table)
    ]
    for one in mappings.values():
        if one.versioning is not None and table.sk is not None:
            before, after = one.versioning.template.text.split("{version}")
            # Otherwise the keys of its versions begin with its own sort keys, and no beginning tells them.
            if "{sk}" not in before:
                begins = f"{re.escape(before)}[0-9]+{re.escape(after.split('{sk}')[0])}"
                reserved.append((table.sk.name, re.compile(begins), f"a version of {one.name}"))
    maintained = {name: fields for name, one in mappings.items() if (fields := _maintained(one, counted))}
    # As a whole: other threads read it without the lock.
    table.rules = Catalog(
        expiry=expiry_of([*mappings.values(), *guarded.values()]),
        reserved=tuple(dict.fromkeys(reserved)),
        maintained=maintained,
        types={name: one.name for one in mappings.values() for name in names_of(one)},
        is_counted=bool(maintained) or any(one.aggregates for one in mappings.values()),
        mappings=mappings,
        guarded=guarded,
        counted=counted,
    )


def _reserved_by(claim: Constraint, table: Table) -> list[tuple[KeyAttribute, re.Pattern[str]]]:
    """The key attributes in which a bare value could be that of a guard item, and how such values begin."""
    if not claim.parts:
        return [(key, re.compile(re.escape(f"{claim.name}#"))) for key in table.keys]
    template = claim.parts[0].template
    return [] if template is None else [(table.pk, template.pattern)]


def is_of(mapping: EntityMapping, target: EntityMapping) -> bool:
    """Whether ``mapping`` is the class ``target`` or derives from it; a redeclared class is the same class."""
    if mapping.table is not target.table:
        return False
    derives = mapping.root is target.root and issubclass(mapping.entity, target.entity)
    return derives or mapping.name == target.name


def maintained_fields(mapping: EntityMapping) -> dict[str, str]:
    """The fields of a class that hold totals, each with the ``Aggregate`` that maintains it."""
    return _maintained(mapping, catalog_of(mapping.table).counted)


def _maintained(mapping: EntityMapping, counted: Mapping[ClassIdentity, EntityMapping]) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in counted.values():
        for one in source.aggregates.values():
            if is_of(mapping, mapping_of(one.target)):
                keeper = f"{source.entity.__name__}.{one.name}"
                found |= {name: found.get(name, keeper) for name in one.maintained if name in mapping.fields}
    return found


def expiry_of(members: Iterable[EntityMapping]) -> Expiry | None:
    """How items expire of the first of some classes that expire; None if none does."""
    return next((one.expiry for one in members if one.expiry is not None), None)


def claims_of(guarded: Mapping[ClassIdentity, EntityMapping]) -> Iterator[tuple[Constraint, EntityMapping]]:
    """The unique constraints of these classes."""
    for mapping in guarded.values():
        for constraint in mapping.constraints.values():
            yield constraint, mapping


def replaces(mapping: EntityMapping, other: EntityMapping) -> bool:
    """Whether ``other`` is an earlier declaration of this class, or derives from an earlier declaration of its root."""
    if identity(mapping.entity) == identity(other.entity):
        return True
    return other.root is not mapping.root and identity(other.root) == identity(mapping.root)


def identity(entity: type) -> ClassIdentity:
    return entity.__module__, entity.__qualname__, declared_options(entity).name
