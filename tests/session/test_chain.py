"""Building a query: every method returns a new query, and bad arguments are refused before anything is sent."""

import pytest

from dynaorm import Entity, F, Session, Table
from dynaorm.errors import InvalidValue, UnknownField, UsageError
from dynaorm.testing.transports import ScriptedTransport

app = Table("app")


class Ticket(Entity, table=app, pk="PROJECT#{project}", sk="TICKET#{number:03d}"):
    project: str
    number: int
    status: str = "open"


@pytest.fixture
def session() -> Session:
    return Session(transport=ScriptedTransport())


def test_a_query_never_changes(session: Session) -> None:
    query = session.query(Ticket, project="p")
    said = repr(query)
    query.eq(number=3).descending().limit(1).filter(F.status == "open").consistent().expired()
    assert repr(query) == said == "<Query Ticket, project='p'>"


def test_a_query_has_no_truth_value(session: Session) -> None:
    with pytest.raises(TypeError, match=r"has not been sent.*\.first\(\)"):
        bool(session.query(Ticket, project="p"))


def test_a_filter_is_checked_on_the_call(session: Session) -> None:
    query = session.query(Ticket, project="p")
    with pytest.raises(UnknownField, match="status"):
        query.filter(F.statsu == "open")
    with pytest.raises(InvalidValue, match="status"):
        query.filter(F.status == 5)
    with pytest.raises(UsageError, match="is not a condition"):
        query.filter(True)  # type: ignore[arg-type]


def test_every_key_condition_takes_a_field(session: Session) -> None:
    query = session.query(Ticket, project="p")
    for name in ("eq", "lt", "le", "gt", "ge", "begins_with"):
        with pytest.raises(UnknownField, match="nmber"):
            getattr(query, name)(nmber=3)
    with pytest.raises(UnknownField, match="nmber"):
        query.between(nmber=(1, 2))
