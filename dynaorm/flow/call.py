"""What a flow yields (calls, pauses, other flows), and what it gets back.

Rule 1. A transport makes exactly one attempt per call. Flows repeat calls.
Rule 2. An error of DynamoDB's own is a ``Refusal``. A timeout, dropped connection or HTTP 5xx is ``NoAnswer``: the
        write may have happened.
Rule 3. Time, randomness and new identifiers come from a ``Clock``, so that a test can decide them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Generic, Protocol, Self, TypeAlias, TypeVar

from dynaorm.argument import check_amount, check_count
from dynaorm.errors import DecodeError, Unreachable
from dynaorm.item.value import Item
from dynaorm.record import record

T = TypeVar("T")

Reply: TypeAlias = Mapping[str, Any]

READS: Final = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""The operations on items, by name."""


@record(quick=True)
class Call:
    """One request: an operation's name (``TransactWriteItems``) and its parameters in the low-level form.

    The parameters hold every value, so the ``repr`` leaves them out.

    Attributes:
        operation: the name of the operation.
        request: its parameters.
        timeout: the most seconds that this attempt may take, from the call of the transport to its reply or error; None
            for as long as the transport waits by itself.

    Examples:
        >>> Call("GetItem", {"TableName": "app", "Key": {"PK": {"S": "secret"}}})
        Call(operation='GetItem', timeout=None)
    """

    operation: str
    request: Mapping[str, Any] = field(repr=False)
    timeout: float | None = None


@record
class Pause:
    """Wait this many seconds before going on.

    ``before_retry``: a request is sent again afterwards. If there is no time left for that, the reply is
    ``TIMED_OUT``, at once.
    """

    seconds: float
    before_retry: bool = False


TIMED_OUT: Final = "time is over"


@record
class Parallel:
    """Run several flows concurrently, at most ``limit`` at a time.

    The reply is the list of their outcomes in order: the result of a flow, or the ``Exception`` it raised. No flow
    returns an exception, so that the two cannot be confused.
    """

    flows: tuple[Flow[Any], ...]
    limit: int


Step: TypeAlias = Call | Pause | Parallel
"""What a flow yields. It receives a ``Reply``, None, ``TIMED_OUT``, or a list of outcomes."""

Flow: TypeAlias = Generator[Step, Any, T]


@record
class Reason:
    """Why one action of a cancelled transaction failed; ``item`` is what was stored under its key, if anything.

    Attributes:
        code: the code, such as ``ConditionalCheckFailed``.
        message: its message.
        item: the stored item; None if there is none.

    Examples:
        >>> refusal = Refusal("TransactionCanceledException", reasons=(None, Reason("ConditionalCheckFailed")))
        >>> [None if reason is None else reason.code for reason in refusal.reasons]
        [None, 'ConditionalCheckFailed']
    """

    code: str
    message: str = ""
    item: Item | None = field(default=None, repr=False)


class Refusal(Exception):
    """DynamoDB refused the request: nothing was written.

    ``reasons`` has one entry for each action of a cancelled transaction, in the order sent, and None for an action
    that did not fail. ``item`` is the stored item that a single conditional write found.

    Args:
        code: DynamoDB's code.
        message: its message.
        reasons: of a cancelled transaction.
        item: the stored item.

    Examples:
        >>> raise Refusal("ConditionalCheckFailedException", "The conditional request failed")
        Traceback (most recent call last):
        dynaorm.flow.call.Refusal: ...
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        reasons: tuple[Reason | None, ...] = (),
        item: Item | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.reasons = reasons
        self.item = item
        self.request_id = request_id


class NoAnswer(Exception):
    """No answer came. ``sent`` is False only if the request certainly never left (connection refused).

    ``request_id``: the identifier in an answer that does not say what became of the request, as HTTP 500.

    Args:
        reason: why, in words.
        sent: False only if the request certainly never left.
        request_id: of an answer that says nothing.

    Examples:
        >>> ScriptedTransport(NoAnswer("timeout")).call(Call("PutItem", {}))
        Traceback (most recent call last):
        dynaorm.flow.call.NoAnswer: timeout
    """

    def __init__(self, reason: str, *, sent: bool = True, request_id: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.request_id = request_id


class Transport(Protocol):
    """Sends requests to DynamoDB for a session.

    Examples:
        >>> class Counting:
        ...     def __init__(self, inner: Transport) -> None:
        ...         self.inner, self.calls = inner, 0
        ...     def call(self, call: Call, /) -> Reply:
        ...         self.calls += 1
        ...         return self.inner.call(call)
        >>> counting = Counting(PynamoTransport(region="eu-west-1"))
        >>> Session(transport=counting).exists(User, user_id="1"), counting.calls
        (True, 1)
    """

    def call(self, call: Call, /) -> Reply:
        """Send one request in one attempt, and return the reply, within ``call.timeout``.

        Args:
            call: the request.

        Raises:
            Refusal: DynamoDB answered with an error (HTTP 4xx).
            NoAnswer: a timeout, a dropped connection, or HTTP 5xx.

        Examples:
            >>> PynamoTransport(region="eu-west-1").call(Call("ListTables", {}))["TableNames"]
            ['app']
        """
        ...


class AsyncTransport(Protocol):
    """Sends requests to DynamoDB for an asynchronous session.

    Examples:
        ```python
        session = AsyncSession(transport=AsyncDirectTransport(region="eu-west-1"))
        ```
    """

    async def call(self, call: Call, /) -> Reply:
        """Send one request in one attempt, and return the reply, as ``Transport.call`` does.

        Args:
            call: the request.

        Examples:
            ```python
            reply = await transport.call(Call("ListTables", {}))
            ```
        """
        ...


class Clock(Protocol):
    """Time, randomness and new identifiers.

    Examples:
        >>> clock = FakeClock(ids="id-")
        >>> clock.now(), clock.new_id()
        (1704067200.0, 'id-1')
    """

    def now(self) -> float:
        """Seconds since the Unix epoch.

        Examples:
            >>> FakeClock(start=7.0).now()
            7.0
        """
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards.

        Examples:
            >>> FakeClock().monotonic()
            0.0
        """
        ...

    def jitter(self) -> float:
        """A random number in [0, 1).

        Examples:
            >>> 0 <= FakeClock().jitter() < 1
            True
        """
        ...

    def new_id(self) -> str:
        """A fresh identifier of at most 36 characters.

        Examples:
            >>> FakeClock(ids="id-").new_id()
            'id-1'
        """
        ...

    def pause(self, seconds: float) -> None:
        """Wait.

        Args:
            seconds: how long.

        Examples:
            >>> clock = FakeClock()
            >>> clock.pause(2.0)
            >>> clock.pauses
            [2.0]
        """
        ...


