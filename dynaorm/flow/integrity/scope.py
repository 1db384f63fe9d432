"""What a verification is about: whole tables, or classes; and which tables have to be read for that."""

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
        whole: tables of which every item is.
        classes: classes of which every item is, wherever they are stored.
        new_setting: the circumstances of the next judgement.
        with_totals: totals are verified, too; not where only some segments are read.
        with_new_targets: what totals could be kept in, and is not there, is missing.
    """

    whole: tuple[Table, ...]
    classes: tuple[type[Any], ...]
    new_setting: Callable[[], UnitOfWork]
    with_totals: bool = True
    with_new_targets: bool = False

    def covers(self, mapping: EntityMapping) -> bool:
        """Whether the items of a class are verified."""
        return mapping.table in self.whole or issubclass(mapping.entity, self.classes)

    def covers_guards(self, table: Table, constraint: str) -> bool:
        """Whether the guard items of a constraint in a table are."""
        return any(
            constraint in one.constraints and self.covers(one) for one in catalog_of(table).guarded.values()
        )

    def covers_totals(self, mapping: EntityMapping) -> bool:
        """Whether the totals that are kept in a class are: it is verified, or one that is counted in it."""
        if not self.with_totals or not mapping.maintained:
            return False
        return self.covers(mapping) or any(self.covers(source) for source in sources_of(mapping))

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
        """The tables to be read: where the items are, their guards, and all that is counted in the same totals."""
        found = list(self.whole)
        for mapping in self.mappings:
            found.append(mapping.table)
            if mapping.constraints:
                found.append(mapping.table.guards)
            if self.with_totals:
                targets = [mapping, *(mapping_of(one.target) for one in mapping.aggregates.values())]
                found += [source.table for target in targets for source in sources_of(target)]
        return tuple(dict.fromkeys(found))

    @property
    def known_tables(self) -> tuple[Table, ...]:
        """The tables that are read, and those whose items are read by key."""
        targets = (
            mapping_of(one.target).table
            for table in self.tables
            for mapping in catalog_of(table).mappings.values()
            for one in mapping.aggregates.values()
        )
        homes = (one.table for table in self.tables for one in catalog_of(table).guarded.values())
        guards = (table.guards for table in self.tables)
        return tuple(dict.fromkeys((*self.tables, *guards, *homes, *targets)))


def sources_of(target: EntityMapping) -> Iterable[EntityMapping]:
    """The classes that are counted in the totals of a class."""
    for source in catalog_of(target.table).counted.values():
        if any(is_of(target, mapping_of(one.target)) for one in source.aggregates.values()):
            yield source


def scope_of(
    named: Sequence[Table | type[Any]], new_setting: Callable[[], UnitOfWork], *, with_totals: bool = True
) -> Scope:
    """The scope of some tables and classes. Raises UsageError for none, or for anything else."""
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
    return Scope(tables, classes, new_setting, with_totals)
