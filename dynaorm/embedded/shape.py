"""What the engine knows of a table: where its items and index entries lie, and under which keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from dynaorm.embedded.keys import part_of_key
from dynaorm.embedded.refusal import INVALID, InvalidAction, invalid, invalid_parameter
from dynaorm.failure import counted
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

Keys: TypeAlias = tuple[tuple[str, str], ...]
"""The key attributes of one side, each with its type."""

Place: TypeAlias = tuple[bytes, bytes]
"""The bytes of a partition key and of a sort key."""

INDEXES: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
# "Partition key length" and "Sort key length" (Constraints in Amazon DynamoDB).
_MOST_BYTES: Final = (2048, 1024)
_SIDES: Final = ("hash", "range")


@record
class Shape:
    """A table, or an index of it: what is stored there and where.

    Attributes:
        sql: the name of its table in SQLite, quoted.
        index: the name of the index; None for the table itself.
        is_global: whether it is a global index.
        partition: its partition key.
        sort: its sort key.
        names: the names of both.
        projected: the attributes of its entries; None for all.
    """

    sql: str
    index: str | None
    is_global: bool
    partition: Keys
    sort: Keys
    names: tuple[str, ...]
    projected: frozenset[str] | None

    def place_of(self, attributes: Mapping[str, AttributeValue]) -> Place | None:
        """Where an item lies; None if it lacks one of the key attributes or has it with another type."""
        try:
            return (
                b"".join([part_of_key(kind, attributes[name][kind]) for name, kind in self.partition]),
                b"".join([part_of_key(kind, attributes[name][kind]) for name, kind in self.sort]),
            )
        except KeyError:
            return None


@record
class Layout:
    """A table with its indexes, as its description says.

    Attributes:
        name: its name.
        description: the ``TableDescription``.
        base: the table itself.
        indexes: its secondary indexes.
        view: what its stream carries; None without a stream.
    """

    name: str
    description: Mapping[str, Any]
    base: Shape
    indexes: tuple[Shape, ...]
    view: str | None

    def shape(self, index: str | None) -> Shape:
        """The table, or the index of this name. Raises Refusal if there is none."""
        if index is None:
            return self.base
        for shape in self.indexes:
            if shape.index == index:
                return shape
        raise invalid(f"The table does not have the specified index: {index}")

    def key_place(self, key: Item) -> Place:
        """Where the item with a key lies. Raises InvalidAction for another key, Refusal for an empty or long one."""
        place = self.base.place_of(key)
        for name in self.base.names:
            if name in key:
                check_not_empty(name, key[name])
        if place is None or len(key) != len(self.base.names):
            raise InvalidAction("The provided key element does not match the schema")
        if len(place[0]) + len(place[1]) > _MOST_BYTES[1]:
            self._check_length(self.base, key)
        return place

    def item_place(self, item: Item) -> Place:
        """Where a new item lies. Raises InvalidAction if a key attribute is wrong, also one of an index."""
        for name, kind in (*self.base.partition, *self.base.sort):
            value = item.get(name)
            if value is None:
                raise InvalidAction(f"{INVALID}Missing the key {name} in the item")
            if kind not in value:
                raise InvalidAction(
                    f"{INVALID}Type mismatch for key {name} expected: {kind} actual: {next(iter(value))}"
                )
            check_not_empty(name, value)
        self._check_length(self.base, item)
        self.check_index_keys(item)
        place = self.base.place_of(item)
        assert place is not None
        return place

    def check_index_keys(self, item: Item) -> None:
        """Raise InvalidAction if an index cannot take an item."""
        for shape in self.indexes:
            for name, kind in (*shape.partition, *shape.sort):
                value = item.get(name)
                if value is None:
                    continue
                if kind not in value:
                    raise InvalidAction(
                        f"{INVALID}Type mismatch for Index Key {name} Expected: {kind} Actual: {next(iter(value))} "
                        f"IndexName: {shape.index}"
                    )
                if not value[kind]:
                    raise InvalidAction(
                        "One or more parameter values are not valid. A value specified for a secondary index key "
                        f"is not supported. The AttributeValue for a key attribute cannot contain an empty "
                        f"{_long(kind)} value. IndexName: {shape.index}, IndexKey: {name}"
                    )
            self._check_length(shape, item)

    def _check_length(self, shape: Shape, item: Item) -> None:
        for keys, most, side in zip((shape.partition, shape.sort), _MOST_BYTES, _SIDES, strict=True):
            contents = [item[name][kind] for name, kind in keys if kind != "N" and name in item]
            if sum(len(part.encode() if isinstance(part, str) else part) for part in contents) > most:
                raise invalid_parameter(
                    f"Aggregated size of the keys of kind {side} has exceeded the size limit of {counted(most, 'byte')}"
                )


def check_not_empty(name: str, value: AttributeValue) -> None:
    """Raise Refusal for an empty text or binary value of a key attribute."""
    ((kind, content),) = value.items()
    if kind in ("S", "B") and not content:
        raise invalid(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty {_long(kind)} value. Key: {name}"
        )


def _long(kind: str) -> str:
    return "string" if kind == "S" else "binary"


def layout_of(description: Mapping[str, Any]) -> Layout:
    """The layout of a table, from its description."""
    name = description["TableName"]
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    base = _shape(name, None, types, description["KeySchema"])
    indexes = [
        _shape(name, index, types, index["KeySchema"], base=base, is_global=kind == INDEXES[0])
        for kind in INDEXES
        for index in description.get(kind, ())
    ]
    stream = description.get("StreamSpecification") or {}
    return Layout(
        name,
        description,
        base,
        tuple(indexes),
        stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
    )


def _shape(
    table: str,
    index: Mapping[str, Any] | None,
    types: Mapping[str, str],
    schema: Iterable[Mapping[str, str]],
    *,
    base: Shape | None = None,
    is_global: bool = False,
) -> Shape:
    partition, sort = (
        tuple((key["AttributeName"], types[key["AttributeName"]]) for key in schema if key["KeyType"] == side)
        for side in ("HASH", "RANGE")
    )
    names = tuple(name for name, _ in (*partition, *sort))
    if index is None or base is None:
        return Shape(f'"{table}"', None, False, partition, sort, names, None)
    projection = index["Projection"]
    projected = None
    if projection["ProjectionType"] != "ALL":
        projected = frozenset((*base.names, *names, *projection.get("NonKeyAttributes", ())))
    name = index["IndexName"]
    return Shape(f'"{table}:{name}"', name, is_global, partition, sort, names, projected)
