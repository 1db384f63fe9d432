"""Chat messages: rooms sharded over partitions, read by user in the table and by time in an inverted index."""

from datetime import UTC, datetime
from typing import Any

import pytest
from chat import Message, messages

from tests.story.engine import Engine


def time(*parts: int) -> datetime:
    year, month, day, hour, minute, second = parts
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


MESSAGES = [
    ("amsg", time(2017, 12, 31, 23, 59, 59), "Almost"),
    ("amsg", time(2018, 7, 29, 21, 12, 5), "Anybody?"),
    ("liz", time(2018, 8, 1, 9, 30, 0), "Me"),
    ("amsg", time(2018, 8, 1, 9, 31, 10), "Welcome!"),
    ("amsg", time(2018, 8, 29, 12, 0, 0), "It rains"),
    ("ams", time(2018, 8, 30, 12, 0, 0), "A shorter name"),
    ("liz", time(2018, 9, 4, 1, 0, 0), "Still"),
]


@pytest.fixture
def room(engine: Engine) -> Engine:
    engine.create(messages)
    with engine.session() as session:
        for user_name, at, text in MESSAGES:
            session.save(Message(room="seattle", user_name=user_name, at=at, text=text))
        session.save(Message(room="seattle-1", user_name="amsg", at=MESSAGES[3][1], text="Another room"))
    engine.forget()
    return engine


def partitions(engine: Engine) -> list[str]:
    """The partition keys that were queried, in order."""
    found = [
        value["S"]
        for call in engine.calls
        for value in call.request["ExpressionAttributeValues"].values()
        if value["S"].startswith("seattle")
    ]
    return sorted(found)


def texts(found: Any) -> list[str]:
    return [one.text for one in found]


def test_a_message_is_stored_under_its_shard_with_the_user_first_and_the_time_first(room: Engine) -> None:
    items = {item["text"]["S"]: item for item in room.raw(messages)}
    assert items["It rains"] == {
        "chatroomID": items["It rains"]["chatroomID"],
        "chatMessageIdentifier": {"S": "amsg#2018-08-29:12:00:00"},
        "timeIdentifier": {"S": "2018-08-29:12:00:00#amsg"},
        "at": {"S": "2018-08-29T12:00:00.000000Z"},
        "text": {"S": "It rains"},
    }
    rooms = {item["chatroomID"]["S"] for text, item in items.items() if text != "Another room"}
    assert rooms == {"seattle-1", "seattle-2"}
    # The separator in a room's name is escaped. Otherwise room "seattle-1" would be a shard of room "seattle".
    assert items["Another room"]["chatroomID"]["S"] in {"seattle%2D1-1", "seattle%2D1-2"}


def test_the_messages_of_a_user_come_from_every_shard_merged_in_order(room: Engine) -> None:
    found = room.session().query(Message, room="seattle", user_name="amsg").all()
    assert texts(found) == ["Almost", "Anybody?", "Welcome!", "It rains"]
    assert found.requests == 2
    assert partitions(room) == ["seattle-1", "seattle-2"]


def test_a_user_and_a_year_or_a_month_are_a_prefix_of_the_sort_key(room: Engine) -> None:
    by_user = room.session().query(Message, room="seattle", user_name="amsg")
    assert texts(by_user.begins_with(at="2018")) == ["Anybody?", "Welcome!", "It rains"]
    assert texts(by_user.begins_with(at="2018-08")) == ["Welcome!", "It rains"]
    assert texts(by_user.begins_with(at="2018-08-01:09")) == ["Welcome!"]
    prefixes = {
        value["S"]
        for call in room.calls
        for value in call.request["ExpressionAttributeValues"].values()
        if "#" in value["S"]
    }
    assert prefixes == {"amsg#2018", "amsg#2018-08", "amsg#2018-08-01:09"}


def test_the_last_messages_of_the_room_are_merged_from_the_ends_of_its_shards(room: Engine) -> None:
    found = room.session().query(Message.by_time, room="seattle").descending().limit(3).all()
    assert texts(found) == ["Still", "A shorter name", "It rains"]
    assert found.requests == 2
    assert [call.request["ScanIndexForward"] for call in room.calls] == [False, False]
    assert all(call.request["Limit"] <= 4 for call in room.calls)
