"""Places in an index that hold under a condition: two at once are refused, and a plan says why there is one."""

import pytest

from dynaorm import Entity, F, GlobalIndex, Index, Key, Session, Table
from dynaorm.errors import BulkError, InvalidValue
from dynaorm.flow.call import Call
from dynaorm.testing import FaultyTransport
from tests.cast.tickets import Issue

app = Table("places", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2", projection="KEYS_ONLY")])


def sent(wire: FaultyTransport) -> list[Call]:
    """The calls since the last question."""
    found = list(wire.calls)
    wire.calls.clear()
    return found


def test_two_places_at_once_are_refused_before_anything_is_sent(
    session: Session, wire: FaultyTransport
) -> None:
    class Both(Entity, table=app, pk="BOTH#{name}", sk="B"):
        name: str
        size: int = 0
        small = Index("GSI1", pk="SIZE", sk="S#{name}", when=F.size < 10)
        large = Index("GSI1", pk="SIZE", sk="L#{name}", when=F.size > 5)

    sent(wire)
    both = Both(name="x", size=7)
    with pytest.raises(InvalidValue) as caught:
        session.save(both)
    assert str(caught.value) == (
        "Both.size = 7: puts the entity into small (F.size < 10) and large (F.size > 5), which are both in 'GSI1', "
        "and an item has one place in an index; write conditions (when=) that exclude each other"
    )
    with pytest.raises(BulkError, match="puts the entity into"):
        session.bulk_load([both])
    assert sent(wire) == []
    session.save(Both(name="y"))
    sent(wire)
    with pytest.raises(InvalidValue, match="puts the entity into"):
        session.update(Key(Both, name="y"), F.size.set(7))
    assert sent(wire) == []
    assert session.get_one(Both, name="y").size == 0


def test_a_plan_says_why_an_entity_is_in_a_place(session: Session) -> None:
    plan = session.plan(Issue(repo="r", number=1, slug="s"))
    _, insert, claim, total = plan.explain().splitlines()
    assert "; it is in open_issues of GSI1, because F.status == 'open'" in insert
    assert (
        "claim slug = 's' for Issue(repo='r', number=1), if nobody else holds it, because F.status == 'open'"
        in claim
    )
    assert "for Issue.of_repo, or make it of its key; Issue.of_repo counts where F.status == 'open'" in total
