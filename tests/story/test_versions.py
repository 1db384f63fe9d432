"""Version control with sort key prefixes: the audits of Equipment_1 and of its parts, item by item."""

from typing import Any

import pytest

from dynaorm import Entity, Key, Table, inspect
from tests.story.engine import Engine

plain = Table("Equipment", type_attribute=None, revision_attribute=None)


class Audit(Entity, table=plain, pk="{equipment}", sk="Audit", versioned=True):
    equipment: str
    auditor: str
    result: str


class PartAudit(Entity, table=plain, pk="{equipment}", sk="Audit#{part}", versioned=True):
    equipment: str
    auditor: str
    result: str
    part: str


KEY = Key(Audit, equipment="Equipment_1")
# Times of the test's clock, an audit an hour.
HOURS = tuple(f"2024-01-01T{hour:02d}:00:00.000000Z" for hour in range(24))
AUDITS = (("Liz", "pass"), ("Sue", "fail: valve"), ("Ann", "pass"))


def item(key: str, version: int, at: str, auditor: str, result: str) -> dict[str, Any]:
    """A complete item of Equipment_1, as stored."""
    part = key.partition("#")[2]
    return {
        "PK": {"S": "Equipment_1"}, "SK": {"S": key}, "version": {"N": str(version)}, "version_at": {"S": at},
        "equipment": {"S": "Equipment_1"}, "auditor": {"S": auditor}, "result": {"S": result},
        **({"part": {"S": part}} if part else {}),
    }  # fmt: skip


@pytest.fixture
def audited(engine: Engine) -> Engine:
    """The three audits of Equipment_1, by three auditors, an hour apart, each in its own session."""
    engine.create(plain)
    for auditor, result in AUDITS:
        with engine.session() as session:
            audit = session.get(KEY) or Audit(equipment="Equipment_1", auditor="", result="")
            audit.auditor, audit.result = auditor, result
            session.save(audit)
        engine.clock.advance(3600)
    return engine


def test_every_audit_keeps_its_version_and_v0_holds_the_latest(audited: Engine) -> None:
    assert audited.operations == ["GetItem", "TransactWriteItems"] * 3
    assert audited.items(plain) == [
        item("v0_Audit", 3, HOURS[2], "Ann", "pass"),
        item("v1_Audit", 1, HOURS[0], "Liz", "pass"),
        item("v2_Audit", 2, HOURS[1], "Sue", "fail: valve"),
        item("v3_Audit", 3, HOURS[2], "Ann", "pass"),
    ]


def test_one_query_gives_the_latest_audit_of_every_part(audited: Engine) -> None:
    with audited.session() as session:
        for part, times in (("part7", 11), ("part8", 2), ("part70", 1)):
            audit = PartAudit(equipment="Equipment_1", part=part, auditor="Liz", result="0")
            for number in range(1, times + 1):
                audit.result = f"pass {number}"
                session.save(audit)
    found = audited.client.query(
        TableName=audited.name(plain.name),
        KeyConditionExpression="PK = :p AND begins_with(SK, :s)",
        ExpressionAttributeValues={":p": {"S": "Equipment_1"}, ":s": {"S": "v0_"}},
    )
    assert found["Items"] == [
        item("v0_Audit", 3, HOURS[2], "Ann", "pass"),
        item("v0_Audit#part7", 11, HOURS[3], "Liz", "pass 11"),
        item("v0_Audit#part70", 1, HOURS[3], "Liz", "pass 1"),
        item("v0_Audit#part8", 2, HOURS[3], "Liz", "pass 2"),
    ]


def test_version_numbers_continue_after_delete_and_create(
    audited: Engine,
) -> None:
    versions = audited.items(plain)[1:]
    gone = {"version": {"N": "3"}, "version_at": {"S": HOURS[3]}, "deleted": {"BOOL": True}}
    with audited.session() as session:
        session.delete(KEY)
        assert audited.items(plain) == [{**KEY.primary_key, **gone}, *versions]
        assert session.get(KEY) is None
        audited.clock.advance(3600)
        session.save(Audit(equipment="Equipment_1", auditor="Sue", result="as new"))
        assert [one.number for one in session.history(KEY)] == [4, 3, 2, 1]
    assert audited.items(plain) == [
        item("v0_Audit", 4, HOURS[4], "Sue", "as new"),
        *versions,
        {**item("v4_Audit", 4, HOURS[4], "Sue", "as new"), "previous_deletion": {"S": HOURS[3]}},
    ]


def test_restoring_from_a_tombstone_is_a_new_version(audited: Engine) -> None:
    versions = audited.items(plain)[1:]
    with audited.session() as session:
        session.restore(KEY, version=2)
        session.delete(KEY)
        audited.clock.advance(3600)
        restored = session.restore(KEY, version=1)
        assert (restored.auditor, inspect(restored).version) == ("Liz", 5)
    assert audited.items(plain) == [
        item("v0_Audit", 5, HOURS[4], "Liz", "pass"),
        *versions,
        item("v4_Audit", 4, HOURS[3], "Sue", "fail: valve"),
        {**item("v5_Audit", 5, HOURS[4], "Liz", "pass"), "previous_deletion": {"S": HOURS[3]}},
    ]