# Which calls are repeated, and how long to wait before each attempt.
#
# Full jitter: the pause before the n-th repetition is uniform between nothing and a ceiling that doubles each time.
# Source: AWS Builders' Library, "Timeouts, retries, and backoff with jitter".


# DynamoDB remembers a client request token for ten minutes after the request completed; after that a repetition would
# be a new request. One minute is left for the last attempt itself.
WINDOW_SECONDS: Final = 540.0

CONFLICTS: Final = frozenset(
    {
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
        "ReplicatedWriteConflictException",
    }
)
THROTTLES: Final = frozenset(
    {
        "ThrottlingError",
        "ThrottlingException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
    }
)

# A transport raises this code once it has corrected its clock: the repeated call is signed with the right time.
WRONG_CLOCK: Final = "RequestTimeTooSkewed"


@record
class Retry:
    """How a session repeats calls that conflicted, were throttled or got no answer.

    Attributes:
        attempts: the most times a call is sent, the first included.
        seconds: how long after the first attempt a request may be repeated; at most 540. No attempt takes longer than
            what is left of it, but for one second, which each may take. With 0, none is repeated.
        base: the ceiling of the first pause, in seconds; it doubles with each repetition.
        cap: the highest ceiling, in seconds.

    Raises:
        UsageError: a number is out of range.

    Examples:
        >>> impatient = Session(region="eu-west-1", retry=Retry(attempts=3, seconds=2.0))
    """

    attempts: int = 10
    seconds: float = WINDOW_SECONDS
    base: float = 0.05
    cap: float = 5.0

    def __post_init__(self) -> None:
        check_count("Retry(attempts={})", self.attempts)
        check_amount("Retry(seconds={})", self.seconds, zero=True, most=WINDOW_SECONDS)
        check_amount("Retry(base={})", self.base, zero=True)
        check_amount("Retry(cap={})", self.cap, zero=True)

    def pauses(self, clock: Clock, began: float | None = None, age: float = 0.0) -> Iterator[float]:
        """The pause in seconds before each repetition; it ends when attempts or time are spent.

        Args:
            began: the clock's monotonic time before the first attempt, which takes time, too; None for now.
            age: the age in seconds that a plan had then. Its token does not live longer.
        """
        # Computed here, not at the first pause.
        began = clock.monotonic() if began is None else began
        return self._pauses(clock, began + min(self.seconds, WINDOW_SECONDS - age))

    def _pauses(self, clock: Clock, until: float) -> Iterator[float]:
        ceiling = min(self.cap, self.base)
        for _ in range(self.attempts - 1):
            pause = ceiling * clock.jitter()
            if clock.monotonic() + pause > until:
                return
            ceiling = min(self.cap, ceiling * 2)
            yield pause


DEFAULT_RETRY: Final = Retry()


def waited(pauses: Iterator[float]) -> Flow[bool]:
    """Wait before the next attempt. Whether there is one: attempts and time may be spent."""
    pause = next(pauses, None)
    return pause is not None and (yield Pause(pause, before_retry=True)) is not TIMED_OUT


def codes_of(refusal: Refusal) -> list[str]:
    """The codes of the failed actions of a transaction, or else the error's own code."""
    reasons = [reason.code for reason in refusal.reasons if reason is not None and reason.code != "None"]
    return reasons or [refusal.code]


