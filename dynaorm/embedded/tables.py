"""CreateTable and the other operations on tables. A table and its indexes are active at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dynaorm.embedded.refusal import invalid, invalid_parameter, not_found
from dynaorm.embedded.shape import INDEXES, Layout
from dynaorm.embedded.streams import open_stream
from dynaorm.embedded.work import Work, out_of_bounds
from dynaorm.embedded.writes import fill
from dynaorm.flow.call import Refusal, Reply

_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]+")
_NAME_LENGTH: Final = (3, 255)
_MOST_PARTS: Final = 4
_MOST_INDEXES: Final = {INDEXES[0]: 20, INDEXES[1]: 5}
_MOST_TABLES: Final = 100
_THROUGHPUT: Final = {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
_SETTINGS: Final = ("DeletionProtectionEnabled", "OnDemandThroughput")
"""Parameters that a table only remembers."""


def create_table(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a CreateTable."""
    name = request["TableName"]
    _check_name("tableName", name)
    if work.database.layout(work.connection, name) is not None:
        raise Refusal("ResourceInUseException", f"Table already exists: {name}")
    arn = f"{work.home}table/{name}"
    description: dict[str, Any] = {
        "TableName": name,
        "TableStatus": "ACTIVE",
        "TableArn": arn,
        "CreationDateTime": work.now(),
        "KeySchema": request["KeySchema"],
        "AttributeDefinitions": request["AttributeDefinitions"],
        "TableSizeBytes": 0,
    }
    for kind in INDEXES:
        if indexes := request.get(kind):
            description[kind] = [_index(arn, index) for index in indexes]
    _configure(description, {"BillingMode": "PROVISIONED", **request})
    _check(description)
    _set_stream(work, description, request)
    return {"TableDescription": _kept(work, description)}


