"""Models of NoSQL Workbench for Amazon DynamoDB, with sample data.

Rule 1. A class is a facet, called by its stored name. The alias of a key is its template.
Rule 2. Sample data is in the facets, never in the table as well: Workbench would count it twice. Guards and versions
        have facets of their own, with names in parentheses, because they belong to no class.
Rule 3. Secrets are masked. An item whose primary key has one is left out: masked, it would be another item.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dynaorm.argument import check_kind
from dynaorm.description.description import (
    ClassDescription,
    IndexDescription,
    KeyAttributeDescription,
    Slot,
    TableDescription,
    TemplateDescription,
)
from dynaorm.description.entry import Entry, check_entries
from dynaorm.entity.mapping.mapping import mapping_of
from dynaorm.errors import UsageError
from dynaorm.export.stack import StackTable, TableNames, stack_of
from dynaorm.item.prefix import is_member
from dynaorm.item.value import Item

_NO_DATA_ACCESS: Final[Mapping[str, Any]] = {"MySql": {}}


def workbench(
    tables: Iterable[TableDescription] | TableDescription,
    entries: Mapping[str, Iterable[Entry]] | None = None,
    *,
    table_names: TableNames = None,
    model_name: str | None = None,
    created: str = "",
) -> dict[str, Any]:
    """A model for NoSQL Workbench.

    Args:
        tables: the descriptions of its tables.
        entries: sample items by the declared name of their table.
        table_names: physical names, as for ``Session``.
        model_name: its name; that of the first table without it.
        created: when it was made, as Workbench writes it: ``Jun 24, 2020, 04:20 PM``.

    Raises:
        UsageError: an index has a key of several attributes, which a model cannot say.

    Examples:
        >>> workbench(describe(app))["ModelName"]
        'app'
    """
    stack = stack_of(tables, table_names)
    if entries is not None:
        check_kind("entries={}", entries, Mapping, "a mapping", remedy="give entries by the names of tables")
    if model_name is not None:
        check_kind("model_name={}", model_name, str, "a str")
    check_kind("created={}", created, str, "a str")
    data = {name: check_entries(some) for name, some in (entries or {}).items()}
    return {
        "ModelName": model_name or stack[0].name,
        "ModelMetadata": {
            "Author": "dynaorm",
            "DateCreated": created,
            "DateLastModified": created,
            "Description": "Written by dynaorm from the declarations of the tables",
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": [_table(one, data.get(one.description.name, [])) for one in stack],
    }


def _table(table: StackTable, entries: list[Entry]) -> dict[str, Any]:
    described = table.description
    facets = [_facet(described, one, entries) for one in described.classes]
    if facets:
        facets += [*_kept(described, entries)]
    items = [] if facets else [*_items(described, entries)]
    found: dict[str, Any] = {
        "TableName": table.name,
        "KeyAttributes": _keys(described.partition, described.sort),
        "NonKeyAttributes": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in _attributes(described, entries).items()
        ],
        "TableFacets": facets,
        "GlobalSecondaryIndexes": [_index(one) for one in described.indexes if one.kind == "global"],
        "TableData": items,
        "DataAccess": _NO_DATA_ACCESS,
        "SampleDataFormats": {},
        "BillingMode": "PAY_PER_REQUEST",
    }
    # Published models show no field for local indexes; this is the name of DynamoDB's own.
    if local := [_index(one) for one in described.indexes if one.kind == "local"]:
        found["LocalSecondaryIndexes"] = local
    return found


def _keys(
    partition: tuple[KeyAttributeDescription, ...], sort: tuple[KeyAttributeDescription, ...]
) -> dict[str, Any]:
    sides = (("PartitionKey", partition), ("SortKey", sort))
    return {
        role: {"AttributeName": side[0].name, "AttributeType": side[0].type} for role, side in sides if side
    }


def _index(index: IndexDescription) -> dict[str, Any]:
    if len(index.partition) > 1 or len(index.sort) > 1:
        raise UsageError(
            problem=f"the key of the index {index.name!r} has several attributes on one side, and a Workbench model "
            "has one",
            remedy="export to CloudFormation or Terraform",
        )
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if not isinstance(index.projection, str):
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.projection)}
    return {
        "IndexName": index.name,
        "KeyAttributes": _keys(index.partition, index.sort),
        "Projection": projection,
    }


# -- attributes --------------------------------------------------------------------------------------------------------


def _attributes(table: TableDescription, entries: Iterable[Entry]) -> dict[str, str]:
    """The attributes of a table besides its key, with their types."""
    found: dict[str, str] = {}
    for one in table.classes:
        found |= {name: kind for name, kind in _attributes_of(table, one).items() if name not in found}
    # Of a prefix, only items say which attributes there are.
    for item in _items(table, entries):
        found |= {name: next(iter(value)) for name, value in item.items() if name not in found}
    return {name: kind for name, kind in found.items() if name not in _key_names(table)}


def _attributes_of(table: TableDescription, cls: ClassDescription) -> dict[str, str]:
    """The attributes that items of a class may have besides the table's key, with their types."""
    found = {
        one.attribute: one.dynamodb_types[0] if one.dynamodb_types else "S"
        for one in cls.fields
        if not one.stored_in_key and "prefix" not in one.marks
    }
    kinds = {key.name: key.type for index in table.indexes for key in (*index.partition, *index.sort)}
    own = {template.attribute for place in cls.places for template in (*place.partition, *place.sort)}
    found |= {name: kind for name, kind in kinds.items() if name in own}
    if table.type_attribute is not None:
        found[table.type_attribute] = "S"
    if table.revision_attribute is not None and table.revision_type is not None:
        found[table.revision_attribute] = table.revision_type
    return {name: kind for name, kind in found.items() if name not in _key_names(table)}


