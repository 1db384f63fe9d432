"""The scope of a verification: whole tables or classes, and the tables that have to be read for them."""

from collections.abc import Callable, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of, neither_table_nor_class
from dynaorm.entity.declare.registry import is_of
from dynaorm.entity.mapping.mapping import EntityMapping, mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.plan.derived_kinds import DERIVED_KINDS
from dynaorm.plan.intent import UnitOfWork
from dynaorm.record import record


@record
class Scope:
    """What is verified.

    Attributes:
        whole: the tables of which every item is verified.
        classes: the classes of which every item is verified, with those that derive from them in their table.
        new_unit: makes the time and the new revision for the next judgement.
        reads_everything: every item of the tables is read. If only some segments are read, totals are not verified.
        with_new_targets: a missing item that is a sum, and can be made, is a finding.
        foreign_attributes: attributes that other programs write; no declaration of dynaorm does.
    """

    whole: tuple[Table, ...]
    classes: tuple[type[Any], ...]
    new_unit: Callable[[], UnitOfWork]
    reads_everything: bool = True
    with_new_targets: bool = False
    foreign_attributes: frozenset[str] = frozenset()

    def covers(self, mapping: EntityMapping) -> bool:
        """Whether the items of a class are verified.

        A class that derives from a named one, but has a table of its own, is none of its family: no read of the named
        class finds its entities. What belongs to them may be in tables that are not read.
        """
        return mapping.table in self.whole or any(is_of(mapping, mapping_of(one)) for one in self.classes)

    @property
    def mappings(self) -> list[EntityMapping]:
        """The classes that are verified."""
        found = [one for table in self.whole for one in catalog_of(table).mappings.values()]
        for entity in self.classes:
            known = catalog_of(mapping_of(entity).table).mappings.values()
            found += [one for one in known if is_of(one, mapping_of(entity))]
        return list({id(one): one for one in found}.values())

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables to scan: those of the entities, and of all items that what follows from them is judged with."""
        found = list(self.whole)
        for mapping in self.mappings:
            found.append(mapping.table)
            for kind in DERIVED_KINDS:
                if self.reads_everything or not kind.is_summed:
                    found += kind.tables_beside(mapping)
        return tuple(dict.fromkeys(found))

    @property
    def known_tables(self) -> tuple[Table, ...]:
        """The tables to scan, and those whose items are read by key or written."""
        reached = [
            one for kind in DERIVED_KINDS for table in self.tables for one in kind.tables_reached(table)
        ]
        return tuple(dict.fromkeys((*self.tables, *reached)))


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
            raise neither_table_nor_class(shown(one))
    tables = tuple(one for one in named if isinstance(one, Table))
    classes = tuple(one for one in named if isinstance(one, type))
    for entity in classes:
        mapping_of(entity)
    return Scope(tables, classes, new_unit, reads_everything)
