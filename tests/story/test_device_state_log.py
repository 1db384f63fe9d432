"""AWS's sample model "DeviceStateLog", mapped as published: unusual key names, and plain attributes as index keys."""

from typing import Any

import pytest
from device_state_log import ROWS, LogEntry, log

from dynaorm import F, Key, Session, detached
from dynaorm.errors import AlreadyExists
from tests.story.engine import Engine

PUBLISHED: list[dict[str, Any]] = [
    {
        "DeviceID": {"S": device},
        "State#Date": {"S": f"{state}#{date}"},
        "Operator": {"S": operator},
        "Date": {"S": date},
        "State": {"S": state},
        **({"EscalatedTo": {"S": supervisor}} if supervisor else {}),
    }
    for device, state, date, operator, supervisor in ROWS
]
ENTRIES = [
    LogEntry(device_id=device, state=state, date=date, operator=operator, escalated_to=supervisor)
    for device, state, date, operator, supervisor in ROWS
]
ESCALATED = ENTRIES[-1]


def in_key_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=lambda item: [str(item[key.name]) for key in log.keys])


@pytest.fixture
def published(engine: Engine) -> Session:
    """A session on a table that AWS's client filled with the published items."""
    engine.create(log)
    for item in PUBLISHED:
        engine.put(log, **item)
    return engine.session()


def escalated_again(session: Session) -> list[LogEntry]:
    """Three more entries for Sara, in two states and on two days."""
    rows = [
        ("d#11223", "WARNING4", "2020-04-28T08:00:00"),
        ("d#12345", "WARNING1", "2020-04-27T09:00:00"),
        ("d#54321", "WARNING4", "2020-04-27T23:59:59"),
    ]
    return [
        session.save(LogEntry(device_id=device, state=state, date=date, operator="Sue", escalated_to="Sara"))
        for device, state, date in rows
    ]


# -- items -------------------------------------------------------------------------------------------------------------


def test_the_items_written_equal_the_published_ones_attribute_for_attribute(engine: Engine) -> None:
    engine.create(log)
    with engine.session() as session:
        for entry in ENTRIES:
            session.save(detached(entry))
    assert engine.raw(log) == in_key_order(PUBLISHED)


def test_the_table_is_created_with_the_published_keys(engine: Engine) -> None:
    engine.create(log)
    found = engine.client.describe_table(TableName=engine.name("DeviceStateLog"))["Table"]
    assert {
        one["AttributeName"]: one["AttributeType"] for one in found["AttributeDefinitions"]
    } == dict.fromkeys(("DeviceID", "State#Date", "Operator", "Date", "EscalatedTo"), "S")
    keys = {one["IndexName"]: one["KeySchema"] for one in found["GlobalSecondaryIndexes"]}
    assert {name: [key["AttributeName"] for key in schema] for name, schema in keys.items()} == {
        "GSI1": ["Operator", "Date"],
        "GSI2": ["EscalatedTo", "State#Date"],
    }
    assert [key["AttributeName"] for key in found["KeySchema"]] == ["DeviceID", "State#Date"]


def test_saving_what_was_read_sends_nothing(engine: Engine, published: Session) -> None:
    found = [
        published.get_one(LogEntry, device_id=one.device_id, state=one.state, date=one.date)
        for one in ENTRIES
    ]
    assert found == ENTRIES
    engine.forget()
    for entry in found:
        published.save(entry)
    assert engine.calls == []


def test_escalating_an_entry_sets_one_attribute_and_that_puts_it_in_the_index(
    engine: Engine, published: Session
) -> None:
    entry = published.get_one(LogEntry, device_id="d#11223", state="WARNING4", date="2020-04-27T16:10:00")
    entry.escalated_to = "Sara"
    published.save(entry)
    (changed,) = [item for item in engine.raw(log) if item not in PUBLISHED]
    assert changed == {**PUBLISHED[9], "EscalatedTo": {"S": "Sara"}}
    assert published.query(LogEntry.by_supervisor, escalated_to="Sara").all() == [entry, ESCALATED]
    entry.escalated_to = None
    published.save(entry)
    assert engine.raw(log) == in_key_order(PUBLISHED)
    assert published.query(LogEntry.by_supervisor, escalated_to="Sara").all() == [ESCALATED]


