"""Write sharding of an index, and the scatter read of the last 50 tickets."""

from datetime import date, timedelta
from typing import Any

import pytest
from ticket_status import ROWS, STATUSES, Ticket, tickets

from dynaorm import F, Key, any_of
from tests.story.engine import Engine

ALL = any_of(*STATUSES)


def ticket(project: str, number: int, status: str, created: str) -> Ticket:
    return Ticket(project=project, number=number, status=status, creation_date=created)


@pytest.fixture
def documents(engine: Engine) -> Engine:
    engine.create(tickets)
    with engine.session() as session:
        for row in ROWS:
            session.save(ticket(*row))
    engine.forget()
    return engine


@pytest.fixture
def many(documents: Engine) -> Engine:
    """The document's tickets and 234 later ones, one a day: half of them open, a third working, the rest closed."""
    items = []
    for number in range(234):
        day = (date(2021, 1, 1) + timedelta(days=number)).isoformat()
        status = "open" if number % 2 else "working" if number % 3 else "close"
        key = {"pk": {"S": "204"}, "sk": {"S": f"{number:05d}"}}
        items.append({**key, "status": {"S": status}, "creationDate": {"S": day}})
    documents.put_many(tickets, items)
    return documents


def numbers(found: Any) -> list[int]:
    return [one.number for one in found]


def asked(engine: Engine) -> list[str]:
    """The partitions of the index that were queried, in alphabetical order."""
    return sorted(
        next(iter(call.request["ExpressionAttributeValues"].values()))["S"] for call in engine.calls
    )


def test_the_status_and_the_date_are_index_keys_as_they_are(documents: Engine) -> None:
    items = documents.raw(tickets)
    assert [{name: item[name] for name in item if not name.startswith("Sharded")} for item in items] == [
        {
            "pk": {"S": project},
            "sk": {"S": f"{number:05d}"},
            "status": {"S": status},
            "creationDate": {"S": created},
        }
        for project, number, status, created in sorted(ROWS)
    ]


def test_a_status_is_one_query_in_order_of_the_dates(documents: Engine) -> None:
    found = documents.session().query(Ticket.by_status, status="open").all()
    assert numbers(found) == [23123, 13552, 81274]
    assert found.requests == 1


def test_the_last_fifty_of_all_are_fifty_of_each_status_merged_in_order(many: Engine) -> None:
    newest = many.session().query(Ticket.by_status, status=ALL).descending().limit(50).all()
    assert numbers(newest) == list(range(233, 183, -1))
    assert [one.creation_date for one in newest] == sorted(
        (one.creation_date for one in newest), reverse=True
    )
    assert newest.requests == 3
    assert asked(many) == ["close", "open", "working"]
    assert {call.request["ScanIndexForward"] for call in many.calls} == {False}
    # Each of the three is asked for its share and a little more.
    assert {call.request["Limit"] for call in many.calls} == {26}


def test_the_scatter_read_goes_on_where_its_cursor_says_in_every_partition(many: Engine) -> None:
    query = many.session().query(Ticket.by_status, status=ALL).descending()
    read: list[int] = []
    cursor = None
    sizes = []
    while True:
        page = query.page(50, after=cursor)
        read += numbers(page)
        sizes.append(len(page))
        cursor = page.cursor
        if cursor is None:
            break
        assert cursor.replace("-", "").replace("_", "").isalnum()
    assert sizes == [50, 50, 50, 50, 40]
    in_table = sorted(many.raw(tickets), key=lambda item: item["creationDate"]["S"], reverse=True)
    assert read == [int(item["sk"]["S"]) for item in in_table]


def test_a_filter_is_applied_before_the_limit_counts(many: Engine) -> None:
    with many.session() as session:
        for number in (3, 100, 200):
            session.update(Key(Ticket, project="204", number=number), F.urgent.set(True))
        query = session.query(Ticket.by_status, status=ALL).descending().filter(F.urgent == True)  # noqa: E712
        assert numbers(query.limit(2)) == [200, 100]
        assert numbers(query) == [200, 100, 3]


def test_a_change_of_status_moves_a_ticket_to_another_partition_on_every_path(documents: Engine) -> None:
    with documents.session() as session:
        session.update(Key(Ticket, project="203", number=93416), F.status.set("open"))
        assert numbers(session.query(Ticket.by_status, status="open")) == [93416, 23123, 13552, 81274]
        loaded = session.get_one(Ticket, project="202", number=96452)
        loaded.status = "close"
        session.save(loaded)
        assert numbers(session.query(Ticket.by_status, status="close")) == [96452]
        assert numbers(session.query(Ticket.by_status, status="working")) == [45283]
        # The sharded index is updated, too.
        assert numbers(session.query(Ticket.sharded, status="open")) == [93416, 23123, 13552, 81274]
        assert numbers(session.query(Ticket.sharded, status="close")) == [96452]


# -- several partitions for one status ---------------------------------------------------------------------------------


def test_a_sharded_status_is_spread_over_at_most_eight_partitions_by_the_ticket_alone(
    engine: Engine,
) -> None:
    engine.create(tickets)
    with engine.session() as session:
        for number in range(60):
            session.save(ticket("204", number, "open", "2021-01-01"))
    shards = {item["ShardedPK"]["S"] for item in engine.raw(tickets)}
    assert shards == {f"STATUS#open#{shard}" for shard in range(1, 9)}


def test_a_query_that_does_not_name_the_ticket_asks_every_shard_and_merges(documents: Engine) -> None:
    found = documents.session().query(Ticket.sharded, status="open").all()
    assert numbers(found) == [23123, 13552, 81274]
    assert found.requests == 8
    assert asked(documents) == [f"STATUS#open#{shard}" for shard in range(1, 9)]


def test_a_query_that_names_the_ticket_asks_its_shard_alone(documents: Engine) -> None:
    found = documents.session().query(Ticket.sharded, status="open", number=13552).all()
    assert numbers(found) == [13552]
    assert found.requests == 1


def test_the_last_of_all_statuses_are_merged_from_all_shards_of_all_of_them(engine: Engine) -> None:
    engine.create(tickets)
    with engine.session() as session:
        for number in range(60):
            created = (date(2021, 1, 1) + timedelta(days=number)).isoformat()
            session.save(ticket("204", number, STATUSES[number % 3], created))
        engine.forget()
        newest = session.query(Ticket.sharded, status=ALL).descending().limit(20).all()
    assert numbers(newest) == list(range(59, 39, -1))
    assert newest.requests == 24
