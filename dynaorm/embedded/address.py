"""The endpoints that name a DynamoDB in this process: ``memory:``, ``memory:NAME`` and ``sqlite:FILE``."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dynaorm.errors import UsageError
from dynaorm.flow.call import Call, Reply
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.embedded import engine as engines
    from dynaorm.embedded.engine import Engine
    from dynaorm.transport import asynchronous
else:
    # Every session asks whether its endpoint is one of these.
    late(globals(), engines="dynaorm.embedded.engine", asynchronous="dynaorm.transport.asynchronous")

IN_MEMORY: Final = "memory:"
IN_PROCESS: Final = (IN_MEMORY, "sqlite:")
"""What these endpoints begin with."""

_shared: Final[dict[str, Engine]] = {}
_sharing: Final = threading.Lock()


def engine_at(endpoint: str) -> Engine:
    """The engine of an endpoint: an empty one for ``memory:``, and one of the process for each name.

    Raises:
        UsageError: ``sqlite:`` without a path, or with the slashes of a URL.
    """
    kind, _, name = endpoint.partition(":")
    if kind == "sqlite":
        if not name or name.startswith("//"):
            raise UsageError(
                problem=f"endpoint={endpoint!r} names no file",
                remedy="write the path behind sqlite: as in sqlite:dev.db or sqlite:/var/data/dev.db",
            )
        return engines.Engine(str(Path(name).resolve()))
    if not name:
        return engines.Engine()
    with _sharing:
        return _shared.setdefault(name, engines.Engine())


def async_engine_at(endpoint: str) -> AsyncEngine | asynchronous.ThreadedTransport:
    """The same for an asynchronous session. What may wait for another process waits in a thread."""
    engine = engine_at(endpoint)
    return asynchronous.ThreadedTransport(engine) if endpoint.startswith("sqlite:") else AsyncEngine(engine)


class AsyncEngine:
    """An engine in memory for asynchronous sessions. It answers at once."""

    server = None

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def call(self, call: Call, /) -> Reply:
        """Answer a request. Raises as ``Engine.call``."""
        return self._engine.call(call)