def describe_table(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeTable."""
    layout = _layout(work, request)
    (count, size) = work.execute(
        f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM {layout.base.sql}"  # noqa: S608 - a name that was checked
    ).fetchone()
    return {"Table": {**layout.description, "ItemCount": count, "TableSizeBytes": size}}


def delete_table(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a DeleteTable."""
    layout = _layout(work, request)
    if layout.description.get("DeletionProtectionEnabled"):
        raise invalid(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    work.database.drop(work.connection, layout)
    return {"TableDescription": {**layout.description, "TableStatus": "DELETING"}}


def list_tables(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a ListTables."""
    limit = request.get("Limit") or _MOST_TABLES
    rows = work.execute(
        'SELECT name FROM ":tables" WHERE name > ? ORDER BY name LIMIT ?',
        request.get("ExclusiveStartTableName") or "",
        limit + 1,
    ).fetchall()
    names = [name for (name,) in rows]
    return {
        "TableNames": names[:limit],
        **({"LastEvaluatedTableName": names[limit - 1]} if names[limit:] else {}),
    }


def update_table(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateTable."""
    layout = _layout(work, request)
    if request.keys() <= {"TableName", "AttributeDefinitions"}:
        raise invalid(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    description = {**layout.description}
    definitions = {
        each["AttributeName"]: each
        for each in (*description["AttributeDefinitions"], *request.get("AttributeDefinitions", ()))
    }
    updates = [next(iter(update.items())) for update in request.get("GlobalSecondaryIndexUpdates") or ()]
    if len([verb for verb, _ in updates if verb != "Update"]) > 1:
        raise Refusal(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )
    for verb, index in updates:
        _change_index(description, verb, index)
    used = _key_attributes(description)
    description["AttributeDefinitions"] = [each for name, each in definitions.items() if name in used]
    _configure(description, request)
    _check(description)
    _set_stream(work, description, request)
    return {"TableDescription": _kept(work, description)}


def _change_index(description: dict[str, Any], verb: str, index: Mapping[str, Any]) -> None:
    name, kind = index["IndexName"], INDEXES[0]
    indexes = description.get(kind, [])
    is_there = any(each["IndexName"] == name for each in indexes)
    if verb == "Create":
        if is_there:
            raise invalid(f"Attempting to create an index which already exists: {name}")
        description[kind] = [*indexes, _index(description["TableArn"], index)]
    elif not is_there:
        raise not_found(f"Requested resource not found: Index: {name}")
    elif verb == "Delete":
        description[kind] = [each for each in indexes if each["IndexName"] != name]
        if not description[kind]:
            del description[kind]


def _layout(work: Work, request: Mapping[str, Any]) -> Layout:
    name = request["TableName"].rpartition(":table/")[2]
    layout = work.database.layout(work.connection, name)
    if layout is None:
        raise not_found(f"Requested resource not found: Table: {name} not found")
    return layout


def _kept(work: Work, description: Mapping[str, Any]) -> Mapping[str, Any]:
    before, layout = work.database.keep_description(work.connection, description)
    known = set() if before is None else {shape.sql for shape in before.indexes}
    for shape in layout.indexes:
        if shape.sql not in known:
            fill(work, layout, shape)
    if layout.view is not None and (before is None or before.view is None):
        open_stream(work, layout)
    return description


def _index(arn: str, index: Mapping[str, Any]) -> dict[str, Any]:
    name = index["IndexName"]
    _check_name("indexName", name)
    return {
        **index,
        "IndexArn": f"{arn}/index/{name}",
        "IndexStatus": "ACTIVE",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
    }


def _configure(description: dict[str, Any], request: Mapping[str, Any]) -> None:
    """Billing, and settings that a table only remembers."""
    billing, throughput = request.get("BillingMode"), request.get("ProvisionedThroughput")
    if billing == "PROVISIONED" and throughput is None:
        raise invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )
    if billing == "PAY_PER_REQUEST" and throughput is not None:
        raise invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
        )
    if billing is not None:
        description["BillingModeSummary"] = {"BillingMode": billing}
    if billing is not None or throughput is not None:
        description["ProvisionedThroughput"] = {**_THROUGHPUT, **(throughput or {})}
    description |= {name: request[name] for name in _SETTINGS if name in request}
    if "TableClass" in request:
        description["TableClassSummary"] = {"TableClass": request["TableClass"]}


def _set_stream(work: Work, description: dict[str, Any], request: Mapping[str, Any]) -> None:
    wanted = request.get("StreamSpecification")
    if wanted is None:
        return
    is_open = "StreamSpecification" in description
    if wanted.get("StreamEnabled"):
        if is_open:
            raise Refusal("ResourceInUseException", "Table already has an enabled stream")
        label = datetime.fromtimestamp(work.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
        # Two streams may begin at one time of a clock that stands still.
        (count,) = work.execute('SELECT COUNT(*) FROM ":streams"').fetchone()
        description["StreamSpecification"] = dict(wanted)
        description["LatestStreamLabel"] = label = f"{label[:-6]}{count:06}"
        description["LatestStreamArn"] = f"{description['TableArn']}/stream/{label}"
    elif not is_open and "TableStatus" in description and "StreamViewType" in wanted:
        raise invalid_parameter(
            "Table is being created with a stream disabled, StreamViewType should not be specified"
        )
    else:
        description.pop("StreamSpecification", None)


# -- time to live ------------------------------------------------------------------------------------------------------


def describe_time_to_live(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeTimeToLive."""
    attribute = _ttl(work, _layout(work, request))
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}


def update_time_to_live(work: Work, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateTimeToLive. No item is deleted: DynamoDB may take days."""
    layout, wanted = _layout(work, request), request["TimeToLiveSpecification"]
    attribute = _ttl(work, layout)
    if wanted["Enabled"] and attribute is not None:
        raise invalid("TimeToLive is already enabled")
    if not wanted["Enabled"] and attribute is None:
        raise invalid("TimeToLive is already disabled")
    if not wanted["Enabled"] and attribute != wanted["AttributeName"]:
        raise invalid(
            f"TimeToLive is active on a different AttributeName: current AttributeName is {attribute}"
        )
    work.execute(
        'UPDATE ":tables" SET ttl = ? WHERE name = ?',
        wanted["AttributeName"] if wanted["Enabled"] else None,
        layout.name,
    )
    return {"TimeToLiveSpecification": wanted}


def _ttl(work: Work, layout: Layout) -> str | None:
    (attribute,) = work.execute('SELECT ttl FROM ":tables" WHERE name = ?', layout.name).fetchone()
    text: str | None = attribute
    return text


# -- rules -------------------------------------------------------------------------------------------------------------


def _check_name(parameter: str, name: str) -> None:
    least, most = _NAME_LENGTH
    if not least <= len(name) <= most:
        raise out_of_bounds(parameter, least, most)
    if not _NAME.fullmatch(name):
        raise invalid(
            f"1 validation error detected: Value '{name}' at '{parameter}' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
        )


def _check(description: Mapping[str, Any]) -> None:
    partition, sort = _sides(description["KeySchema"])
    if len(partition) != 1 or len(sort) > 1 or partition == sort:
        raise invalid_parameter("Invalid KeySchema: a table has one HASH key and at most one RANGE key")
    names = [index["IndexName"] for kind in INDEXES for index in description.get(kind, ())]
    if len({*names}) < len(names):
        raise invalid_parameter(f"Duplicate index name: {max(names, key=names.count)}")
    for kind in INDEXES:
        indexes = description.get(kind, ())
        if len(indexes) > _MOST_INDEXES[kind]:
            raise Refusal(
                "LimitExceededException" if kind == INDEXES[0] else "ValidationException",
                f"Number of {kind} exceeds per-table limit of {_MOST_INDEXES[kind]}",
            )
        for index in indexes:
            _check_index(index, partition, is_local=kind == INDEXES[1], has_sort=bool(sort))
    defined = {each["AttributeName"] for each in description["AttributeDefinitions"]}
    used = _key_attributes(description)
    for what, rest in (("not defined in AttributeDefinitions", used - defined), ("not used", defined - used)):
        if rest:
            raise invalid_parameter(
                f"Some AttributeDefinitions are {what}: {sorted(rest)}"
                if rest <= defined
                else f"Some index key attributes are {what}. Keys: {sorted(rest)}"
            )


def _check_index(index: Mapping[str, Any], partition: list[str], *, is_local: bool, has_sort: bool) -> None:
    name, (own, sort) = index["IndexName"], _sides(index["KeySchema"])
    if is_local and not has_sort:
        raise invalid_parameter(
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
        )
    if is_local and (own != partition or len(sort) != 1):
        raise invalid_parameter(f"Index KeySchema of {name} must have the table's HASH key and one RANGE key")
    roles = [key["KeyType"] for key in index["KeySchema"]]
    if (
        not 1 <= len(own) <= _MOST_PARTS
        or len(sort) > _MOST_PARTS
        or roles != sorted(roles)
        or len({*own, *sort}) < len(roles)
    ):
        raise invalid_parameter(
            f"Invalid KeySchema of index {name}: it has 1 to {_MOST_PARTS} HASH keys, "
            f"then at most {_MOST_PARTS} RANGE keys"
        )
    projection = index["Projection"]
    kind, others = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind not in ("ALL", "KEYS_ONLY", "INCLUDE"):
        raise invalid_parameter(f"Unknown ProjectionType: {kind}")
    if kind == "INCLUDE" and not others:
        raise invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and others:
        raise invalid_parameter(f"ProjectionType is {kind}, but NonKeyAttributes is specified")


def _sides(schema: Iterable[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """The names of partition and sort key attributes."""
    partition = [key["AttributeName"] for key in schema if key["KeyType"] == "HASH"]
    return partition, [key["AttributeName"] for key in schema if key["KeyType"] == "RANGE"]


def _key_attributes(description: Mapping[str, Any]) -> set[str]:
    schemas = [description["KeySchema"]]
    schemas += [index["KeySchema"] for kind in INDEXES for index in description.get(kind, ())]
    return {key["AttributeName"] for schema in schemas for key in schema}
