"""CreateTable and DeleteTable: each waits until the table is active or gone.

An existing table with other keys is refused. A table is deleted only if its physical name is given.
"""

from collections.abc import Iterator
from typing import Any

from dynaorm.entity.table import StreamView, Table
from dynaorm.errors import TableNotFound, Unreachable, UsageError
from dynaorm.flow.protocol.call import Call, Flow, Pause, Refusal, Reply
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.read import answered, describe_table, refused, repeat
from dynaorm.flow.table_definition import definition

# A new table is active after some seconds. Poll every half second, for ten minutes at most; polling is free.
_POLL_SECONDS = 0.5
_POLLS = 1200


def create_table(table: Table, context: Context) -> Flow[None]:
    """Create a table and its guard table, and wait until they are active.

    TTL is enabled if a class uses it, and the stream if the table declares one. Nothing else of an existing table is
    changed.

    Raises:
        UsageError: the table exists with other keys, or without a declared index.
        StoreError: DynamoDB refused the request.
    """
    if not isinstance(table, Table):
        raise UsageError(
            problem=f"create_table() takes a Table, not {table!r}", remedy="give the Table of the class"
        )
    yield from _create_one(table, context)
    if table.guard_table is not None:
        yield from create_table(table.guard_table, context)


def delete_table(table: Table, context: Context, *, name: str, guard_table: str | None = None) -> Flow[None]:
    """Delete a table with everything in it, and its guard table if that is named, and wait until they are gone.

    Raises:
        UsageError: a physical name is not that of the table; nothing was sent.
        StoreError: DynamoDB refused the request.
    """
    if not isinstance(table, Table):
        raise UsageError(
            problem=f"delete_table() takes a Table, not {table!r}", remedy="give the Table of the class"
        )
    _check_named(table, "name", name, context)
    if guard_table is not None:
        if table.guard_table is None:
            raise UsageError(
                problem=f"{table} has no guard table: its guards are in it",
                remedy="leave guard_table= out",
            )
        _check_named(table.guard_table, "guard_table", guard_table, context)
    # The entities go first: without them, their guards only take up space. The reverse would break uniqueness.
    for one in (name, guard_table):
        if one is not None:
            yield from _delete_one(one, context)


def _check_named(table: Table, keyword: str, given: object, context: Context) -> None:
    physical = context.table_name(table.name)
    if not isinstance(given, str) or given != physical:
        raise UsageError(
            problem=f"{keyword}={given!r}, and this session keeps {table} in {physical!r}",
            remedy=f"give {keyword}={physical!r} if that is the table to delete with everything in it",
        )


def _delete_one(name: str, context: Context) -> Flow[None]:
    deletion = Call("DeleteTable", {"TableName": name})
    for _ in range(_POLLS):
        try:
            description = yield from describe_table(name, context)
            # DynamoDB deletes a table only while it is active (Amazon DynamoDB API Reference, DeleteTable).
            if description["TableStatus"] == "ACTIVE":
                yield from answered(deletion, context)
                continue
        except TableNotFound:
            return
        except Refusal as refusal:
            # An attempt without an answer may have deleted it.
            if refusal.code == "ResourceNotFoundException":
                return
            # Another request is changing the table. After it, the deletion is sent again.
            if refusal.code != "ResourceInUseException":
                raise refused(refusal, deletion) from refusal
        yield Pause(_POLL_SECONDS)
    raise UsageError(
        problem=f"the table {name!r} is not gone after {_POLL_SECONDS * _POLLS:g} seconds",
        remedy="look at its status in the AWS console, and call delete_table again",
    )


def _create_one(table: Table, context: Context) -> Flow[None]:
    name = context.table_name(table.name)
    wanted = definition(table, name)
    try:
        yield from answered(Call("CreateTable", wanted), context)
    except Refusal as refusal:
        # The table exists, perhaps because an attempt without an answer has created it. Whether it is the one that is
        # wanted is compared below.
        if refusal.code != "ResourceInUseException":
            raise refused(refusal, Call("CreateTable", wanted)) from refusal
    description = yield from _active(name, context)
    if problems := _differences(wanted, description):
        raise UsageError(
            problem=f"the table {name!r} exists, but {'; '.join(problems)}",
            remedy=f"declare {table} as the table is, or create a table with another name (table_names=)",
        )
    if table.stream is not None:
        yield from _enable_stream(name, table.stream, description, context)
    if table.ttl_attribute is not None:
        yield from _enable_ttl(name, table.ttl_attribute, context)


