"""A code host: a repository and its issues in one item collection, numbered by a counter, newest first.

The key design is the one published in "The DynamoDB Book" and often repeated: the repository sorts after its issues.
"""

import pytest

from dynaorm import Aggregate, Entity, F, Key, Session, Table
from dynaorm.errors import StillCounted
from tests.story.engine import Engine

host = Table("GitHub")


class Repo(Entity, table=host, pk="REPO#{owner}#{repo}", sk="REPO#{owner}#{repo}"):
    owner: str
    repo: str
    last_issue: int = 0
    stars: int = 0
    about: str = ""


class Issue(Entity, table=host, pk="REPO#{owner}#{repo}", sk="ISSUE#{number:08d}"):
    owner: str
    repo: str
    number: int
    title: str


class Star(Entity, table=host, pk="STAR#{owner}#{repo}", sk="STAR#{user}"):
    owner: str
    repo: str
    user: str
    counted = Aggregate(Repo, count="stars", restrict=True)


REPO = Key(Repo, owner="alexdebrie", repo="dynamodb-book")


def report(session: Session, title: str) -> Issue:
    """The next number comes from the repository, which the first issue may create."""
    number = session.upsert(REPO, F.last_issue.add(1)).last_issue
    return session.save(Issue(owner="alexdebrie", repo="dynamodb-book", number=number, title=title))


@pytest.fixture
def session(engine: Engine) -> Session:
    engine.create(host)
    session = engine.session()
    for number in range(1, 16):
        report(session, f"issue {number}")
    engine.forget()
    return session


def test_the_first_issue_creates_its_repository(engine: Engine) -> None:
    engine.create(host)
    with engine.session() as session:
        report(session, "It does not start")
    assert engine.operations == ["UpdateItem", "PutItem"]
    key = {"S": "REPO#alexdebrie#dynamodb-book"}
    fields = {"_rev": {"S": "*"}, "owner": {"S": "alexdebrie"}, "repo": {"S": "dynamodb-book"}}
    assert engine.items(host) == [
        {
            **fields,
            "PK": key,
            "SK": {"S": "ISSUE#00000001"},
            "_type": {"S": "Issue"},
            "number": {"N": "1"},
            "title": {"S": "It does not start"},
        },
        {
            **fields,
            "PK": key,
            "SK": key,
            "_type": {"S": "Repo"},
            "last_issue": {"N": "1"},
            "about": {"S": ""},
        },
    ]


def test_a_repository_and_its_newest_issues_are_one_query(engine: Engine, session: Session) -> None:
    both = session.collection(Repo, Issue, owner="alexdebrie", repo="dynamodb-book")
    (repo,), issues = both.descending().limit(11).split()
    assert repo.last_issue == 15
    assert [one.number for one in issues] == [*range(15, 5, -1)]
    (call,) = engine.calls
    assert (call.operation, call.request["Limit"], call.request["ScanIndexForward"]) == ("Query", 11, False)


def test_a_range_of_issues_and_the_repository_are_one_query(engine: Engine, session: Session) -> None:
    both = session.collection(Repo, Issue, owner="alexdebrie", repo="dynamodb-book")
    (repo,), issues = both.ge(number=13).split()
    assert (repo.last_issue, [one.number for one in issues]) == (15, [13, 14, 15])
    (call,) = engine.calls
    values = [one["S"] for one in call.request["ExpressionAttributeValues"].values()]
    name = "REPO#alexdebrie#dynamodb-book"
    assert "BETWEEN" in call.request["KeyConditionExpression"]
    assert values == [name, "ISSUE#00000013", name]
    assert both.between(number=(3, 4)).count() == 3
    assert both.lt(number=1).all() == [repo]


def test_issues_are_paged_in_both_directions(engine: Engine, session: Session) -> None:
    newest = session.query(Issue, owner="alexdebrie", repo="dynamodb-book").descending().values("number")
    second = newest.page(5, after=newest.page(5).cursor)
    assert second.entities == [(10,), (9,), (8,), (7,), (6,)]
    assert newest.page(5, before=second.previous).entities == [(15,), (14,), (13,), (12,), (11,)]
    assert engine.operations == ["Query"] * 3


def test_a_repository_with_stars_is_not_deleted(engine: Engine, session: Session) -> None:
    stars = [Star(owner="alexdebrie", repo="dynamodb-book", user=f"u{number}") for number in range(10)]
    session.save_many(stars, per_transaction=10)
    assert engine.operations == ["TransactWriteItems"]
    with pytest.raises(StillCounted, match="stars is 10"):
        session.delete(REPO)
    session.delete_many(stars)
    session.delete(REPO)
    assert session.get(REPO) is None
