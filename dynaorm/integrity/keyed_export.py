"""The exports that a verification needs, and what it judges in them: the same for every engine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from dynaorm.argument import check_kind, names_of
from dynaorm.entity.table import Table
from dynaorm.errors import UsageError
from dynaorm.integrity.exported import ExportFile, items_in, open_export
from dynaorm.integrity.keyed import (
    Answer,
    FactKind,
    KeyedScope,
    ShuffleRecord,
    facts_of,
    findings_of,
    folded,
    modules_of,
    name_of,
)
from dynaorm.record import record, replace

_FOLDED: Final = 20_000
"""How many facts a process folds before it passes them on."""


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
    foreign = names_of("foreign_attributes={}", foreign_attributes)
    check_kind(
        "path={}", path, str | Mapping, "a path or a mapping", remedy="give the folders by their tables"
    )
    if now is not None:
        check_kind("now={}", now, int | float, "a number", remedy="give seconds since the Unix epoch")
    names = tuple(map(name_of, targets))
    known = KeyedScope(names, 0.0, foreign).tables
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
        KeyedScope(names, moment, foreign, modules_of(known.values())),
        tuple((name, file) for name, export in exports.items() for file in export.files),
    )


# -- in the processes of an engine -------------------------------------------------------------------------------------


def mapped(file: ExportFile, table: str, scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """The facts that the items of a data file give. Raises UsageError if it is not as its manifest says."""
    scope = _known(scope)
    return _fewer((fact for item in items_in(file) for fact in facts_of(item, table, scope)), scope)


def reduced(rows: Iterable[Sequence[Any]], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """What follows from rows, all rows of a key after each other.

    Args:
        rows: a key and the text of a fact, or a key, an address, and the item that is stored there.
        scope: what is verified.
    """
    scope = _known(scope)
    return _fewer(
        (
            fact
            for key, some in groupby(rows, key=itemgetter(0))
            for fact in findings_of(
                key, (Answer(*row[1:]) if len(row) == 3 else row[1] for row in some), scope
            )
        ),
        scope,
    )


@cache
def _known(scope: KeyedScope) -> KeyedScope:
    """The same object for equal scopes, which looks up its classes once in a process."""
    return scope


def _fewer(facts: Iterable[ShuffleRecord], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    """As few facts as say the same, as far as a process can tell: millions of entities may add to one total."""
    waiting: dict[str, list[str]] = {}
    count = 0
    for fact in facts:
        if fact.kind != FactKind.CONCERNS:
            yield fact
            continue
        waiting.setdefault(fact.key, []).append(fact.text)
        count += 1
        if count >= _FOLDED:
            yield from _folded(waiting, scope)
            waiting, count = {}, 0
    yield from _folded(waiting, scope)


def _folded(waiting: Mapping[str, list[str]], scope: KeyedScope) -> Iterator[ShuffleRecord]:
    for key, texts in waiting.items():
        for text in folded(texts, scope):
            yield ShuffleRecord(FactKind.CONCERNS, key, text)
