"""``module:Name`` on the command line becomes a table or an entity class."""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from dynaorm.entity.mapping import mapping_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError


def importable() -> None:
    """Let modules of the working directory be imported, as ``python -m`` does."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def load_module(name: str) -> Any:
    """Raises UsageError for a module that is not there; what it raises itself is let through."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise
        raise UsageError(
            problem=f"there is no module {name!r}",
            remedy="run it where the module can be imported (PYTHONPATH)",
        ) from missing


def load_target(text: str) -> Table | type[Any]:
    """The table or class that a ``module:Name`` means. Raises UsageError, DeclarationError."""
    module, _, path = text.partition(":")
    if not module or not path:
        raise UsageError(problem=f"{text!r} names nothing", remedy="write module:Table or module:Class")
    found: Any = load_module(module)
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise UsageError(
                problem=f"there is no {path!r} in {module}",
                remedy="name a Table or an entity class of the module",
            ) from None
    if isinstance(found, Table):
        return found
    if isinstance(found, type):
        mapping_of(found)
        return found
    raise UsageError(
        problem=f"{text} is neither a Table nor an entity class", remedy="name a Table or an entity class"
    )


def keep_totals(targets: Iterable[Table | type[Any]]) -> bool:
    """Whether totals are kept in what is named, or of it."""
    tables = [one if isinstance(one, Table) else mapping_of(one).table for one in targets]
    return any(one.aggregates or one.kept for table in tables for one in table.mappings.values())


def table_names(pairs: tuple[str, ...]) -> dict[str, str]:
    """``declared=physical`` pairs as a mapping. Raises UsageError."""
    names: dict[str, str] = {}
    for pair in pairs:
        declared, sign, physical = pair.partition("=")
        if not declared or not sign or not physical:
            raise UsageError(problem=f"{pair!r} maps no table", remedy="write --table-name declared=physical")
        names[declared] = physical
    return names
