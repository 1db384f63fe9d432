"""A source is a class under its primary key, or its place in an index."""

import pytest

from dynaorm import Entity, GlobalIndex, Index, LocalIndex, Table
from dynaorm.entity.table import KeyAttribute
from dynaorm.errors import UsageError
from dynaorm.query.source import source_of

app = Table(
    "app",
    indexes=[
        GlobalIndex("GSI1", projection="KEYS_ONLY"),
        LocalIndex("LSI1", sk="Status"),
        GlobalIndex("GSI2"),
    ],
)


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:06d}"):
    project: str
    number: int
    status: str
    by_number = Index("GSI1", pk="N#{number}", sk="T")
    by_status = Index("LSI1", sk="{status}")
    other = Index("GSI2", pk="O", sk="{project}")


def test_a_source_names_the_keys_it_is_asked_by() -> None:
    assert [key.name for key in source_of(Ticket).keys] == ["PK", "SK"]
    assert [key.name for key in source_of(Ticket.by_number).keys] == ["GSI1PK", "GSI1SK"]
    assert source_of(Ticket.by_status).keys == (KeyAttribute("PK", "S"), KeyAttribute("Status", "S"))


def test_an_index_with_a_projection_holds_no_whole_items() -> None:
    assert source_of(Ticket).is_whole
    assert not source_of(Ticket.by_number).is_whole
    assert source_of(Ticket.other).is_whole


def test_a_source_is_called_as_the_user_wrote_it() -> None:
    assert [str(source_of(one)) for one in (Ticket, Ticket.by_status)] == ["Ticket", "Ticket.by_status"]


def test_anything_else_is_refused() -> None:
    with pytest.raises(UsageError, match=r"neither an entity class nor an index.*query\(Ticket, \.\.\.\)"):
        source_of("Ticket")
    with pytest.raises(UsageError, match="int is not an entity class"):
        source_of(int)
