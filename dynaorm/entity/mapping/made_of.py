"""What follows from the fields of a class: the one list of its keys, guards, versions and totals, and of the stored
fields that each is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final, Protocol

from pydantic import BaseModel

from dynaorm.entity.mapping.aggregate import AggregateMapping
from dynaorm.entity.mapping.computed import ComputedValue
from dynaorm.entity.mapping.constraint import Constraint
from dynaorm.entity.mapping.field import FieldMapping
from dynaorm.entity.mapping.place import IndexPlaces
from dynaorm.entity.template import Versioning
from dynaorm.record import record

_NONE: Final[frozenset[str]] = frozenset()


@record(eq=False)
class DerivedFields:
    """The stored fields of a class that decide what follows from an entity.

    Attributes:
        plain_key: those of the primary key.
        computed_key: those that the primary key depends on because it has computed or nested fields in it.
        indexes: those of the keys of each index.
        guards: those of the guard item of each constraint, which expires with its owner.
        totals: those of what each ``Aggregate`` counts and sums.
        versions: those that a new version is kept of; none if the class keeps no versions.
        expiry: that of the expiry time.
        conditions: those at which any ``when=`` looks.
    """

    plain_key: frozenset[str]
    computed_key: frozenset[str]
    indexes: Mapping[str, frozenset[str]]
    guards: Mapping[str, frozenset[str]]
    totals: Mapping[str, frozenset[str]]
    versions: frozenset[str]
    expiry: frozenset[str]
    conditions: frozenset[str]

    @cached_property
    def each(self) -> tuple[frozenset[str], ...]:
        """The fields of each key, index, guard, total, version and expiry."""
        return tuple(dict.fromkeys(filter(None, self._each())))

    def _each(self) -> Iterator[frozenset[str]]:
        yield self.plain_key | self.computed_key
        for group in (self.indexes, self.guards, self.totals):
            yield from group.values()
        yield self.versions
        yield self.expiry

    @cached_property
    def fields(self) -> frozenset[str]:
        """All these fields."""
        return _NONE.union(*self.each)


class Declared(Protocol):
    """The part of a mapping that says what follows from its fields."""

    @property
    def entity(self) -> type[BaseModel]: ...

    @property
    def computed(self) -> Mapping[str, ComputedValue]: ...

    @property
    def key_fields(self) -> tuple[str, ...]: ...

    @property
    def places(self) -> Mapping[str, IndexPlaces]: ...

    @property
    def constraints(self) -> Mapping[str, Constraint]: ...

    @property
    def aggregates(self) -> Mapping[str, AggregateMapping]: ...

    @property
    def versioning(self) -> Versioning | None: ...

    @property
    def expires(self) -> FieldMapping | None: ...


def made_of(mapping: Declared) -> DerivedFields:
    """What follows from the fields of a class."""
    names, versioning = mapping.key_fields, mapping.versioning
    expiry = _NONE if mapping.expires is None else frozenset({mapping.expires.name})
    groups = (mapping.constraints, mapping.aggregates)
    whens = [one.when for group in groups for one in group.values()]
    whens += [place.when for index in mapping.places.values() for place in index.places]
    computed = (mapping.computed[name].fields for name in names if name in mapping.computed)
    return DerivedFields(
        plain_key=frozenset(name for name in names if name not in mapping.computed),
        computed_key=_NONE.union(*computed),
        indexes={name: one.depends_on for name, one in mapping.places.items()},
        guards={name: one.depends_on | expiry for name, one in mapping.constraints.items()},
        totals={name: one.depends_on for name, one in mapping.aggregates.items()},
        versions=_NONE if versioning is None else frozenset(versioning.fields or mapping.entity.model_fields),
        expiry=expiry,
        conditions=_NONE.union(*(when.fields for when in whens if when is not None)),
    )
