"""What a verification will read: a range of read units, from the sizes of its tables and from its classes.

Rule 1. The least is the scan of every item.
Rule 2. The most is the scan by pages, each of which DynamoDB rounds up, and for each item everything that the judgement
        of a sound one may ask for. What was read in the same step is not read again, so most runs stay far below.
Rule 3. What looks wrong is read again, which comes on top: nobody knows before how much of it there is.
"""

from collections.abc import Mapping
from math import ceil

from dynaorm.entity.declare.catalog import catalog_of
from dynaorm.entity.table import Table
from dynaorm.flow.bulk.windows import CONCURRENCY
from dynaorm.flow.integrity.kinds.judged_kinds import KINDS
from dynaorm.flow.integrity.scope import Scope
from dynaorm.flow.integrity.verify import Verification
from dynaorm.flow.table_location import READ_UNIT, TableLocation
from dynaorm.record import record

# The most bytes that a page of Scan evaluates (Amazon DynamoDB API Reference, "Scan").
_PAGE: int = 1024 * 1024


@record
class ExpectedReads:
    """A range of read units.

    Attributes:
        least: the scan alone.
        most: the scan by pages, and all that belongs to each item. Without findings, and if the items that belong
            together are about equally large, no run takes more.
    """

    least: int
    most: int


def expected_reads(work: Verification, locations: Mapping[Table, TableLocation]) -> ExpectedReads | None:
    """What a verification that has not begun will read.

    Args:
        work: the verification.
        locations: the sizes of its tables.

    Returns:
        None if a table does not say how large it is.
    """
    least = most = 0.0
    for table in work.scope.tables:
        location, parts = locations[table], sum(one.table is table for one in work.scan_segments)
        if location.items is None or location.size is None:
            return None
        share = parts / work.segments
        items, units = location.items * share, location.size * share / READ_UNIT
        pages = (
            parts
            + items / work.limiter.limit(min(len(work.scan_segments), CONCURRENCY))
            + location.size * share / _PAGE
        )
        least += units
        most += units + ceil(pages) + _reads_of_one(table, work.scope) * (items + units)
    return ExpectedReads(ceil(least), ceil(most))


def _reads_of_one(table: Table, scope: Scope) -> int:
    """The most items that the judgement of one sound item of a table asks for."""
    own = catalog_of(table).mappings.values()
    entities = [
        sum(kind.reads_of_entity(mapping) for kind in KINDS if kind.concerns(mapping, scope))
        for mapping in own
    ]
    others = [
        kind.reads_of_item(mapping) for kind in KINDS for mapping in kind.derived.classes_with_items_in(table)
    ]
    return max((*entities, *others), default=0)
