"""What a process has opened is its own: another process opens its own when it needs it.

A forked child leaves it to its parent.

Rule 1. The child takes over no thread, connection, event loop or lock: its parent's threads do not exist in it, and a
        lock that one of them held at the fork would be held for ever.
Rule 2. The child closes only its own copy of a socket. It says nothing on the connection (TLS's farewell), and tells
        no event loop: on Linux, both processes share the loop's ``epoll`` object.
Rule 3. What would do more when it is deleted, as asyncio's transports and loops do, is kept as long as the child lives.
Rule 4. It is neither pickled nor copied.
"""

from __future__ import annotations

import os
from typing import NoReturn, Protocol
from weakref import WeakSet

from dynaorm.errors import UsageError


class Owner(Protocol):
    """An object that holds what belongs to the process that made it."""

    def leave_to_parent(self) -> object:
        """Become as if nothing had been opened yet. Called in a forked child, before anything else runs there.

        Returns what must not be deleted there; None for nothing.
        """
        ...


class OfOneProcess:
    """Base of what holds connections, or the session that does."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        kind = type(self).__name__
        raise UsageError(
            problem=f"this {kind} cannot be pickled or copied: it uses connections of this process",
            remedy="make a session in each process, and give it values such as entities, keys and cursors",
        )


_owners: WeakSet[Owner] = WeakSet()
_left: list[object] = []


def owned(owner: Owner) -> None:
    """From now on, let the object know when it finds itself in a forked child."""
    _owners.add(owner)


def _begin_child() -> None:
    _left.extend([owner.leave_to_parent() for owner in [*_owners]])


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_begin_child)