def conflict_in(refusal: Refusal) -> str | None:
    """The code of a conflict with another write; None without one."""
    return next((code for code in codes_of(refusal) if code in CONFLICTS), None)


def throttle_in(refusal: Refusal) -> str | None:
    """The code of a throttle; None without one."""
    return next((code for code in codes_of(refusal) if code in THROTTLES), None)


def is_retryable(refusal: Refusal) -> bool:
    """Whether repeating may help: there is a conflict or throttle among the reasons."""
    return conflict_in(refusal) is not None or throttle_in(refusal) is not None or refusal.code == WRONG_CLOCK


@record
class Context:
    """A session's settings.

    Attributes:
        table_name: the physical name of a declared table.
        retry: how often and how long to repeat a call.
        clock: time, randomness and identifiers.
        consistent: whether plain reads are strongly consistent; reads that a plan is computed from always are.
        on_decode_error: called with the error of each item in a list that does not fit its class; without a handler
            the list raises it.
        cursor_secret: signs and encrypts cursors.
        exactly_once: send every write as a transaction with a token, unless the call says otherwise.
        timeout: the seconds of one call of the session, attempts and pauses together; None for no limit.
    """

    table_name: Callable[[str], str]
    retry: Retry
    clock: Clock
    consistent: bool = False
    on_decode_error: Callable[[DecodeError], object] | None = None
    cursor_secret: bytes | None = None
    exactly_once: bool = False
    timeout: float | None = None


# Running several flows concurrently.
#
# Every flow runs to its end, even if another one fails, so that no write is left without an outcome.


def gather(flows: Sequence[Flow[T]], limit: int) -> Flow[list[T]]:
    """The results of several flows, in order. The first failure is raised after all have ended.

    ``limit``: the most flows to run at a time.
    """
    if len(flows) == 1:
        return [(yield from flows[0])]
    results: list[T] = []
    for outcome in (yield from outcomes(flows, limit)):
        if isinstance(outcome, Exception):
            raise outcome
        results.append(outcome)
    return results


def outcomes(flows: Sequence[Flow[T]], limit: int) -> Flow[list[T | Exception]]:
    """The results of several flows, with exceptions in place of results. Ctrl-C is raised at once."""
    if limit > 1 and len(flows) > 1:
        replies: list[T | Exception] = yield Parallel(tuple(flows), limit)
        return replies
    ended: list[T | Exception] = []
    for flow in flows:
        try:
            ended.append((yield from flow))
        except Exception as failure:  # noqa: BLE001 - the caller decides about every failure
            ended.append(failure)
    return ended


@record(frozen=False)
class ReadCost:
    """Answered requests, and the read capacity units that DynamoDB reported for them."""

    requests: int = 0
    read_units: float = 0.0

    @classmethod
    def of(cls, costs: Iterable[ReadCost]) -> Self:
        """The sum of several."""
        found = cls()
        found.take(costs)
        return found

    def take(self, costs: Iterable[ReadCost]) -> None:
        """Add the costs of others."""
        for cost in costs:
            self.requests += cost.requests
            self.read_units += cost.read_units

    def add(self, reply: Reply) -> None:
        """Count one answer to a request with ``ReturnConsumedCapacity``."""
        consumed = reply.get("ConsumedCapacity") or ()
        if isinstance(consumed, dict):
            units = float(consumed.get("CapacityUnits", 0))
        else:  # BatchGetItem reports each table.
            units = sum(float(one.get("CapacityUnits", 0)) for one in consumed) if consumed else 0.0
        # Flows of a repair count in several threads. CPython switches between threads at calls, and here is none.
        self.requests += 1
        self.read_units += units


def last_key(reply: Reply) -> Item | None:
    """The key after which the next page of a read begins; None after the last page.

    An empty one, as other engines answer, is none (Amazon DynamoDB API Reference, Query and Scan).
    """
    return reply.get("LastEvaluatedKey") or None


K = TypeVar("K")


# The keys at which the pages of one read end.
#
# Rule 1. DynamoDB gives no LastEvaluatedKey twice in one read. A server that does would be read for ever.
# Rule 2. One earlier key is remembered: that of the last page whose number is a power of two. So a circle of pages is
#         noticed after at most three rounds, however long it is (R. P. Brent's method).


class PageKeys(Generic[K]):
    """Checks the LastEvaluatedKey of each page of a read, or the LastEvaluatedShardId."""

    __slots__ = ("_pages", "_remember_at", "_remembered")

    def __init__(self) -> None:
        self._pages = 0
        self._remember_at = 1
        self._remembered: K | None = None

    def checked(self, operation: str, key: K | None) -> K | None:
        """The key after which to read the next page; None after the last one. Raises Unreachable if it came before."""
        if key is None:
            return None
        if key == self._remembered:
            reason = f"page {self._pages + 1} ends where an earlier page ended: is the endpoint a DynamoDB?"
            raise Unreachable(operation=operation, attempts=1, reason=reason)
        self._pages += 1
        if self._pages == self._remember_at:
            self._remembered, self._remember_at = key, self._remember_at * 2
        return key
