"""AWS's sample model "DeviceStateLog": an existing table mapped as it is, without additional attributes.

Run: python examples/device_state_log.py
"""

from typing import Annotated

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, F, GlobalIndex, Index, Key, Session, Table

log = Table(
    "DeviceStateLog",
    pk="DeviceID",
    sk="State#Date",
    indexes=[
        GlobalIndex("GSI1", pk="Operator", sk="Date"),
        GlobalIndex("GSI2", pk="EscalatedTo", sk="State#Date"),
    ],
    type_attribute=None,
    revision_attribute=None,
)


class LogEntry(Entity, table=log, pk="{device_id}", sk="{state}#{date}"):
    device_id: Annotated[str, Attribute("DeviceID")]
    state: Annotated[str, Attribute("State")]
    date: Annotated[str, Attribute("Date")]
    operator: Annotated[str, Attribute("Operator")]
    escalated_to: Annotated[str | None, Attribute("EscalatedTo")] = None
    # The keys of both indexes are fields of the entry or the table's sort key, so they need no templates.
    by_operator = Index("GSI1")
    by_supervisor = Index("GSI2")


ROWS = [
    ("d#12345", "WARNING1", "2020-04-24T14:40:00", "Liz", None),
    ("d#12345", "WARNING1", "2020-04-24T14:45:00", "Liz", None),
    ("d#12345", "WARNING1", "2020-04-24T14:50:00", "Liz", None),
    ("d#12345", "NORMAL", "2020-04-24T14:55:00", "Liz", None),
    ("d#54321", "WARNING2", "2020-04-11T09:25:00", "Sue", None),
    ("d#54321", "NORMAL", "2020-04-11T09:30:00", "Sue", None),
    ("d#54321", "WARNING3", "2020-04-11T05:50:00", "Sue", None),
    ("d#54321", "WARNING3", "2020-04-11T05:55:00", "Liz", None),
    ("d#54321", "NORMAL", "2020-04-11T06:00:00", "Liz", None),
    ("d#11223", "WARNING4", "2020-04-27T16:10:00", "Sue", None),
    ("d#11223", "WARNING4", "2020-04-27T16:15:00", "Sue", "Sara"),
]


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(log)
        for device, state, date, operator, supervisor in ROWS:
            session.save(
                LogEntry(device_id=device, state=state, date=date, operator=operator, escalated_to=supervisor)
            )
        step("As published, attribute for attribute")
        show(client, log)

        step("The log of a device, and its warnings")
        found(session.query(LogEntry, device_id="d#12345").all())
        found(session.query(LogEntry, device_id="d#12345").begins_with(state="WARNING").all())

        step("The entries of an operator between two dates")
        by_liz = session.query(LogEntry.by_operator, operator="Liz")
        found(by_liz.between(date=("2020-04-11T00:00:00", "2020-04-24T14:45:00")).all())

        step("The entries that were escalated to a supervisor: all, and those of a state on a day")
        for_sara = session.query(LogEntry.by_supervisor, escalated_to="Sara")
        found(for_sara.all())
        found(for_sara.eq(state="WARNING4").begins_with(date="2020-04-27").all())

        step("Escalating an entry is an update of one attribute, which puts it into the index")
        key = Key(LogEntry, device_id="d#11223", state="WARNING4", date="2020-04-27T16:10:00")
        session.update(key, F.escalated_to.set("Sara"))
        console.print([entry.date for entry in for_sara])


if __name__ == "__main__":
    main()
