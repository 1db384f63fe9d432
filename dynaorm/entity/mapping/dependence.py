"""Dependence: which values follow from a field, besides its own.

Rule 1. A field's loaded value depends on its own attribute and on the fields at which its validators and its factory
        may look: pydantic shows them those that are declared before it. A rule of the class may look at every field,
        and change it.
Rule 2. Keys, guards, versions and totals depend on the fields that they are made of, and on all that these depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from dynaorm.entity.core_schema import (
    definitions_of,
    has_own_code,
    is_function,
    looks_beside,
    path_to_fields,
)
from dynaorm.entity.mapping.computed import ComputedValue
from dynaorm.record import record


@record(eq=False)
class Dependence:
    """What depends on what in one class.

    Attributes:
        fields: all fields of the class.
        looks_at: for each field, all other fields that its loaded value depends on; also for computed and nested ones.
        seen_by: the same the other way: for each field, all others whose loaded values depend on it.
        made: the fields that a factory makes of others if they are absent.
        derived: for each key, index, constraint, total, version and expiry of the class, the fields that it is made of.
        without_factories: the same for items in which no field is absent, so that no factory makes a value; None if
            no factory is shown other fields.
    """

    fields: frozenset[str]
    looks_at: Mapping[str, frozenset[str]]
    seen_by: Mapping[str, frozenset[str]]
    made: frozenset[str]
    derived: tuple[frozenset[str], ...]
    without_factories: Dependence | None = None

    def dependents(self, touched: Iterable[str]) -> frozenset[str]:
        """Every field, also computed and nested ones, whose loaded value may change because one of these changes.

        The touched ones are among them.
        """
        touched = frozenset(touched)
        return touched.union(*(self.seen_by.get(name, _NONE) for name in touched))

    def judged_by(self, touched: Iterable[str]) -> frozenset[str]:
        """Every field whose stored value has a part in judging a write that touches these; none that is computed.

        These are the fields that the write may change, those at which their validators may look, and those that
        decide, together with them, about a key, an index, a guard, a total or a version.
        """
        changed = self.dependents(touched) & self.fields
        found = changed.union(*(one for one in self.derived if not one.isdisjoint(changed)))
        return found.union(*(self.looks_at.get(name, _NONE) for name in found))

    @property
    def in_items(self) -> Dependence:
        """What depends on what in items in which no field is absent."""
        return self if self.without_factories is None else self.without_factories

    def looking(self, names: Iterable[str]) -> frozenset[str]:
        """Those of some fields whose loaded values depend on other fields, too; none that is computed."""
        return frozenset(name for name in names if name in self.fields and self.looks_at[name])


_NONE: Final[frozenset[str]] = frozenset()


def dependence_of(
    entity: type[BaseModel], computed: Mapping[str, ComputedValue], derived: tuple[frozenset[str], ...]
) -> Dependence:
    """What depends on what in a class whose fields are complete. ``derived`` is as in ``Dependence``."""
    info = entity.model_fields
    fields = frozenset(info)
    looks_at = dict.fromkeys(entity.model_computed_fields, fields)
    looks_at |= {name: one.fields for name, one in computed.items()}
    made = frozenset(name for name in fields if info[name].default_factory_takes_validated_data)
    found, other = ({**_looks_at(entity, factories=factories), **looks_at} for factories in (True, False))
    # A write by key requires what a factory would make to be stored, and then asks what follows without factories.
    without = _compiled(other, fields, made, derived=derived) if made else None
    return _compiled(found, fields, made, derived=derived, without=without)


def _compiled(
    looks_at: Mapping[str, frozenset[str]],
    fields: frozenset[str],
    made: frozenset[str],
    *,
    derived: tuple[frozenset[str], ...],
    without: Dependence | None = None,
) -> Dependence:
    closed = {name: _reached(name, looks_at) for name in looks_at}
    seen_by = {name: frozenset(one for one, seen in closed.items() if name in seen) for name in fields}
    return Dependence(fields, closed, seen_by, made, derived, without)


def _looks_at(entity: type[BaseModel], *, factories: bool) -> dict[str, frozenset[str]]:
    """For each field, the other fields at which its validators may look; with ``factories``, or its factory."""
    schema: Any = entity.__pydantic_core_schema__
    path, definitions = path_to_fields(schema), definitions_of(schema)
    declared = path[-1]["fields"]
    # A rule of the class (Rule 1).
    if any(is_function(one) or has_own_code(one) for one in path):
        return {name: frozenset(declared.keys() - {name}) for name in declared}
    found, before = {}, frozenset[str]()
    for name, field in declared.items():
        is_looking = looks_beside(field["schema"], definitions, factories=factories)
        found[name] = before if is_looking else _NONE
        before |= {name}
    return found


def _reached(name: str, looks_at: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """What a field looks at, and what these look at in turn."""
    waiting, seen = [*looks_at[name]], set[str]()
    while waiting:
        if (one := waiting.pop()) not in seen:
            seen.add(one)
            waiting += looks_at.get(one, ())
    return frozenset(seen - {name})
