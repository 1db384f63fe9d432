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


def test_split_gives_the_device_and_the_readings_each_as_their_class(stocked: Engine) -> None:
    (found, readings) = (
        stocked.session().collection(Device, Reading, device_id="124").descending().limit(6).split()
    )
    assert [one.location for one in found] == ["New York, NY"]
    assert [(one.at, one.temperature) for one in readings] == [
        (at, Decimal(READINGS[at])) for at in NEWEST_FIRST
    ]
    assert [call.operation for call in stocked.calls] == ["Query"]


def test_temperatures_are_exact(stocked: Engine) -> None:
    found = stocked.session().query(Reading, device_id="124").all()
    assert [str(one.temperature) for one in found] == ["72.5", "72.6", "72.7", "72.8", "72.9"]
    assert sum(one.temperature for one in found) == Decimal("363.5")


def test_without_the_sign_readings_come_after_their_device_and_the_oldest_first(stocked: Engine) -> None:
    found = stocked.session().collection(Device, EarlierReading, device_id="123").limit(3).all()
    assert [type(one) for one in found] == [Device, EarlierReading, EarlierReading]
    assert [one.at for one in found if isinstance(one, EarlierReading)] == list(READINGS)[:2]


def test_the_readings_alone_leave_the_device_out_in_both_directions(stocked: Engine) -> None:
    query = stocked.session().query(Reading, device_id="124")
    assert [one.at for one in query] == list(READINGS)
    assert [one.at for one in query.descending()] == NEWEST_FIRST
    assert query.descending().limit(1).one().temperature == Decimal("72.9")
    assert query.count() == 5


def test_a_range_of_readings_is_a_range_of_their_times(stocked: Engine) -> None:
    query = stocked.session().query(Reading, device_id="124")
    assert [str(one.temperature) for one in query.ge(at="2020-03-14T10:34").lt(at="2020-03-14T10:36")] == [
        "72.6",
        "72.7",
    ]
    assert query.begins_with(at="2020-03-14T10:35").one().temperature == Decimal("72.7")
    # The range has no end of its own, but stops where the readings stop, before the device.
    assert [str(one.temperature) for one in query.gt(at="2020-03-14T10:36:00")] == ["72.9"]


def test_a_collection_holds_nothing_of_a_class_that_was_not_asked_for(stocked: Engine) -> None:
    found = stocked.session().collection(Device, EarlierReading, device_id="124").all()
    assert [type(one) for one in found] == [Device]
