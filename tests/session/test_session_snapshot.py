"""``snapshot``: several entities as of one moment, from memory."""

from typing import Any

import pytest

from dynaorm import F, Key, Retry, Session
from dynaorm.errors import Contention, UsageError
from dynaorm.flow.call import Transport
from dynaorm.testing import FakeClock
from dynaorm.testing.faults import FaultyTransport, conflict
from dynaorm.testing.transports import ScriptedTransport
from tests.cast.documents import Page
from tests.cast.orders import Login
from tests.cast.others import Account, Savings
from tests.cast.seen import operations
from tests.cast.tables import counted


def account(name: str) -> Key[Account]:
    return Key(Account, name=name)


def test_entities_come_in_the_order_of_the_keys_from_one_request(
    session: Session, wire: FaultyTransport
) -> None:
    session.save_many([Account(name="a", balance=1), Savings(name="b"), Page(name="p"), Login(token="l")])
    wire.calls.clear()
    keys: list[Key[Any]] = [
        Key(Login, token="l"),
        account("b"),
        account("missing"),
        Key(Page, name="p"),
        account("b"),
    ]
    found: list[Any] = session.snapshot(keys)
    assert operations(wire) == ["TransactGetItems"]
    assert [type(one) for one in found] == [Login, Savings, type(None), Page, Savings]
    assert found[1] is found[4]
    found[1].rate = 3
    session.save(found[1])
    assert session.get_one(Savings, name="b").rate == 3


def test_no_key_sends_nothing(session: Session, wire: FaultyTransport) -> None:
    assert session.snapshot([]) == []
    assert wire.calls == []


def test_more_keys_than_a_transaction_reads_are_refused() -> None:
    transport = ScriptedTransport({"Responses": [{}] * 100})
    session = Session(transport=transport)
    keys = [account(str(number)) for number in range(100)]
    assert session.snapshot([*keys, keys[0]]) == [None] * 101
    with pytest.raises(UsageError, match="101 entities"):
        session.snapshot([*keys, account("more")])
    wrong: list[Any] = [Account(name="a")]
    with pytest.raises(UsageError, match="takes keys"):
        session.snapshot(wrong)
    assert [len(call.request["TransactItems"]) for call in transport.calls] == [100]


def test_a_conflict_is_repeated(moto: Transport, clock: FakeClock) -> None:
    plain = Session(transport=moto, clock=clock)
    plain.create_table(counted)
    plain.save(Account(name="a"))
    wire = FaultyTransport(moto, conflict(times=2, operation="TransactGetItems"))
    session = Session(transport=wire, clock=clock)
    assert [one.name for one in session.snapshot([account("a")]) if one] == ["a"]
    assert operations(wire) == ["TransactGetItems"] * 3
    busy = Session(transport=FaultyTransport(moto, conflict(times=99)), clock=clock, retry=Retry(attempts=2))
    with pytest.raises(Contention):
        busy.snapshot([account("a")])


def test_a_transfer_is_seen_whole_or_not_at_all(session: Session) -> None:
    session.save_many([Account(name="a", balance=5), Account(name="b")])
    with session.transaction() as tx:
        tx.update(account("a"), F.balance.add(-5))
        tx.update(account("b"), F.balance.add(5))
    assert sum(one.balance for one in session.snapshot([account("a"), account("b")]) if one) == 5
