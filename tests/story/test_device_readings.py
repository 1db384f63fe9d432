"""A device and its latest readings, with the document's data: one item collection, one descending request."""

from decimal import Decimal
from typing import Annotated

import pytest
from devices import READINGS, Device, Reading, devices

from dynaorm import Attribute, Entity
from tests.story.engine import Engine


class EarlierReading(Entity, table=devices, pk="DEVICE#{device_id}", sk="READING#{at}"):
    """Readings in the layout that the document shows first: they come after their device."""

    device_id: str
    at: str
    temperature: Annotated[Decimal, Attribute("Temperature")]


NEWEST_FIRST = list(reversed(READINGS))


@pytest.fixture
def stocked(engine: Engine) -> Engine:
    engine.create(devices)
    with engine.session() as session:
        session.save(Device(device_id="123", location="Omaha, NE"))
        session.save(Device(device_id="124", location="New York, NY"))
        for at, temperature in READINGS.items():
            session.save(EarlierReading(device_id="123", at=at, temperature=Decimal(temperature)))
            session.save(Reading(device_id="124", at=at, temperature=Decimal(temperature)))
    engine.forget()
    return engine


def test_both_devices_are_stored_as_the_document_stores_them(stocked: Engine) -> None:
    assert stocked.raw(devices) == [
        {"DeviceLocation": {"S": "Omaha, NE"}, "PK": {"S": "DEVICE#123"}, "SK": {"S": "DEVICE#123"}},
        *(
            {"PK": {"S": "DEVICE#123"}, "SK": {"S": f"READING#{at}"}, "Temperature": {"N": temperature}}
            for at, temperature in READINGS.items()
        ),
        *(
            {"PK": {"S": "DEVICE#124"}, "SK": {"S": f"#READING#{at}"}, "Temperature": {"N": temperature}}
            for at, temperature in READINGS.items()
        ),
        {"DeviceLocation": {"S": "New York, NY"}, "PK": {"S": "DEVICE#124"}, "SK": {"S": "DEVICE#124"}},
    ]


def test_a_device_and_its_five_latest_readings_are_one_request(stocked: Engine) -> None:
    with stocked.session() as session:
        session.save(Reading(device_id="124", at="2020-03-14T10:32:00", temperature=Decimal("72.4")))
        stocked.forget()
        found = session.collection(Device, Reading, device_id="124").descending().limit(6)
        everything = found.all()
    assert everything.requests == 1
    assert [type(one) for one in everything] == [Device] + [Reading] * 5
    (call,) = stocked.calls
    assert call.operation == "Query"
    assert call.request["ScanIndexForward"] is False
    assert call.request["Limit"] in (6, 7)
    device, *readings = everything
    assert device == Device(device_id="124", location="New York, NY")
    assert [one.at for one in readings if isinstance(one, Reading)] == NEWEST_FIRST
