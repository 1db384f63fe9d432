"""Inject failures at the point where a call is sent, which no emulator does by itself.

A fault strikes ``times`` calls from call number ``at`` on, counted from 1. It counts all calls, or those of one
``operation``; a conflict counts only operations that can meet one (DynamoDB never refuses GetItem, Query or Scan with
it), and ``in_progress`` only TransactWriteItems.
"""

import os
import threading
from collections.abc import Callable
from typing import TypeAlias

from dynaorm.argument import all_of, check_count, check_flag, check_kind
from dynaorm.errors import UsageError
from dynaorm.failure import counted
from dynaorm.flow.call import Call, NoAnswer, Reason, Refusal, Reply, Transport
from dynaorm.record import record
from dynaorm.session.settings import check_transport

Strike: TypeAlias = Callable[[Call, Transport], Reply]
"""Handles a call in place of the transport behind, which is the second argument."""

TRANSACTIONS = frozenset({"TransactWriteItems", "TransactGetItems"})
CAN_CONFLICT = TRANSACTIONS | {"PutItem", "UpdateItem", "DeleteItem"}
EXIT_STATUS = 70
"""The exit status of ``crash_before`` and ``crash_after``."""


@record
class Fault:
    """One failure: its name, the calls that it strikes, and what it does to them.

    With ``operations=None`` it counts every call. ``at`` counts from 1.

    Attributes:
        name: what it is called in messages.
        strike: what it does to a call.
        at: the first call that it strikes, counted from 1.
        times: how many calls it strikes.
        operations: the operations that it counts; None for all.

    Examples:
        >>> throttle(at=2).name
        'throttle'
    """

    name: str
    strike: Strike
    at: int = 1
    times: int = 1
    operations: frozenset[str] | None = None

    def __post_init__(self) -> None:
        check_count(f"{self.name}(at={{}})", self.at)
        check_count(f"{self.name}(times={{}})", self.times)

    def __str__(self) -> str:
        return f"{self.name}(at={self.at}, times={self.times})"

    def counts(self, call: Call) -> bool:
        """Whether this fault counts the call.

        Examples:
            >>> lost_answer(operation="PutItem").counts(Call("GetItem", {}))
            False
        """
        return self.operations is None or call.operation in self.operations

    def strikes(self, number: int) -> bool:
        """Whether it strikes the call with this number among those that it counts.

        Args:
            number: the number of the call.

        Examples:
            >>> [lost_answer(at=2).strikes(number) for number in (1, 2, 3)]
            [False, True, False]
        """
        return self.at <= number < self.at + self.times


def lost_answer(at: int = 1, times: int = 1, *, operation: str | None = None) -> Fault:
    """The call is made, and its response is lost, as after a commit whose answer never arrives.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        times: how many calls it strikes.
        operation: the operation that it counts; without it, every call.

    Examples:
        >>> transport = FaultyTransport(PynamoTransport(region="eu-west-1"), lost_answer(operation="PutItem"))
        >>> ticket = Session(transport=transport).save(Ticket(project="p9", number=1))
        >>> [call.operation for call in transport.calls][0]
        'PutItem'
    """

    def strike(call: Call, inner: Transport) -> Reply:
        try:
            inner.call(call)
        except (Refusal, NoAnswer) as unheard:
            raise NoAnswer("the answer was lost") from unheard
        raise NoAnswer("the answer was lost")

    return Fault("lost_answer", strike, at, times, _only(operation))


def lost_request(at: int = 1, times: int = 1, *, operation: str | None = None, sent: bool = True) -> Fault:
    """The request never arrives. With ``sent=False`` the caller knows that (connection refused).

    Args:
        at: the number of the first call that it strikes, counted from 1.
        times: how many calls it strikes.
        operation: the operation that it counts; without it, every call.
        sent: whether the caller must think that it arrived.

    Examples:
        >>> transport = FaultyTransport(PynamoTransport(region="eu-west-1"), lost_request(sent=False))
        >>> Session(transport=transport).exists(User, user_id="1"), len(transport.calls)
        (True, 2)
    """
    check_flag("sent={}", sent)

    def strike(call: Call, inner: Transport) -> Reply:
        raise NoAnswer("the request was lost", sent=sent)

    return Fault("lost_request", strike, at, times, _only(operation))


