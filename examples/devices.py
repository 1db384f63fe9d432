"""A device and its five latest readings in one request: one item collection, read in descending order.

Run: python examples/devices.py
"""

from decimal import Decimal
from typing import Annotated

import boto3
from raw import console, found, show, step, strict_moto

from dynaorm import Attribute, Entity, Session, Table

devices = Table("SampleTable", type_attribute=None, revision_attribute=None, key_fields="in_key")


class Device(Entity, table=devices, pk="DEVICE#{device_id}", sk="DEVICE#{device_id}"):
    device_id: str
    location: Annotated[str, Attribute("DeviceLocation")]


# '#' sorts before 'D', so the readings come before their device, with the newest reading next to it.
class Reading(Entity, table=devices, pk="DEVICE#{device_id}", sk="#READING#{at}"):
    device_id: str
    at: str
    temperature: Annotated[Decimal, Attribute("Temperature")]


READINGS = {
    "2020-03-14T10:33:00": "72.5",
    "2020-03-14T10:34:00": "72.6",
    "2020-03-14T10:35:00": "72.7",
    "2020-03-14T10:36:00": "72.8",
    "2020-03-14T10:37:00": "72.9",
}


def main() -> None:
    with strict_moto(), Session(region="eu-west-1") as session:
        client = boto3.client("dynamodb", region_name="eu-west-1")
        session.create_table(devices)
        session.save(Device(device_id="124", location="New York, NY"))
        session.save(Reading(device_id="124", at="2020-03-14T10:32:00", temperature=Decimal("72.4")))
        for at, temperature in READINGS.items():
            session.save(Reading(device_id="124", at=at, temperature=Decimal(temperature)))
        show(client, devices)

        step("The device and its five latest readings: one descending query of six items")
        newest = session.collection(Device, Reading, device_id="124").descending().limit(6)
        found(newest.all())

        step("The same, split by class")
        ((device,), readings) = newest.split()
        console.print(device.location, [str(reading.temperature) for reading in readings])

        step("Readings alone, ascending and descending")
        console.print([reading.at for reading in session.query(Reading, device_id="124")])
        console.print([reading.at for reading in session.query(Reading, device_id="124").descending()])


if __name__ == "__main__":
    main()
