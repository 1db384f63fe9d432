"""The Big Time Deals model of The DynamoDB Book: deals by day, and only unread messages in an index."""

from typing import Any

import pytest
from deals import DEALS, Deal, Message, deals

from dynaorm import F, Key, Session, any_of
from dynaorm.testing import assert_consistent
from tests.story.engine import Engine

FIRST, SECOND = "2020-05-17 00:00:00", "2020-05-18 00:00:00"


@pytest.fixture
def session(engine: Engine) -> Session:
    """Four deals around midnight, and a message about each."""
    engine.create(deals)
    session = engine.session()
    for deal_id, title in DEALS:
        session.save(Deal(deal_id=deal_id, title=title))
        session.save(Message(user_name="liz", message_id=deal_id, subject=title))
    engine.forget()
    return session


def test_the_items_are_those_of_the_published_model(session: Session, engine: Engine) -> None:
    found = {
        (item["PK"]["S"], item["SK"]["S"]): {
            name: next(iter(value.values()))
            for name, value in item.items()
            if name not in ("PK", "SK", "_rev")
        }
        for item in engine.raw(deals)
    }
    expected: dict[tuple[str, str], dict[str, Any]] = {}
    for number, (deal_id, title) in enumerate(DEALS):
        expected[f"DEAL#{deal_id}", f"DEAL#{deal_id}"] = {
            "Type": "Deal", "DealId": str(deal_id), "Title": title,
            "GSI1PK": f"DEALS#{FIRST if number < 2 else SECOND}", "GSI1SK": f"DEAL#{deal_id}",
        }  # fmt: skip
        expected["MESSAGES#liz", f"MESSAGE#{deal_id}"] = {
            "Type": "Message", "Username": "liz", "MessageId": str(deal_id), "Subject": title, "Unread": True,
            "GSI1PK": "MESSAGES#liz", "GSI1SK": f"MESSAGE#{deal_id}",
        }  # fmt: skip
    assert found == expected


def test_the_deals_of_a_day_are_one_request(session: Session, engine: Engine) -> None:
    found = session.query(Deal.by_day, day=SECOND).descending().limit(25).all()
    assert [deal.title for deal in found] == ["Last chance", "Free shipping"]
    assert engine.operations == ["Query"]
    after = session.query(Deal.by_day, day=SECOND).descending().lt(deal_id=found[0].deal_id)
    assert [deal.title for deal in after] == ["Free shipping"]
    engine.forget()
    both = session.query(Deal.by_day, day=any_of(FIRST, SECOND)).all()
    assert ([deal.title for deal in both], both.requests) == ([title for _, title in DEALS], 2)


def test_a_message_is_in_the_index_until_it_is_read(session: Session, engine: Engine) -> None:
    message = Key(Message, user_name="liz", message_id=DEALS[1][0])
    session.update(message, F.unread.set(False))
    unread = session.query(Message.unread_ones, user_name="liz").all()
    assert [one.subject for one in unread] == ["Half off", "Free shipping", "Last chance"]
    assert engine.operations == ["UpdateItem", "Query"]
    assert session.query(Message, user_name="liz").count() == 4
    engine.forget()
    session.update(message, F.unread.set(True))
    assert engine.operations == ["UpdateItem"]
    assert session.query(Message.unread_ones, user_name="liz").count() == 4
    assert_consistent(session, deals)
