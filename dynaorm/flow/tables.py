"""Tables as they are in AWS: where they are, and how they are created, deleted and compared."""

from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import (
    StreamView,
    Table,
    check_table,
)
from dynaorm.errors import TableNotFound, Unreachable, UsageError
from dynaorm.failure import shown
from dynaorm.flow.call import Call, Context, Flow, Pause, Refusal, Reply
from dynaorm.flow.read import answered, describe_table, error_of_refusal, repeat
from dynaorm.flow.table_definition import (
    Difference,
    TableStep,
    definition,
    expire_by,
    missing_table,
    stream_of,
    stream_with,
    table_differences,
    ttl_of,
)
from dynaorm.record import record

READ_UNIT: Final = 4096
"""The bytes of one strongly consistent read unit (Amazon DynamoDB Developer Guide, "Read and write operations")."""

WRITE_UNIT: Final = 1024
"""The bytes of one write unit, of the same source."""


@record
class TableLocation:
    """Where a table is. DynamoDB updates the two sizes every six hours.

    Attributes:
        declared: its declared name.
        name: its physical name.
        account: the AWS account; None if its ARN does not tell.
        region: the AWS Region; None if its ARN does not tell.
        items: the approximate number of its items.
        size: the approximate number of their bytes.
    """

    declared: str
    name: str
    account: str | None
    region: str | None
    items: int | None
    size: int | None = None

    @property
    def scan_units(self) -> int | None:
        """The read units of one strongly consistent scan: one for each 4 KB. None if the size is not known."""
        return None if self.size is None else ceil(self.size / READ_UNIT)

    @property
    def put_units(self) -> int | None:
        """The write units of writing each item once: one for each started KB. None if the sizes are not known."""
        if self.items is None or self.size is None:
            return None
        return self.items * max(1, ceil(self.size / self.items / WRITE_UNIT)) if self.items else 0


def location_of(table: Table, name: str, description: Mapping[str, Any]) -> TableLocation:
    """Where a table is, by its physical name and ``Table`` of DescribeTable; an empty one, if it does not exist."""
    # arn:aws:dynamodb:REGION:ACCOUNT:table/NAME
    parts = [*description.get("TableArn", "").split(":"), *[""] * 5]
    return TableLocation(
        declared=table.name,
        name=name,
        account=parts[4] or None,
        region=parts[3] or None,
        items=description.get("ItemCount"),
        size=description.get("TableSizeBytes"),
    )


# CreateTable and DeleteTable, which wait until the table is active or gone, and the comparison with a live table.
#
# An existing table with other keys is refused. A table is deleted only if its physical name is given.


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
    check_table("create_table", table)
    yield from _create_one(table, context)
    if table.guard_table is not None:
        yield from create_table(table.guard_table, context)


