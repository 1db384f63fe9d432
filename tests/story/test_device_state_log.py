"""AWS's sample model "DeviceStateLog", mapped as published: unusual key names, and plain attributes as index keys."""

from collections.abc import Callable
from typing import Any

import pytest
from device_state_log import ROWS, LogEntry, log

from dynaorm import Session, detached
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


# -- items -------------------------------------------------------------------------------------------------------------


def test_the_items_written_equal_the_published_ones_attribute_for_attribute(engine: Engine) -> None:
    engine.create(log)
    with engine.session() as session:
        for entry in ENTRIES:
            session.save(detached(entry))
    assert engine.raw(log) == in_key_order(PUBLISHED)


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


def shown(found: Any) -> list[tuple[str, str, str]]:
    return [(one.device_id, one.state, one.date) for one in found]


LATER: list[tuple[str, str, str]] = [
    ("d#11223", "WARNING4", "2020-04-28T08:00:00"),
    ("d#12345", "WARNING1", "2020-04-27T09:00:00"),
    ("d#54321", "WARNING4", "2020-04-27T23:59:59"),
]
"""Three more entries for Sara, in two states and on two days."""
FIRST = ("d#11223", "WARNING4", "2020-04-27T16:15:00")

PATTERNS: dict[str, tuple[Callable[[Session], Any], list[tuple[str, str, str]]]] = {
    "logs of a device": (
        lambda session: session.query(LogEntry, device_id="d#12345"),
        [("d#12345", "NORMAL", "2020-04-24T14:55:00")]
        + [("d#12345", "WARNING1", f"2020-04-24T14:{minute}:00") for minute in (40, 45, 50)],
    ),
    "warnings of a device": (
        lambda session: session.query(LogEntry, device_id="d#54321").begins_with(state="WARNING"),
        [
            ("d#54321", "WARNING2", "2020-04-11T09:25:00"),
            ("d#54321", "WARNING3", "2020-04-11T05:50:00"),
            ("d#54321", "WARNING3", "2020-04-11T05:55:00"),
        ],
    ),
    "logs of an operator between two dates": (
        lambda session: session.query(LogEntry.by_operator, operator="Liz").between(
            date=("2020-04-11T00:00:00", "2020-04-24T14:45:00")
        ),
        [
            ("d#54321", "WARNING3", "2020-04-11T05:55:00"),
            ("d#54321", "NORMAL", "2020-04-11T06:00:00"),
            ("d#12345", "WARNING1", "2020-04-24T14:40:00"),
            ("d#12345", "WARNING1", "2020-04-24T14:45:00"),
        ],
    ),
    # The index is sparse: ten of the eleven published entries are not in it.
    "escalated logs of a supervisor": (
        lambda session: session.query(LogEntry.by_supervisor, escalated_to="Sara"),
        [LATER[1], FIRST, LATER[2], LATER[0]],
    ),
    "of one status": (
        lambda session: session.query(LogEntry.by_supervisor, escalated_to="Sara", state="WARNING4"),
        [FIRST, LATER[2], LATER[0]],
    ),
    "of one status and date": (
        lambda session: session.query(
            LogEntry.by_supervisor, escalated_to="Sara", state="WARNING4"
        ).begins_with(date="2020-04-27"),
        [FIRST, LATER[2]],
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_access_pattern_is_one_request(published: Session, pattern: str) -> None:
    query, expected = PATTERNS[pattern]
    if "escalated" in pattern or "status" in pattern:
        for device, state, date in LATER:
            published.save(
                LogEntry(device_id=device, state=state, date=date, operator="Sue", escalated_to="Sara")
            )
    found = query(published).all()
    assert (shown(found), found.requests) == (expected, 1)
