"""``observe``: runs a flow unchanged, and tells of each attempt of its requests."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from dynaorm.flow.call import Call, Flow, Parallel, Pause, Reply, Step
from dynaorm.record import record, replace
from dynaorm.session.attempt import Attempt, attempt_of

T = TypeVar("T")

Tell: TypeAlias = Callable[[Attempt, Call, Reply | BaseException], object]
"""Called with each attempt, its request and its outcome. It must not raise an ``Exception``."""


def observe(flow: Flow[T], method: str, tell: Tell) -> Flow[T]:
    """The same flow; ``tell`` is called after each attempt, where the flow runs, for flows run together in threads.

    ``method``: the method of the session that runs the flow.
    """
    attempts = _Attempts(method, tell)
    try:
        step = next(flow)
        while True:
            step = attempts.before(step)
            outcome: Any
            try:
                outcome = yield step
            except BaseException as raised:  # noqa: BLE001 - an interrupted attempt is told, too
                attempts.after(step, raised)
                step = flow.throw(raised)
            else:
                attempts.after(step, outcome)
                step = flow.send(outcome)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        flow.close()


@record(frozen=False)
class _Attempts:
    """The attempts of one flow.

    Attributes:
        method: the method of the session.
        tell: called with each attempt.
        failed: the request of the last attempt, if it failed.
        number: how often that was sent.
        pause: the seconds waited since.
        began: when the attempt under way began.
    """

    method: str
    tell: Tell
    failed: Call | None = None
    number: int = 0
    pause: float = 0.0
    began: float = 0.0

    def before(self, step: Step) -> Step:
        """Note the next step. Flows that run together are observed, too."""
        if isinstance(step, Parallel):
            return replace(step, flows=tuple(observe(one, self.method, self.tell) for one in step.flows))
        if isinstance(step, Pause):
            self.pause += step.seconds
        else:
            # The time that an attempt has is no part of its request.
            is_again = self.failed is not None and replace(step, timeout=self.failed.timeout) == self.failed
            self.number = self.number + 1 if is_again else 1
            # Not the session's clock: a test may have stopped it, and no decision depends on how long an attempt took.
            self.began = time.perf_counter()
        return step

    def after(self, step: Step, outcome: Any) -> None:
        """Tell of an attempt. Only calls are attempts."""
        if not isinstance(step, Call):
            return
        seconds = time.perf_counter() - self.began
        attempt = attempt_of(
            step, outcome, method=self.method, number=self.number, pause=self.pause, seconds=seconds
        )
        self.failed = None if attempt.outcome == "ok" else step
        self.pause = 0.0
        self.tell(attempt, step, outcome)
