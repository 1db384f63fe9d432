"""``history``, ``diff``, ``restore``, ``prune`` and ``purge``: a session's methods about the versions of an entity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dynaorm.entity.key import Key
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.flow.target import Target, target_of
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.entity.version import Version
    from dynaorm.flow import entity as verbs
    from dynaorm.flow import history
else:
    late(globals(), history="dynaorm.flow.history", verbs="dynaorm.flow.entity")

E = TypeVar("E")
T = TypeVar("T")


class Versions(ABC):
    """What a session does with the versions of an entity."""

    _context: Context

    @abstractmethod
    def _run(self, flow: Flow[T], /) -> T: ...

    @abstractmethod
    def _write(self, verb: str, flow: Flow[T]) -> T: ...

    @overload
    def history(self, target: Key[E], /) -> Iterator[Version[E]]: ...
    @overload
    def history(self, target: E, /) -> Iterator[Version[E]]: ...
    def history(self, target: Any, /) -> Iterator[Version[Any]]:
        """Every version of an entity, newest first, read in pages of 100 as the iteration goes on.

        Raises:
            NotVersioned: its class keeps no versions.
        """
        named = target_of(target)
        history.check_versioned(named.mapping)
        return self._history(named)

    def _history(self, target: Target) -> Iterator[Version[Any]]:
        copy = self._run(history.latest(target, self._context))
        if copy is None:
            return
        target, upper = target.as_stored(copy), history.newest(target, copy)
        while upper > 0:
            versions, upper = self._run(history.page(target, upper, self._context))
            yield from versions

    def diff(self, target: Key[Any] | Any, first: int, second: int, /) -> dict[str, tuple[Any, Any]]:
        """The fields that differ between two versions: name to (value in the first, value in the second)."""
        return self._run(verbs.diff(target, first, second, self._context))

    @overload
    def restore(self, target: Key[E], /, *, version: int) -> E: ...
    @overload
    def restore(self, target: E, /, *, version: int) -> E: ...
    def restore(self, target: Any, /, *, version: int) -> Any:
        """Save an entity as it was at a version: a new version with the old values. Works on a deleted one too.

        Raises:
            EntityNotFound: there is no such version.
            UniqueViolation: a unique value of that version has been taken by somebody else.
        """
        return self._write("restore", verbs.restore(target, version, self._context))

    def prune(
        self, target: Key[Any] | Any, /, *, keep: int | None = None, older_than: datetime | None = None
    ) -> int:
        """Delete old versions, all but the newest ``keep`` or those ``older_than`` a time; how many were deleted."""
        flow = history.prune(target_of(target), self._context, keep=keep, older_than=older_than)
        return self._write("prune", flow)

    def purge(self, target: Key[Any] | Any, /) -> int:
        """Remove a deleted entity's versions, then its tombstone; how many versions. Can be called again if stopped.

        Raises:
            UsageError: the entity is not deleted.
            EntityNotFound: nothing is left of it.
        """
        return self._write("purge", history.purge(target_of(target), self._context))
