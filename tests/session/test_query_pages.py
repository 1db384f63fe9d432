"""A budget bounds a page in both directions, and what has no page before is refused."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Session, Table, any_of
from dynaorm.errors import InvalidCursor, UsageError
from dynaorm.session import Page
from dynaorm.testing.faults import FaultyTransport

app = Table("pages-app", indexes=[GlobalIndex("GSI1")])


class Post(Entity, table=app, pk="FORUM#{forum}", sk="POST#{number:03d}"):
    forum: str
    number: int
    kind: str = "text"
    by_kind = Index("GSI1", pk="KIND#{kind}#{number:shard4}", sk="{forum}")


@pytest.fixture
def posts(session: Session, wire: FaultyTransport) -> Session:
    session.bulk_load([Post(forum="a", number=number) for number in range(1, 11)])
    wire.calls.clear()
    return session


def numbers(page: Page[Post]) -> list[int]:
    return [one.number for one in page]


def test_a_budget_bounds_a_page_that_goes_back(posts: Session) -> None:
    query = posts.query(Post, forum="a").filter(F.kind == "image")
    page = query.page(1, read_at_most=4)
    page = query.page(1, after=page.cursor, read_at_most=4)
    assert (numbers(page), page.cursor is not None) == ([], True)
    back = query.page(1, before=page.previous, read_at_most=3)
    assert (numbers(back), back.previous is not None) == ([], True)


def test_what_has_no_page_before_is_refused(posts: Session, wire: FaultyTransport) -> None:
    query = posts.query(Post, forum="a")
    second = query.page(2, after=query.page(2).cursor)
    other = posts.query(Post, forum=any_of("a", "b"))
    scan = posts.scan(Post)
    scanned = scan.page(2, after=scan.page(2).cursor)
    wire.calls.clear()
    with pytest.raises(UsageError, match="after= and before="):
        query.page(2, after=second.cursor, before=second.previous)
    with pytest.raises(InvalidCursor):
        other.page(2, before=second.previous)
    with pytest.raises(UsageError, match="a scan reads every item in no order"):
        scan.page(2, before=scanned.cursor)
    assert scanned.previous is None
    assert wire.calls == []
