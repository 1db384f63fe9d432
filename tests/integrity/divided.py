"""Sessions of the processes that do tasks of a divided run, on ministack. One of them is killed at a call."""

import os
import signal
from functools import partial
from pathlib import Path

from dynaorm import Session
from dynaorm.transport import Call, DirectTransport, Reply
from tests.integrity.zoo import Raw, clock


class Deadly:
    """A transport that ends its process at a call, if a file says after how many."""

    def __init__(self, endpoint: str, orders: Path | None) -> None:
        self._inner = DirectTransport(endpoint=endpoint)
        self._orders = orders
        self._left = -1

    def call(self, call: Call, /) -> Reply:
        if self._left < 0:
            self._left = self._taken()
        reply = self._inner.call(call)
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return reply

    def _taken(self) -> int:
        """How many calls this process lives: each order is for one process, and the others live on."""
        orders = [] if self._orders is None else sorted(self._orders.iterdir())
        for one in orders:
            try:
                one.unlink()
            except FileNotFoundError:  # another process was faster
                continue
            return int(one.name.partition("-")[2])
        return 1_000_000


def opened(endpoint: str, mark: str, orders: Path | None) -> Session:
    return Session(
        transport=Deadly(endpoint, orders), table_names=lambda name: f"{name}{mark}", clock=clock()
    )


def opener(endpoint: str, raw: Raw, orders: Path | None = None) -> partial[Session]:
    """What makes a session on the tables of a test, in any process."""
    return partial(opened, endpoint, raw.name(""), orders)
