"""Write sharding of an index, and the scatter read of the last 50 tickets of all statuses.

Run: python examples/ticket_status.py
"""

from datetime import date, timedelta
from typing import Annotated

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table, any_of

tickets = Table(
    "Tickets",
    pk="pk",
    sk="sk",
    indexes=[GlobalIndex("ByStatus", pk="status", sk="creationDate"), GlobalIndex("Sharded")],
    type_attribute=None,
    revision_attribute=None,
    key_fields="in_key",
)


class Ticket(Entity, table=tickets, pk="{project}", sk="{number:05d}"):
    project: str
    number: int
    status: str
    creation_date: Annotated[str, Attribute("creationDate")]
    urgent: bool | None = None
    # As in the article: the status is the partition key, the date the sort key.
    by_status = Index("ByStatus")
    # If one status is too much for one partition: eight partitions, chosen by the number of the ticket.
    sharded = Index("Sharded", pk="STATUS#{status}#{number:shard8}", sk="{creation_date}")


ROWS = [
    ("202", 23123, "open", "2020-03-23"),
    ("202", 96452, "working", "2020-03-14"),
    ("202", 45283, "working", "2020-02-06"),
    ("203", 13552, "open", "2020-05-04"),
    ("203", 93416, "close", "2020-01-08"),
    ("203", 81274, "open", "2020-05-09"),
]
STATUSES = ("open", "working", "close")


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(tickets)
        for project, number, status, created in ROWS:
            session.save(Ticket(project=project, number=number, status=status, creation_date=created))
        show(client, tickets)

        step("The open tickets, by the day of their creation")
        found(session.query(Ticket.by_status, status="open").all())

        step("The same from eight shards at once, merged in order")
        found(session.query(Ticket.sharded, status="open").all())

        step("200 more; then the last 50 of all statuses: one descending query for each status, merged")
        first_day = date(2021, 1, 1)
        for number in range(200):
            created = (first_day + timedelta(days=number)).isoformat()
            session.save(
                Ticket(project="204", number=number, status=STATUSES[number % 3], creation_date=created)
            )
        newest = session.query(Ticket.by_status, status=any_of(*STATUSES)).descending()
        last = newest.limit(50).all()
        console.print(
            f"{len(last)} tickets from {last[0].creation_date} back to {last[-1].creation_date}, "
            f"{last.requests} requests"
        )

        step("Page by page: the cursor remembers where each of the three queries stopped")
        cursor = None
        for _ in range(3):
            page = newest.page(20, after=cursor)
            console.print(f"{page.entities[0].creation_date} ... {page.entities[-1].creation_date}")
            cursor = page.cursor

        step("A filter: the urgent tickets of all statuses")
        session.update(Key(Ticket, project="204", number=100), F.urgent.set(True))
        found(newest.filter(F.urgent.exists()).all())

        step("A change of status moves a ticket from partition to partition, by key as well")
        session.update(Key(Ticket, project="203", number=93416), F.status.set("open"))
        console.print([ticket.number for ticket in session.query(Ticket.by_status, status="open").limit(2)])


if __name__ == "__main__":
    main()
