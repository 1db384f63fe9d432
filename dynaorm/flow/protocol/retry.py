"""Which calls are repeated, and how long to wait before each attempt.

Full jitter: the pause before the n-th repetition is uniform between nothing and a ceiling that doubles each time.
Source: AWS Builders' Library, "Timeouts, retries, and backoff with jitter".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dynaorm.argument import check_amount, check_count
from dynaorm.flow.protocol.call import TIME_IS_OVER, Clock, Flow, Pause, Refusal
from dynaorm.record import record

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
            clock: the clock.
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
    return pause is not None and (yield Pause(pause, before_retry=True)) is not TIME_IS_OVER


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
