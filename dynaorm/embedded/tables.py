"""CreateTable and the other operations on tables. A table and its indexes are active at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dynaorm.embedded import rules
from dynaorm.embedded.database import Database, operation
from dynaorm.embedded.shape import INDEXES, Layout
from dynaorm.embedded.streams import open_stream
from dynaorm.embedded.writes import fill
from dynaorm.flow.call import Refusal, Reply

_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]+")
_MOST_PARTS: Final = 4
_MOST_INDEXES: Final = {INDEXES[0]: 20, INDEXES[1]: 5}
_MOST_TABLES: Final = 100
_THROUGHPUT: Final = {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
_REMEMBERED: Final = ("DeletionProtectionEnabled", "OnDemandThroughput")
"""Parameters that a table only remembers."""
_SETTINGS: Final = f"BillingMode ProvisionedThroughput StreamSpecification TableClass {' '.join(_REMEMBERED)}"


@operation("TableName KeySchema AttributeDefinitions", f"{' '.join(INDEXES)} {_SETTINGS}", writes=True)
def create_table(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a CreateTable."""
    name = request["TableName"]
    _check_name("TableName", name)
    if db.find_table(name) is not None:
        raise Refusal("ResourceInUseException", f"Table already exists: {name}")
    arn = f"{db.home}table/{name}"
    description: dict[str, Any] = {
        "TableName": name,
        "TableStatus": "ACTIVE",
        "TableArn": arn,
        "CreationDateTime": db.now(),
        "KeySchema": request["KeySchema"],
        "AttributeDefinitions": request["AttributeDefinitions"],
        "TableSizeBytes": 0,
    }
    for kind in INDEXES:
        if indexes := request.get(kind):
            description[kind] = [_index(arn, index) for index in indexes]
    return {"TableDescription": _changed(db, description, {"BillingMode": "PROVISIONED", **request})}


