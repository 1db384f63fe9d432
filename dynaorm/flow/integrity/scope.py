"""The scope of a verification: whole tables or classes, and the tables that have to be read for them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.plan.unit_of_work import UnitOfWork
from dynaorm.record import record


@record
class Scope:
    """What is verified.

    Attributes:
        whole: the tables of which every item is verified.
        classes: the classes of which every item is verified, in whatever table.
        new_unit: makes the time and the new revision for the next judgement.
        reads_everything: every item of the tables is read. If only some segments are read, totals are not verified.
        with_new_targets: a missing target of a total is a finding.
        foreign_attributes: attributes that other programs write; no declaration of dynaorm does.
    """

    whole: tuple[Table, ...]
    classes: tuple[type[Any], ...]
    new_unit: Callable[[], UnitOfWork]
    reads_everything: bool = True
    with_new_targets: bool = False
    foreign_attributes: frozenset[str] = frozenset()

    def covers(self, mapping: EntityMapping) -> bool:
        """Whether the items of a class are verified."""
        return mapping.table in self.whole or issubclass(mapping.entity, self.classes)

    def covers_guards(self, table: Table, constraint: str) -> bool:
        """Whether the guard items of a constraint in a table are verified."""
        return any(map(self.covers, constrained_by(constraint, table)))

    def sees_holders(self, table: Table, constraint: str) -> bool:
        """Whether a run meets every entity that can hold a value of a constraint."""
        return self.reads_everything and all(map(self.covers, constrained_by(constraint, table)))

    def covers_totals(self, mapping: EntityMapping) -> bool:
        """Whether the totals kept in a class are verified: the class is, or one that is counted in it."""
        if not self.reads_everything or not mapping.maintained:
            return False
        return self.covers(mapping) or any(self.covers(source) for source in sources_of(mapping))

    def counts(self, mapping: EntityMapping) -> bool:
        """Whether the items of a class are counted in totals that are verified."""
        return any(self.covers_totals(mapping_of(one.target)) for one in mapping.aggregates.values())

    @property
    def mappings(self) -> list[EntityMapping]:
        """The classes that are verified."""
        found = [one for table in self.whole for one in catalog_of(table).mappings.values()]
        for entity in self.classes:
            mapping = mapping_of(entity)
            found += [
                one for one in catalog_of(mapping.table).mappings.values() if issubclass(one.entity, entity)
            ]
        return list({id(one): one for one in found}.values())

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables to scan: those of the items, of their guards, of their totals, and of what these count."""
        found = list(self.whole)
        for mapping in self.mappings:
            found.append(mapping.table)
            if mapping.constraints:
                found.append(mapping.table.guards)
            if self.reads_everything:
                targets = [mapping, *(mapping_of(one.target) for one in mapping.aggregates.values())]
                found += [one.table for target in targets for one in (*sources_of(target), target)]
        return tuple(dict.fromkeys(found))

    @property
    def known_tables(self) -> tuple[Table, ...]:
        """The tables to scan, and those whose items are read by key or written."""
        targets = (
            mapping_of(one.target).table
            for table in self.tables
            for mapping in catalog_of(table).mappings.values()
            for one in mapping.aggregates.values()
        )
        homes = (one.table for table in self.tables for one in catalog_of(table).guarded.values())
        guards = (table.guards for table in self.tables)
        return tuple(dict.fromkeys((*self.tables, *guards, *homes, *targets)))


def constrained_by(constraint: str, home: Table) -> list[EntityMapping]:
    """The classes with a constraint whose guard items are in a table."""
    return [one for one in catalog_of(home).guarded.values() if constraint in one.constraints]


def sources_of(target: EntityMapping) -> Iterable[EntityMapping]:
    """The classes that are counted in the totals of a class."""
    for source in catalog_of(target.table).counted.values():
        if any(is_of(target, mapping_of(one.target)) for one in source.aggregates.values()):
            yield source


def scope_of(
    named: Sequence[Table | type[Any]], new_unit: Callable[[], UnitOfWork], *, reads_everything: bool = True
) -> Scope:
    """The scope of some tables and classes. Raises UsageError for an empty list, or for anything else."""
    if not named:
        raise UsageError(
            problem="nothing was named to be verified", remedy="name tables, entity classes, or both"
        )
    for one in named:
        if not isinstance(one, Table | type):
            raise UsageError(
                problem=f"{one!r} is neither a Table nor an entity class", remedy="name a Table or a class"
            )
    tables = tuple(one for one in named if isinstance(one, Table))
    classes = tuple(one for one in named if isinstance(one, type))
    for entity in classes:
        mapping_of(entity)
    return Scope(tables, classes, new_unit, reads_everything)