def conflict(at: int = 1, times: int = 1, *, operation: str | None = None, action: int = 0) -> Fault:
    """Another transaction is in progress on the item of the action with this index, counted from 0.

    A transaction is cancelled with the reason TransactionConflict; a plain write gets a
    TransactionConflictException.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        times: how many calls it strikes.
        operation: the operation that it counts; without it, every call.
        action: the index of the action.

    Examples:
        >>> transport = FaultyTransport(ScriptedTransport({}), conflict())
        >>> Session(transport=transport).save(Ticket(project="p9", number=1)).number, len(transport.calls)
        (1, 2)
    """
    check_count("conflict(action={})", action, least=0)
    only = _only(operation) or CAN_CONFLICT
    if not only <= CAN_CONFLICT:
        raise UsageError(
            problem=f"{operation} never meets a conflict",
            remedy=f"give one of {', '.join(sorted(CAN_CONFLICT))}",
        )

    def strike(call: Call, inner: Transport) -> Reply:
        message = "Transaction is ongoing for the item"
        if call.operation in TRANSACTIONS:
            raise _cancelled(call, action, Reason("TransactionConflict", message))
        raise Refusal("TransactionConflictException", message)

    return Fault("conflict", strike, at, times, only)


def throttle(at: int = 1, times: int = 1, *, operation: str | None = None, action: int = 0) -> Fault:
    """The table has no capacity left.

    A transaction is cancelled with the reason ThrottlingError for the action with this index, counted from 0;
    any other call gets a ProvisionedThroughputExceededException.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        times: how many calls it strikes.
        operation: the operation that it counts; without it, every call.
        action: the index of the action.

    Examples:
        >>> transport = FaultyTransport(PynamoTransport(region="eu-west-1"), throttle())
        >>> Session(transport=transport).exists(User, user_id="1"), len(transport.calls)
        (True, 2)
    """
    check_count("throttle(action={})", action, least=0)

    def strike(call: Call, inner: Transport) -> Reply:
        message = "Throughput exceeds the current capacity of your table or index"
        if call.operation in TRANSACTIONS:
            raise _cancelled(call, action, Reason("ThrottlingError", message))
        raise Refusal("ProvisionedThroughputExceededException", message)

    return Fault("throttle", strike, at, times, _only(operation))


def in_progress(at: int = 1, times: int = 1) -> Fault:
    """A transaction with the same token is still in progress: TransactionInProgressException.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        times: how many calls it strikes.

    Examples:
        >>> transport = FaultyTransport(ScriptedTransport({}), in_progress())
        >>> saved = Session(transport=transport).save(User(user_id="9", email="ada@x.com"))
        >>> [call.operation for call in transport.calls]
        ['TransactWriteItems', 'TransactWriteItems']
    """

    def strike(call: Call, inner: Transport) -> Reply:
        raise Refusal(
            "TransactionInProgressException",
            "The transaction with the given request token is already in progress",
        )

    return Fault("in_progress", strike, at, times, frozenset({"TransactWriteItems"}))


def crash_before(at: int = 1, *, operation: str | None = None) -> Fault:
    """The process ends before the call is sent, without cleanup. Use it in a child process.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        operation: the operation that it counts; without it, every call.

    Examples:
        ```python
        session = Session(transport=FaultyTransport(PynamoTransport(region="eu-west-1"), crash_before(at=2)))
        ```
    """

    def strike(call: Call, inner: Transport) -> Reply:
        os._exit(EXIT_STATUS)

    return Fault("crash_before", strike, at, 1, _only(operation))


