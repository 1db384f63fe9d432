"""Write sharding of an index, and the scatter read of the last 50 tickets."""

from datetime import date, timedelta
from typing import Any

import pytest
from ticket_status import ROWS, STATUSES, Ticket, tickets

from dynaorm import any_of
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
