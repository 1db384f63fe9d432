"""The arguments of CreateTable: what a table is for DynamoDB, as a declaration says it."""

from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

from dynaorm.entity.table import GlobalIndex, KeyAttribute, KeyKind, Projection, Table

Keys: TypeAlias = tuple[tuple[str, KeyKind], ...]
"""The key attributes of one side, with their types."""

IndexKind: TypeAlias = Literal["global", "local"]

IndexShape: TypeAlias = tuple[str, IndexKind, Keys, Keys, Projection]
"""Name, kind, partition key, sort key and projection of an index."""

INDEXES: Final[tuple[tuple[IndexKind, str], ...]] = (
    ("global", "GlobalSecondaryIndexes"),
    ("local", "LocalSecondaryIndexes"),
)
"""The kinds of indexes, and the arguments of CreateTable that hold them."""


def definition(table: Table, name: str) -> dict[str, Any]:
    """The arguments of CreateTable for a table with this physical name, with on-demand billing."""
    indexes: list[IndexShape] = []
    for one in table.indexes.values():
        if isinstance(one, GlobalIndex):
            indexes.append((one.name, "global", _keys(one.pk), _keys(one.sk), one.projection))
        else:
            indexes.append((one.name, "local", _keys((table.pk,)), _keys(one.sk), one.projection))
    return definition_of(name, _keys((table.pk,)), _keys(table.keys[1:]), indexes, stream=table.stream)


def _keys(keys: Iterable[KeyAttribute]) -> Keys:
    return tuple((one.name, one.kind) for one in keys)


def definition_of(
    name: str, partition: Keys, sort: Keys, indexes: Iterable[IndexShape], *, stream: str | None
) -> dict[str, Any]:
    """The arguments of CreateTable, with on-demand billing."""
    indexes = [*indexes]
    # By name: several indexes may have one key attribute, and CreateTable refuses one that is defined twice.
    types = dict((*partition, *sort, *(key for _, _, *sides, _ in indexes for side in sides for key in side)))
    found: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": key, "AttributeType": kind} for key, kind in types.items()
        ],
        "KeySchema": key_schema(partition, sort),
    }
    if stream is not None:
        found["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
    for wanted, argument in INDEXES:
        if described := [_index(one) for one in indexes if one[1] == wanted]:
            found[argument] = described
    return found


def _index(index: IndexShape) -> dict[str, Any]:
    name, _, partition, sort, projection = index
    return {
        "IndexName": name,
        "KeySchema": key_schema(partition, sort),
        "Projection": projection_of(projection),
    }


def key_schema(partition: Keys, sort: Keys) -> list[dict[str, str]]:
    """Key attributes as the ``KeySchema`` of CreateTable."""
    sides = (("HASH", partition), ("RANGE", sort))
    return [{"AttributeName": name, "KeyType": role} for role, side in sides for name, _ in side]


def projection_of(projection: Projection) -> dict[str, Any]:
    """The attributes of an index as the ``Projection`` of CreateTable."""
    if isinstance(projection, str):
        return {"ProjectionType": projection}
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
