"""What a flow yields (calls, pauses, other flows), and what it gets back.

Rule 1. A transport makes exactly one attempt per call. Flows repeat calls.
Rule 2. An error of DynamoDB's own is a ``Refusal``. A timeout, dropped connection or HTTP 5xx is ``NoAnswer``: the
        write may have happened.
Rule 3. Time, randomness and new identifiers come from a ``Clock``, so that a test can decide them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import field
from typing import Any, Final, Protocol, TypeAlias, TypeVar

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
    ``TIME_IS_OVER``, at once.
    """

    seconds: float
    before_retry: bool = False


TIME_IS_OVER: Final = "time is over"


@record
class Together:
    """Run several flows concurrently, at most ``limit`` at a time.

    The reply is the list of their outcomes in order: the result of a flow, or the ``Exception`` it raised. No flow
    returns an exception, so that the two cannot be confused.
    """

    flows: tuple[Flow[Any], ...]
    limit: int


Step: TypeAlias = Call | Pause | Together
"""What a flow yields. It receives a ``Reply``, None, ``TIME_IS_OVER``, or a list of outcomes."""

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
        request_id: the id of the request.

    Examples:
        >>> raise Refusal("ConditionalCheckFailedException", "The conditional request failed")
        Traceback (most recent call last):
        dynaorm.flow.protocol.call.Refusal: ...
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
        dynaorm.flow.protocol.call.NoAnswer: timeout
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
