"""An overloaded sort key and index: one attribute holds numbers, e-mail addresses and ticket codes.

Run: python examples/tickets_overloaded.py
"""

from typing import Annotated

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, GlobalIndex, Index, LocalIndex, Session, Table

project = Table(
    "Project",
    pk="pk",
    sk="sk",
    indexes=[
        # The table's sort key is the partition key of this index.
        GlobalIndex("GSI1", pk="sk", sk="creationDate"),
        # The same partition key as the table, with another sort key.
        LocalIndex("ByStatus", sk="status"),
    ],
    type_attribute=None,
    revision_attribute=None,
    key_fields="in_key",
)


class Item(Entity):
    """The common field. A class without a table only lends its fields."""

    project: str
    status: str
    creation_date: Annotated[str, Attribute("creationDate")]
    by_sort_key = Index("GSI1")
    by_status = Index("ByStatus")


class Task(Item, table=project, pk="{project}", sk="{number:05d}"):
    number: int


class Member(Item, table=project, pk="{project}", sk="{mailbox}@{domain}"):
    mailbox: str
    domain: str


class Admission(Item, table=project, pk="{project}", sk="AD-{number:05d}"):
    number: int


class Transfer(Item, table=project, pk="{project}", sk="YT-{number:05d}"):
    number: int


ROWS: list[Item] = [
    Task(project="202", number=23123, status="open", creation_date="2020-03-23"),
    Task(project="202", number=96452, status="working", creation_date="2020-03-14"),
    Member(
        project="202", mailbox="usuario1", domain="email.com", status="working", creation_date="2020-02-06"
    ),
    Member(project="202", mailbox="usuario2", domain="email.com", status="open", creation_date="2020-05-04"),
    Admission(project="202", number=93416, status="close", creation_date="2020-01-08"),
    Transfer(project="202", number=81274, status="open", creation_date="2020-05-09"),
]


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(project)
        for row in ROWS:
            session.save(row)

        step("Four classes under one partition key; only the sort key tells them apart")
        show(client, project)

        step("Each class is queried by itself, although the items of all classes are mixed")
        for kind in (Task, Member, Admission, Transfer):
            console.print(kind.__name__)
            found(session.query(kind, project="202").all())

        step("All together, in one request")
        found(session.collection(Task, Member, Admission, Transfer, project="202").all())

        step("The index finds an address, a number or a code without the project")
        found(session.query(Member.by_sort_key, mailbox="usuario1", domain="email.com").all())
        found(session.query(Task.by_sort_key, number=96452).all())
        found(session.query(Transfer.by_sort_key, number=81274).all())

        step("The local index orders a project's items by their status")
        found(session.query(Task.by_status, project="202", status="open").all())
        everything = session.collection(
            Task.by_status, Member.by_status, Admission.by_status, Transfer.by_status, project="202"
        )
        console.print([f"{entity.status} {type(entity).__name__}" for entity in everything])


if __name__ == "__main__":
    main()
