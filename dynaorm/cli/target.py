"""Find the tables and entity classes that ``module:Name`` names on the command line."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from traceback import extract_tb
from typing import Any, TypeGuard

from dynaorm.cli.terminal import complain
from dynaorm.entity.base import Entity
from dynaorm.entity.declare.catalog import catalog_of, neither_table_nor_class
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.entity.table import IndexOf, Table
from dynaorm.errors import DynaormError, UsageError
from dynaorm.failure import counted, suggestion


def load_module(name: str) -> Any:
    """Import a module.

    Raises:
        UsageError: it does not exist, or an error ends it.
        DeclarationError: it declares a class that cannot be mapped.
    """
    try:
        return import_module(name)
    except DynaormError:
        raise
    except (Exception, SystemExit) as failure:  # a module may do anything when it is imported
        missing = failure.name if isinstance(failure, ModuleNotFoundError) else None
        # The module itself or its package is missing, not one that it imports.
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            problem = f"there is no module {name!r}"
        else:
            problem = f"the module {name!r} cannot be imported: {type(failure).__name__}: {failure}{_place(failure)}"
        remedy = "correct it, or name another module"
        if missing is not None:
            remedy = f"correct the name, or add the folder of {missing!r} to PYTHONPATH"
        raise UsageError(problem=problem, remedy=remedy) from failure


def _place(failure: BaseException) -> str:
    """Where an error was raised, in words."""
    frames = extract_tb(failure.__traceback__)
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def tell_of_empty(tables: Iterable[Table]) -> None:
    """Write to stderr which tables have no class: then everything in them is unknown."""
    for table in dict.fromkeys(tables):
        found = catalog_of(table)
        if not found.mappings and not found.guarded:  # a table of guards has none of its own
            complain(
                f"no class of the table {table.name} is loaded; name the module of its classes with --import"
            )


def load_target(text: str) -> Table | type[Any]:
    """The table or class that ``module:Name`` names. Raises UsageError, DeclarationError."""
    found = _load(text)
    if isinstance(found, Table) or _is_class(found):
        return found
    raise neither_table_nor_class(text)


def load_table(text: str) -> Table:
    """The table that ``module:Name`` names, or that of the class. Raises UsageError, DeclarationError."""
    return table_of(load_target(text))


def load_class(text: str) -> type[Any]:
    """The class that ``module:Class`` names. Raises UsageError, DeclarationError."""
    found = load_target(text)
    if isinstance(found, Table):
        raise _no_class(text, found)
    return found


def chosen_classes(target: str, chosen: Iterable[str], known: Sequence[str]) -> set[str]:
    """The names of the classes that a command is about; none for all.

    Args:
        target: the target, which may itself be a class.
        chosen: the names that were given by ``--class``.
        known: the names of the classes of the table.

    Raises:
        UsageError: there is no such class.
    """
    found = set(chosen)
    if not found and not isinstance(entity := load_target(target), Table):
        found = {one for one in known if one.partition(" ")[0] == entity.__name__}
    for name in found:
        if name not in known:
            raise UsageError(problem=f"the table has no class {name!r}", remedy=suggestion(name, known))
    return found


def load_source(text: str) -> type[Any] | IndexOf[Any]:
    """The class, or its place in an index, that ``module:Class`` or ``module:Class.by_name`` names.

    Raises:
        UsageError, DeclarationError: it names neither.
    """
    found = _load(text)
    if isinstance(found, IndexOf):
        mapping_of(found.entity)
        return found
    if isinstance(found, Table):
        raise _no_class(text, found)
    if _is_class(found):
        return found
    raise UsageError(
        problem=f"{text} is neither an entity class nor a place of one in an index",
        remedy="write module:Class, or module:Class.by_status",
    )


def _load(text: str) -> Any:
    module, sign, path = text.partition(":")
    if not module or (sign and not path):
        raise UsageError(problem=f"{text!r} names nothing", remedy="write module:Table or module:Class")
    found: Any = load_module(module)
    if not sign:
        return _only_table(text, found)
    before: list[str] = []
    for name in path.split("."):
        try:
            inner = getattr(found, name)
        except Exception:  # noqa: BLE001 - whatever computes the attribute may fail
            where = ".".join(before) or module
            raise UsageError(
                problem=f"there is no {name!r} in {where}", remedy=suggestion(name, _names_in(found))
            ) from None
        found = inner
        before.append(name)
    return found


def _only_table(name: str, module: Any) -> Table:
    """The table of a module that has one. Raises UsageError."""
    tables = [*dict.fromkeys(tables_in([name]))]
    if len(tables) == 1:
        return tables[0]
    names = ", ".join(f"{name}:{one}" for one in _names_in(module)) if tables else f"{name}:Class"
    raise UsageError(
        problem=f"the module {name} has {counted(len(tables), 'Table')}",
        remedy=f"name one thing of it: {names}",
    )


def _is_class(found: Any) -> TypeGuard[type[Any]]:
    """Whether it is an entity class. Raises UsageError, DeclarationError for a class that is not mapped."""
    if isinstance(found, type):
        mapping_of(found)
        return True
    return False


def _names_in(found: Any) -> list[str]:
    """What can be named in a module: its tables and classes; in a class: its places in indexes."""
    if isinstance(found, type):
        return [*mapping_of(found).indexes] or ["a class without an index: leave the name out"]
    named = [name for name, one in vars(found).items() if issubclass(type(one), Table) or _is_entity(one)]
    return named or ["a module with a Table or an entity class"]


def _is_entity(found: Any) -> bool:
    # A class of the module may be anything, and one that was imported too.
    return issubclass(type(found), type) and issubclass(found, Entity) and found is not Entity


def _no_class(text: str, table: Table) -> UsageError:
    module = text.partition(":")[0]
    names = sorted({mapping.entity.__name__ for mapping in catalog_of(table).mappings.values()})
    return UsageError(
        problem=f"{text} is a table",
        remedy=f"name one of its classes: {', '.join(f'{module}:{name}' for name in names)}",
    )


def tables_in(modules: Iterable[str]) -> list[Table]:
    """The tables among the names of some modules."""
    # A proxy may fail when isinstance asks for its class.
    found = (var for module in modules for var in vars(load_module(module)).values())
    return [one for one in found if issubclass(type(one), Table)]


def table_names(pairs: Iterable[str], targets: Iterable[Table | type[Any]]) -> dict[str, str]:
    """The mapping of some ``declared=physical`` pairs.

    Raises:
        UsageError: one is no pair, or names a table that these targets do not use. A misspelt name would otherwise
            send the work to another table.
    """
    names: dict[str, str] = {}
    known = {one.name for one in tables_reached(targets)}
    for pair in pairs:
        declared, sign, physical = pair.partition("=")
        if not declared or not sign or not physical:
            raise UsageError(problem=f"{pair!r} maps no table", remedy="write --table-name declared=physical")
        if declared not in known:
            raise UsageError(
                problem=f"--table-name {pair}: no table called {declared!r} is declared here",
                remedy=f"map one of {', '.join(sorted(known))}",
            )
        names[declared] = physical
    return names


def tables_reached(targets: Iterable[Table | type[Any]]) -> list[Table]:
    """The tables of some targets, and those of their guards and totals."""
    found: dict[Table, None] = {}
    left = [table_of(target) for target in targets]
    while left:
        table = left.pop(0)
        if table not in found:
            found[table] = None
            kept_in = [
                aggregate.target
                for source in catalog_of(table).mappings.values()
                for aggregate in source.aggregates.values()
            ]
            left += [table.guards, *map(table_of, kept_in)]
            left += [
                one.table
                for one in (*catalog_of(table).guarded.values(), *catalog_of(table).counted.values())
            ]
    return [*found]


def table_of(target: Table | type[Any]) -> Table:
    """A table itself, or the table of a class."""
    return target if isinstance(target, Table) else mapping_of(target).table
