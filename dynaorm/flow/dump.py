"""``dump``: every item of a table as a line, page by page.

Rule 1. Only a few pages are held at a time, whatever the size of the table.
Rule 2. The lines come in the order of the scan. Sorted, those of equal tables are equal.
Rule 3. Writers may run: each item is as it was when its page was read, which is no state of the table at one moment.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from dynaorm.argument import check_flag
from dynaorm.entity.classify import NotAnEntity, class_of, unknown_item
from dynaorm.entity.mapping.mapping import EntityMapping
from dynaorm.entity.table import Table, check_table
from dynaorm.errors import DecodeError
from dynaorm.flow.call import Context, Flow
from dynaorm.flow.integrity.reads import RateLimiter, ScannedPage, ScanSegment, read_pages, scan_segments_of
from dynaorm.flow.integrity.verify import check_segments
from dynaorm.flow.lines import entity_line
from dynaorm.item.json_body import item_line
from dynaorm.item.value import Item
from dynaorm.record import record


@record
class DumpResult:
    """What ``dump`` wrote.

    Attributes:
        lines: the number of lines.
        left_out: the items without a line, by what they are: ``{"guard": 3}``. Only entities leave something out.

    Examples:
        >>> import io
        >>> dump(session, app, io.BytesIO())
        DumpResult(lines=8, left_out={})
    """

    lines: int
    left_out: dict[str, int] = field(default_factory=dict)


@record(frozen=False)
class Dump:
    """A dump, step by step.

    Attributes:
        table: the table.
        limiter: keeps to a rate.
        segments: the parts of the table, each with its position.
        entities: entities in readable JSON, in place of items.
        lines: how many lines there are so far.
        left_out: what has no line.
    """

    table: Table
    limiter: RateLimiter
    segments: list[ScanSegment]
    entities: bool = False
    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    _pages: list[ScannedPage] = field(default_factory=list)

    @property
    def result(self) -> DumpResult:
        """What was done so far."""
        return DumpResult(self.lines, dict(sorted(self.left_out.items())))

    def steps(self) -> Iterator[Flow[list[bytes]]]:
        """The steps, each of which gives some lines. Run each step before you ask for the next."""
        while not all(one.is_over for one in self.segments):
            yield self._step()
            for page in self._pages:
                page.finish()

    def _step(self) -> Flow[list[bytes]]:
        self._pages = yield from read_pages(self.segments, self.limiter)
        items = (item for page in self._pages for item in page.items)
        found = [line for item in items if (line := self._line(item)) is not None]
        self.lines += len(found)
        return found

    def _line(self, item: Item) -> bytes | None:
        if not self.entities:
            return item_line(item)
        context = self.limiter.context
        mapping = class_of(self.table, item)
        if mapping is NotAnEntity.UNKNOWN:
            self._tell(unknown_item(self.table, item))
            return None
        if not isinstance(mapping, EntityMapping):
            self.left_out[mapping.value] += 1
            return None
        if mapping.is_expired(item, context.clock.now()):
            self.left_out["expired"] += 1
            return None
        try:
            entity = mapping.loader.hydrate(item)
        except DecodeError as problem:
            self._tell(problem)
            return None
        return entity_line(mapping, item, entity) or item_line(item)

    def _tell(self, problem: DecodeError) -> None:
        """Tell the session's handler of an item that cannot be read. Raises the error if there is none."""
        handler = self.limiter.context.on_decode_error
        if handler is None:
            raise problem
        handler(problem)
        self.left_out["unreadable"] += 1


def dump_of(
    table: Table,
    context: Context,
    *,
    entities: bool = False,
    segments: int = 1,
    segment: int | None = None,
    rate: float | None = None,
) -> Dump:
    """A dump that has not begun. Raises UsageError for what cannot be dumped."""
    check_table("dump", table)
    check_flag("entities={}", entities)
    check_segments(segments, segment)
    return Dump(
        table, RateLimiter(context, rate), scan_segments_of([table], segments, segment), entities=entities
    )
