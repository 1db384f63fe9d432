"""What the engine knows of a table: where its items and index entries lie, and which of them a key condition allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from dynaorm.embedded import rules
from dynaorm.embedded.expression import VALUES
from dynaorm.embedded.values import END, after, key_bytes
from dynaorm.failure import counted
from dynaorm.item.value import AttributeValue, Item
from dynaorm.record import record

Keys: TypeAlias = tuple[tuple[str, str], ...]
"""Key attributes, each with its type."""

Place: TypeAlias = tuple[bytes, bytes]
"""The bytes of a partition key and of a sort key."""

INDEXES: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
# "Partition key length" and "Sort key length" (Constraints in Amazon DynamoDB).
_MOST_BYTES: Final = (2048, 1024)


@record
class Shape:
    """A table, or an index of it: what is stored there and where.

    Attributes:
        sql: the name of its table in SQLite, quoted.
        select: the statement that reads a row.
        put: the statement that stores one.
        delete: the statement that deletes one.
        index: the name of the index; None for the table itself.
        kind: the parameter that lists such indexes; empty for the table itself.
        sides: its partition key, and its sort key.
        names: the names of both.
        columns: those that say where a row lies.
        projected: the attributes of its entries; None for all.
    """

    sql: str
    select: str
    put: str
    delete: str
    index: str | None
    kind: str
    sides: tuple[Keys, Keys]
    names: tuple[str, ...]
    columns: tuple[str, ...]
    projected: frozenset[str] | None

    @property
    def is_global(self) -> bool:
        """Whether it is a global index."""
        return self.kind == INDEXES[0]

    def place_of(self, attributes: Mapping[str, AttributeValue]) -> Place | None:
        """Where an item lies; None if it lacks one of the key attributes or has it with another type."""
        try:
            partition, sort = [
                b"".join([key_bytes(kind, attributes[name][kind]) for name, kind in side])
                for side in self.sides
            ]
        except KeyError:
            return None
        return partition, sort

    def check_length(self, item: Item) -> None:
        """Raise Refusal if a key is too long."""
        for keys, most, side in zip(self.sides, _MOST_BYTES, ("hash", "range"), strict=True):
            contents = [item[name][kind] for name, kind in keys if kind != "N" and name in item]
            if sum(len(part.encode() if isinstance(part, str) else part) for part in contents) > most:
                raise rules.invalid_parameter(
                    f"Aggregated size of the keys of kind {side} has exceeded the size limit of {counted(most, 'byte')}"
                )


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

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The table itself, and its indexes."""
        return self.base, *self.indexes

    def shape(self, index: str | None) -> Shape:
        """The table, or the index of this name. Raises Refusal if there is none."""
        for shape in self.shapes:
            if shape.index == index:
                return shape
        raise rules.invalid(f"The table does not have the specified index: {index}")

    def key_place(self, key: Item) -> Place:
        """Where the item with a key lies. Raises InvalidAction for another key, Refusal for an empty or long one."""
        place = self.base.place_of(key)
        if place is None or END in place:
            for name in self.base.names:
                if name in key:
                    check_not_empty(name, key[name])
        if place is None or len(key) != len(self.base.names):
            raise rules.InvalidAction("The provided key element does not match the schema")
        if len(place[0]) + len(place[1]) > _MOST_BYTES[1]:
            self.base.check_length(key)
        return place

    def item_place(self, item: Item) -> Place:
        """Where a new item lies. Raises InvalidAction if a key attribute is wrong, also one of an index."""
        place = self.base.place_of(item)
        if place is None or END in place:
            for name, kind in (*self.base.sides[0], *self.base.sides[1]):
                value = item.get(name)
                if value is None:
                    raise rules.InvalidAction(f"{rules.INVALID}Missing the key {name} in the item")
                if kind not in value:
                    wrong = f"{name} expected: {kind} actual: {next(iter(value))}"
                    raise rules.InvalidAction(f"{rules.INVALID}Type mismatch for key {wrong}")
                check_not_empty(name, value)
        assert place is not None
        if len(place[0]) + len(place[1]) > _MOST_BYTES[1]:
            self.base.check_length(item)
        self.check_index_keys(item)
        return place

    def check_index_keys(self, item: Item) -> None:
        """Raise InvalidAction if an index cannot take an item."""
        for shape in self.indexes:
            for name, kind in (*shape.sides[0], *shape.sides[1]):
                value = item.get(name)
                if value is None or value.get(kind):
                    continue
                if kind in value:
                    what = _empty("A value specified for a secondary index key is not supported. ", kind)
                    raise rules.InvalidAction(f"{what} IndexName: {shape.index}, IndexKey: {name}")
                raise rules.InvalidAction(
                    f"{rules.INVALID}Type mismatch for Index Key {name} Expected: {kind} Actual: {next(iter(value))} "
                    f"IndexName: {shape.index}"
                )
            shape.check_length(item)


