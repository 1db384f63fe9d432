"""The methods that send a query, on a strict moto."""

from typing import Annotated

import pytest

from dynaorm import Attribute, Entity, GlobalIndex, Index, Session, Table, Unique
from dynaorm.errors import EntityNotFound, SessionClosed, UsageError
from dynaorm.flow.protocol.call import Transport

app = Table("endings", indexes=[GlobalIndex("GSI1")])
bare = Table("bare-keys", type_attribute=None)


class Device(Entity, table=app, pk="DEVICE#{device}", sk="DEVICE"):
    device: str


class Reading(Entity, table=app, pk="DEVICE#{device}", sk="#READING#{number:03d}"):
    device: str
    number: int
    kind: str | None = None
    by_kind = Index("GSI1", pk="KIND#{kind}", sk="{number:03d}")


@pytest.fixture
def session(session: Session) -> Session:
    for number in range(10):
        session.save(Reading(device="d", number=number, kind="odd" if number % 2 else None))
    session.save(Device(device="d"))
    return session


def test_one_is_the_only_one(session: Session) -> None:
    query = session.query(Reading, device="d")
    assert query.eq(number=3).one().number == 3
    with pytest.raises(EntityNotFound, match=r"no entity for Key\(Reading, device='d', number=33\)"):
        query.eq(number=33).one()
    with pytest.raises(UsageError, match="several"):
        query.one()


def test_a_collection_is_one_request_and_splits_by_class(session: Session) -> None:
    query = session.collection(Device, Reading, device="d").descending().limit(6)
    assert query.all().requests == 1
    devices, readings = query.split()
    assert devices == [Device(device="d")]
    assert [reading.number for reading in readings] == [9, 8, 7, 6, 5]


class Account(Entity, table=bare):
    account: Annotated[str, Attribute("PK")]
    kind: Annotated[str, Attribute("SK")]
    email: Annotated[str, Unique()]


def test_guards_beside_bare_keys_are_no_entities(moto: Transport) -> None:
    with Session(transport=moto) as session:
        session.create_table(bare)
        account = session.save(Account(account="1", kind="main", email="a@x"))
        assert list(session.scan(Account)) == [account]
        assert session.query(Account, account="email#a@x").all() == []
        assert session.scan(Account).count() == 1
        assert [key.fields["account"] for key in session.scan(Account).keys().all()] == ["1"]


def test_a_closed_session_answers_no_query(session: Session) -> None:
    query = session.query(Reading, device="d")
    session.close()
    with pytest.raises(SessionClosed):
        query.all()
