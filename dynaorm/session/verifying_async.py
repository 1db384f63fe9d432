"""``verify``, ``repair`` and ``backfill``: a session's methods that look after what is stored.

``dynaorm.integrity.run`` does the same for tables that take hours: it can be interrupted, and shared by machines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dynaorm.entity.table import Table
from dynaorm.flow.bulk.limits import Progress
from dynaorm.flow.protocol.call import Flow
from dynaorm.flow.protocol.context import Context
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.flow.integrity import repair, verify
    from dynaorm.flow.integrity.finding import Finding, Mended
    from dynaorm.flow.integrity.verify import Verification
else:
    late(globals(), repair="dynaorm.flow.integrity.repair", verify="dynaorm.flow.integrity.verify")

T = TypeVar("T")


class AsyncVerifying(ABC):
    """How a session looks after what is stored.

    Of all three methods: ``segments`` says into how many parts tables are divided, several of which are read side by
    side; ``rate`` how many capacity units per second to keep to, read and written; ``progress(done, total)`` is called
    after each step of the reading with how many items were examined, ``total`` is None. They begin when the iteration
    does, and go on as it goes on; what was mended before it is broken off stays.
    """

    _context: Context

    @abstractmethod
    async def _run(self, flow: Flow[T], /) -> T: ...

    @abstractmethod
    async def _write(self, verb: str, flow: Flow[T]) -> T: ...

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

        Raises:
            UsageError: nothing was named, or neither a table nor a class; ``segments`` or ``rate`` make no sense.
            Throttled, Unreachable, TableNotFound: as any read.
        """
        return self._verified(
            verify.verification(named, self._context, segments=segments, rate=rate), progress
        )

    def repair(
        self,
        *named: Table | type[Any],
        segments: int = 1,
        rate: float | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> AsyncIterator[Mended]:
        """Mend what ``verify`` finds, as far as that needs no choice, and give what became of each finding.

        Each is mended by one transaction that is refused if anything it relies on was written since it was read; it is
        judged anew then. So a table may be repaired while writers run, and repaired twice. With ``dry_run`` nothing is
        written, and each ``Mended`` has the plan.

        Raises:
            UsageError, Throttled, Unreachable, TableNotFound: as ``verify``.
            UnexpectedRefusal: DynamoDB does not let these credentials write.
        """
        work = verify.verification(named, self._context, segments=segments, rate=rate)
        return self._mended("repair", work, progress, dry_run=dry_run)

    def backfill(
        self,
        *named: Table | type[Any],
        segments: int = 1,
        rate: float | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> AsyncIterator[Mended]:
        """Complete the entities stored before their class declared a constraint, an index, versions or totals.

        Writers must run the new class already: what they write is complete. Every entity that is not is completed by
        one transaction, refused if anybody wrote it since; values that two entities hold are reported, and never
        decided. With ``dry_run`` nothing is written, and each ``Mended`` has the plan.

        Raises:
            UsageError, Throttled, Unreachable, TableNotFound, UnexpectedRefusal: as ``repair``.
        """
        work = repair.completion(named, self._context, segments=segments, rate=rate)
        return self._mended("backfill", work, progress, dry_run=dry_run)

    async def _verified(self, work: Verification, progress: Progress | None) -> AsyncIterator[Finding]:
        for step in work.steps(_telling(work, progress)):
            for diagnosis in await self._run(step):
                yield diagnosis.finding

    async def _mended(
        self, verb: str, work: Verification, progress: Progress | None, *, dry_run: bool
    ) -> AsyncIterator[Mended]:
        for step in work.steps(_telling(work, progress)):
            diagnoses = await self._run(step)
            for some in repair.dealing(diagnoses, work, dry_run=dry_run):
                for mended in await self._write(verb, some):
                    yield mended
        for mended in repair.unsettled(work):
            yield mended


def _telling(work: Verification, progress: Progress | None) -> Callable[[], object]:
    return bool if progress is None else lambda: progress(work.examined, None)
