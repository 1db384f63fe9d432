"""What a token that is remembered refuses, for how long, what is stored for it, and what that costs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dynaorm import Entity, F, Key, NumberKey, Retry, Session, Table, tools
from dynaorm.errors import TokenReused, UsageError
from dynaorm.testing import FakeClock, assert_consistent, lost_request
from tests.faults.remembering import (
    DAY,
    Loose,
    Song,
    Stock,
    User,
    app,
    count,
    entities,
    insert,
    items,
    loose,
    nothing,
    remove,
)
from tests.faults.store import Store

# -- what is another block ---------------------------------------------------------------------------------------------


def more(tx: Any) -> None:
    insert(tx)
    count(tx)


def others() -> dict[str, Callable[[Any], object]]:
    return {
        "another value": lambda tx: tx.save(User(user_id="2", email="3@x")),
        "another key": lambda tx: tx.save(User(user_id="3", email="2@x")),
        "more": more,
        "another class": lambda tx: tx.save(Stock(sku="2")),
        "another verb": lambda tx: tx.save(User(user_id="2", email="2@x"), overwrite=True),
        "what cannot be planned": lambda tx: tx.delete(Key(User, user_id="9")),
        "a condition": lambda tx: tx.update(Key(Stock, sku="x"), F.left.add(-1), condition=F.left >= 2),
    }


@pytest.mark.parametrize("meanwhile", [nothing, remove])
@pytest.mark.parametrize("name", others())
def test_another_block_is_refused_and_nothing_of_it_is_written(
    store: Store, token: str, name: str, meanwhile: Callable[[Session], None]
) -> None:
    session = store.line().session
    session.save(Stock(sku="x", left=1))

    def run(write: Callable[[Any], object]) -> None:
        with session.transaction(token=token, remember=DAY) as tx:
            write(tx)

    run(insert)
    meanwhile(session)
    found = items(store)
    with pytest.raises(TokenReused, match=r"the token .* is remembered for another block") as caught:
        run(others()[name])
    assert caught.value.token == token
    assert items(store) == found


# -- how long ----------------------------------------------------------------------------------------------------------


def test_a_token_is_remembered_for_ten_minutes_at_least(moto: Store, token: str) -> None:
    session = moto.line().session
    session.save(Stock(sku="x", left=5))
    for seconds, left in ((0.0, 4), (599.0, 4), (2.0, 3)):
        moto.clock.advance(seconds)
        with session.transaction(token=token, remember=timedelta(seconds=1)) as tx:
            count(tx)
        assert session.get_one(Stock, sku="x").left == left


def test_a_token_is_remembered_for_a_day_by_default(store: Store, token: str) -> None:
    session = store.line().session
    session.save(Stock(sku="x", left=5))
    for seconds, left in ((0.0, 4), (DAY.total_seconds() - 1, 4), (2.0, 3)):
        store.clock.advance(seconds)
        with session.transaction(token=token) as tx:
            count(tx)
        assert session.get_one(Stock, sku="x").left == left


# -- what is stored, and what it costs ---------------------------------------------------------------------------------


def test_the_token_item(moto: Store, token: str) -> None:
    session, wire = moto.line()
    with session.transaction(token=token, remember=DAY) as tx:
        insert(tx)
    (item,) = [one for one in moto.items(app) if "#token#" in one["PK"]["S"]]
    until = {"N": str(int(moto.clock.now() + DAY.total_seconds()))}
    assert item.keys() == {"PK", "SK", "_block", "_revision", "_until", "until"}
    assert item["PK"] == item["SK"] == {"S": f"#token#{token}"}
    assert item["_until"] == item["until"] == until
    assert item["_revision"] == entities(moto)[repr({"S": "USER#2"})]["_rev"]
    (call,) = wire.calls
    assert call.request["ClientRequestToken"] == item["_revision"]["S"]
    assert len(call.request["TransactItems"]) == 3


def test_no_read_returns_the_token_item_and_no_tool_touches_it(moto: Store, token: str) -> None:
    problems: list[Any] = []
    session = Session(transport=moto.transport, clock=moto.clock, on_decode_error=problems.append)
    for table, entity in ((app, Song(name="a")), (loose, Loose(name="a"))):
        with session.transaction(token=f"{table.name[-4:]}-{token}", remember=DAY) as tx:
            tx.save(entity)
        kind: type[Any] = type(entity)
        assert session.scan(kind).all() == [entity]
        assert len([one for one in moto.items(table) if "#token#" in one["PK"]["S"]]) == 1
    assert session.scan(Song.inverted).all() == session.query(Song.inverted).all() == [Song(name="a")]
    assert session.scan(Song.inverted).keys().all() == [Key(Song, name="a")]
    for seconds in (0.0, 2 * DAY.total_seconds()):
        moto.clock.advance(seconds)
        assert [*tools.verify(session, app, loose)] == []
        assert [*tools.repair(session, app, loose)] == []
        assert [*tools.backfill(session, app, loose)] == []
    assert problems == []
    assert_consistent(session, app, loose)
    assert len(moto.items(app) + moto.items(loose)) == 4


def test_the_plan_says_what_remembering_costs(moto: Store, token: str) -> None:
    def block() -> None:
        line = moto.line(lost_request(times=9), retry=Retry(attempts=1))
        with line.session.transaction(token=token) as tx:
            tx.save(Stock(sku="x"))

    plan: Any = moto.unknown(block)
    assert plan.write_units == 6  # 2 for each item, and 1 for its entry in the inverted index
    assert plan.explain().splitlines()[-1] == (
        f"2. Put Remembering PK=#token#{token} SK=#token#{token}: remember the token {token!r}, "
        "if it is not remembered yet"
    )


def test_a_block_without_writes_is_not_remembered(store: Store, token: str) -> None:
    session = store.line().session
    stock = session.save(Stock(sku="x", left=1))
    with session.transaction(token=token, remember=DAY):
        pass
    assert len(items(store)) == 1
    with session.transaction(token=token, remember=DAY) as tx:
        tx.save(stock)
    assert len(items(store)) == 2
    session.update(Key(Stock, sku="x"), F.left.set(2))
    stock = session.get_one(Stock, sku="x")
    stock.left = 1
    with session.transaction(token=token, remember=DAY) as tx:
        tx.save(stock)
    assert session.get_one(Stock, sku="x").left == 2


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"remember": DAY}, "without a token"),
        ({"token": "T", "remember": timedelta(0)}, "not a positive duration"),
        ({"token": "T", "remember": timedelta(seconds=-1)}, "not a positive duration"),
        ({"token": "T", "remember": 3600}, "not a positive duration"),
        ({"token": "T", "remember": True}, "not a positive duration"),
        ({"token": "T", "remember": datetime(2030, 1, 1, tzinfo=UTC)}, "not a positive duration"),
        ({"token": 5}, "not text"),
        ({"token": "x" * 1001, "remember": DAY}, "1001 bytes"),
        ({"token": "", "remember": DAY}, "0 bytes"),
    ],
)
def test_what_cannot_be_remembered_is_refused_first(
    clock: FakeClock, arguments: dict[str, Any], problem: str
) -> None:
    session = Session(region="eu-west-1", clock=clock)
    with pytest.raises(UsageError, match=problem), session.transaction(**arguments):
        pytest.fail("the block began")


def test_a_table_without_string_keys_needs_a_guard_table(moto: Store) -> None:
    numbered = Table("Numbered", pk=NumberKey("number"), sk=None)

    class Numbered(Entity, table=numbered, pk="{number}"):
        number: int

    session, wire = moto.line()
    with (
        pytest.raises(UsageError, match="guard_table="),
        session.transaction(token="T", remember=DAY) as tx,
    ):
        tx.save(Numbered(number=1))
    assert wire.calls == []
