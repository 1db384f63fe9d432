"""Counts and sums over the entities of one class, stored in entities of another.

A write that adds, changes or removes a counted entity updates the totals in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from dynaorm.entity.mapping.index_places import When
from dynaorm.entity.marker import Declaration, GivenWhen
from dynaorm.record import record


class Aggregate(Declaration):
    """Totals over the entities of this class, stored in fields of a target entity.

    ``in_group = Aggregate(Group, count="members", sum={"hours": "hours"})`` in ``class Membership`` stores in the field
    ``members`` of a ``Group`` the number of memberships with its ``group_id``, and in ``hours`` the sum of their hours.
    Insert, update, overwrite, delete, move and restore update the totals in the same transaction. Nothing else may
    write these fields, which are numbers with the default 0. A write that would break a bound
    of theirs (``ge``, ``gt``, ``le``, ``lt``) raises ``InvalidValue``.

    If any of the key fields is None, the entity is not counted. A None in a summed field adds 0. If every target field
    outside the key has a default, the first entity that refers to a missing target creates it; otherwise such a write
    raises ``EntityNotFound``. Deleting a target deletes its totals; a target created again begins at 0.

    Args:
        target: the entity class that has the totals.
        count: the target's field that holds the number of entities.
        sum: number fields of this class, computed and nested ones too, to the target's fields that hold their sums:
            ``{"hours": "hours"}``.
        key: fields of the target's primary key to the fields of this class with their values, computed and nested ones
            too; default the same names.
        when: a condition (``F.status == "active"``), or a pure function of the stored fields. An entity for which it
            does not hold is not counted.
        restrict: a target whose totals are not 0 can be neither deleted nor moved: ``StillCounted``.

    Examples:
        >>> class Group(Entity, table=app, pk="GROUP#{group_id}", sk="GROUP"):
        ...     group_id: str
        ...     members: int = 0
        >>> class Membership(Entity, table=app, pk="GROUP#{group_id}", sk="MEMBER#{user_id}"):
        ...     group_id: str
        ...     user_id: str
        ...     in_group = Aggregate(Group, count="members")
        >>> saved = session.save_many([Membership(group_id="g", user_id=one) for one in "ab"])
        >>> session.get_one(Group, group_id="g").members
        2
    """

    def __init__(
        self,
        target: type[Any],
        *,
        count: str | None = None,
        sum: Mapping[str, str] | None = None,
        key: Mapping[str, str] | None = None,
        when: GivenWhen | None = None,
        restrict: bool = False,
    ) -> None:
        super().__init__()
        self.target = target
        self.count = count
        self.sums = sum if sum is not None else {}
        self.key = key if key is not None else {}
        self.when = when
        self.restrict = restrict

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self

    def __repr__(self) -> str:
        keywords: dict[str, object] = {
            "count": self.count,
            "sum": self.sums or None,
            "key": self.key or None,
            "when": self.when,
            "restrict": self.restrict or None,
        }
        given = (f"{name}={value!r}" for name, value in keywords.items() if value is not None)
        return f"Aggregate({', '.join([getattr(self.target, '__name__', repr(self.target)), *given])})"


@record
class AggregateMapping:
    """The totals over one class (the source) in entities of another (the target).

    Attributes:
        name: the attribute name of the declaration.
        target: the class with the totals.
        key: every field of the target's primary key, with the field of the source that holds its value, or from which
            it is computed.
        count: the target's field that holds the count, if there is one.
        sums: fields of the source, or computed ones, each with the target's field that holds its sum.
        fields: the stored fields of the source that the key and the sums are made of.
        named: those of them that the declaration names. A computed field without ``Computed(of=...)`` names none.
        when: an entity for which it does not hold is not counted.
        restrict: a target can be deleted only while these totals are 0.
    """

    name: str
    target: type[Any]
    key: Mapping[str, str]
    count: str | None
    sums: Mapping[str, str]
    fields: frozenset[str]
    named: frozenset[str]
    when: When | None
    restrict: bool = False

    @cached_property
    def maintained(self) -> tuple[str, ...]:
        """The fields of the target that hold the totals."""
        return tuple(([self.count] if self.count is not None else []) + list(self.sums.values()))

    @property
    def named_fields(self) -> frozenset[str]:
        """The fields that the declaration names, those in ``when`` among them."""
        return self.named if self.when is None else self.named | self.when.named

    @cached_property
    def depends_on(self) -> frozenset[str]:
        """The fields that the totals depend on."""
        return self.fields if self.when is None else self.fields | self.when.fields
