"""A clock for tests: pauses take no time, and are recorded."""

import itertools
import threading
import uuid

from dynaorm.argument import check_amount, check_kind
from dynaorm.errors import UsageError

NEW_YEAR_2024 = 1_704_067_200.0
"""2024-01-01T00:00:00Z in seconds since the Unix epoch: the default start of a ``FakeClock``."""


_LONGEST = 1e11
"""More than 3,000 years, in seconds."""


class FakeClock:
    """A ``Clock`` whose time passes only by ``advance`` and by the pauses of a flow.

    Args:
        start: the first ``now()``, in seconds since the Unix epoch.
        jitter: the constant result of ``jitter()``, in [0, 1); 0.5 makes every pause half of its maximum.
        ids: a prefix for the identifiers ``<prefix>1``, ``<prefix>2``…; by default they are random. Sessions that
            write the same items need clocks with different prefixes, or their revisions would be equal.

    Examples:
        >>> clock = FakeClock(ids="id-")
        >>> clock.pause(1.5)
        >>> clock.now() - clock.start, clock.pauses, clock.new_id()
        (1.5, [1.5], 'id-1')
    """

    def __init__(self, start: float = NEW_YEAR_2024, *, jitter: float = 0.5, ids: str | None = None) -> None:
        check_kind("start={}", start, int | float, "a number", remedy="give seconds since the Unix epoch")
        check_amount("jitter={}", jitter, zero=True, most=1)
        if jitter == 1:
            raise UsageError(
                problem="jitter=1, and a clock draws from [0, 1)", remedy="give a number below 1"
            )
        if ids is not None:
            check_kind("ids={}", ids, str, "a str")
        self.start = start
        self.pauses: list[float] = []
        self._jitter = jitter
        self._prefix = ids
        self._numbers = itertools.count(1)
        self._elapsed = 0.0
        self._moving = threading.Lock()

    def __repr__(self) -> str:
        return f"FakeClock({self.start!r}, elapsed={self._elapsed!r})"

    def now(self) -> float:
        """Seconds since the Unix epoch.

        Examples:
            >>> FakeClock(start=7.0).now()
            7.0
        """
        return self.start + self._elapsed

    def monotonic(self) -> float:
        """Seconds since this clock was created.

        Examples:
            >>> FakeClock().monotonic()
            0.0
        """
        return self._elapsed

    def jitter(self) -> float:
        """The constant given as ``jitter``.

        Examples:
            >>> 0 <= FakeClock().jitter() < 1
            True
        """
        return self._jitter

    def new_id(self) -> str:
        """The next identifier: numbered with ``ids``, otherwise 32 random hexadecimal digits.

        Examples:
            >>> FakeClock(ids="id-").new_id()
            'id-1'
        """
        return uuid.uuid4().hex if self._prefix is None else f"{self._prefix}{next(self._numbers)}"

    def pause(self, seconds: float) -> None:
        """Advance the clock without waiting, and record the pause in ``pauses``.

        Args:
            seconds: how long.

        Examples:
            >>> clock = FakeClock()
            >>> clock.pause(2.0)
            >>> clock.pauses
            [2.0]
        """
        self.advance(seconds)
        self.pauses.append(seconds)

    def advance(self, seconds: float) -> None:
        """Advance the clock.

        Args:
            seconds: by how much.

        Examples:
            >>> clock = FakeClock(start=0.0)
            >>> clock.advance(60)
            >>> clock.now()
            60.0
        """
        check_amount("advance({})", seconds, zero=True, most=_LONGEST)
        with self._moving:
            self._elapsed += seconds
