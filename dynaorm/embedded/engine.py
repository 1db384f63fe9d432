"""A DynamoDB in this process: answers each operation by its rules, and refuses what it does not know by name."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection
from typing import Final, NamedTuple

from dynaorm.embedded import reads, streams, tables, writes
from dynaorm.embedded.database import Database
from dynaorm.embedded.refusal import InvalidAction, invalid, not_in_engine
from dynaorm.embedded.work import Operation, Work
from dynaorm.flow.call import Call, Clock, Reply
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.process import NotPicklable, register

_HOME: Final = "arn:aws:dynamodb:us-east-1:000000000000:"


class Engine(NotPicklable):
    """A transport to a DynamoDB in this process. Threads may share it.

    Args:
        file: the path of the database; None for the memory of this process.
        clock: the source of time; the system's by default.
        home: what the ARNs of its tables begin with.
    """

    server = None

    def __init__(self, file: str | None = None, *, clock: Clock | None = None, home: str = _HOME) -> None:
        self._database = Database(file)
        self._clock: Clock = clock or SystemClock()
        self._home = home
        register(self)

    def call(self, call: Call, /) -> Reply:
        """Answer a request.

        Raises:
            Refusal: as DynamoDB would refuse it, or the engine does not know the operation or a parameter.
            NoAnswer: another process used the database for too long. Nothing was written.
        """
        known = _OPERATIONS.get(call.operation)
        if known is None:
            raise not_in_engine(f"the operation {call.operation}")
        if not known.required <= call.request.keys() or not call.request.keys() <= known.parameters:
            _refuse_parameters(call, known)

        def answer(connection: Connection) -> Reply:
            return known.answer(Work(self._database, connection, self._clock.now, self._home), call.request)

        try:
            return self._database.alone(answer, writing=known.writes, seconds=call.timeout)
        except InvalidAction as problem:
            raise invalid(str(problem)) from None

    def close(self) -> None:
        """Close the file. What is in memory stays as long as the engine."""
        self._database.close()

    def reset_after_fork(self) -> object:
        """Open the file anew in a forked process."""
        return self._database.reset_after_fork()


def _refuse_parameters(call: Call, known: _Answering) -> None:
    for name in sorted(known.required - call.request.keys()):
        raise invalid(f"The parameter '{name}' is required but was not present in the request")
    unknown = sorted(call.request.keys() - known.parameters)
    raise not_in_engine(f"the parameter {unknown[0]} of {call.operation}")


class _Answering(NamedTuple):
    answer: Operation
    writes: bool
    required: frozenset[str]
    parameters: frozenset[str]


def _answering(answer: Operation, required: str, others: str = "", *, writes: bool = True) -> _Answering:
    needed = frozenset(required.split())
    return _Answering(answer, writes, needed, needed.union(others.split()))


_CAPACITY: Final = "ReturnConsumedCapacity"
_NAMES: Final = f"ExpressionAttributeNames {_CAPACITY}"
_PLACEHOLDERS: Final = f"ExpressionAttributeValues {_NAMES}"
_ONE: Final = (
    "ConditionExpression ReturnValues ReturnValuesOnConditionCheckFailure ReturnItemCollectionMetrics "
    f"{_PLACEHOLDERS}"
)
_MANY: Final = f"ReturnItemCollectionMetrics {_CAPACITY}"
_PAGE: Final = (
    "IndexName FilterExpression ProjectionExpression Select Limit ExclusiveStartKey ConsistentRead "
    f"{_PLACEHOLDERS}"
)
_TABLE: Final = (
    "BillingMode ProvisionedThroughput StreamSpecification DeletionProtectionEnabled OnDemandThroughput "
    "TableClass"
)
_OPERATIONS: Final[Mapping[str, _Answering]] = {
    "GetItem": _answering(
        reads.get_item, "TableName Key", f"ConsistentRead ProjectionExpression {_NAMES}", writes=False
    ),
    "BatchGetItem": _answering(reads.batch_get_item, "RequestItems", _CAPACITY, writes=False),
    "TransactGetItems": _answering(reads.transact_get_items, "TransactItems", _CAPACITY, writes=False),
    "Query": _answering(
        reads.query, "TableName", f"KeyConditionExpression ScanIndexForward {_PAGE}", writes=False
    ),
    "Scan": _answering(reads.scan, "TableName", f"Segment TotalSegments {_PAGE}", writes=False),
    "PutItem": _answering(writes.put_item, "TableName Item", _ONE),
    "DeleteItem": _answering(writes.delete_item, "TableName Key", _ONE),
    "UpdateItem": _answering(writes.update_item, "TableName Key", f"UpdateExpression {_ONE}"),
    "BatchWriteItem": _answering(writes.batch_write_item, "RequestItems", _MANY),
    "TransactWriteItems": _answering(
        writes.transact_write_items, "TransactItems", f"ClientRequestToken {_MANY}"
    ),
    "CreateTable": _answering(
        tables.create_table,
        "TableName KeySchema AttributeDefinitions",
        f"GlobalSecondaryIndexes LocalSecondaryIndexes {_TABLE}",
    ),
    "UpdateTable": _answering(
        tables.update_table,
        "TableName",
        f"AttributeDefinitions GlobalSecondaryIndexUpdates {_TABLE}",
    ),
    "DescribeTable": _answering(tables.describe_table, "TableName", writes=False),
    "DeleteTable": _answering(tables.delete_table, "TableName"),
    "ListTables": _answering(tables.list_tables, "", "Limit ExclusiveStartTableName", writes=False),
    "DescribeTimeToLive": _answering(tables.describe_time_to_live, "TableName", writes=False),
    "UpdateTimeToLive": _answering(tables.update_time_to_live, "TableName TimeToLiveSpecification"),
    "ListStreams": _answering(streams.list_streams, "", "TableName Limit", writes=False),
    "DescribeStream": _answering(
        streams.describe_stream, "StreamArn", "Limit ExclusiveStartShardId", writes=False
    ),
    "GetShardIterator": _answering(
        streams.get_shard_iterator, "StreamArn ShardId ShardIteratorType", "SequenceNumber", writes=False
    ),
    "GetRecords": _answering(streams.get_records, "ShardIterator", "Limit"),
}
