"""How long a direct transport waits, and how many connections it keeps."""

from typing import Final

from dynaorm.argument import check_amount, check_count
from dynaorm.record import record

SLOWEST_RATE = 1_048_576
"""Bytes per second. Each further megabyte of a request and its answer has one second more."""

_LONGEST: Final = 1_000_000.0  # seconds: the operating system refuses to wait much longer


@record
class Limits:
    """The limits of one transport.

    Attributes:
        timeout: seconds for a request and its answer, see ``seconds_for``; and for a free connection.
        connect_timeout: seconds until a connection is open: TCP, the proxy's answer and the TLS handshake together.
        pool_size: how many connections are kept.

    Raises:
        UsageError: a limit is not positive, or too high.
    """

    timeout: float
    connect_timeout: float
    pool_size: int

    def __post_init__(self) -> None:
        check_amount("timeout={}", self.timeout, most=_LONGEST)
        check_amount("connect_timeout={}", self.connect_timeout, most=_LONGEST)
        check_count("pool_size={}", self.pool_size)

    def seconds_for(self, size: int) -> float:
        """The seconds in which this many bytes of a request and its answer must have passed."""
        return self.timeout + size / SLOWEST_RATE
