"""A count or a sum that a class keeps in entities of another: declared once, on what is counted.

Every write that adds, changes or removes a counted entity changes the totals in the same transaction.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

from pydantic_core import CoreSchema, core_schema

from dynaorm.record import record


class Aggregate(property):
    """Totals over the entities of this class, kept in fields of the entity that they name.

    ``in_group = Aggregate(Group, count="members", sum={"hours": "hours"})`` in ``class Membership`` says: the field
    ``members`` of a ``Group`` is the number of memberships whose ``group_id`` is the group's, and its field ``hours``
    the sum of theirs. Insert, update, overwrite, delete, move and restore keep it so, in the transaction of the write;
    nobody else writes these fields. They are numbers with the default 0.

    An entity whose key fields are None names nobody; a summed None counts 0. Where the target can be made of its key
    alone (everything else has a default), the first entity that names it makes it; otherwise naming a target that does
    not exist raises ``EntityNotFound``. A target that is deleted takes its totals along, and begins again at 0.

    Args:
        target: the entity class that has the totals.
        count: the target's field that holds how many there are.
        sum: a number field of this class to the target's field that holds the sum: ``{"hours": "hours"}``.
        key: a field of the target's primary key to the field of this class that has its value; default the same name.
        when: a pure function of the stored fields; where it is false the entity does not count.

    It derives from ``property`` so that pydantic takes it for no field, annotated as ``ClassVar`` or not at all.
    """

    def __init__(
        self,
        target: type[Any],
        *,
        count: str | None = None,
        sum: Mapping[str, str] | None = None,
        key: Mapping[str, str] | None = None,
        when: Callable[[Any], bool] | None = None,
    ) -> None:
        super().__init__()
        self.target = target
        self.count = count
        self.sums = sum if sum is not None else {}
        self.key = key if key is not None else {}
        self.when = when
        self.attribute_name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute_name = name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        # Annotated as ``Aggregate`` it is a field all the same: the declaration refuses that, in words of its own.
        return core_schema.any_schema()

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self

    def __repr__(self) -> str:
        keywords = {"count": self.count, "sum": self.sums, "key": self.key, "when": self.when}
        given = (f"{name}={value!r}" for name, value in keywords.items() if value)
        return f"Aggregate({', '.join([getattr(self.target, '__name__', repr(self.target)), *given])})"


@record
class AggregateMapping:
    """What a class keeps in the entities of another.

    Attributes:
        name: the attribute name of the declaration.
        target: the class that has the totals.
        key: every field of the target's primary key, with the field of the source that has its value.
        count: the target's field that counts, if one does.
        sums: fields of the source, each with the target's field that sums it.
        when: where it is false for an entity, it does not count.
    """

    name: str
    target: type[Any]
    key: Mapping[str, str]
    count: str | None
    sums: Mapping[str, str]
    when: Callable[[Any], bool] | None

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the source it depends on, apart from those ``when`` looks at."""
        return frozenset([*self.key.values(), *self.sums])

    @cached_property
    def maintained(self) -> tuple[str, ...]:
        """The fields of the target it keeps."""
        return tuple(([self.count] if self.count is not None else []) + list(self.sums.values()))

    def depends_on(self, fields: frozenset[str]) -> bool:
        """Whether a change of these fields may change a total."""
        return self.when is not None or not self.fields.isdisjoint(fields)
