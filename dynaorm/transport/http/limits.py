"""How long a transport over our own connections waits, and how many connections it keeps."""

from __future__ import annotations

from typing import ClassVar, Final

from dynaorm.argument import check_amount, check_count
from dynaorm.record import record

SLOWEST_RATE = 1_048_576
"""Bytes per second. Each further megabyte of a request and its answer has one second more."""

LONGEST: Final = 1_000_000.0
"""Seconds. The operating system refuses to wait much longer."""


@record
class Limits:
    """The limits of one transport.

    Attributes:
        timeout: seconds for a request and its answer, see ``end``; and for a free connection.
        connect_timeout: seconds until a connection is open: TCP, the proxy's answer and the TLS handshake together.
        pool_size: how many connections are kept.

    Raises:
        UsageError: a limit is not positive, or too high.
    """

    is_of_attempt: ClassVar = False
    """Whether an attempt ends at a moment, whatever it waits for."""

    timeout: float
    connect_timeout: float
    pool_size: int

    def __post_init__(self) -> None:
        check_amount("timeout={}", self.timeout, most=LONGEST)
        check_amount("connect_timeout={}", self.connect_timeout, most=LONGEST)
        check_count("pool_size={}", self.pool_size)

    def end(self, began: float, size: int) -> float:
        """When so many bytes of a request and its answer, which began then, must have passed."""
        return began + self.timeout + size / SLOWEST_RATE

    def connect_end(self, began: float) -> float:
        """When a connection must be open that began to be opened then."""
        return began + self.connect_timeout

    def within(self, seconds: float, now: float) -> Limits:
        """The limits of one attempt that has only so many seconds, from now on, for everything."""
        return _AttemptLimits(
            min(self.timeout, seconds), min(self.connect_timeout, seconds), self.pool_size, now + seconds
        )


@record
class _AttemptLimits(Limits):
    """The limits of an attempt that ends at a moment, whatever its size."""

    is_of_attempt: ClassVar = True

    last: float

    def end(self, began: float, size: int) -> float:
        return min(self.last, Limits.end(self, began, size))

    def connect_end(self, began: float) -> float:
        return min(self.last, Limits.connect_end(self, began))
