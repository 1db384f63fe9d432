"""The issues of a repository: one index has the open ones, newest first, and the closed ones, oldest first.

Run: python examples/issues.py
"""

from datetime import datetime
from typing import Annotated, Literal

import boto3
from raw import found, show, step, strict_moto

from dynaorm import (
    Aggregate,
    Attribute,
    CreatedAt,
    Entity,
    F,
    GlobalIndex,
    Index,
    Key,
    Session,
    Table,
    UpdatedAt,
)

github = Table("GitHubTable", indexes=[GlobalIndex("GSI4")], type_attribute="Type")


class Repo(Entity, table=github, pk="REPO#{owner:lower}#{name:lower}", sk="REPO#{owner:lower}#{name:lower}"):
    owner: Annotated[str, Attribute("RepoOwner")]
    name: Annotated[str, Attribute("RepoName")]
    open_count: Annotated[int, Attribute("OpenIssueCount")] = 0
    created: Annotated[datetime | None, CreatedAt(), Attribute("CreatedAt")] = None
    # Between the closed issues and the open ones: '#ISSUE' < '#REPO' < 'ISSUE'.
    beside_issues = Index("GSI4", pk="REPO#{owner:lower}#{name:lower}", sk="#REPO#{name:lower}")


class Issue(Entity, table=github, pk="REPO#{owner:lower}#{repo:lower}", sk="ISSUE#{number:08d}"):
    owner: Annotated[str, Attribute("RepoOwner")]
    repo: Annotated[str, Attribute("RepoName")]
    number: Annotated[int, Attribute("IssueNumber")]
    title: Annotated[str, Attribute("Title")]
    status: Annotated[Literal["Open", "Closed"], Attribute("Status")] = "Open"
    created: Annotated[datetime | None, CreatedAt(), Attribute("CreatedAt")] = None
    updated: Annotated[datetime | None, UpdatedAt(), Attribute("UpdatedAt")] = None
    open_ones = Index(
        "GSI4",
        pk="REPO#{owner:lower}#{repo:lower}",
        sk="ISSUE#OPEN#{number:08d:desc}",
        when=F.status == "Open",
    )
    closed_ones = Index(
        "GSI4",
        pk="REPO#{owner:lower}#{repo:lower}",
        sk="#ISSUE#CLOSED#{number:08d}",
        when=F.status == "Closed",
    )
    in_repo = Aggregate(
        Repo, count="open_count", key={"owner": "owner", "name": "repo"}, when=F.status == "Open"
    )


TITLES = ("Install fails", "Typo", "Crash on start", "Slow query", "Docs are missing")


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(github)
        session.save(Repo(owner="alexdebrie", name="dynamodb-book"))
        for number, title in enumerate(TITLES, start=1):
            session.save(Issue(owner="alexdebrie", repo="dynamodb-book", number=number, title=title))

        step("Closing two issues moves them in the index, and counts them out of the repository")
        for number in (2, 4):
            key = Key(Issue, owner="alexdebrie", repo="dynamodb-book", number=number)
            session.update(key, F.status.set("Closed"))
        show(client, github)

        repo = {"owner": "alexdebrie", "repo": "dynamodb-book"}
        step("The open issues, newest first; the closed ones, newest first")
        found(session.query(Issue.open_ones, **repo).all())
        found(session.query(Issue.closed_ones, **repo).descending().all())

        step("The repository and its newest open issues: one request")
        both = session.collection(Repo.beside_issues, Issue.open_ones, **repo).limit(3)
        found(both.all())


if __name__ == "__main__":
    main()
