"""Versions are read by key, newest first, in numeric order."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dynaorm import Key, Session, tools
from dynaorm.errors import NotVersioned, UsageError
from dynaorm.flow.call import Call, Transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.faults import FaultyTransport
from tests.flow.documents import KEY, Plain, seeded, written


def test_history_past_a_hundred_versions_is_read_in_pages_as_the_iteration_goes_on(
    session: Session, wire: FaultyTransport
) -> None:
    written(session, 103)
    wire.calls.clear()
    history = session.history(KEY)
    assert wire.calls == []
    assert next(history).number == 103
    assert [call.operation for call in wire.calls] == ["GetItem", "BatchGetItem"]
    assert len(wire.calls[1].request["RequestItems"]["history-app"]["Keys"]) == 100
    assert [version.number for version in history] == list(range(102, 0, -1))
    assert [call.operation for call in wire.calls] == ["GetItem", "BatchGetItem", "BatchGetItem"]
    assert all(call.request["RequestItems"]["history-app"]["ConsistentRead"] for call in wire.calls[1:])
    for number in (9, 10, 99, 100):
        found = session.get(KEY, version=number)
        assert found is not None
        assert found.text == str(number)


@pytest.mark.parametrize("verb", ["history", "diff", "prune", "purge", "restore", "get"])
def test_a_class_without_versions_has_none(session: Session, wire: FaultyTransport, verb: str) -> None:
    key = Key(Plain, name="x")
    calls: dict[str, Any] = {
        "history": lambda: session.history(key),
        "diff": lambda: session.diff(key, 1, 2),
        "prune": lambda: tools.prune(session, key, keep=1),
        "purge": lambda: tools.purge(session, key),
        "restore": lambda: session.restore(key, version=1),
        "get": lambda: session.get(key, version=1),
    }
    with pytest.raises(NotVersioned, match="Plain keeps no versions"):
        calls[verb]()
    assert wire.calls == []


# -- as it was ---------------------------------------------------------------------------------------------------------


def test_as_of_looks_past_a_hundred_versions(session: Session, moto: Transport, clock: FakeClock) -> None:
    seeded(session, moto, 102)
    later = {"version_at": {"S": "2030-01-01T00:00:00.000000Z"}}
    for number in range(2, 103):
        key = {"PK": {"S": "DOC#d"}, "SK": {"S": f"v{number}_D"}}
        item = moto.call(Call("GetItem", {"TableName": "history-app", "Key": key}))["Item"]
        moto.call(Call("PutItem", {"TableName": "history-app", "Item": {**item, **later}}))
    found = session.get(KEY, as_of=datetime.fromtimestamp(clock.start + 1, UTC))
    assert found is not None
    assert found.text == "1"


def test_as_of_needs_a_time_zone(session: Session) -> None:
    with pytest.raises(UsageError, match="no time zone"):
        session.get(KEY, as_of=datetime(2024, 1, 1))  # noqa: DTZ001 - what the test is about


@pytest.mark.parametrize("number", [0, -1, True, "1", 1.0])
def test_versions_are_numbered_from_one(session: Session, number: Any) -> None:
    with pytest.raises(UsageError, match="numbered from 1"):
        session.get(KEY, version=number)


def test_an_entity_read_at_a_version_is_read_only(session: Session) -> None:
    written(session, 2)
    old = session.get(KEY, version=1)
    assert old is not None
    old.text = "rewritten"
    for write in (session.save, session.delete, session.refresh, session.plan):
        with pytest.raises(UsageError, match="read at a version"):
            write(old)
    with pytest.raises(UsageError, match="read at a version"):
        session.update(old, {"text": "x"})
