"""Properties: a query finds what a filter in plain Python finds, in key order, at once and page by page."""

import operator
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynaorm import BinaryKey, Entity, GlobalIndex, Index, NumberKey, Query, Session, Table, any_of
from dynaorm.flow.protocol.call import Call, Transport
from dynaorm.testing.clock import FakeClock

texts = Table("texts", sk="SK")
numbers = Table("numbers", sk=NumberKey("SK"))
binaries = Table("binaries", sk=BinaryKey("SK"))
tickets = Table("tickets", indexes=[GlobalIndex("GSI1")])


class Name(Entity, table=texts, pk="NAMES#{book}", sk="{name}"):
    book: str
    name: str


class Event(Entity, table=texts, pk="EVENTS#{book}", sk="EVENT#{at}"):
    book: str
    at: datetime


class Reading(Entity, table=numbers, pk="READINGS#{book}", sk="{value}"):
    book: str
    value: Decimal


class Blob(Entity, table=binaries, pk="BLOBS#{book}", sk="{content}"):
    book: str
    content: bytes


class Ticket(Entity, table=tickets, pk="TICKET#{number}", sk="T"):
    number: int
    status: str
    at: int
    by_status = Index("GSI1", pk="STATUS#{status}#{number:shard3}", sk="{at:03d}")


@pytest.fixture(scope="module")
def session(engine: Transport) -> Iterator[Session]:
    """A session on tables of this module's own; examples are told apart by their partition keys."""
    session = Session(transport=engine, clock=FakeClock())
    for table in (texts, numbers, binaries, tickets):
        session.create_table(table)
    yield session
    for table in (texts, numbers, binaries, tickets):
        engine.call(Call("DeleteTable", {"TableName": table.name}))


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

# Each example writes a dozen items and asks for them in a dozen ways.
FEW = settings(max_examples=15)

_letters = st.text(st.sampled_from("abAB_%#'\"!$ é€\U0001f600"), min_size=1, max_size=4)
_numbers = st.decimals(-1000, 1000, allow_nan=False, places=2)
_times = st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - aware by timezones=
_contents = st.binary(min_size=1, max_size=3)

KINDS: list[tuple[type[Entity], str, st.SearchStrategy[Any]]] = [
    (Name, "name", _letters),
    (Event, "at", _times),
    (Reading, "value", _numbers),
    (Blob, "content", _contents),
]

_fresh = iter(range(10**9))


def stored(
    session: Session, entity: type[Entity], field: str, values: Sequence[Any]
) -> tuple[str, list[Any]]:
    """Entities of a book of their own; the book's name and the values in order."""
    book = f"book-{next(_fresh)}"
    session.bulk_load([entity(**{"book": book, field: value}) for value in values])
    return book, sorted(values)


def values_of(query: Query[Any], field: str) -> list[Any]:
    return [getattr(entity, field) for entity in query.all()]


