"""The key of a query: what is found out once, and several sort key attributes among them a time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import Entity, GlobalIndex, Index, Session, Table
from dynaorm.query.choose_key import form_of
from dynaorm.query.query_spec import queried

app = Table("choose-key", indexes=[GlobalIndex("Native", pk=("Zone", "Room"), sk=("Kind", "At", "Number"))])
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class Reading(Entity, table=app, pk="READING#{row}", sk="R"):
    row: int
    zone: str = "z"
    kind: str = "k"
    at: datetime = NOON
    number: int = 1
    native = Index("Native", pk=("Z#{zone}", "R"), sk=("K#{kind}", "T#{at}", "{number:03d}"))


@pytest.fixture
def stored(session: Session) -> Session:
    """Four rows of one time, and one of a minute later."""
    session.bulk_load([Reading(row=row, number=row) for row in range(4)])
    session.save(Reading(row=4, at=NOON + timedelta(minutes=1)))
    return session


@pytest.mark.parametrize(
    ("equal", "bounds", "rows"),
    [
        ({"at": NOON}, {}, {0, 1, 2, 3}),
        ({"at": NOON, "number": 2}, {}, {2}),
        ({"at": NOON}, {"ge": {"number": 1}}, {1, 2, 3}),
        ({"at": NOON}, {"ge": {"number": 1}, "lt": {"number": 3}}, {1, 2}),
        ({}, {"ge": {"at": NOON}}, {0, 1, 2, 3, 4}),
        ({}, {"gt": {"at": NOON}}, {4}),
        ({}, {"le": {"at": NOON}}, {0, 1, 2, 3}),
    ],
)
def test_rows_are_found_by_several_sort_keys(
    stored: Session, equal: dict[str, Any], bounds: dict[str, Any], rows: set[int]
) -> None:
    query: Any = stored.query(Reading.native, zone="z", kind="k", **equal)
    for sign, values in bounds.items():
        query = getattr(query, sign)(**values)
    assert {one.row for one in query.all()} == rows
    assert query.count() == len(rows)


def test_the_form_of_a_query_is_found_once_until_a_class_joins_the_table() -> None:
    table = Table("forms")

    class First(Entity, table=table, pk="A#{a}", sk="FIRST#{b}"):
        a: str
        b: str

    one = form_of(queried(First, {"a": "x", "b": "y"}).backwards())
    assert form_of(queried(First, {"a": "1", "b": "2"})) is one, "values and order are no part of it"
    assert form_of(queried(First, {"a": "x"})) is not one
    assert form_of(queried(First, {"a": "x"}).bounded("<", {"b": "y"})) is not one
    made_before = queried(First, {"a": "x", "b": "y"})

    class Second(Entity, table=table, pk="A#{a}", sk="SECOND"):
        a: str

    assert form_of(made_before) is not one
    assert form_of(queried(Second, {"a": "x"})) is not one