def delete_table(table: Table, context: Context, *, name: str, guard_table: str | None = None) -> Flow[None]:
    """Delete a table with everything in it, and its guard table if that is named, and wait until they are gone.

    Raises:
        UsageError: a physical name is not that of the table; nothing was sent.
        StoreError: DynamoDB refused the request.
    """
    check_table("delete_table", table)
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
            problem=f"{keyword}={shown(given)}, and this session keeps {table} in {physical!r}",
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
                raise error_of_refusal(refusal, deletion) from refusal
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
            raise error_of_refusal(refusal, Call("CreateTable", wanted)) from refusal
    description = yield from _active(name, context)
    # What follows switches the stream and TTL on.
    found = [
        difference
        for difference in _differences(table, wanted, description)
        if difference.kind != "stream" and not difference.is_harmless
    ]
    if found:
        can_be_added = all(one.steps and not one.removes for one in found)
        raise UsageError(
            problem=f"the table {name!r} exists, but {'; '.join(one.problem for one in found)}",
            remedy="apply adds what is missing"
            if can_be_added
            else f"declare {table} as the table is, or create a table with another name (table_names=)",
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


def compare_table(table: Table, context: Context) -> Flow[tuple[Difference, ...]]:
    """What differs between the declaration of a table and its guard table and the live ones. Nothing is changed.

    Raises:
        UsageError: it is no Table.
        StoreError: DynamoDB refused a request.
    """
    check_table("compare_table", table)
    found: tuple[Difference, ...] = ()
    for home in table.homes:
        found += yield from _compare_one(home, context)
    return found


def _compare_one(table: Table, context: Context) -> Flow[tuple[Difference, ...]]:
    return (yield from live_table(table, context)).differences


@record
class LiveTable:
    """A live table, and what differs between it and its declaration.

    Attributes:
        description: ``Table`` of DescribeTable; empty for a table that does not exist.
        differences: what is not as declared.
    """

    description: Reply
    differences: tuple[Difference, ...]


def live_table(table: Table, context: Context) -> Flow[LiveTable]:
    """A table as it is now, compared with its declaration. Raises StoreError."""
    name = context.table_name(table.name)
    wanted = definition(table, name)
    try:
        description = yield from describe_table(name, context)
        live_ttl = yield from _describe_ttl(name, context)
    except TableNotFound:
        return LiveTable({}, (missing_table(wanted, table.ttl_attribute),))
    return LiveTable(description, _differences(table, wanted, description, live_ttl))


def _differences(
    table: Table, wanted: dict[str, Any], live: Reply, live_ttl: Reply | None = None
) -> tuple[Difference, ...]:
    """What is not as wanted. Raises Unreachable for a description that DynamoDB does not give."""
    mappings = catalog_of(table).mappings.values()
    stored = {
        one.attribute: f"{mapping.name}.{name}"
        for mapping in mappings
        for name, one in mapping.fields.items()
    }
    try:
        return table_differences(wanted, live, ttl=table.ttl_attribute, live_ttl=live_ttl, stored=stored)
    except (LookupError, TypeError, AttributeError) as error:
        reason = "a description without keys or indexes as DynamoDB gives them"
        raise Unreachable(operation="DescribeTable", attempts=1, reason=reason) from error


def _enable_stream(name: str, view: StreamView, description: Reply, context: Context) -> Flow[None]:
    if stream_of(description) is None:
        change = call_of(stream_with(name, view))
        try:
            yield from answered(change, context)
        except Refusal as refusal:
            # An attempt without an answer may have enabled it.
            description = yield from _active(name, context)
            if stream_of(description) is None:
                raise error_of_refusal(refusal, change) from refusal
        else:
            yield from _active(name, context)
            return
    found = stream_of(description)
    if found != view:
        raise UsageError(
            problem=f"the stream of the table {name!r} carries {found}, not {view}",
            remedy="declare the view type that it has, or disable the stream first: DynamoDB starts another one",
        )


def _enable_ttl(name: str, attribute: str, context: Context) -> Flow[None]:
    found = yield from _ttl_of(name, context)
    if found is None:
        change = call_of(expire_by(name, attribute))
        try:
            yield from answered(change, context)
        except Refusal as refusal:
            # An attempt without an answer may have enabled it.
            found = yield from _ttl_of(name, context)
            if found is None:
                raise error_of_refusal(refusal, change) from refusal
        else:
            return
    if found != attribute:
        raise UsageError(
            problem=f"the table {name!r} expires items by {found!r}, not {attribute!r}",
            remedy=f"store the field as Attribute({found!r})",
        )


def _ttl_of(name: str, context: Context) -> Flow[str | None]:
    """The attribute by which a table expires items; None for none."""
    return ttl_of((yield from _describe_ttl(name, context)))


def _describe_ttl(name: str, context: Context) -> Flow[Reply]:
    reply = yield from repeat(Call("DescribeTimeToLive", {"TableName": name}), context)
    found: Reply = reply.get("TimeToLiveDescription", {})
    return found


def call_of(step: TableStep) -> Call:
    """The request of a step."""
    return Call(step.operation, dict(step.request))
