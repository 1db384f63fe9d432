"""A clock that a test decides: pauses take no time, and are remembered."""

import itertools
import threading
import uuid

NEW_YEAR_2024 = 1_704_067_200.0
"""2024-01-01T00:00:00Z in seconds since the Unix epoch: where a ``FakeClock`` starts by itself."""


class FakeClock:
    """Time that passes only by ``advance`` and by the pauses a flow asks for (the ``Clock`` protocol).

    Args:
        start: the first ``now()``, in seconds since the Unix epoch.
        jitter: what ``jitter()`` answers always, in [0, 1); 0.5 makes every pause half of its longest.
        ids: a prefix that makes identifiers ``<prefix>1``, ``<prefix>2``…; without it they are random. Clocks
            of sessions that write the same items need different prefixes, or their revisions cannot be told
            apart.

    Example:
        >>> clock = FakeClock(ids="id-")
        >>> clock.pause(1.5)
        >>> clock.now() - NEW_YEAR_2024, clock.pauses, clock.new_id()
        (1.5, [1.5], 'id-1')
    """

    def __init__(self, start: float = NEW_YEAR_2024, *, jitter: float = 0.5, ids: str | None = None) -> None:
        if not 0 <= jitter < 1:
            raise ValueError(f"jitter is {jitter}, and a clock draws from [0, 1): give a number from there")
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
        """Seconds since the Unix epoch: ``start`` and what has passed."""
        return self.start + self._elapsed

    def monotonic(self) -> float:
        """Seconds passed since this clock was made."""
        return self._elapsed

    def jitter(self) -> float:
        """The number given."""
        return self._jitter

    def new_id(self) -> str:
        """The next identifier: counted with ``ids``, else 32 random hexadecimal digits."""
        return uuid.uuid4().hex if self._prefix is None else f"{self._prefix}{next(self._numbers)}"

    def pause(self, seconds: float) -> None:
        """Let the seconds pass at once, and remember them in ``pauses``."""
        self.advance(seconds)
        self.pauses.append(seconds)

    def advance(self, seconds: float) -> None:
        """Let seconds pass that nobody paused for."""
        if seconds < 0:
            raise ValueError(f"time does not go back by {-seconds} s: make a new FakeClock for that")
        with self._moving:
            self._elapsed += seconds
