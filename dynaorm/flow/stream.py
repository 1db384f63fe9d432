"""Reading a table's stream: shards parent before child, each from a checkpoint or from its oldest record.

Rule 1. A page counts as read once the caller asks for the next one. What was not handled is read again.
Rule 2. Records that are gone are an error, never a gap.
Rule 3. A reply without records does not say that there are no more: it may take several calls to get to the part of a
        shard that has some. Only the end of a closed shard is certain, because no iterator follows. So a closed shard
        is read to its end. DynamoDB does not say where an open shard ends; it counts as read up to now after
        _SURE_REPLIES in a row without a record, and from then on after each one.
Rule 4. ``idle`` ends the reading when every closed shard is read to its end, every open shard counts as read up to
        now, and the last record came so many seconds ago. A shard that counts as read is asked again after a pause.

Source: Amazon DynamoDB Developer Guide, "Reading and processing a stream"; "GetRecords" and "SequenceNumberRange"
(Amazon DynamoDB Streams API Reference).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from dynaorm.argument import check_amount, check_flag, check_plain_function
from dynaorm.entity.table import Table, check_table
from dynaorm.errors import CheckpointExpired, StoreError, Unreachable, UsageError
from dynaorm.flow.call import Call, Context, Flow, PageKeys, Pause, Refusal, Reply, waited
from dynaorm.flow.read import answered, describe_table, error_of_refusal, part_of
from dynaorm.record import record, replace
from dynaorm.streams.checkpoint import Parents, StreamCheckpoint, checkpoint_in
from dynaorm.streams.event import AnyChange, Internal, StreamRecord, record_in
from dynaorm.streams.interpret import changes_in

_POLL_SECONDS: Final = 1.0
"""After so long, a shard that counts as read is asked again."""

_SURE_REPLIES: Final = 5
"""So many replies in a row without a record let an open shard count as read. AWS names no number."""

_DESCRIBE_SECONDS: Final = 60.0
"""How often to look for new shards while no shard ends."""

# The stream or shard was listed before, so "not found" means that DynamoDB has deleted it since: after 24 hours.
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
    table: Table, after: str | None, idle: float | None, stop: Callable[[], bool] | None, *, internal: bool
) -> Following:
    """Check the arguments of ``follow``. Raises UsageError, InvalidCursor."""
    check_table("follow", table)
    if idle is not None:
        check_amount("idle={}", idle, zero=True)
    if stop is not None:
        check_plain_function("stop={}", stop, takes=0)
    check_flag("internal={}", internal)
    checkpoint = None if after is None else checkpoint_in(after)
    return Following(table, checkpoint, idle, stop or (lambda: False), internal)


@record
class StreamPage:
    """The records of one reply of GetRecords, and the iterator of the next one; none at the end of the shard."""

    shard: str
    records: Sequence[StreamRecord]
    following: str | None


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
        self._closed: frozenset[str] = frozenset()
        self._iterators: dict[str, str] = {}
        self._unsure: dict[str, int] = {}
        self._ask_at: dict[str, float] = {}
        self._round: list[str] = []
        self._is_found = self._is_disabled = False
        self._described_at = float("-inf")
        self._heard_at = context.clock.monotonic()

    def changes(self, page: StreamPage) -> Iterator[AnyChange]:
        """The changes in a page, each with its checkpoint."""
        done = self._done
        for one in page.records:
            found = list(changes_in(one, self._asked.table))
            begin = done.done_of(page.shard, one.sequence)
            # The classes have changed since the checkpoint: what the record says now was not handled.
            if begin >= len(found):
                begin = 0
            # Internal changes are counted even if nobody asks for them: the next reader, who may ask, gets the same
            # numbers.
            for number, change in enumerate(found[begin:], begin + 1):
                if self._asked.internal or not isinstance(change, Internal):
                    # After its last change, the whole record is done, and the checkpoint names it without a count.
                    part = number if number < len(found) else 0
                    yield replace(change, checkpoint=done.after(page.shard, one.sequence, part).text())
            done = done.after(page.shard, one.sequence)

    def finish(self, page: StreamPage) -> None:
        """Count a page as read."""
        for one in page.records:
            self._done = self._done.after(page.shard, one.sequence)
        if page.following:
            self._iterators[page.shard] = page.following
        else:
            self._done = self._done.at_end_of(page.shard)
            # Its children are to be found, and read next.
            self._described_at = float("-inf")

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
            self._listen(page)
            if page.records:
                return page
            self.finish(page)
        return None

    def _begin_round(self) -> Flow[bool]:
        """Choose the shards to read next, after a pause if all count as read; False at the end."""
        clock = self._context.clock
        if clock.monotonic() - self._described_at >= _DESCRIBE_SECONDS:
            yield from self._describe()
        shards = self._done.readable(self._parents)
        # Disabling a stream closes its shards; their records stay readable for 24 hours, so it ends when all are read.
        if not shards and self._is_disabled:
            return False
        now = clock.monotonic()
        self._round = [one for one in shards if one in self._closed or self._ask_at.get(one, now) <= now]
        if self._round:
            return True
        if self._asked.idle is not None and now - self._heard_at >= self._asked.idle:
            return False
        yield Pause(_POLL_SECONDS)
        return True

    def _listen(self, page: StreamPage) -> None:
        """Learn from a reply whether its shard counts as read, and when to ask it again."""
        now = self._context.clock.monotonic()
        unsure = self._unsure.get(page.shard, _SURE_REPLIES)
        if page.records:
            self._heard_at = now
            # A shard that counted as read once has its records right behind the iterator: one reply is enough then.
            self._unsure[page.shard] = unsure and _SURE_REPLIES
        else:
            self._unsure[page.shard] = unsure = max(unsure - 1, 0)
            if not unsure:
                self._ask_at[page.shard] = now + _POLL_SECONDS

    # -- shards ------------------------------------------------------------------------------------------------

    def _describe(self) -> Flow[None]:
        """Learn the shards of the stream."""
        if not self._is_found:
            yield from self._find()
        parents: dict[str, str | None] = {}
        closed: set[str | None] = set()
        operation, request = "DescribeStream", {"StreamArn": self._done.stream}
        ends = PageKeys[str]()
        while True:
            found = part_of(operation, (yield from self._ask(operation, request)), "StreamDescription")
            shards = found.get("Shards", ())
            parents |= {part_of(operation, shard, "ShardId"): shard.get("ParentShardId") for shard in shards}
            closed |= {shard["ShardId"] for shard in shards if _is_closed(shard)}
            if not (last := ends.checked(operation, found.get("LastEvaluatedShardId"))):
                break
            request = {"StreamArn": self._done.stream, "ExclusiveStartShardId": last}
        if (lost := self._done.lost(parents)) is not None:
            raise self._expired(f"the shard {lost} is gone")
        self._parents, self._done = parents, self._done.with_shards(parents)
        # A shard that has children gets no more records.
        self._closed = frozenset(one for one in parents if one in closed or one in parents.values())
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
        tries = self._context.retry.pauses(self._context.clock)
        while True:
            # Taken out until the page is finished: if the caller leaves it unhandled, the checkpoint says where to go
            # on (Rule 1).
            iterator = self._iterators.pop(shard, None) or (yield from self._seek(shard))
            try:
                reply = yield from self._send("GetRecords", {"ShardIterator": iterator})
                break
            except Refusal as refusal:
                # An iterator lives for 15 minutes. The caller took longer to handle the last page.
                if refusal.code != "ExpiredIteratorException" or next(tries, None) is None:
                    raise self._refused(refusal, "GetRecords") from refusal
        records = reply.get("Records") or []
        if not isinstance(records, list):
            reason = "a reply whose Records are not a list: is the endpoint a DynamoDB?"
            raise Unreachable(operation="GetRecords", attempts=1, reason=reason)
        return StreamPage(shard, [record_in(one) for one in records], reply.get("NextShardIterator"))

    def _seek(self, shard: str) -> Flow[str]:
        """Get an iterator at the first record that is not done."""
        # The new iterator may begin far before the next record, so that replies without one prove nothing yet (Rule 3).
        self._unsure.pop(shard, None)
        request = {"StreamArn": self._done.stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        if sequence := self._done.read.get(shard):
            # A record that is done in part is read again, and its first changes are skipped.
            place = "AT" if shard in self._done.inside else "AFTER"
            request |= {"ShardIteratorType": f"{place}_SEQUENCE_NUMBER", "SequenceNumber": sequence}
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
                if refusal.code != "LimitExceededException" or not (yield from waited(pauses)):
                    raise

    def _refused(self, refusal: Refusal, operation: str) -> StoreError:
        if refusal.code in _TRIMMED:
            return self._expired(refusal.message or refusal.code)
        return error_of_refusal(refusal, Call(operation, {}))

    def _expired(self, reason: str) -> CheckpointExpired:
        return CheckpointExpired(
            table=self._context.table_name(self._asked.table.name), reason=reason.rstrip(".")
        )


def _is_closed(shard: Mapping[str, Any]) -> bool:
    """Whether DynamoDB says that a shard gets no more records."""
    numbers = shard.get("SequenceNumberRange")
    return isinstance(numbers, Mapping) and bool(numbers.get("EndingSequenceNumber"))
