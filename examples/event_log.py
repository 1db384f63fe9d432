"""An event log: the device as partition key, and the Unix time of the event as a number sort key.

Run: python examples/event_log.py
"""

from datetime import UTC, datetime
from typing import Annotated

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, NumberKey, Session, Table

events = Table(
    "EventLog",
    pk="deviceID",
    sk=NumberKey("timestamp"),
    type_attribute=None,
    revision_attribute=None,
)


# Both keys are fields of the entity itself, so they need no template and are stored once.
class Event(Entity, table=events):
    device_id: Annotated[str, Attribute("deviceID")]
    timestamp: int
    event_id: Annotated[str, Attribute("eventID")]


def epoch(*moment: int) -> int:
    year, month, day, hour = moment
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp())


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(events)
        for number, moment in enumerate([(2018, 8, 29, 12), (2018, 9, 4, 1), (2011, 7, 9, 13)], start=1):
            session.save(Event(device_id="123", timestamp=epoch(*moment), event_id=f"event-{number}"))

        step("Three events of device 123, in the order of their numbers")
        show(client, events)
        log = session.query(Event, device_id="123")

        step("Before 2018-09-04 00:00 UTC: timestamp < 1536019200")
        found(log.lt(timestamp=1536019200).all())

        step("Between two times, both included; and a half-open range, without its end")
        found(log.between(timestamp=(epoch(2018, 8, 29, 12), epoch(2018, 9, 4, 1))).all())
        found(log.ge(timestamp=epoch(2018, 8, 29, 12)).lt(timestamp=epoch(2018, 9, 4, 1)).all())

        step("=, <=, > and >= likewise")
        for query in (
            log.eq(timestamp=epoch(2018, 9, 4, 1)),
            log.le(timestamp=epoch(2018, 8, 29, 12)),
            log.gt(timestamp=epoch(2018, 8, 29, 12)),
            log.ge(timestamp=epoch(2018, 8, 29, 12)),
        ):
            console.print([event.event_id for event in query])

        step("The newest first, and only that one")
        console.print(log.descending().first())


if __name__ == "__main__":
    main()
