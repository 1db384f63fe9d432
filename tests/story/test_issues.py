"""The GitHub model of The DynamoDB Book: issues in one index, by status; every pattern one request, items compared."""

from typing import Any

import pytest
from issues import TITLES, Issue, Repo, github

from dynaorm import F, Key, Session
from dynaorm.testing import assert_consistent
from tests.story.engine import Engine

REPO: dict[str, Any] = {"owner": "AlexDeBrie", "repo": "DynamoDB-Book"}
PARTITION = {"S": "REPO#alexdebrie#dynamodb-book"}
CLOSED = (2, 4)


@pytest.fixture
def session(engine: Engine) -> Session:
    """A repository with five issues, two of them closed."""
    engine.create(github)
    session = engine.session()
    session.save(Repo(owner="AlexDeBrie", name="DynamoDB-Book"))
    for number, title in enumerate(TITLES, start=1):
        session.save(Issue(**REPO, number=number, title=title))
    for number in CLOSED:
        session.update(key(number), F.status.set("Closed"))
    engine.forget()
    return session


def key(number: int) -> Key[Issue]:
    return Key(Issue, **REPO, number=number)


def test_the_items_are_those_of_the_published_model(session: Session, engine: Engine) -> None:
    items = {item["SK"]["S"]: item for item in engine.raw(github)}
    assert {sort: (item["PK"], item["GSI4PK"], item["GSI4SK"]["S"]) for sort, item in items.items()} == {
        "REPO#alexdebrie#dynamodb-book": (PARTITION, PARTITION, "#REPO#dynamodb-book"),
        "ISSUE#00000001": (PARTITION, PARTITION, "ISSUE#OPEN#99999998"),
        "ISSUE#00000002": (PARTITION, PARTITION, "#ISSUE#CLOSED#00000002"),
        "ISSUE#00000003": (PARTITION, PARTITION, "ISSUE#OPEN#99999996"),
        "ISSUE#00000004": (PARTITION, PARTITION, "#ISSUE#CLOSED#00000004"),
        "ISSUE#00000005": (PARTITION, PARTITION, "ISSUE#OPEN#99999994"),
    }
    issue = items["ISSUE#00000002"]
    (at,) = {issue.pop(name)["S"] for name in ("CreatedAt", "UpdatedAt")}
    del issue["_rev"]
    assert issue == {
        "PK": PARTITION, "SK": {"S": "ISSUE#00000002"}, "Type": {"S": "Issue"},
        "GSI4PK": PARTITION, "GSI4SK": {"S": "#ISSUE#CLOSED#00000002"},
        "RepoOwner": {"S": "AlexDeBrie"}, "RepoName": {"S": "DynamoDB-Book"}, "IssueNumber": {"N": "2"},
        "Title": {"S": "Typo"}, "Status": {"S": "Closed"},
    }  # fmt: skip
    repo = items["REPO#alexdebrie#dynamodb-book"]
    assert (repo["OpenIssueCount"], repo["CreatedAt"]["S"]) == ({"N": "3"}, at)
    assert_consistent(session, github)


def test_each_access_pattern_is_one_request(session: Session, engine: Engine) -> None:
    def asked(query: Any) -> list[int]:
        engine.forget()
        found = query.all()
        assert engine.operations == ["Query"]
        return [getattr(one, "number", 0) for one in found]

    assert asked(session.query(Issue.open_ones, **REPO)) == [5, 3, 1]
    assert asked(session.query(Issue.closed_ones, **REPO)) == [2, 4]
    assert asked(session.query(Issue.open_ones, **REPO).le(number=3).limit(1)) == [3]
    assert asked(session.query(Issue, **REPO)) == [1, 2, 3, 4, 5]
    assert asked(session.collection(Repo.beside_issues, Issue.open_ones, **REPO)) == [0, 5, 3, 1]
    closed = session.collection(Issue.closed_ones, Repo.beside_issues, **REPO).descending()
    assert asked(closed) == [0, 4, 2]
    assert asked(session.collection(Issue.closed_ones, Issue.open_ones, **REPO)) == [2, 4, 5, 3, 1]


def test_closing_an_issue_reads_it_once_because_it_is_counted(session: Session, engine: Engine) -> None:
    session.update(key(1), F.status.set("Closed"))
    assert engine.operations == ["GetItem", "TransactWriteItems"]
    engine.forget()
    session.update(key(1), F.title.set("Cannot install"))
    assert engine.operations == ["UpdateItem"]
    assert session.get_one(Repo, owner="alexdebrie", name="dynamodb-book").open_count == 2
    assert_consistent(session, github)
