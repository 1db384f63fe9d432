"""What follows from an entity that an upsert creates: a total, a unique value, index keys."""

import pytest

from dynaorm import (
    F,
    Key,
    Session,
)
from dynaorm.errors import (
    UniqueViolation,
)
from dynaorm.flow.protocol.call import Transport
from tests.session.upserted import (
    Member,
    Team,
    Ticket,
    User,
    stored,
)

# -- a read first ------------------------------------------------------------------------------------------------------


def test_a_unique_value_is_claimed_and_refused(session: Session, moto: Transport) -> None:
    session.upsert(Key(User, user_id="1"), F.email.set("a@x"))
    assert "email#a@x email#a@x" in stored(moto)
    with pytest.raises(UniqueViolation):
        session.upsert(Key(User, user_id="2"), F.email.set("a@x"))
    assert session.get(User, user_id="2") is None


def test_a_total_counts_what_is_created_once(session: Session) -> None:
    for _ in range(2):
        session.upsert(Key(Member, name="m"), F.team.set("red"))
    assert session.get_one(Team, team="red").members == 1


def test_index_keys_are_those_of_the_values_that_are_stored(session: Session, moto: Transport) -> None:
    session.upsert(Key(Ticket, number=1), F.visits.add(1))
    assert stored(moto)["TICKET#1 T"]["GSI1PK"] == {"S": "STATUS#open"}
    session.upsert(Key(Ticket, number=1), F.status.set("done"))
    assert stored(moto)["TICKET#1 T"]["GSI1PK"] == {"S": "STATUS#done"}