def test_a_correction_by_key_touches_the_named_attribute_and_leaves_the_rest_as_published(
    engine: Engine, published: Session
) -> None:
    key = Key(LogEntry, device_id="d#54321", state="WARNING2", date="2020-04-11T09:25:00")
    published.update(key, F.operator.set("Liz"))
    (changed,) = [item for item in engine.raw(log) if item not in PUBLISHED]
    assert changed == {**PUBLISHED[4], "Operator": {"S": "Liz"}}


# -- access patterns, in the order they are published ------------------------------------------------------------------


def test_create_log_entry_for_specific_device(engine: Engine, published: Session) -> None:
    entry = LogEntry(device_id="d#11223", state="NORMAL", date="2020-04-27T16:20:00", operator="Sue")
    published.save(entry)
    (added,) = [item for item in engine.raw(log) if item not in PUBLISHED]
    assert added == {
        "DeviceID": {"S": "d#11223"},
        "State#Date": {"S": "NORMAL#2020-04-27T16:20:00"},
        "Operator": {"S": "Sue"},
        "Date": {"S": "2020-04-27T16:20:00"},
        "State": {"S": "NORMAL"},
    }
    with pytest.raises(AlreadyExists):
        published.save(detached(entry, operator="Liz"))


def test_get_logs_for_specific_device(published: Session) -> None:
    found = published.query(LogEntry, device_id="d#12345").all()
    assert [(one.state, one.date) for one in found] == [
        ("NORMAL", "2020-04-24T14:55:00"),
        ("WARNING1", "2020-04-24T14:40:00"),
        ("WARNING1", "2020-04-24T14:45:00"),
        ("WARNING1", "2020-04-24T14:50:00"),
    ]
    assert found.requests == 1


def test_get_warning_logs_for_specific_device(published: Session) -> None:
    found = published.query(LogEntry, device_id="d#54321").begins_with(state="WARNING").all()
    assert [(one.state, one.date) for one in found] == [
        ("WARNING2", "2020-04-11T09:25:00"),
        ("WARNING3", "2020-04-11T05:50:00"),
        ("WARNING3", "2020-04-11T05:55:00"),
    ]
    assert found.requests == 1


def test_a_warning_level_is_never_the_beginning_of_another(published: Session) -> None:
    published.save(
        LogEntry(device_id="d#12345", state="WARNING12", date="2020-04-24T14:41:00", operator="Liz")
    )
    levels = published.query(LogEntry, device_id="d#12345", state="WARNING1").all()
    assert [one.state for one in levels] == ["WARNING1"] * 3


def test_get_logs_for_operator_between_two_dates(published: Session) -> None:
    logs = published.query(LogEntry.by_operator, operator="Liz")
    found = logs.between(date=("2020-04-11T00:00:00", "2020-04-24T14:45:00")).all()
    assert [(one.device_id, one.date) for one in found] == [
        ("d#54321", "2020-04-11T05:55:00"),
        ("d#54321", "2020-04-11T06:00:00"),
        ("d#12345", "2020-04-24T14:40:00"),
        ("d#12345", "2020-04-24T14:45:00"),
    ]
    assert found.requests == 1
    assert logs.ge(date="2020-04-11").lt(date="2020-04-12").all() == found[:2]


def test_get_escalated_logs_for_supervisor(published: Session) -> None:
    """The index is sparse: ten of the eleven published entries are not in it."""
    found = published.query(LogEntry.by_supervisor, escalated_to="Sara").all()
    assert found == [ESCALATED]
    assert found.requests == 1
    assert published.query(LogEntry.by_supervisor, escalated_to="Liz").all() == []


def test_get_escalated_logs_with_specific_status_for_supervisor(published: Session) -> None:
    later, other_state, late = escalated_again(published)
    of_state = published.query(LogEntry.by_supervisor, escalated_to="Sara", state="WARNING4")
    assert of_state.all() == [ESCALATED, late, later]
    assert of_state.descending().all() == [later, late, ESCALATED]
    assert published.query(LogEntry.by_supervisor, escalated_to="Sara", state="WARNING1").all() == [
        other_state
    ]


def test_get_escalated_logs_with_specific_status_for_supervisor_for_date(published: Session) -> None:
    later, _, late = escalated_again(published)
    of_state = published.query(LogEntry.by_supervisor, escalated_to="Sara", state="WARNING4")
    found = of_state.begins_with(date="2020-04-27").all()
    assert found == [ESCALATED, late]
    assert found.requests == 1
    assert of_state.begins_with(date="2020-04-28").all() == [later]