@operation("TableName")
def describe_table(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeTable."""
    layout = _layout(db, request)
    count, size = db.execute(
        f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM {layout.base.sql}"  # noqa: S608 - a name that was checked
    ).fetchone()
    return {"Table": {**layout.description, "ItemCount": count, "TableSizeBytes": size}}


@operation("TableName", writes=True)
def delete_table(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a DeleteTable."""
    layout = _layout(db, request)
    if layout.description.get("DeletionProtectionEnabled"):
        what = "Resource cannot be deleted as it is currently protected against deletion"
        raise rules.invalid(f"{what}. Disable deletion protection first.")
    db.drop(layout)
    return {"TableDescription": {**layout.description, "TableStatus": "DELETING"}}


@operation("", "Limit ExclusiveStartTableName")
def list_tables(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a ListTables."""
    limit, start = request.get("Limit") or _MOST_TABLES, request.get("ExclusiveStartTableName") or ""
    rows = db.execute('SELECT name FROM ":tables" WHERE name > ? ORDER BY name LIMIT ?', start, limit + 1)
    names = [name for (name,) in rows]
    more = {"LastEvaluatedTableName": names[limit - 1]} if names[limit:] else {}
    return {"TableNames": names[:limit], **more}


@operation("TableName", f"AttributeDefinitions GlobalSecondaryIndexUpdates {_SETTINGS}", writes=True)
def update_table(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateTable."""
    layout = _layout(db, request)
    if request.keys() <= {"TableName", "AttributeDefinitions"}:
        raise rules.invalid(
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
        what = "Only 1 online index can be created or deleted simultaneously per table"
        raise Refusal("LimitExceededException", f"Subscriber limit exceeded: {what}")
    for verb, index in updates:
        _change_index(description, verb, index)
    used = _key_attributes(description)
    description["AttributeDefinitions"] = [each for name, each in definitions.items() if name in used]
    return {"TableDescription": _changed(db, description, request)}


def _change_index(description: dict[str, Any], verb: str, index: Mapping[str, Any]) -> None:
    name, kind = index["IndexName"], INDEXES[0]
    indexes = description.pop(kind, [])
    others = [each for each in indexes if each["IndexName"] != name]
    if verb == "Create" and len(others) < len(indexes):
        raise rules.invalid(f"Attempting to create an index which already exists: {name}")
    if verb != "Create" and len(others) == len(indexes):
        raise rules.not_found(f": Index: {name}")
    left = {"Create": [*indexes, _index(description["TableArn"], index)], "Delete": others}.get(verb, indexes)
    if left:
        description[kind] = left


def _layout(db: Database, request: Mapping[str, Any]) -> Layout:
    name = request["TableName"].rpartition(":table/")[2]
    layout = db.find_table(name)
    if layout is None:
        raise rules.not_found(f": Table: {name} not found")
    return layout


def _changed(db: Database, description: dict[str, Any], request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep a description with the settings of a request. Raises Refusal if it breaks a rule."""
    billing, throughput = request.get("BillingMode"), request.get("ProvisionedThroughput")
    rules.refuse_first(
        (
            billing == "PROVISIONED" and throughput is None,
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            billing == "PAY_PER_REQUEST" and throughput is not None,
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
    )
    if billing is not None:
        description["BillingModeSummary"] = {"BillingMode": billing}
    if billing is not None or throughput is not None:
        description["ProvisionedThroughput"] = {**_THROUGHPUT, **(throughput or {})}
    description |= {name: request[name] for name in _REMEMBERED if name in request}
    if "TableClass" in request:
        description["TableClassSummary"] = {"TableClass": request["TableClass"]}
    _check(description)
    _set_stream(db, description, request.get("StreamSpecification"))
    before, layout = db.keep_description(description)
    for shape in layout.indexes:
        if before is None or shape.sql not in [each.sql for each in before.indexes]:
            fill(db, layout, shape)
    if layout.view is not None and (before is None or before.view is None):
        open_stream(db, layout)
    return description


def _index(arn: str, index: Mapping[str, Any]) -> dict[str, Any]:
    name = index["IndexName"]
    _check_name("IndexName", name)
    state = {"IndexStatus": "ACTIVE", "IndexSizeBytes": 0, "ItemCount": 0}
    return {**index, "IndexArn": f"{arn}/index/{name}", **state}


def _set_stream(db: Database, description: dict[str, Any], wanted: Mapping[str, Any] | None) -> None:
    if wanted is None:
        return
    is_open = "StreamSpecification" in description
    if not wanted.get("StreamEnabled"):
        if not is_open and "StreamViewType" in wanted:
            raise rules.invalid_parameter(
                "Table is being created with a stream disabled, StreamViewType should not be specified"
            )
        description.pop("StreamSpecification", None)
        return
    if is_open:
        raise Refusal("ResourceInUseException", "Table already has an enabled stream")
    label = datetime.fromtimestamp(db.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.")
    # Two streams may begin at one time of a clock that stands still.
    (count,) = db.execute('SELECT COUNT(*) FROM ":streams"').fetchone()
    description["StreamSpecification"] = dict(wanted)
    description["LatestStreamLabel"] = label = f"{label}{count:06}"
    description["LatestStreamArn"] = f"{description['TableArn']}/stream/{label}"


# -- time to live ------------------------------------------------------------------------------------------------------


@operation("TableName")
def describe_time_to_live(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer a DescribeTimeToLive."""
    attribute = _ttl(db, _layout(db, request))
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}


@operation("TableName TimeToLiveSpecification", writes=True)
def update_time_to_live(db: Database, request: Mapping[str, Any]) -> Reply:
    """Answer an UpdateTimeToLive. No item is deleted: DynamoDB may take days."""
    layout, wanted = _layout(db, request), request["TimeToLiveSpecification"]
    present, enables = _ttl(db, layout), wanted["Enabled"]
    if enables is (present is not None):
        raise rules.invalid(f"TimeToLive is already {'enabled' if enables else 'disabled'}")
    if not enables and present != wanted["AttributeName"]:
        what = f"current AttributeName is {present}"
        raise rules.invalid(f"TimeToLive is active on a different AttributeName: {what}")
    attribute = wanted["AttributeName"] if enables else None
    db.execute('UPDATE ":tables" SET ttl = ? WHERE name = ?', attribute, layout.name)
    return {"TimeToLiveSpecification": wanted}


def _ttl(db: Database, layout: Layout) -> str | None:
    (attribute,) = db.execute('SELECT ttl FROM ":tables" WHERE name = ?', layout.name).fetchone()
    text: str | None = attribute
    return text


# -- rules -------------------------------------------------------------------------------------------------------------


def _check_name(parameter: str, name: str) -> None:
    rules.check_length(parameter, len(name), 255, 3)
    if not _NAME.fullmatch(name):
        raise rules.unmet(parameter, name, f"satisfy regular expression pattern: {_NAME.pattern}")


def _check(description: Mapping[str, Any]) -> None:
    partition, sort = _sides(description["KeySchema"])
    names = [index["IndexName"] for kind in INDEXES for index in description.get(kind, ())]
    twice = [name for name in names if names.count(name) > 1]
    rules.refuse_first(
        (
            len(partition) != 1 or len(sort) > 1 or partition == sort,
            "Invalid KeySchema: a table has one HASH key and at most one RANGE key",
        ),
        (twice, f"Duplicate index name: {''.join(twice[:1])}"),
    )
    for kind in INDEXES:
        indexes = description.get(kind, ())
        if len(indexes) > _MOST_INDEXES[kind]:
            code = "LimitExceededException" if kind == INDEXES[0] else "ValidationException"
            raise Refusal(code, f"Number of {kind} exceeds per-table limit of {_MOST_INDEXES[kind]}")
        for index in indexes:
            _check_index(index, partition, is_local=kind == INDEXES[1], has_sort=bool(sort))
    defined = {each["AttributeName"] for each in description["AttributeDefinitions"]}
    used = _key_attributes(description)
    lacking, left = sorted(used - defined), sorted(defined - used)
    rules.refuse_first(
        (lacking, f"Some index key attributes are not defined in AttributeDefinitions. Keys: {lacking}"),
        (left, f"Some AttributeDefinitions are not used: {left}"),
    )


def _check_index(index: Mapping[str, Any], partition: list[str], *, is_local: bool, has_sort: bool) -> None:
    name, (own, sort) = index["IndexName"], _sides(index["KeySchema"])
    roles = [key["KeyType"] for key in index["KeySchema"]]
    parts = f"it has 1 to {_MOST_PARTS} HASH keys, then at most {_MOST_PARTS} RANGE keys"
    is_long = not 1 <= len(own) <= _MOST_PARTS or len(sort) > _MOST_PARTS
    projection = index["Projection"]
    kind, others = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    rules.refuse_first(
        (
            is_local and not has_sort,
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        (
            is_local and (own != partition or len(sort) != 1),
            f"Index KeySchema of {name} must have the table's HASH key and one RANGE key",
        ),
        (
            is_long or roles != sorted(roles) or len({*own, *sort}) < len(roles),
            f"Invalid KeySchema of index {name}: {parts}",
        ),
        (kind not in ("ALL", "KEYS_ONLY", "INCLUDE"), f"Unknown ProjectionType: {kind}"),
        (
            kind == "INCLUDE" and not others,
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            kind != "INCLUDE" and others,
            f"ProjectionType is {kind}, but NonKeyAttributes is specified",
        ),
    )


def _sides(schema: Iterable[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    """The names of partition and sort key attributes."""
    partition = [key["AttributeName"] for key in schema if key["KeyType"] == "HASH"]
    return partition, [key["AttributeName"] for key in schema if key["KeyType"] == "RANGE"]


def _key_attributes(description: Mapping[str, Any]) -> set[str]:
    schemas = [description["KeySchema"]]
    schemas += [index["KeySchema"] for kind in INDEXES for index in description.get(kind, ())]
    return {key["AttributeName"] for schema in schemas for key in schema}
