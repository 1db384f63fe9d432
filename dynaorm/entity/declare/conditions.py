"""The conditions of a class (``when=``), translated once the whole class is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.when import When
from dynaorm.errors import UsageError
from dynaorm.failure import shown
from dynaorm.late import late
from dynaorm.record import replace

if TYPE_CHECKING:
    from dynaorm.entity import resolve
    from dynaorm.item import condition
else:
    late(globals(), condition="dynaorm.item.condition", resolve="dynaorm.entity.resolve")


def with_conditions(mapping: EntityMapping, problems: list[str]) -> EntityMapping:
    """The mapping with its conditions translated; ``problems`` receives a sentence for each that cannot be."""
    return replace(
        mapping,
        indexes=dict(_translated(mapping, mapping.indexes, problems)),
        constraints=dict(_translated(mapping, mapping.constraints, problems)),
        aggregates=dict(_translated(mapping, mapping.aggregates, problems)),
    )


def _translated(mapping: EntityMapping, declared: Any, problems: list[str]) -> Iterator[tuple[str, Any]]:
    for name, one in declared.items():
        if one.when is None:
            yield name, one
            continue
        try:
            yield name, replace(one, when=_when(mapping, one.when))
        except UsageError as problem:
            problems.append(f"when= of {one.when.owner}: {problem}")


def _when(mapping: EntityMapping, when: When) -> When:
    """Raises UsageError."""
    given: Any = when.given
    if not isinstance(given, condition.Condition):
        if not callable(given):
            raise UsageError(
                problem=f"{shown(given)} is neither a condition nor a function",
                remedy='write a condition, such as F.status == "open", or a function of the entity',
            )
        return when
    fields = frozenset(str(path[0]) for path in condition.paths_of(given))
    return When(when.owner, given, fields, resolve.resolve_condition(mapping, given, revision=False))
