"""The description of a table, from its declarations."""

from collections.abc import Mapping
from typing import Any

from dynaorm.argument import check_kind
from dynaorm.description.classes import class_description
from dynaorm.description.description import (
    IndexDescription,
    KeyAttributeDescription,
    TableDescription,
    VectorDescription,
    check_description,
)
from dynaorm.description.questions import questions_of
from dynaorm.entity.declare.catalog import cached_per_table, catalog_of
from dynaorm.entity.table import AnyIndex, KeyAttribute, Table, VectorIndex, check_table
from dynaorm.errors import UsageError
from dynaorm.flow.table_definition import Difference, missing_table, table_differences


def differences(
    description: TableDescription,
    live: Mapping[str, Any] | None,
    live_ttl: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
) -> tuple[Difference, ...]:
    """What differs between a description and a live table. No request is sent: ``dynaorm.tools.compare_table`` asks.

    Args:
        description: the declared table.
        live: the answer of DescribeTable; None if there is no such table.
        live_ttl: the answer of DescribeTimeToLive; without it, TTL is not compared.
        name: the physical name of the table; its declared name without it.

    Raises:
        UsageError: ``live`` or ``live_ttl`` is no such answer.

    Examples:
        >>> [difference.kind for difference in differences(describe(app), None)]
        ['no table']
    """
    check_description(description)
    if name is not None:
        check_kind("name={}", name, str, "a str", remedy="give the physical name of the table")
    wanted = {**description.create_table(), **({} if name is None else {"TableName": name})}
    if live is None:
        return (missing_table(wanted, description.ttl_attribute),)
    try:
        ttl = None if live_ttl is None else live_ttl.get("TimeToLiveDescription", live_ttl)
        found = live.get("Table", live)
        stored = {
            one.attribute: f"{cls.name}.{one.name}" for cls in description.classes for one in cls.fields
        }
        return table_differences(wanted, found, ttl=description.ttl_attribute, live_ttl=ttl, stored=stored)
    except (LookupError, TypeError, AttributeError) as problem:
        raise UsageError(
            problem="this is no description of a table as DynamoDB gives it",
            remedy="give the answers of DescribeTable and DescribeTimeToLive",
        ) from problem


def describe(table: Table, /) -> TableDescription:
    """What a table and its classes are, and what can be asked of them. No request is sent.

    The classes are those that are declared now: import their modules first.

    Raises:
        UsageError: it is no Table.

    Examples:
        >>> from dynaorm import Entity, Table
        >>> from dynaorm.description import describe
        >>> app = Table("app")
        >>> class Song(Entity, table=app, pk="SONG#{song_id}", sk="SONG"):
        ...     song_id: str
        >>> describe(app).classes[0].partition.text
        'SONG#{song_id}'
    """
    check_table("describe", table)
    return cached_per_table(table, _described)


def _described(table: Table) -> TableDescription:
    mappings = [*catalog_of(table).mappings.values()]
    return TableDescription(
        name=table.name,
        partition=_keys(table.pk),
        sort=_keys(*table.keys[1:]),
        indexes=tuple(_index(table, one) for one in table.indexes.values()),
        type_attribute=table.type_attribute,
        revision_attribute=table.revision_attribute,
        revision_type=None if table.revision is None else table.revision.kind,
        ttl_attribute=table.ttl_attribute,
        stream=table.stream,
        guard_table=None if table.guard_table is None else table.guard_table.name,
        classes=tuple(map(class_description, mappings)),
        questions=questions_of(mappings),
    )


def _keys(*keys: KeyAttribute) -> tuple[KeyAttributeDescription, ...]:
    return tuple(KeyAttributeDescription(one.name, one.kind) for one in keys)


def _index(table: Table, index: AnyIndex) -> IndexDescription:
    return IndexDescription(
        name=index.name,
        kind=index.kind,
        partition=_keys(*(index.pk or (table.pk,))),
        sort=_keys(*index.sk),
        projection=index.projection,
        vector=VectorDescription(index.vector, index.dimensions, index.distance, _keys(*index.filters))
        if isinstance(index, VectorIndex)
        else None,
    )
