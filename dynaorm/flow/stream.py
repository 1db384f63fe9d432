"""Reading a table's stream: shards parent before child, each from a checkpoint or from its oldest record.

Rule 1. A page counts as read once the caller asks for the next one. What was not handled is read again.
Rule 2. Records that are gone are an error, never a gap.

Source: Amazon DynamoDB Developer Guide, "Reading and processing a stream".
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dynaorm.argument import check_amount, check_plain_function
from dynaorm.entity.table import Table
from dynaorm.errors import CheckpointExpired, StoreError, UsageError
from dynaorm.flow.protocol.call import Call, Flow, Pause, Refusal, Reply
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.protocol.paging import PageKeys
from dynaorm.flow.protocol.reply_keys import part_of
from dynaorm.flow.read import answered, describe_table, refused
from dynaorm.record import record, replace
from dynaorm.streams.change import AnyChange, Internal
from dynaorm.streams.checkpoint import Parents, StreamCheckpoint, checkpoint_in
from dynaorm.streams.event import records_of
from dynaorm.streams.interpret import changes_in

_POLL_SECONDS: Final = 1.0
"""The pause after a round of all open shards that brought no record."""

_DESCRIBE_SECONDS: Final = 60.0
"""How often to look for new shards while no shard ends."""

_TRIMMED: Final = frozenset({"TrimmedDataAccessException", "ResourceNotFoundException"})


@record
class Following:
    """What a caller asks for.

    Attributes:
        table: the table.
        after: the checkpoint to continue after; None to begin with the oldest record.
        idle: end after so many seconds without a record; None to go on.
        stop: asked before every request; True ends the reading.
        internal: also give the writes of items that are no entities.
    """

    table: Table
    after: StreamCheckpoint | None
    idle: float | None
    stop: Callable[[], bool]
    internal: bool


def following(
    table: object, after: str | None, idle: float | None, stop: Callable[[], bool] | None, *, internal: bool
) -> Following:
    """Check the arguments of ``follow``. Raises UsageError, InvalidCursor."""
    if not isinstance(table, Table):
        raise UsageError(
            problem=f"follow() takes a Table, not {table!r}", remedy="give the Table of the classes"
        )
    if idle is not None:
        check_amount("idle={}", idle, zero=True)
    if stop is not None:
        check_plain_function("stop={}", stop)
    checkpoint = None if after is None else checkpoint_in(after)
    return Following(table, checkpoint, idle, stop or (lambda: False), internal)


@record
class StreamPage:
    """The records of one reply of GetRecords."""

    shard: str
    reply: Reply

    @property
    def last(self) -> str | None:
        """The sequence number of its last record; None without records."""
        records = self.reply.get("Records") or ()
        return str(part_of("GetRecords", records[-1], "dynamodb", "SequenceNumber")) if records else None


class StreamReader:
    """Reads one stream, and knows how far it has been read.

    Args:
        asked: what the caller asks for.
        context: the session's settings.
    """

    def __init__(self, asked: Following, context: Context) -> None:
        self._asked = asked
        self._context = context
        self._done = asked.after or StreamCheckpoint("", {}, frozenset())
        self._parents: Parents = {}
        self._iterators: dict[str, str] = {}
        self._round: list[str] = []
        self._is_found = self._is_quiet = self._is_disabled = False
        self._described_at = float("-inf")
        self._heard_at = context.clock.monotonic()

    def changes(self, page: StreamPage) -> Iterator[AnyChange]:
        """The changes in a page, each with its checkpoint."""
        for one in records_of(page.reply):
            after = self._done.after(page.shard, one.sequence).text()
            for change in changes_in(one, self._asked.table):
                if self._asked.internal or not isinstance(change, Internal):
                    yield replace(change, checkpoint=after)

    def finish(self, page: StreamPage) -> None:
        """Count a page as read."""
        if page.last is not None:
            self._done = self._done.after(page.shard, page.last)
        if iterator := page.reply.get("NextShardIterator"):
            self._iterators[page.shard] = iterator
        else:
            self._done = self._done.at_end_of(page.shard)
            # Its children are to be found, and read next.
            self._described_at, self._is_quiet = float("-inf"), False

    def next_page(self) -> Flow[StreamPage | None]:
        """The next page with records; None at the end.

        Raises:
            CheckpointExpired: records after the checkpoint may be gone.
            UsageError: the table has no stream.
            TableNotFound, Throttled, Unreachable, UnexpectedRefusal: as for any read.
        """
        while not self._asked.stop():
            if not self._round:
                if (yield from self._begin_round()):
                    continue
                return None
            page = yield from self._page(self._round.pop(0))
            if page.last is not None:
                self._is_quiet, self._heard_at = False, self._context.clock.monotonic()
                return page
            self.finish(page)
        return None

    def _begin_round(self) -> Flow[bool]:
        """Choose the shards to read next, after a pause if the last round was quiet; False at the end."""
        clock = self._context.clock
        if self._is_quiet:
            if self._asked.idle is not None and clock.monotonic() - self._heard_at >= self._asked.idle:
                return False
            yield Pause(_POLL_SECONDS)
        if clock.monotonic() - self._described_at >= _DESCRIBE_SECONDS:
            yield from self._describe()
        self._round = self._done.readable(self._parents)
        self._is_quiet = True
        return bool(self._round) or not self._is_disabled

    # -- shards ------------------------------------------------------------------------------------------------

    def _describe(self) -> Flow[None]:
        """Learn the shards of the stream."""
        if not self._is_found:
            yield from self._find()
        parents: dict[str, str | None] = {}
        operation, request = "DescribeStream", {"StreamArn": self._done.stream}
        ends = PageKeys[str]()
        while True:
            found = part_of(operation, (yield from self._ask(operation, request)), "StreamDescription")
            shards = found.get("Shards", ())
            parents |= {part_of(operation, one, "ShardId"): one.get("ParentShardId") for one in shards}
            if not (last := ends.checked(operation, found.get("LastEvaluatedShardId"))):
                break
            request = {"StreamArn": self._done.stream, "ExclusiveStartShardId": last}
        if (lost := self._done.lost(parents)) is not None:
            raise self._expired(f"the shard {lost} is gone")
        self._parents, self._done = parents, self._done.with_shards(parents)
        self._is_disabled = part_of(operation, found, "StreamStatus") == "DISABLED"
        self._described_at = self._context.clock.monotonic()

    def _find(self) -> Flow[None]:
        """Learn the ARN of the stream."""
        name = self._context.table_name(self._asked.table.name)
        description = yield from describe_table(name, self._context)
        arn = description.get("LatestStreamArn")
        if arn is None:
            raise UsageError(
                problem=f"the table {name!r} has no stream",
                remedy="declare Table(..., stream='NEW_AND_OLD_IMAGES') and call session.create_table(table)",
            )
        if self._done.stream not in ("", arn):
            raise self._expired("it is one of another stream")
        self._done, self._is_found = replace(self._done, stream=arn), True

    # -- records -----------------------------------------------------------------------------------------------

    def _page(self, shard: str) -> Flow[StreamPage]:
        iterator = self._iterators.pop(shard, None) or (yield from self._seek(shard))
        try:
            reply = yield from self._send("GetRecords", {"ShardIterator": iterator})
        except Refusal as refusal:
            if refusal.code != "ExpiredIteratorException":
                raise self._refused(refusal, "GetRecords") from refusal
            # An iterator lives for 15 minutes. The caller took longer to handle the last page.
            iterator = yield from self._seek(shard)
            reply = yield from self._ask("GetRecords", {"ShardIterator": iterator})
        return StreamPage(shard, reply)

    def _seek(self, shard: str) -> Flow[str]:
        """Get an iterator behind the last record that was read, or at the oldest one."""
        request = {"StreamArn": self._done.stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        if sequence := self._done.read.get(shard):
            request |= {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": sequence}
        reply = yield from self._ask("GetShardIterator", request)
        iterator: str = part_of("GetShardIterator", reply, "ShardIterator")
        return iterator

    # -- requests ----------------------------------------------------------------------------------------------

    def _ask(self, operation: str, request: Mapping[str, str]) -> Flow[Reply]:
        """The reply to a request. Raises the errors of ``next_page``."""
        try:
            return (yield from self._send(operation, request))
        except Refusal as refusal:
            raise self._refused(refusal, operation) from refusal

    def _send(self, operation: str, request: Mapping[str, str]) -> Flow[Reply]:
        """The reply to a request. Raises Refusal."""
        pauses = self._context.retry.pauses(self._context.clock)
        while True:
            try:
                return (yield from answered(Call(operation, request), self._context))
            except Refusal as refusal:
                # Too many requests per second, or more than two readers of a shard.
                pause = next(pauses, None) if refusal.code == "LimitExceededException" else None
                if pause is None:
                    raise
            yield Pause(pause)

    def _refused(self, refusal: Refusal, operation: str) -> StoreError:
        if refusal.code in _TRIMMED:
            return self._expired(refusal.message or refusal.code)
        return refused(refusal, Call(operation, {}))

    def _expired(self, reason: str) -> CheckpointExpired:
        return CheckpointExpired(
            table=self._context.table_name(self._asked.table.name), reason=reason.rstrip(".")
        )
