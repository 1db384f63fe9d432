"""How long a direct transport waits, and how many connections it keeps."""

from math import inf

from dynaorm.errors import UsageError
from dynaorm.record import record

SLOWEST_RATE = 1_048_576
"""Bytes per second. Each further megabyte of a request and its answer has one second more."""


@record
class Limits:
    """The limits of one transport.

    Attributes:
        timeout: seconds for a request and its answer, see ``seconds_for``; and for a free connection.
        connect_timeout: seconds until a connection is open: TCP, the proxy's answer and the TLS handshake together.
        pool_size: how many connections are kept.

    Raises:
        UsageError: a limit is not positive, or not finite.
    """

    timeout: float
    connect_timeout: float
    pool_size: int

    def __post_init__(self) -> None:
        if not (0 < self.timeout < inf and 0 < self.connect_timeout < inf and self.pool_size >= 1):
            raise UsageError(
                problem=f"timeout={self.timeout}, connect_timeout={self.connect_timeout}, "
                f"pool_size={self.pool_size} are not possible",
                remedy="use finite timeouts above 0 and a pool_size of at least 1",
            )

    def seconds_for(self, size: int) -> float:
        """The seconds in which this many bytes of a request and its answer must have passed."""
        return self.timeout + size / SLOWEST_RATE
