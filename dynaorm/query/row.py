"""``Row``: the values of some fields of an entity, which ``query.values(...)`` returns in place of the entity."""

from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.mapping.part import attributes_of, values_in
from dynaorm.failure import MASK
from dynaorm.item.value import Item
from dynaorm.query.filter import mappings_of
from dynaorm.query.query_spec import QuerySpec


class Row(tuple[Any, ...]):
    """The values of some fields of an entity, in the order asked for: ``row.email``, ``row[0]``, ``email, _ = row``.

    Examples:
        >>> row = session.query(Ticket, project="p1").values("number", "status").first()
        >>> row.status, row[0]
        ('open', 1)
    """

    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[frozenset[str]] = frozenset()

    if TYPE_CHECKING:

        def __getattr__(self, name: str, /) -> Any: ...

    def __repr__(self) -> str:
        pairs = zip(self._names, self, strict=True)
        texts = (f"{name}={MASK if name in self._hidden else repr(value)}" for name, value in pairs)
        return f"Row({', '.join(texts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _row, (self._names, self._hidden, tuple(self))


@cache
def _class_of(names: tuple[str, ...], hidden: frozenset[str]) -> type[Row]:
    members = {name: property(itemgetter(place)) for place, name in enumerate(names)}
    return type("Row", (Row,), {**members, "__slots__": (), "_names": names, "_hidden": hidden})


def _row(names: tuple[str, ...], hidden: frozenset[str], values: Iterable[Any]) -> Row:
    return _class_of(names, hidden)(values)


def row_of(mapping: EntityMapping, item: Item, names: tuple[str, ...]) -> Row:
    """The row of an item that has at least the attributes of these fields. Raises DecodeError."""
    return _row(names, mapping.secrets.fields.intersection(names), values_in(mapping, item, names))


def attributes_of_rows(spec: QuerySpec) -> frozenset[str] | None:
    """The attributes that the results of a query follow from; None for whole items."""
    if spec.keys_only:
        return frozenset()
    if not spec.names:
        return None
    found: set[str] = set()
    for mapping in mappings_of(spec):
        if (attributes := attributes_of(mapping, spec.names)) is None:
            return None
        found |= attributes
    return frozenset(found)
