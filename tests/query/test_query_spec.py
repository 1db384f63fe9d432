"""A question is a value: each method makes another, and names are checked when they are given."""

from collections.abc import Callable

import pytest

from dynaorm import Entity, GlobalIndex, Index, LocalIndex, Table, any_of
from dynaorm.errors import UnknownField, UsageError
from dynaorm.query.query_spec import QuerySpec, collected, queried, scanned

app = Table("app", indexes=[GlobalIndex("GSI1"), LocalIndex("LSI1")])
other = Table("other")


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str
    by_status = Index("GSI1", pk="STATUS#{status}", sk="{number:06d}")


class Note(Entity, table=app, pk="PROJECT#{project}", sk="NOTE#{title}"):
    project: str
    title: str


class Elsewhere(Entity, table=other, pk="PROJECT#{project}", sk="E"):
    project: str


def test_a_name_that_is_no_field_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownField, match="project"):
        queried(Ticket, {"projct": "p"})
    with pytest.raises(UnknownField, match="number"):
        queried(Ticket, {"project": "p"}).bounded("<", {"numbr": 1})


def test_a_field_is_given_once() -> None:
    spec = queried(Ticket, {"project": "p"})
    with pytest.raises(UsageError, match="project is given twice"):
        spec.where({"project": "q"})
    with pytest.raises(UsageError, match="project is given twice"):
        spec.bounded("<", {"project": "q"})
    with pytest.raises(UsageError, match="number is given twice"):
        spec.bounded("<", {"number": 3}).where({"number": 4})


def test_one_field_is_bounded() -> None:
    spec = queried(Ticket, {"project": "p"}).bounded("<", {"number": 3})
    with pytest.raises(UsageError, match="number and status are both bounded"):
        spec.bounded(">", {"status": "a"})
    with pytest.raises(UsageError, match="takes one field"):
        spec.bounded(">", {})


def test_between_takes_two_bounds_and_no_condition_takes_any_of() -> None:
    spec = queried(Ticket, {"project": "p"})
    with pytest.raises(UsageError, match=r"write between\(number=\(low, high\)\)"):
        spec.bounded("between", {"number": 3})
    with pytest.raises(UsageError, match="several values"):
        spec.bounded("<", {"number": any_of(1, 2)})


def test_the_smaller_of_two_limits_counts() -> None:
    assert queried(Ticket, {}).limited(3).limited(5).limit == 3


def test_a_global_index_is_not_read_consistently() -> None:
    with pytest.raises(UsageError, match="eventually consistent"):
        queried(Ticket.by_status, {}).read_consistently()
    assert queried(Ticket, {}).read_consistently().consistent


def test_a_scan_has_no_key_conditions_and_no_order() -> None:
    spec = scanned(Ticket, 4)
    refusals: list[Callable[[], QuerySpec]] = [
        lambda: spec.where({"project": "p"}),
        lambda: spec.bounded("<", {"number": 1}),
        spec.backwards,
    ]
    for refused in refusals:
        with pytest.raises(UsageError, match="a scan reads every item in no order"):
            refused()
    with pytest.raises(UsageError, match="segments=0"):
        scanned(Ticket, 0)


def test_a_collection_is_of_one_table_or_index() -> None:
    assert len(collected([Ticket, Note], {"project": "p"}).sources) == 2
    with pytest.raises(UsageError, match="not all in one table or index"):
        collected([Ticket, Elsewhere], {"project": "p"})
    with pytest.raises(UsageError, match="not all in one table or index"):
        collected([Ticket, Ticket.by_status], {})
    with pytest.raises(UsageError, match="names no class"):
        collected([], {})
