"""The DynamoDB in memory that most tests share, one after the other."""

from collections.abc import Iterator
from contextlib import contextmanager

from dynaorm.embedded.engine import Engine
from dynaorm.flow.call import Call, Clock, Reply


class Memory:
    """A transport to an embedded engine, which ``empty`` replaces."""

    def __init__(self) -> None:
        self._engine = Engine()

    def call(self, call: Call, /) -> Reply:
        return self._engine.call(call)

    @contextmanager
    def empty(self, *, clock: Clock | None = None) -> Iterator[None]:
        """Reach an empty engine inside of the block."""
        outer, self._engine = self._engine, Engine(clock=clock)
        try:
            yield
        finally:
            self._engine = outer


MEMORY = Memory()
