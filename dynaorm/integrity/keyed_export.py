"""The exports that a verification needs, and what it judges in them: the same for every engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.integrity.exported import ExportFile, open_export
from dynaorm.integrity.keyed import KeyedScope, name_of
from dynaorm.record import record, replace


@record
class Sources:
    """The data files of some exports, and what is judged in them.

    Attributes:
        declared: what is verified.
        files: the data files, each after the name of its table.
    """

    declared: KeyedScope
    files: tuple[tuple[str, ExportFile], ...]

    @property
    def items(self) -> int:
        """How many items there are."""
        return sum(file.items for _, file in self.files)

    def with_doubts(self, doubts: Iterable[tuple[str, str]]) -> KeyedScope:
        """What is verified, with all doubts about sums."""
        return replace(self.declared, doubts=tuple((key, text) for key, text in doubts))


def sources_of(
    path: str | Mapping[str, str],
    targets: Sequence[Table | type[Any] | str],
    now: float | None,
    foreign_attributes: Iterable[str],
) -> Sources:
    """The sources of a verification.

    Args:
        path: the folder of the export, or the folders by the names of their tables.
        targets: tables and classes, as objects or as ``module:Name``.
        now: the time at which it judges; None for that of the export.
        foreign_attributes: attributes that other programs write.

    Raises:
        UsageError: it is no full export; a table is missing; other processes cannot find a target.
    """
    names, foreign = tuple(map(name_of, targets)), tuple(foreign_attributes)
    known = KeyedScope(names, 0.0, foreign).tables
    # Any module may declare a class of a table.
    modules = {
        one.entity.__module__ for table in known.values() for one in catalog_of(table).mappings.values()
    }
    tables = sorted(known)
    paths = {tables[0]: path} if isinstance(path, str) else dict(path)
    wrong = [f"there is none of {name!r}" for name in tables if name not in paths]
    wrong += [f"nothing depends on {name!r}" for name in paths if name not in tables]
    if wrong:
        raise UsageError(
            problem=f"{', '.join(names)} needs an export of {' and '.join(map(repr, tables))}: {', '.join(wrong)}",
            remedy="give the folders of all these exports, by the names of their tables",
        )
    exports = {name: open_export(one) for name, one in paths.items()}
    moment = max(one.time for one in exports.values()) if now is None else now
    return Sources(
        KeyedScope(names, moment, foreign, tuple(sorted(modules - {"__main__"}))),
        tuple((name, file) for name, export in exports.items() for file in export.files),
    )
