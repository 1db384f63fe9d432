"""The arguments of CreateTable: what a table is for DynamoDB, as a declaration says it."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from dynaorm.entity.table import Table
from dynaorm.entity.table_index import Distance, IndexKind, KeyAttribute, KeyKind, Projection, VectorIndex
from dynaorm.record import record

Keys: TypeAlias = tuple[tuple[str, KeyKind], ...]
"""The key attributes of one side, with their types."""

INDEXES: Final[tuple[tuple[IndexKind, str], ...]] = (
    ("global", "GlobalSecondaryIndexes"),
    ("local", "LocalSecondaryIndexes"),
    ("vector", "VectorIndexes"),
)
"""The kinds of indexes, and the arguments of CreateTable that hold them."""

DISTANCES: Final[dict[Distance, str]] = {
    "cosine": "COSINE",
    "euclidean": "EUCLIDEAN",
    "dot_product": "DOT_PRODUCT",
}
"""The ``DistanceFunction`` of CreateTable for each distance."""


@record
class VectorShape:
    """What a vector index has besides a key: the attribute, length and distance of its vectors, and its filters."""

    attribute: str
    dimensions: int
    distance: Distance
    filters: Keys = ()


@record
class IndexShape:
    """An index as CreateTable takes it.

    Attributes:
        name: its name.
        kind: what it is.
        partition: its partition key.
        sort: its sort key.
        projection: the attributes that it has.
        vector: its vectors, if it is a vector index.
    """

    name: str
    kind: IndexKind
    partition: Keys
    sort: Keys
    projection: Projection
    vector: VectorShape | None = None


def definition(table: Table, name: str) -> dict[str, Any]:
    """The arguments of CreateTable for a table with this physical name, with on-demand billing."""
    indexes = [
        IndexShape(
            one.name,
            one.kind,
            _keys(one.pk or (table.pk,)),
            _keys(one.sk),
            one.projection,
            VectorShape(one.vector, one.dimensions, one.distance, _keys(one.filters))
            if isinstance(one, VectorIndex)
            else None,
        )
        for one in table.indexes.values()
    ]
    return definition_of(name, _keys((table.pk,)), _keys(table.keys[1:]), indexes, stream=table.stream)


def _keys(keys: Iterable[KeyAttribute]) -> Keys:
    return tuple((one.name, one.kind) for one in keys)


def definition_of(
    name: str, partition: Keys, sort: Keys, indexes: Iterable[IndexShape], *, stream: str | None
) -> dict[str, Any]:
    """The arguments of CreateTable, with on-demand billing."""
    indexes = [*indexes]
    # By name: several indexes may have one key attribute, and CreateTable refuses one that is defined twice.
    types = dict((*partition, *sort, *(key for one in indexes for key in _defined(one))))
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
        if described := [_index(one) for one in indexes if one.kind == wanted]:
            found[argument] = described
    return found


def _defined(index: IndexShape) -> Keys:
    return (*index.partition, *index.sort, *(index.vector.filters if index.vector is not None else ()))


def _index(index: IndexShape) -> dict[str, Any]:
    found = {"IndexName": index.name, "Projection": projection_of(index.projection)}
    if index.vector is None:
        return {**found, "KeySchema": key_schema(index.partition, index.sort)}
    sides = (("HASH", index.partition), ("INLINE_FILTER", index.vector.filters))
    return {
        **found,
        "VectorAttribute": {"AttributeName": index.vector.attribute},
        "Dimensions": index.vector.dimensions,
        "DistanceFunction": DISTANCES[index.vector.distance],
        "SearchSchema": [
            {"AttributeName": name, "SearchSchemaElementType": role}
            for role, side in sides
            for name, _ in side
        ],
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
