"""What a read costs: the items that DynamoDB reads, and the whole items that are fetched."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table
from dynaorm.flow.call import Call, Transport

app = Table("costs", indexes=[GlobalIndex("GSI1"), GlobalIndex("Keys", projection="KEYS_ONLY")])
COUNT = 400


class Entry(Entity, table=app, pk="ENTRY#{number}", sk="ENTRY"):
    number: int
    at: int
    kind: str = "k"
    every = Index("GSI1", pk="KIND#{kind}#{number:shard8}", sk="{at:06d}")
    in_keys = Index("Keys", pk="KIND#{kind}#{number:shard8}", sk="{at:06d}")


class Counting:
    """Counts the items that are read, by operation."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.items = Counter[str]()
        self.calls = Counter[str]()

    def call(self, call: Call, /) -> Any:
        reply = self._inner.call(call)
        found = reply.get("Responses", {}).values()
        self.items[call.operation] += reply.get("ScannedCount", sum(map(len, found)))
        self.calls[call.operation] += 1
        return reply


@pytest.fixture(scope="module")
def stored(engine: Transport) -> Iterator[Transport]:
    with Session(transport=engine) as session:
        session.create_table(app)
        session.bulk_load(Entry(number=number, at=number * 7919 % 100_000) for number in range(COUNT))
        yield engine
    engine.call(Call("DeleteTable", {"TableName": app.name}))


@pytest.fixture
def counting(stored: Transport) -> Counting:
    return Counting(stored)


@pytest.fixture
def session(counting: Counting) -> Session:
    return Session(transport=counting)


def pages(query: Any, size: int) -> list[Any]:
    found, cursor, turn = [], None, 0
    while turn == 0 or cursor is not None:
        page = query.page(size, after=cursor)
        found += page.entities
        cursor, turn = page.cursor, turn + 1
    return found


def test_pages_over_eight_shards_read_few_items_twice(session: Session, counting: Counting) -> None:
    found = pages(session.query(Entry.every, kind="k").descending(), 50)
    assert [entry.at for entry in found] == sorted((entry.at for entry in found), reverse=True)
    assert len({entry.number for entry in found}) == COUNT
    assert counting.items["Query"] <= 3 * COUNT


def test_a_limit_over_eight_shards_asks_each_for_its_share(session: Session, counting: Counting) -> None:
    assert len(session.query(Entry.every, kind="k").limit(100).all()) == 100
    assert counting.items["Query"] <= 260


def test_a_page_of_a_projected_index_fetches_what_it_returns(session: Session, counting: Counting) -> None:
    assert len(session.query(Entry.in_keys, kind="k").page(50)) == 50
    assert counting.items["BatchGetItem"] == 50
    counting.items.clear()
    assert session.query(Entry.in_keys, kind="k").first() is not None
    assert counting.items["BatchGetItem"] == 1


def test_the_first_entity_of_a_projected_index_costs_one_batch(session: Session, counting: Counting) -> None:
    assert next(iter(session.query(Entry.in_keys, kind="k"))) is not None
    assert counting.calls["BatchGetItem"] == 1
    assert counting.items["BatchGetItem"] <= 100


def test_a_page_of_a_scan_reads_one_segment(session: Session, counting: Counting) -> None:
    assert len(session.scan(Entry).page(20)) == 20
    one = counting.items.pop("Scan")
    assert len(session.scan(Entry, segments=8).page(20)) == 20
    assert counting.items.pop("Scan") == one == 20
    assert len(session.scan(Entry, segments=8).limit(20).all()) == 20
    assert counting.items["Scan"] == 20


def test_pages_of_a_scan_in_segments_find_each_entity_once(session: Session, counting: Counting) -> None:
    found = pages(session.scan(Entry, segments=8), 300)
    assert sorted(entry.number for entry in found) == list(range(COUNT))
    assert counting.items["Scan"] <= COUNT + 8 * 4


def test_a_filter_that_all_pass_reads_what_a_page_without_it_does(
    session: Session, counting: Counting
) -> None:
    assert len(session.scan(Entry).filter(F.kind == "k").page(20)) == 20
    assert counting.items["Scan"] == 20
    query = session.query(Entry.every, kind="k")
    assert len(query.page(50)) == 50
    plain = counting.items.pop("Query")
    assert len(query.filter(F.number >= 0).page(50)) == 50
    assert counting.items["Query"] <= plain


def test_a_page_reads_at_most_what_it_may_and_goes_on(session: Session, counting: Counting) -> None:
    query = session.scan(Entry).filter(F.number == COUNT - 1)
    found, cursor, turns = [], None, 0
    while turns == 0 or cursor is not None:
        counting.items.clear()
        page = query.page(20, after=cursor, read_at_most=120)
        assert counting.items["Scan"] <= 120
        found += page.entities
        cursor, turns = page.cursor, turns + 1
    assert [entry.number for entry in found] == [COUNT - 1]
    assert turns == 4


def test_pages_of_merged_partitions_go_on_where_little_may_be_read(
    session: Session, counting: Counting
) -> None:
    query = session.query(Entry.every, kind="k").filter(F.number < 30)
    found, cursor, turns = [], None, 0
    while turns == 0 or cursor is not None:
        counting.items.clear()
        page = query.page(10, after=cursor, read_at_most=200)
        assert counting.items["Query"] <= 200
        found += [entry.at for entry in page]
        cursor, turns = page.cursor, turns + 1
        assert turns < 60
    assert found == sorted(number * 7919 % 100_000 for number in range(30))


places = Table("places", indexes=[GlobalIndex("Keys", projection="KEYS_ONLY")])


class Job(Entity, table=places, pk="JOB#{number}", sk="JOB"):
    """Its two places in the index have equal keys."""

    number: int
    queue: str
    status: str = "open"
    open = Index("Keys", pk="QUEUE#{queue}", sk="{number:03d}", when=F.status == "open")
    done = Index("Keys", pk="QUEUE#{queue}", sk="{number:03d}", when=F.status == "done")


def test_entries_that_do_not_tell_their_place_are_fetched(engine: Transport) -> None:
    counting = Counting(engine)
    with Session(transport=counting) as session:
        session.create_table(places)
        session.save_many([Job(number=1, queue="a"), Job(number=2, queue="a", status="done")])
        counting.calls.clear()
        query = session.query(Job.open, queue="a").keys()
        assert query.all() == [Key(Job, number=1)]
        assert counting.calls == {"Query": 1, "BatchGetItem": 1}
        assert query.explain().splitlines()[-1] == (
            "An entry whose keys do not tell whether it is wanted is fetched by key: BatchGetItem places."
        )
    engine.call(Call("DeleteTable", {"TableName": places.name}))