def _active(name: str, context: Context) -> Flow[Reply]:
    for _ in range(_POLLS):
        try:
            description = yield from describe_table(name, context)
            if description["TableStatus"] == "ACTIVE":
                return description
        except TableNotFound:
            pass  # DescribeTable is eventually consistent (Amazon DynamoDB API Reference): not found yet
        yield Pause(_POLL_SECONDS)
    raise UsageError(
        problem=f"the table {name!r} is not active after {_POLL_SECONDS * _POLLS:g} seconds",
        remedy="look at its status in the AWS console, and call create_table again when it is active",
    )


def _enable_stream(name: str, view: StreamView, description: Reply, context: Context) -> Flow[None]:
    if not _stream_of(description):
        specification = {"StreamEnabled": True, "StreamViewType": view}
        change = Call("UpdateTable", {"TableName": name, "StreamSpecification": specification})
        try:
            yield from answered(change, context)
        except Refusal as refusal:
            # An attempt without an answer may have enabled it.
            description = yield from _active(name, context)
            if not _stream_of(description):
                raise refused(refusal, change) from refusal
        else:
            yield from _active(name, context)
            return
    found = _stream_of(description)
    if found != view:
        raise UsageError(
            problem=f"the stream of the table {name!r} carries {found}, not {view}",
            remedy="declare the view type that it has, or disable the stream first: DynamoDB starts another one",
        )


def _stream_of(description: Reply) -> str | None:
    """The view type of a table's stream; None for none."""
    found = description.get("StreamSpecification") or {}
    return str(found.get("StreamViewType")) if found.get("StreamEnabled") else None


def _enable_ttl(name: str, attribute: str, context: Context) -> Flow[None]:
    found = yield from _ttl_of(name, context)
    if found is None:
        specification = {"Enabled": True, "AttributeName": attribute}
        change = Call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification})
        try:
            yield from answered(change, context)
        except Refusal as refusal:
            # An attempt without an answer may have enabled it.
            found = yield from _ttl_of(name, context)
            if found is None:
                raise refused(refusal, change) from refusal
        else:
            return
    if found != attribute:
        raise UsageError(
            problem=f"the table {name!r} expires items by {found!r}, not {attribute!r}",
            remedy=f"store the field as Attribute({found!r})",
        )


def _ttl_of(name: str, context: Context) -> Flow[str | None]:
    """The attribute by which a table expires items; None for none."""
    reply = yield from repeat(Call("DescribeTimeToLive", {"TableName": name}), context)
    found = reply.get("TimeToLiveDescription", {})
    is_on = found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return str(found.get("AttributeName")) if is_on else None


def _differences(wanted: dict[str, Any], found: Reply) -> list[str]:
    """What is not as wanted. Raises Unreachable for a description that DynamoDB does not give."""
    try:
        return list(_differences_in(wanted, found))
    except (LookupError, TypeError, AttributeError) as error:
        reason = "a description without keys or indexes as DynamoDB gives them"
        raise Unreachable(operation="DescribeTable", attempts=1, reason=reason) from error


def _differences_in(wanted: dict[str, Any], found: Reply) -> Iterator[str]:
    kinds = {one["AttributeName"]: one["AttributeType"] for one in found.get("AttributeDefinitions", ())}
    declared = {one["AttributeName"]: one["AttributeType"] for one in wanted["AttributeDefinitions"]}
    if _keys(found, kinds) != _keys(wanted, declared):
        yield f"its keys are {_text(_keys(found, kinds))}, not {_text(_keys(wanted, declared))}"
    for group in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        stored = {one["IndexName"]: one for one in found.get(group) or ()}
        for index in wanted.get(group, ()):
            name = index["IndexName"]
            if name not in stored:
                yield f"it has no index {name!r}"
            elif _keys(stored[name], kinds) != _keys(index, declared):
                yield (
                    f"the keys of its index {name!r} are {_text(_keys(stored[name], kinds))}, "
                    f"not {_text(_keys(index, declared))}"
                )
            elif index["Projection"] == {"ProjectionType": "ALL"} != stored[name].get("Projection"):
                # Queries expect whole entities in an index that is declared with ALL attributes.
                yield f"its index {name!r} does not project ALL attributes"


def _keys(schema: Any, kinds: dict[str, str]) -> list[tuple[str, str, str]]:
    return [
        (one["KeyType"], one["AttributeName"], kinds.get(one["AttributeName"], "?"))
        for one in schema["KeySchema"]
    ]


def _text(keys: list[tuple[str, str, str]]) -> str:
    return ", ".join(f"{name} ({role} {kind})" for role, name, kind in keys)
