"""Pages in both directions: what they contain, what they cost, and where they end."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, Page, Session, Table, any_of
from dynaorm.errors import InvalidCursor, UsageError
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


def test_a_page_goes_back_in_the_same_order(posts: Session, wire: FaultyTransport) -> None:
    query = posts.query(Post, forum="a")
    first = query.page(3)
    second = query.page(3, after=first.cursor)
    third = query.page(3, after=second.cursor)
    assert (first.previous, numbers(third)) == (None, [7, 8, 9])
    wire.calls.clear()
    back = query.page(3, before=third.previous)
    assert numbers(back) == [4, 5, 6]
    (call,) = wire.calls
    assert (call.request["Limit"], call.request["ScanIndexForward"]) == (3, False)
    assert numbers(query.page(3, after=back.cursor)) == [7, 8, 9]
    assert numbers(query.page(2, before=back.previous)) == [2, 3]
    beginning = query.page(5, before=back.previous)
    assert (numbers(beginning), beginning.previous) == ([1, 2, 3], None)


def test_the_end_of_the_query_is_a_place_to_go_back_from(posts: Session) -> None:
    query = posts.query(Post, forum="a")
    last = query.page(9)
    posts.delete(Key(Post, forum="a", number=10))
    empty = query.page(3, after=last.cursor)
    assert (numbers(empty), empty.cursor) == ([], None)
    back = query.page(3, before=empty.previous)
    assert (numbers(back), back.cursor) == ([7, 8, 9], None)


def test_the_beginning_of_the_query_is_a_place_to_go_on_from(posts: Session) -> None:
    query = posts.query(Post, forum="a")
    second = query.page(2, after=query.page(1).cursor)
    posts.delete(Key(Post, forum="a", number=1))
    empty = query.page(3, before=second.previous)
    assert (numbers(empty), empty.previous) == ([], None)
    assert numbers(query.page(2, after=empty.cursor)) == [2, 3]


def test_a_cursor_stays_valid_when_its_entity_is_gone(posts: Session) -> None:
    query = posts.query(Post, forum="a")
    third = query.page(2, after=query.page(4).cursor)
    posts.delete_many([Key(Post, forum="a", number=number) for number in (4, 5)])
    assert numbers(query.page(2, before=third.previous)) == [2, 3]


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
