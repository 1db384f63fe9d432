"""How much of dynaorm runs for a query: the calls of its functions, which do not depend on the machine."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dynaorm
from dynaorm import Entity, F, GlobalIndex, Index, Session, Table
from dynaorm.flow.call import Call, Reply
from dynaorm.item.json_body import Body, encode_body
from dynaorm.plan.inspection import item_of
from dynaorm.testing.clock import FakeClock

app = Table("frames", indexes=[GlobalIndex("GSI1")])
MAY = datetime(2024, 5, 1, tzinfo=UTC)


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str
    at: datetime = MAY
    owner: str = "liz"
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{at}#{number:06d}")


class Memory:
    """A transport that gives three tickets."""

    def __init__(self) -> None:
        tickets = [Ticket(project="p", number=number, status="open") for number in range(3)]
        items = [{**item_of(one), "_type": {"S": "Ticket"}, "_rev": {"S": "1"}} for one in tickets]
        self._raw = encode_body({"Items": items, "Count": 3, "ScannedCount": 3})

    def call(self, _: Call, /) -> Reply:
        return Body(self._raw)


def frames_of(work: Callable[[], object]) -> int:
    """The calls of dynaorm's functions."""
    root, count = str(Path(dynaorm.__file__).parent), 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(root)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    ("query", "most"),
    [
        (lambda session: session.query(Ticket, project="p"), 180),
        (lambda session: session.query(Ticket, project="p").ge(number=0).lt(number=9), 250),
        (
            lambda session: (
                session.query(Ticket.by_status, status="open").ge(at=MAY).filter(F.owner == "liz")
            ),
            420,
        ),
    ],
    ids=["partition", "range", "index, range and filter"],
)
def test_a_query_of_three_items_runs_few_functions(query: Callable[[Session], Any], most: int) -> None:
    with Session(transport=Memory(), clock=FakeClock()) as session:
        for _ in range(40):  # what is found out or compiled once
            assert len(query(session).all()) == 3
        assert frames_of(lambda: query(session).all()) <= most
