"""The real clock: the system's time, randomness and sleep."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

from dynaorm.late import late

if TYPE_CHECKING:
    import asyncio
else:
    late(globals(), asyncio="asyncio")


class SystemClock:
    """What a session takes from the world when a test does not decide it (the ``Clock`` protocol).

    It has no state, so one may be shared by threads and survives a fork: identifiers come from the operating
    system's randomness, and Python seeds ``random`` anew in a forked child.
    """

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    def jitter(self) -> float:
        """A random number in [0, 1), so that clients that failed together do not repeat together."""
        return random.random()  # noqa: S311 - it spreads waits, and guards nothing

    def new_id(self) -> str:
        """128 random bits as 32 hexadecimal digits; DynamoDB's ClientRequestToken takes 36 characters."""
        return os.urandom(16).hex()

    def pause(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    async def wait(self, seconds: float) -> None:
        """Sleep in an event loop, while other tasks run."""
        await asyncio.sleep(seconds)