@pytest.mark.parametrize(("entity", "field", "strategy"), KINDS)
@FEW
@given(data=st.data())
def test_every_operator_finds_what_python_finds(
    session: Session, entity: type[Entity], field: str, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    values = data.draw(st.lists(strategy, unique=True, max_size=8))
    book, ordered = stored(session, entity, field, values)
    asked = data.draw(st.one_of(strategy, st.sampled_from(values)) if values else strategy)
    for name, holds in OPERATORS.items():
        query = getattr(session.query(entity, book=book), name)(**{field: asked})
        assert values_of(query, field) == [value for value in ordered if holds(value, asked)], name
        assert values_of(query.descending(), field) == [v for v in reversed(ordered) if holds(v, asked)], name


@pytest.mark.parametrize(("entity", "field", "strategy"), KINDS)
@FEW
@given(data=st.data())
def test_ranges_find_what_python_finds(
    session: Session, entity: type[Entity], field: str, strategy: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    book, ordered = stored(session, entity, field, data.draw(st.lists(strategy, unique=True, max_size=8)))
    low, high = data.draw(strategy), data.draw(strategy)
    query = session.query(entity, book=book)
    between = query.between(**{field: (low, high)})
    assert values_of(between, field) == [value for value in ordered if low <= value <= high]
    half_open = query.ge(**{field: low}).lt(**{field: high})
    assert values_of(half_open, field) == [value for value in ordered if low <= value < high]
    open_range = query.gt(**{field: low}).lt(**{field: high})
    assert values_of(open_range, field) == [value for value in ordered if low < value < high]


@FEW
@given(names=st.lists(_letters, unique=True, max_size=10), prefix=_letters)
def test_a_prefix_finds_the_texts_that_begin_so_and_no_wildcard_counts(
    session: Session, names: list[str], prefix: str
) -> None:
    book, ordered = stored(session, Name, "name", names)
    found = values_of(session.query(Name, book=book).begins_with(name=prefix), "name")
    assert found == [name for name in ordered if name.startswith(prefix)]


# -- several partitions at once ----------------------------------------------------------------------------------------

_tickets = st.lists(st.tuples(st.sampled_from(["open", "working", "close"]), st.integers(0, 20)), max_size=14)


def opened(session: Session, drawn: Sequence[tuple[str, int]]) -> tuple[str, list[Ticket]]:
    mark = f"{next(_fresh)}-"
    found = [Ticket(number=next(_fresh), status=mark + status, at=at) for status, at in drawn]
    session.bulk_load(found)
    return mark, found


@FEW
@given(drawn=_tickets, descending=st.booleans(), limit=st.none() | st.integers(0, 20))
def test_scatter_gather_is_the_sorted_union(
    session: Session, drawn: list[tuple[str, int]], descending: bool, limit: int | None
) -> None:
    mark, found = opened(session, drawn)
    query = session.query(Ticket.by_status, status=any_of(f"{mark}open", f"{mark}working"))
    query = query.descending() if descending else query
    query = query if limit is None else query.limit(limit)
    wanted = sorted((one.at for one in found if one.status != f"{mark}close"), reverse=descending)
    result = query.all()
    assert [ticket.at for ticket in result] == wanted[:limit]
    assert len({ticket.number for ticket in result}) == len(result)


@FEW
@given(
    drawn=_tickets,
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    descending=st.booleans(),
    limit=st.none() | st.integers(1, 20),
)
def test_pages_of_any_sizes_are_the_unpaged_result(
    session: Session, drawn: list[tuple[str, int]], sizes: list[int], descending: bool, limit: int | None
) -> None:
    mark, _ = opened(session, drawn)
    query = session.query(Ticket.by_status, status=any_of(f"{mark}open", f"{mark}working"))
    query = query.descending() if descending else query
    query = query if limit is None else query.limit(limit)
    whole = [ticket.number for ticket in query.all()]
    paged, cursor, turn = list[int](), None, 0
    while turn == 0 or cursor is not None:
        # Each page by a query and a session of its own, as when a cursor travels through a web page.
        page = query.page(sizes[turn % len(sizes)], after=cursor)
        assert len(page) <= sizes[turn % len(sizes)]
        paged += [ticket.number for ticket in page]
        cursor, turn = page.cursor, turn + 1
    assert paged == whole


@FEW
@given(drawn=_tickets, size=st.integers(1, 4))
def test_iterating_counting_and_keys_agree_with_all(
    session: Session, drawn: list[tuple[str, int]], size: int
) -> None:
    mark, _ = opened(session, drawn)
    query = session.query(Ticket.by_status, status=any_of(f"{mark}open", f"{mark}close"))
    whole = query.all()
    assert list(query) == whole
    assert query.count() == len(whole)
    assert [key.fields["number"] for key in query.keys().all()] == [ticket.number for ticket in whole]
    assert query.first() == (whole[0] if whole else None)
    assert query.limit(size).all() == whole[:size]
