"""Deals by day, and the unread messages of a user: keys that are computed, and an index that is sparse by a flag.

Run: python examples/deals.py
"""

from datetime import datetime, timedelta
from typing import Annotated

import boto3
from pydantic import computed_field
from raw import found, show, step, strict_moto

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Ksuid, Session, Table

deals = Table("BigTimeDeals", indexes=[GlobalIndex("GSI1")], type_attribute="Type")


class Deal(Entity, table=deals, pk="DEAL#{deal_id}", sk="DEAL#{deal_id}"):
    deal_id: Annotated[Ksuid, Attribute("DealId")]
    title: Annotated[str, Attribute("Title")]
    by_day = Index("GSI1", pk="DEALS#{day}", sk="DEAL#{deal_id}")

    @computed_field  # type: ignore[prop-decorator]  # mypy does not allow it on a property
    @property
    def day(self) -> str:
        """The day on which the deal was made: its identifier begins with the time."""
        return f"{self.deal_id.datetime:%Y-%m-%d} 00:00:00"


class Message(Entity, table=deals, pk="MESSAGES#{user_name}", sk="MESSAGE#{message_id}"):
    user_name: Annotated[str, Attribute("Username")]
    message_id: Annotated[Ksuid, Attribute("MessageId")]
    subject: Annotated[str, Attribute("Subject")]
    unread: Annotated[bool, Attribute("Unread")] = True
    unread_ones = Index(
        "GSI1",
        pk="MESSAGES#{user_name}",
        sk="MESSAGE#{message_id}",
        when=F.unread == True,  # noqa: E712 - a condition, not a comparison
    )


def ksuid(at: datetime, number: int) -> Ksuid:
    """An identifier for this example; an application calls ``new_ksuid()``."""
    return Ksuid(at, bytes([number]) * 16)


FIRST = datetime.fromisoformat("2020-05-17T22:00:00+00:00")
TITLES = ("Half off", "Two for one", "Free shipping", "Last chance")
DEALS = [(ksuid(FIRST + timedelta(hours=number), number), title) for number, title in enumerate(TITLES)]


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(deals)
        for deal_id, title in DEALS:
            session.save(Deal(deal_id=deal_id, title=title))
            session.save(Message(user_name="liz", message_id=deal_id, subject=title))

        step("The deals of one day, newest first")
        found(session.query(Deal.by_day, day="2020-05-18 00:00:00").descending().all())

        step("Reading a message takes it out of the index, in one UpdateItem")
        session.update(Key(Message, user_name="liz", message_id=DEALS[0][0]), F.unread.set(False))
        show(client, deals)
        found(session.query(Message.unread_ones, user_name="liz").all())


if __name__ == "__main__":
    main()
