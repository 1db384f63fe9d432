"""``Deadlines``: ends the calls of a session in time, whatever they wait for.

Rule 1. An attempt has the time that is left, and says so in ``Call.timeout``, which every transport keeps.
Rule 2. Nothing is sent when the time is over, and no pause before a repetition goes past it. The flow then decides what
        is known: a write that may have been carried out is OutcomeUnknown.
Rule 3. ``Retry(seconds=...)`` limits the attempts of each request likewise. But an attempt has one second at least,
        which AWS asks for with TransactWriteItems.
Rule 4. What a call is there to wait for does not count: a table that becomes active, records of a stream, the rate of a
        verification. After each such pause, the time begins anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from dynaorm.argument import check_flag, check_plain_function
from dynaorm.failure import counted
from dynaorm.flow.call import (
    TIMED_OUT,
    WINDOW_SECONDS,
    Call,
    Context,
    Flow,
    NoAnswer,
    Parallel,
    Pause,
    Refusal,
    Reply,
    Step,
)
from dynaorm.late import late
from dynaorm.record import replace

# ``Watch``: tells the log and a function of the application of each attempt of a session's requests.
#
# Rule 1. Without a function, and while the logger ``dynaorm`` is not at DEBUG, flows run as they are.
# Rule 2. A log line has no key, value, expression or message of DynamoDB, unless ``log_values`` asks for them.
# Rule 3. Whatever the function raises does not change the outcome of an operation.
# Rule 4. A logger is at DEBUG only if something has imported ``logging``. This takes longer than most imports, so this
#         module waits for the first line that it writes.

if TYPE_CHECKING:
    import logging

    from dynaorm.session import attempt
    from dynaorm.session.attempt import Attempt

    OnAttempt: TypeAlias = Callable[[Attempt], object]
    """Called after each attempt of a request."""
else:
    late(globals(), logging="logging", attempt="dynaorm.session.attempt")

T = TypeVar("T")


@cache
def _logger() -> logging.Logger:
    return logging.getLogger("dynaorm")


def _is_debugging() -> bool:
    # Rule 4.
    return "logging" in sys.modules and _logger().isEnabledFor(logging.DEBUG)


class FlowWatch(Protocol):
    """Sees every flow that a session runs."""

    def over(self, method: str, flow: Flow[T]) -> Flow[T]:
        """The flow to run in its place, which does the same; ``method``: that of the session."""
        ...


class Listener:
    """Calls a function of the application. What it raises is logged the first time, and changes nothing.

    Args:
        name: the name of the function in the log.
    """

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        self._name = name
        self._function = function
        self._has_failed = False

    def __call__(self, *arguments: object) -> None:
        """Call the function."""
        try:
            self._function(*arguments)
        except Exception:  # noqa: BLE001 - a function of the application may raise anything
            # Once, because it may fail with every request.
            if not self._has_failed:
                self._has_failed = True
                _logger().exception(
                    "%s raised an error, which changes no operation and is logged only this time; correct %r",
                    self._name,
                    self._function,
                )


class Watch:
    """What a session tells of its requests. It may be shared by threads.

    Args:
        on_attempt: called with each attempt.
        log_values: add the request and the answer to each line of the log.

    Raises:
        UsageError: ``on_attempt`` is no function, or an asynchronous one; ``log_values`` is no bool.
    """

    def __init__(self, on_attempt: OnAttempt | None, log_values: bool) -> None:
        check_flag("log_values={}", log_values)
        if on_attempt is not None:
            check_plain_function("on_attempt={}", on_attempt, takes=1)
        self._listener = None if on_attempt is None else Listener("on_attempt", on_attempt)
        self._log_values = log_values

    def over(self, method: str, flow: Flow[T]) -> Flow[T]:
        """The flow, or one that also tells of each attempt."""
        if self._listener is None and not _is_debugging():
            return flow
        return attempt.observe(flow, method, self._tell)

    def _tell(self, attempt: Attempt, call: Call, outcome: Reply | BaseException) -> None:
        if _is_debugging():
            self._log(attempt, call, outcome)
        if self._listener is not None:
            self._listener(attempt)

    def _log(self, attempt: Attempt, call: Call, outcome: Reply | BaseException) -> None:
        line = _line(attempt)
        if self._log_values:
            _logger().debug("%s; request %r; outcome %r", line, call.request, _values(outcome))
        else:
            _logger().debug("%s", line)


def _line(attempt: Attempt) -> str:
    return (
        f"{attempt.operation} {', '.join(attempt.tables) or '-'}: "
        f"{counted(attempt.actions, 'action')}, {_units(attempt)}, "
        f"{_ending(attempt)} in {attempt.seconds * 1000:.1f} ms{_repetition(attempt)}"
    )


def _units(attempt: Attempt) -> str:
    """The units that DynamoDB reports; for a write, which does not ask for that, the least it can cost."""
    if attempt.capacity is not None:
        return counted(attempt.capacity, "unit")
    least = attempt.least_capacity
    return f">={counted(least, 'unit')}" if least else "? units"


def _ending(attempt: Attempt) -> str:
    if attempt.outcome == "refused":
        codes = f" ({', '.join(attempt.reasons)})" if attempt.reasons else ""
        return f"refused with {attempt.error}{codes}"
    return f"ended by {attempt.error}" if attempt.outcome == "ended" else attempt.outcome


def _repetition(attempt: Attempt) -> str:
    return f", attempt {attempt.number} after {attempt.pause:.3f} s" if attempt.number > 1 else ""


def _values(outcome: Reply | BaseException) -> object:
    if isinstance(outcome, Refusal):
        return [outcome.message, outcome.reasons, outcome.item]
    return outcome.reason if isinstance(outcome, NoAnswer) else outcome


LEAST_SECONDS: Final = 1.0
"""What an attempt has at least, however short the time for repetitions is."""


class Deadlines:
    """Gives each call of a session its time. The other watch sees what is really sent.

    Args:
        inner: sees the flows of the session.
        context: the session's settings.
    """

    def __init__(self, inner: FlowWatch, context: Context) -> None:
        self._inner = inner
        self._clock = context.clock
        self._timeout = context.timeout
        self._retry_seconds = context.retry.seconds

    def over(self, method: str, flow: Flow[T]) -> Flow[T]:
        """The flow of one call, which begins now."""
        return self._inner.over(method, self._limited(flow, self._end()))

    def _end(self) -> float:
        return inf if self._timeout is None else self._clock.monotonic() + self._timeout

    def _limited(self, flow: Flow[T], end: float) -> Flow[T]:
        first: Call | None = None
        began = 0.0
        try:
            step = next(flow)
            while True:
                # A flow that sends a request again yields the same object: the time for repetitions runs on from its
                # first attempt.
                if step is not first and isinstance(step, Call):
                    first, began = step, self._clock.monotonic()
                try:
                    outcome: Any = yield from self._taken(step, began, end)
                except BaseException as raised:  # noqa: BLE001 - the flow must know of an interruption, too
                    step = flow.throw(raised)
                else:
                    # Rule 4.
                    if isinstance(step, Pause) and not step.before_retry:
                        end = self._end()
                    step = flow.send(outcome)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            flow.close()

    def _taken(self, step: Step, began: float, end: float) -> Flow[Any]:
        """Take a step within the time that is left. ``began``: when its request was sent first."""
        if isinstance(step, Parallel):
            # They share the end of the call, but each counts the time for repetitions of its own requests (Rule 3).
            return (yield replace(step, flows=tuple(self._limited(flow, end) for flow in step.flows)))
        now = self._clock.monotonic()
        left = end - now
        if isinstance(step, Pause):
            return TIMED_OUT if step.before_retry and step.seconds >= left else (yield step)
        # Rule 2.
        if left <= 0:
            raise NoAnswer(f"the {self._timeout:g} s of the session's timeout= are over", sent=False)
        # With Retry(seconds=0) nothing is repeated, so an attempt cannot overrun the time for repetitions: it may take
        # as long as the transport waits. The default, 540 s, limits no attempt either.
        if 0 < self._retry_seconds < WINDOW_SECONDS:
            left = min(left, max(LEAST_SECONDS, began + self._retry_seconds - now))
        return (yield step if left == inf else replace(step, timeout=left))
