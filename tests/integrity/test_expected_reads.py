"""What a verification is said to read, against what DynamoDB would bill for it.

The items are served from memory by a transport that bills each request as DynamoDB does, because neither moto nor
ministack tells the true capacity or the true size of a table.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import ceil
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from dynaorm import Session, Table
from dynaorm.description.tables_in_memory import TablesInMemory
from dynaorm.entity.ident import Ident, ident_of
from dynaorm.flow.protocol.call import Call, Reply
from dynaorm.flow.table_location import READ_UNIT, TableLocation
from dynaorm.integrity.run import RunOptions, reads_of_run, verify
from dynaorm.item.size import item_size
from dynaorm.item.value import Item
from dynaorm.plan.intent import Deletion, Save
from dynaorm.testing.clock import FakeClock
from tests.integrity.zoo import TABLES, Book, Device, Group, Member, Page, Room, Voucher


def units(size: float) -> int:
    """The units of one strongly consistent read."""
    return max(1, ceil(size / READ_UNIT))


class Billed:
    """A transport that serves items from memory, and counts what DynamoDB would bill."""

    def __init__(self, tables: TablesInMemory) -> None:
        self._named = {one.name: one for one in TABLES}
        self.items: dict[Ident, Item] = {
            ident_of(table, item): item for table in TABLES for item in tables.items_of(table)
        }
        self.scanned = self.beside = 0

    def call(self, call: Call, /) -> Reply:
        found: Reply = {"Scan": self._scan, "BatchGetItem": self._batch_get_item}[call.operation](
            call.request
        )
        return found

    def of(self, table: Table) -> list[Item]:
        """The items of a table, in the order of a scan."""
        return [item for ident, item in sorted(self.items.items(), key=repr) if ident[0] == table.name]

    def _scan(self, request: Mapping[str, Any]) -> Reply:
        table = self._named[request["TableName"]]
        count, number = request.get("TotalSegments", 1), request.get("Segment", 0)
        items = [one for at, one in enumerate(self.of(table)) if at % count == number]
        start = request.get("ExclusiveStartKey")
        begin = 0 if start is None else 1 + [_key(table, one) for one in items].index(start)
        page = items[begin : begin + request["Limit"]]
        self.scanned += units(sum(map(item_size, page)))
        # DynamoDB gives a key after a page that is full, whether or not an item follows.
        is_full = len(page) == request["Limit"]
        return {"Items": page} | ({"LastEvaluatedKey": _key(table, page[-1])} if is_full else {})

    def _batch_get_item(self, request: Mapping[str, Any]) -> Reply:
        found: dict[str, list[Item]] = {}
        for name, wanted in request["RequestItems"].items():
            items = [self.items.get(ident_of(self._named[name], key)) for key in wanted["Keys"]]
            self.beside += sum(units(0 if one is None else item_size(one)) for one in items)
            found[name] = [one for one in items if one is not None]
        return {"Responses": found}


def _key(table: Table, item: Item) -> Item:
    return {name: item[name] for name in table.key_names}


COUNTS = st.integers(0, 6)
TEXTS = st.integers(0, 9000).map(lambda size: "x" * size)
SMALL = st.just("y")


@st.composite
def populations(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> TablesInMemory:
    """Sound tables of the zoo: guards in two tables, versions of two formats, tombstones, totals, what expires."""
    tables = TablesInMemory()
    for group in range(draw(COUNTS)):
        tables.write(Save(Group(group_id=str(group), title=draw(texts))))
        for number in range(draw(COUNTS)):
            one = {"group_id": str(group), "name": str(number), "email": f"{number}@{group}"}
            phone = draw(st.sampled_from([None, f"{number}"]))
            tables.write(Save(Member(**one, phone=phone, hours=Decimal(number))))
    for isbn in range(draw(COUNTS)):
        book = Book(isbn=str(isbn), slug=str(isbn))
        for number in range(1 + draw(COUNTS)):
            book.text = f"{number}{draw(texts)}"
            tables.write(Save(book))
        if draw(st.booleans()):
            tables.write(Deletion(book))
    for number in range(draw(COUNTS)):
        tables.write(Save(Page(number=str(number), text=draw(texts))))
        tables.write(Save(Voucher(voucher_id=str(number), code=str(number))))
        tables.write(Save(Device(owner=draw(st.sampled_from("ab")), number=number, serial=str(number))))
        tables.write(Save(Room(house="h", name=str(number), door=number)))
    return tables


def locations(billed: Billed) -> list[TableLocation]:
    """What DescribeTable would say, if it were up to date."""
    return [
        TableLocation(one.name, one.name, None, None, len(items), sum(map(item_size, items)))
        for one in TABLES
        for items in [billed.of(one)]
    ]


def run(tables: TablesInMemory, *named: Any, options: RunOptions) -> tuple[Billed, Any]:
    """A verification of some tables: what it read, and what it was said to read."""
    billed = Billed(tables)
    with Session(transport=billed, clock=FakeClock()) as session:
        said = reads_of_run(session, *named, locations=locations(billed), options=options)
        assert list(verify(session, *named, options=options)) == []
    return billed, said


NAMED: Final[Sequence[tuple[Any, ...]]] = (TABLES, TABLES[:1], (Member,), (Book, Device))


@given(populations(TEXTS), st.sampled_from(NAMED))
def test_a_run_without_findings_reads_no_less_and_no_more_than_is_said(
    tables: TablesInMemory, named: tuple[Any, ...]
) -> None:
    billed, said = run(tables, *named, options=RunOptions())
    assert said.least <= billed.scanned + billed.beside <= said.most


@given(populations(SMALL), st.sampled_from(NAMED), st.integers(1, 3))
def test_nor_does_one_that_reads_a_few_items_at_a_time(
    tables: TablesInMemory, named: tuple[Any, ...], segments: int
) -> None:
    billed, said = run(tables, *named, options=RunOptions(rate=5, segments=segments))
    assert said.least <= billed.scanned + billed.beside <= said.most


@given(populations(SMALL), st.integers(1, 3))
def test_the_segments_of_several_machines_together_read_no_more_than_is_said(
    tables: TablesInMemory, segments: int
) -> None:
    runs = [
        run(tables, *TABLES, options=RunOptions(segments=segments, segment=one)) for one in range(segments)
    ]
    read = sum(billed.scanned + billed.beside for billed, _ in runs)
    assert sum(said.least for _, said in runs) - segments < read <= sum(said.most for _, said in runs)