def _key_names(table: TableDescription) -> tuple[str, ...]:
    return tuple(key.name for key in (*table.partition, *table.sort))


# -- facets ------------------------------------------------------------------------------------------------------------


def _facet(table: TableDescription, cls: ClassDescription, entries: Iterable[Entry]) -> dict[str, Any]:
    own = [one for one in entries if one.kind == "entity" and _stored_name(one) == cls.stored_name]
    aliases = {"PartitionKeyAlias": _alias(cls, cls.partition)}
    if cls.sort is not None:
        aliases["SortKeyAlias"] = _alias(cls, cls.sort)
    items = [*_items(table, own)]
    members = (name for item in items for name in item if _is_of_prefix(cls, name))
    return {
        "FacetName": cls.stored_name,
        "KeyAttributeAlias": aliases,
        "TableData": items,
        "NonKeyAttributes": [*dict.fromkeys([*_attributes_of(table, cls), *members])],
        "DataAccess": _NO_DATA_ACCESS,
    }


def _is_of_prefix(cls: ClassDescription, name: str) -> bool:
    return any(is_member(name, one.attribute) for one in cls.fields)


def _stored_name(entry: Entry) -> str | None:
    return None if entry.cls is None else mapping_of(entry.cls).name


def _alias(cls: ClassDescription, template: TemplateDescription) -> str:
    """The alias of a key: its template, or its name if it is a field's own attribute."""
    if len(template.pieces) == 1 and isinstance(slot := template.pieces[0], Slot) and not slot.spec:
        own = {one.name: one.attribute for one in cls.fields}
        if own.get(slot.field) == template.attribute and template.version_text is None:
            return template.attribute
    return template.whole_text


def _kept(table: TableDescription, entries: Iterable[Entry]) -> Iterable[dict[str, Any]]:
    """The facets of items that are no entities."""
    by_kind: dict[str, list[Item]] = {}
    for one in entries:
        if one.kind != "entity":
            by_kind.setdefault(one.kind, []).extend(_items(table, [one]))
    for kind, items in sorted(by_kind.items()):
        names = dict.fromkeys(name for item in items for name in item if name not in _key_names(table))
        keys = zip(("PartitionKeyAlias", "SortKeyAlias"), _key_names(table), strict=False)
        yield {
            "FacetName": f"({kind})",
            "KeyAttributeAlias": dict(keys),
            "TableData": items,
            "NonKeyAttributes": [*names],
            "DataAccess": _NO_DATA_ACCESS,
        }


def _items(table: TableDescription, entries: Iterable[Entry]) -> Iterable[Item]:
    """The items of some entries, for JSON."""
    keys = {key.name for key in (*table.partition, *table.sort)}
    kinds = {key.name: key.type for index in table.indexes for key in (*index.partition, *index.sort)}
    for one in entries:
        if not keys.isdisjoint(one.secret):
            continue
        # A mask is a text, and DynamoDB would refuse it in a number key.
        unfit = {name for name in one.secret if kinds.get(name, "S") != "S"}
        shown = {name: value for name, value in one.visible.items() if name not in unfit}
        found: Item = json.loads(json.dumps(shown, default=_base64))
        yield found


def _base64(value: bytes) -> str:
    """A binary value as JSON has it."""
    return b64encode(value).decode()
