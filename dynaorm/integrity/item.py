"""One stored item, or those of one partition: what is there, and what is wrong with it."""

from collections.abc import Iterator, Sequence

from dynaorm.entity.table import Table
from dynaorm.flow.call import Flow
from dynaorm.flow.integrity.finding import Finding
from dynaorm.flow.integrity.judge_items import judge_address
from dynaorm.flow.integrity.scan import RateLimiter, ScannedPage, ScanSegment, read_pages
from dynaorm.flow.integrity.stored_check import ItemAddress
from dynaorm.flow.read import get_item
from dynaorm.item.value import AttributeValue, Item
from dynaorm.session.session import Session


def stored_item(session: Session, table: Table, key: Item) -> Item | None:
    """The item under a primary key as it is stored, read strongly consistent; None if nothing is there.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    return session._run("verify", get_item(table, key, session._context))


def stored_partition(session: Session, table: Table, value: AttributeValue, most: int) -> list[Item]:
    """The first items of a partition as they are stored, in the order of their sort keys. Raises as ``stored_item``."""
    segment = ScanSegment(table, partition=value)

    def first_items() -> Flow[list[Item]]:
        found: list[Item] = []
        while not segment.is_over and len(found) < most:
            limiter = RateLimiter(session._context, most=most - len(found))
            (page,) = yield from read_pages([segment], limiter)
            found += page.items
            page.finish()
        return found

    return session._run("verify", first_items())


def table_pages(session: Session, table: Table, most: int) -> Iterator[ScannedPage]:
    """The first items of a table that a scan meets, page by page as you iterate. Raises as ``stored_item``."""
    segment, left = ScanSegment(table), most
    while not segment.is_over and left > 0:
        (page,) = session._run("verify", read_pages([segment], RateLimiter(session._context, most=left)))
        yield page
        left -= len(page.items)
        page.finish()


def findings_of(session: Session, table: Table, key: Item) -> Sequence[Finding] | None:
    """What ``verify`` would find of one item, except in totals. None if it changes all the time.

    Raises:
        Throttled, Unreachable, TableNotFound: as any read.
    """
    return session._run("verify", judge_address(ItemAddress(table, key), session._context))