def check_not_empty(name: str, value: AttributeValue) -> None:
    """Raise Refusal for an empty text or binary value of a key attribute."""
    ((kind, content),) = value.items()
    if kind in ("S", "B") and not content:
        raise rules.invalid(f"{_empty('', kind)} Key: {name}")


def _empty(where: str, kind: str) -> str:
    return (
        f"One or more parameter values are not valid. {where}The AttributeValue for a key attribute cannot contain an "
        f"empty {'string' if kind == 'S' else 'binary'} value."
    )


def layout_of(description: Mapping[str, Any]) -> Layout:
    """The layout of a table, from its description."""
    base = _shape(description, None, "", description)
    indexes = [
        _shape(description, base, kind, index) for kind in INDEXES for index in description.get(kind, ())
    ]
    stream = description.get("StreamSpecification") or {}
    view = stream.get("StreamViewType") if stream.get("StreamEnabled") else None
    return Layout(description["TableName"], description, base, tuple(indexes), view)


def _shape(table: Mapping[str, Any], base: Shape | None, kind: str, described: Mapping[str, Any]) -> Shape:
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    keys: dict[str, Keys] = {"HASH": (), "RANGE": ()}
    for key in described["KeySchema"]:
        keys[key["KeyType"]] += ((key["AttributeName"], types[key["AttributeName"]]),)
    names = tuple(name for side in keys.values() for name, _ in side)
    sql, index, projected = f'"{table["TableName"]}"', None, None
    columns = ("h", "r") if base is None else ("h", "r", "bh", "br")
    if base is not None:
        index, projection = described["IndexName"], described["Projection"]
        sql = f'"{table["TableName"]}:{index}"'
        if projection["ProjectionType"] != "ALL":
            projected = frozenset((*base.names, *names, *projection.get("NonKeyAttributes", ())))
    row = f"{sql} WHERE {' AND '.join(f'{column} = ?' for column in columns)}"
    return Shape(
        sql,
        f"SELECT item, size FROM {row}",  # noqa: S608 - a name that was checked
        f"INSERT OR REPLACE INTO {sql} VALUES (?, ?{', ?' * len(columns)})",  # noqa: S608 - as above
        f"DELETE FROM {row}",  # noqa: S608 - as above
        index,
        kind,
        (keys["HASH"], keys["RANGE"]),
        names,
        columns,
        projected,
    )


# -- key conditions ----------------------------------------------------------------------------------------------------


Clauses: TypeAlias = Mapping[str, tuple[str, list[str]]]
"""A key condition: for each attribute, an operator and the placeholders of values."""


def key_range(shape: Shape, clauses: Clauses | None, given: Item) -> tuple[bytes, bytes, bytes | None]:
    """The partition, the least sort key, and what is behind the last. Raises Refusal if it is no key condition."""
    if clauses is None:
        raise rules.invalid(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    values, left = given[VALUES]["M"], {**clauses}
    partition = b""
    for name, kind in shape.sides[0]:
        sign, placeholders = left.pop(name, ("", []))
        if sign != "=":
            raise rules.invalid("Query key condition not supported") if sign else _missed(name)
        partition += _part(name, kind, values[placeholders[0]])
    low, end = b"", None
    for name, kind in shape.sides[1]:
        sign, placeholders = left.pop(name, ("", []))
        if sign:
            mark = b"" if sign == "begins_with" else END
            low, end = _bounds(
                sign, low, [low + _part(name, kind, values[each], mark) for each in placeholders]
            )
        if sign != "=":
            break
    for name in left:
        raise _missed(name)
    return partition, low, end


def _bounds(sign: str, prefix: bytes, keys: list[bytes]) -> tuple[bytes, bytes | None]:
    """Of the keys with a prefix: the least one that fulfils a condition, and what is behind the last."""
    low = {"<": prefix, "<=": prefix, ">": after(keys[0]) or b""}.get(sign, keys[0])
    return low, {"<": keys[0], ">": after(prefix), ">=": after(prefix)}.get(sign, after(keys[-1]))


def _part(name: str, kind: str, value: AttributeValue, end: bytes = END) -> bytes:
    if kind not in value:
        raise rules.invalid_parameter("Condition parameter type does not match schema type")
    check_not_empty(name, value)
    return key_bytes(kind, value[kind], end)


def _missed(name: str) -> Exception:
    return rules.invalid(f"Query condition missed key schema element: {name}")
