"""``verify``: a session's method that looks for what does not fit together."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from dynaorm.entity.table import Table
from dynaorm.flow.bulk import Progress
from dynaorm.flow.call import Flow
from dynaorm.flow.context import Context
from dynaorm.flow.finding import Finding
from dynaorm.flow.verify import Verification, verification

T = TypeVar("T")


class AsyncVerifying(ABC):
    """What a session can find out about what is stored."""

    _context: Context

    @abstractmethod
    async def _run(self, flow: Flow[T], /) -> T: ...

    def verify(
        self,
        *named: Table | type[Any],
        segments: int = 1,
        rate: float | None = None,
        progress: Progress | None = None,
    ) -> AsyncIterator[Finding]:
        """What is wrong with the items of some tables or classes, found as the iteration goes on.

        Every item is read once, page by page, and held against those that belong to it: guards, versions, index keys,
        totals. What looks wrong is read again, everything concerned at one moment, so that writers at work cause no
        false alarm. Guard items and totals are judged at the end. Nothing is written.

        ``segments``: into how many parts tables are divided, several of which are read side by side.
        ``rate``: capacity units per second to keep to. ``progress(done, total)``: called after each step with how many
        items were examined; ``total`` is None.

        Raises:
            UsageError: nothing was named, or neither a table nor a class.
            Throttled, Unreachable, TableNotFound: as any read.
        """
        return self._verified(verification(named, self._context, segments=segments, rate=rate), progress)

    async def _verified(self, work: Verification, progress: Progress | None) -> AsyncIterator[Finding]:
        for step in work.steps():
            for fault in await self._run(step):
                yield fault.finding
            if progress is not None:
                progress(work.examined, None)
