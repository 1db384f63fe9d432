"""Chat messages: each room uses several partitions. The table sorts by user, an index by time.

Run: python examples/chat.py
"""

from datetime import UTC, datetime
from typing import Annotated

import boto3
from raw import found, show, step, strict_moto

from dynaorm import Attribute, Entity, GlobalIndex, Index, Session, Table

messages = Table(
    "ChatMessages",
    pk="chatroomID",
    sk="chatMessageIdentifier",
    indexes=[GlobalIndex("TimeFirst", pk="chatroomID", sk="timeIdentifier")],
    type_attribute=None,
    revision_attribute=None,
    key_fields="in_key",
)


# A busy room has the partitions seattle-1 and seattle-2. The time of a message chooses one.
class Message(
    Entity,
    table=messages,
    pk="{room}-{at:shard2}",
    sk="{user_name}#{at:%Y-%m-%d:%H:%M:%S}",
):
    room: str
    user_name: Annotated[str, Attribute("user")]
    at: datetime
    text: str
    by_time = Index("TimeFirst", sk="{at:%Y-%m-%d:%H:%M:%S}#{user_name}")


SAID = [
    ("amsg", (2017, 12, 31, 23, 59, 59), "Happy new year, almost"),
    ("amsg", (2018, 7, 29, 21, 12, 5), "Is anybody in Seattle?"),
    ("liz", (2018, 8, 1, 9, 30, 0), "I am, since today"),
    ("amsg", (2018, 8, 1, 9, 31, 10), "Welcome!"),
    ("amsg", (2018, 8, 29, 12, 0, 0), "It rains"),
    ("liz", (2018, 9, 4, 1, 0, 0), "Still"),
]


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(messages)
        for user, moment, text in SAID:
            at = datetime(*moment, tzinfo=UTC)
            session.save(Message(room="seattle", user_name=user, at=at, text=text))

        step("Two partitions for one room, and the sort key user_name#yyyy-MM-dd:HH:mm:ss")
        show(client, messages)

        step("By user: both partitions are queried at once, and the results merged in order")
        by_user = session.query(Message, room="seattle", user_name="amsg")
        found(by_user.all())

        step("By user and year, and by user, year and month: amsg#2018, amsg#2018-08")
        found(by_user.begins_with(at="2018").all())
        found(by_user.begins_with(at="2018-08").all())

        step("By time, for all users: the key of the index is datetime#user_name")
        by_time = session.query(Message.by_time, room="seattle")
        found(by_time.begins_with(at="2018-08").all())

        step("The last two messages of the room, newest first")
        found(by_time.descending().limit(2).all())


if __name__ == "__main__":
    main()
