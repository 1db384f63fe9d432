"""``Deadlines``: ends the calls of a session in time, whatever they wait for.

Rule 1. An attempt has the time that is left, and says so in ``Call.timeout``, which every transport keeps.
Rule 2. Nothing is sent when the time is over, and no pause before a repetition goes past it. The flow then decides what
        is known: a write that may have been carried out is OutcomeUnknown.
Rule 3. ``Retry(seconds=...)`` limits the attempts of each request likewise. But an attempt has one second at least,
        which AWS asks for with TransactWriteItems.
Rule 4. What a call is there to wait for does not count: a table that becomes active, records of a stream, the rate of a
        verification. After each such pause, the time begins anew.
"""

from math import inf
from typing import Any, Final, TypeVar

from dynaorm.flow.call import (
    TIMED_OUT,
    WINDOW_SECONDS,
    Call,
    Context,
    Flow,
    NoAnswer,
    Parallel,
    Pause,
    Step,
)
from dynaorm.record import replace
from dynaorm.session.watch import FlowWatch

T = TypeVar("T")

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
            return (yield replace(step, flows=tuple(self._limited(one, end) for one in step.flows)))
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