def crash_after(at: int = 1, *, operation: str | None = None) -> Fault:
    """The process ends after the call was made, without cleanup. Use it in a child process.

    Args:
        at: the number of the first call that it strikes, counted from 1.
        operation: the operation that it counts; without it, every call.

    Examples:
        ```python
        session = Session(transport=FaultyTransport(PynamoTransport(region="eu-west-1"), crash_after(at=2)))
        ```
    """

    def strike(call: Call, inner: Transport) -> Reply:
        try:
            inner.call(call)
        finally:
            os._exit(EXIT_STATUS)

    return Fault("crash_after", strike, at, 1, _only(operation))


class FaultyTransport:
    """A ``Transport`` that passes calls on to another one, unless a fault strikes.

    Each fault counts by itself, including calls that another fault struck; if several would strike, the first one
    does. ``calls`` holds every call since the last ``inject``. Threads may share it.

    Args:
        inner: the transport that carries the calls.

    Examples:
        >>> from dynaorm.testing.transports import ScriptedTransport
        >>> transport = FaultyTransport(ScriptedTransport({}), lost_answer(at=1))
        >>> transport.call(Call("PutItem", {}))
        Traceback (most recent call last):
        dynaorm.flow.call.NoAnswer: the answer was lost
    """

    def __init__(self, inner: Transport, *faults: Fault) -> None:
        check_transport(inner)
        _check_faults(faults)
        self.calls: list[Call] = []
        self._inner = inner
        self._faults = faults
        self._counts = [0] * len(faults)
        self._counting = threading.Lock()

    def inject(self, *faults: Fault) -> None:
        """Replace the faults. The next call is number 1.

        Args:
            *faults: the new faults.

        Examples:
            >>> transport = FaultyTransport(ScriptedTransport({}, {}))
            >>> transport.inject(lost_answer(at=2))
            >>> transport.call(Call("PutItem", {}))
            {}
        """
        _check_faults(faults)
        with self._counting:
            self.calls.clear()
            self._faults, self._counts = faults, [0] * len(faults)

    @property
    def pending(self) -> tuple[Fault, ...]:
        """The faults that have not struck yet."""
        with self._counting:
            counted = zip(self._faults, self._counts, strict=True)
            return tuple(fault for fault, count in counted if count < fault.at)

    def call(self, call: Call, /) -> Reply:
        """Make the call, unless a fault strikes.

        Args:
            call: the request.

        Raises:
            Refusal: DynamoDB or a fault refused the call.
            NoAnswer: the call or its response was lost.

        Examples:
            >>> FaultyTransport(ScriptedTransport({}), lost_request()).call(Call("PutItem", {}))
            Traceback (most recent call last):
            dynaorm.flow.call.NoAnswer: ...
        """
        fault = self._fault_of(call)
        return self._inner.call(call) if fault is None else fault.strike(call, self._inner)

    def _fault_of(self, call: Call) -> Fault | None:
        striking: Fault | None = None
        with self._counting:
            self.calls.append(call)
            for index, fault in enumerate(self._faults):
                if fault.counts(call):
                    self._counts[index] += 1
                    if striking is None and fault.strikes(self._counts[index]):
                        striking = fault
        return striking


def _check_faults(faults: tuple[object, ...]) -> None:
    all_of("{}", faults, Fault, "a Fault", remedy="give some such as throttle() or lost_answer(at=2)")


def _only(operation: str | None) -> frozenset[str] | None:
    if operation is None:
        return None
    check_kind(
        "operation={}", operation, str, "a str", remedy="name an operation of DynamoDB, such as PutItem"
    )
    return frozenset({operation})


def _cancelled(call: Call, action: int, reason: Reason) -> Refusal:
    """A transaction that was cancelled because of this action."""
    actions = len(call.request["TransactItems"])
    if not 0 <= action < actions:
        raise AssertionError(
            f"the transaction has {counted(actions, 'action')}, and the fault names action {action} (counted from 0): "
            "give the index of one of them as action="
        )
    reasons = tuple(reason if index == action else None for index in range(actions))
    codes = ", ".join("None" if each is None else each.code for each in reasons)
    return Refusal(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        reasons=reasons,
    )
