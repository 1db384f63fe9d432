"""Find the tables that a test needs: those of the modules, entity classes and tables that it names."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

from dynaorm.argument import check_kind
from dynaorm.entity.base import Entity
from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.failure import shown

Source: TypeAlias = Table | type | ModuleType | str
"""A table, an entity class, a module, or the name of one: ``"myservice.entities"``, ``"myservice.entities:User"``."""


def tables_of(*sources: Source) -> tuple[Table, ...]:
    """The tables that these name, each once, in order. A module names its tables and those of its entity classes.

    Tables in which their classes keep totals are included. Guard tables are not, because ``create_table`` creates them.

    Args:
        *sources: tables, classes, modules, or the names of any of them: ``shop:Order``.

    Raises:
        UsageError: a source names no table.
        ImportError: a module cannot be imported.

    Examples:
        >>> [table.name for table in tables_of(User, Ticket)]
        ['app']
    """
    return _reached((table for source in sources for table in _tables_in(source)), _targets)


def check_session(method: str, session: object, kind: type) -> None:
    """Raise UsageError for anything but a session of this kind."""
    check_kind(f"{method}({{}})", session, kind, "a Session", remedy=f"give a {kind.__name__}")


def related(tables: Iterable[Table]) -> tuple[Table, ...]:
    """These tables, and every table that depends on one of them: of guards, of totals, of counted entities."""
    return _reached(tables, _neighbours)


def _reached(tables: Iterable[Table], neighbours: Callable[[Table], Iterable[Table]]) -> tuple[Table, ...]:
    """The tables, and all that can be reached from them."""
    found = dict.fromkeys(tables)
    waiting = list(found)
    while waiting:
        for one in neighbours(waiting.pop()):
            if one not in found:
                found[one] = None
                waiting.append(one)
    return tuple(found)


def _tables_in(source: Source) -> Iterator[Table]:
    if isinstance(source, str):
        yield from _tables_in(_named(source))
    elif isinstance(source, Table):
        yield source
    elif isinstance(source, ModuleType):
        yield from _tables_of_module(source)
    else:
        yield mapping_of(source).table


def _named(name: str) -> Source:
    module, colon, attribute = name.partition(":")
    try:
        found: Source = import_module(module)
    except (ValueError, UnicodeError):
        raise UsageError(
            problem=f"{shown(name)} names no module", remedy='write "myservice.entities"'
        ) from None
    if colon:
        found = getattr(found, attribute, None)  # type: ignore[assignment]  # judged below
        if not isinstance(found, Table | type):
            raise UsageError(
                problem=f"{name!r} is {found!r}, no table and no entity class",
                remedy='name one, or the whole module: "myservice.entities"',
            )
    return found


def _tables_of_module(module: ModuleType) -> Iterator[Table]:
    declared = list(vars(module).values())
    found = [one for one in declared if isinstance(one, Table)]
    found += [mapping_of(one).table for one in declared if _is_mapped(one)]
    if not found:
        raise UsageError(
            problem=f"the module {module.__name__!r} has no table and no entity class",
            remedy="name the module that declares them",
        )
    # A guard table comes with the tables whose guards it holds.
    homes = {one.guard_table for one in found}
    yield from (one for one in found if one not in homes)


def _is_mapped(one: object) -> bool:
    if not (isinstance(one, type) and issubclass(one, Entity) and one is not Entity):
        return False
    try:
        mapping_of(one)
    except UsageError:  # a base class without a table, or a plain model
        return False
    return True


def _targets(table: Table) -> Iterator[Table]:
    for mapping in catalog_of(table).mappings.values():
        yield from (mapping_of(one.target).table for one in mapping.aggregates.values())


def _neighbours(table: Table) -> Iterator[Table]:
    catalog = catalog_of(table)
    yield table.guards
    yield from _targets(table)
    for mapping in (*catalog.guarded.values(), *catalog.counted.values()):
        yield mapping.table
