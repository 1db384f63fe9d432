"""The description of a table, from its declarations."""

from dynaorm.description.classes import class_description
from dynaorm.description.description import (
    IndexDescription,
    KeyAttributeDescription,
    TableDescription,
    VectorDescription,
)
from dynaorm.description.questions import questions_of
from dynaorm.entity.declare.catalog import catalog_of, once_per_table
from dynaorm.entity.table import Table, check_table
from dynaorm.entity.table_index import AnyIndex, KeyAttribute, VectorIndex


def describe(table: Table, /) -> TableDescription:
    """What a table and its classes are, and what can be asked of them. No request is sent.

    The classes are those that are declared now: import their modules first.

    Args:
        table: the table.

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
    return once_per_table(table, _described)


def _described(table: Table) -> TableDescription:
    mappings = [*catalog_of(table).mappings.values()]
    return TableDescription(
        name=table.name,
        partition=_keys(table.pk),
        sort=_keys(*table.keys[1:]),
        indexes=tuple(_index(table, one) for one in table.indexes.values()),
        type_attribute=table.type_attribute,
        revision_attribute=table.revision_attribute,
        revision_type=None if table.revision is None else table.revision.attribute_type,
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
