"""``get_many``, ``save_many``, ``delete_many`` and ``bulk_load``: a session's methods for many entities at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dynaorm.entity.key import Key
from dynaorm.flow.bulk.limits import CONCURRENCY, Progress
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.flow.bulk import load as bulk_load
    from dynaorm.flow.bulk import read as bulk_read
    from dynaorm.flow.bulk import write as bulk_write
else:
    late(
        globals(),
        bulk_load="dynaorm.flow.bulk.load",
        bulk_read="dynaorm.flow.bulk.read",
        bulk_write="dynaorm.flow.bulk.write",
    )

E = TypeVar("E")
T = TypeVar("T")


class AsyncBulk(ABC):
    """What a session does with many entities.

    Writing goes on in windows of some hundreds, several requests at a time (``concurrency``), and takes no more from an
    iterator before they are done. ``progress(done, total)`` is called after each window, in the caller's thread;
    ``total`` is None for what has no length.
    """

    _context: Context

    @abstractmethod
    async def _run(self, flow: Flow[T], /) -> T: ...

    @abstractmethod
    async def _write(self, verb: str, flow: Flow[T]) -> T: ...

    @overload
    async def get_many(
        self, keys: Iterable[Key[E]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[E | None]: ...
    @overload
    async def get_many(
        self, keys: Iterable[Key[Any]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[Any]: ...
    async def get_many(
        self, keys: Iterable[Key[Any]], /, *, consistent: bool | None = None, concurrency: int = CONCURRENCY
    ) -> list[Any]:
        """The entity under each key, in the order of the keys: None where there is none.

        Keys may be of several classes and tables, and be given twice, which gives the same object twice. 100 keys are
        read with one BatchGetItem.

        Raises:
            UsageError: something is no ``Key``.
            DecodeError: an item does not fit its class; with the session's ``on_decode_error`` its place holds None.
        """
        return await self._run(
            bulk_read.get_many(keys, self._context, consistent=consistent, concurrency=concurrency)
        )

    async def save_many(
        self, entities: Iterable[E], /, *, concurrency: int = CONCURRENCY, progress: Progress | None = None
    ) -> list[E]:
        """Save each entity as ``save`` does, by a request of its own; returns them.

        Not atomic: every one is attempted, and those that succeed are saved. An object given twice is saved once. Two
        objects under one key are two saves, one of which will fail.

        Raises:
            BulkError: some failed. ``.failures`` has each entity and its error.
        """
        return await self._write(
            "save_many",
            bulk_write.save_many(entities, self._context, concurrency=concurrency, progress=progress),
        )

    async def delete_many(
        self,
        targets: Iterable[Key[Any] | Any],
        /,
        *,
        concurrency: int = CONCURRENCY,
        progress: Progress | None = None,
    ) -> None:
        """Delete each entity, loaded or named by its key, as ``delete`` does, by a request of its own.

        Not atomic: every one is attempted, and those that succeed are deleted.

        Raises:
            BulkError: some failed. ``.failures`` has each entity or key and its error.
        """
        await self._write(
            "delete_many",
            bulk_write.delete_many(targets, self._context, concurrency=concurrency, progress=progress),
        )

    async def bulk_load(
        self, entities: Iterable[Any], /, *, concurrency: int = CONCURRENCY, progress: Progress | None = None
    ) -> int:
        """Store each entity as it is, and replace whatever is stored under its key; how many were loaded.

        The fastest way in: 25 entities in one BatchWriteItem. Nothing is checked against what is stored: of two
        entities under one key the last one stays, of two writers the later.

        Raises:
            UsageError: a class has unique values or versions: use ``save_many``. Nothing was sent, or of an iterator
                nothing from there on.
            BulkError: some failed, the others are loaded. ``.failures`` has each entity and its error.
            TableNotFound: nothing more can be loaded.
        """
        return await self._write(
            "bulk_load",
            bulk_load.bulk_load(entities, self._context, concurrency=concurrency, progress=progress),
        )
