"""Issues and tickets: places in an index under conditions, shards, and projections."""

from datetime import datetime
from typing import Annotated

from dynaorm import Aggregate, Entity, ExpiresAt, F, Index, Unique
from tests.cast.tables import app


class Repo(Entity, table=app, pk="REPO#{repo}", sk="INFO"):
    """How many of its issues are open."""

    repo: str
    open_issues: int = 0


class Issue(Entity, table=app, pk="REPO#{repo}", sk="ISSUE#{number:05d}"):
    """In one of two places of an index by its status, in another index by a function."""

    repo: str
    number: int
    status: str = "open"
    title: str = ""
    urgent: bool = False
    slug: Annotated[str | None, Unique(when=F.status == "open")] = None
    open_issues = Index("GSI1", pk="REPO#{repo}", sk="OPEN#{number:05d:desc}", when=F.status == "open")
    closed_issues = Index("GSI1", pk="REPO#{repo}", sk="CLOSED#{number:05d:desc}", when=F.status == "closed")
    flagged = Index("GSI2", pk="URGENT", sk="{number:05d}", when=lambda one: one.urgent)
    of_repo = Aggregate(Repo, count="open_issues", when=F.status == "open")


class Job(Entity, table=app, pk="JOB#{number}", sk="JOB"):
    """Sharded in one index, and without its item in two others."""

    number: str
    status: str = "open"
    until: Annotated[datetime | None, ExpiresAt()] = None
    rank: int = 0
    by_status = Index("GSI1", pk="STATUS#{status}#{number:shard4}", sk="JOB#{rank:03d}")
    in_keys = Index("GSI2", pk="STATUS#{status}", sk="JOB#{number}")
    in_some = Index("Some", pk="STATUS#{status}", sk="JOB#{number}")


class Nightly(Job):
    """A subclass in the same indexes, with a default of its own."""

    rank: int = 2
    hour: int = 3
