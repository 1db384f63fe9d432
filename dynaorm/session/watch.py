"""``Watch``: tells the log and a function of the application of each attempt of a session's requests.

Rule 1. Without a function, and while the logger ``dynaorm`` is not at DEBUG, flows run as they are.
Rule 2. A log line has no key, value, expression or message of DynamoDB, unless ``log_values`` asks for them.
Rule 3. Whatever the function raises does not change the outcome of an operation.
Rule 4. A logger is at DEBUG only if something has imported ``logging``. This takes longer than most imports, so this
        module waits for the first line that it writes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from dynaorm.argument import check_flag, check_plain_function
from dynaorm.failure import counted
from dynaorm.flow.call import Call, Flow, NoAnswer, Refusal, Reply
from dynaorm.late import late

if TYPE_CHECKING:
    import logging

    from dynaorm.session import observed
    from dynaorm.session.attempt import Attempt

    OnAttempt: TypeAlias = Callable[[Attempt], object]
    """Called after each attempt of a request."""
else:
    late(globals(), logging="logging", observed="dynaorm.session.observed")

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
        return observed.observe(flow, method, self._tell)

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
