"""Version control with sort key prefixes: the audits of Equipment_1 and of its parts, item by item."""

from dataclasses import dataclass
from typing import Any

import pytest

from dynaorm import Entity, Key, Table, inspect
from tests.story.engine import Engine

plain = Table("Equipment", type_attribute=None, revision_attribute=None)
app = Table("App")


class _Audit(Entity):
    equipment: str
    auditor: str
    result: str


class _PartAudit(_Audit):
    part: str


class Audit(_Audit, table=plain, pk="{equipment}", sk="Audit", versioned=True):
    pass


class PartAudit(_PartAudit, table=plain, pk="{equipment}", sk="Audit#{part}", versioned=True):
    pass


class AppAudit(_Audit, table=app, pk="{equipment}", sk="Audit", versioned=True, name="Audit"):
    pass


class AppPartAudit(
    _PartAudit, table=app, pk="{equipment}", sk="Audit#{part}", versioned=True, name="PartAudit"
):
    pass


# Times of the test's clock, an audit an hour.
HOURS = tuple(f"2024-01-01T{hour:02d}:00:00.000000Z" for hour in range(24))

AUDITS = (("Liz", "pass"), ("Sue", "fail: valve"), ("Ann", "pass"))


@dataclass(frozen=True)
class Layout:
    """A table and its two classes. ``bookkeeping`` and ``typed`` are the attributes its items have beside the audit."""

    table: Table
    audit: Any
    part_audit: Any

    @property
    def is_default(self) -> bool:
        return self.table is app

    def item(self, key: str, version: int, at: str, auditor: str, result: str) -> dict[str, Any]:
        """A complete item of Equipment_1, as stored."""
        item = {
            "PK": {"S": "Equipment_1"},
            "SK": {"S": key},
            "version": {"N": str(version)},
            "version_at": {"S": at},
            "equipment": {"S": "Equipment_1"},
            "auditor": {"S": auditor},
            "result": {"S": result},
        }
        part = key.partition("#")[2]
        if part:
            item["part"] = {"S": part}
        if self.is_default:
            item["_rev"] = {"S": "*"}
        if self.is_default and key.startswith("v0_"):
            item["_type"] = {"S": "PartAudit" if part else "Audit"}
        return item

    @property
    def key(self) -> Key[Any]:
        return Key(self.audit, equipment="Equipment_1")


@pytest.fixture(params=["plain", "default"])
def layout(request: pytest.FixtureRequest, engine: Engine) -> Layout:
    found = {
        "plain": Layout(plain, Audit, PartAudit),
        "default": Layout(app, AppAudit, AppPartAudit),
    }[request.param]
    engine.create(found.table)
    return found


def hold_audits(engine: Engine, layout: Layout) -> None:
    """The three audits of Equipment_1, by three auditors, an hour apart, each in its own session."""
    for auditor, result in AUDITS:
        with engine.session() as session:
            audit = session.get(layout.key)
            if audit is None:
                session.save(layout.audit(equipment="Equipment_1", auditor=auditor, result=result))
            else:
                audit.auditor, audit.result = auditor, result
                session.save(audit)
        engine.clock.advance(3600)
    engine.forget()


def query(engine: Engine, table: Table, partition: str, prefix: str) -> list[dict[str, Any]]:
    """Everything under a partition key whose sort key has a prefix, in one query with AWS's client."""
    pages = engine.client.query(
        TableName=engine.name(table.name),
        KeyConditionExpression=f"{table.pk.name} = :p AND begins_with({table.keys[1].name}, :s)",
        ExpressionAttributeValues={":p": {"S": partition}, ":s": {"S": prefix}},
    )
    assert "LastEvaluatedKey" not in pages
    items: list[dict[str, Any]] = pages["Items"]
    for item in items:
        item.update({"_rev": {"S": "*"}} if "_rev" in item else {})
    return items


def test_every_audit_keeps_its_version_and_v0_holds_the_latest(engine: Engine, layout: Layout) -> None:
    hold_audits(engine, layout)
    assert engine.items(layout.table) == [
        layout.item("v0_Audit", 3, HOURS[2], "Ann", "pass"),
        layout.item("v1_Audit", 1, HOURS[0], "Liz", "pass"),
        layout.item("v2_Audit", 2, HOURS[1], "Sue", "fail: valve"),
        layout.item("v3_Audit", 3, HOURS[2], "Ann", "pass"),
    ]


def test_one_query_of_prefix_v0_gives_the_latest_audit_of_every_part(engine: Engine, layout: Layout) -> None:
    hold_audits(engine, layout)
    with engine.session() as session:
        for part, times in (("part7", 11), ("part8", 2), ("part70", 1)):
            audit = layout.part_audit(equipment="Equipment_1", part=part, auditor="Liz", result="0")
            for number in range(1, times + 1):
                audit.result = f"pass {number}"
                session.save(audit)
    assert query(engine, layout.table, "Equipment_1", "v0_") == [
        layout.item("v0_Audit", 3, HOURS[2], "Ann", "pass"),
        layout.item("v0_Audit#part7", 11, HOURS[3], "Liz", "pass 11"),
        layout.item("v0_Audit#part70", 1, HOURS[3], "Liz", "pass 1"),
        layout.item("v0_Audit#part8", 2, HOURS[3], "Liz", "pass 2"),
    ]


def test_a_deleted_audit_leaves_its_versions_and_a_tombstone_and_goes_on_counting_when_made_anew(
    engine: Engine, layout: Layout
) -> None:
    hold_audits(engine, layout)
    versions = engine.items(layout.table)[1:]
    tombstone = {
        "PK": {"S": "Equipment_1"},
        "SK": {"S": "v0_Audit"},
        "version": {"N": "3"},
        "version_at": {"S": HOURS[3]},
        "deleted": {"BOOL": True},
        **({"_rev": {"S": "*"}} if layout.is_default else {}),
    }
    with engine.session() as session:
        session.delete(layout.key)
        assert engine.items(layout.table) == [tombstone, *versions]
        assert session.get(layout.key) is None
        engine.clock.advance(3600)
        session.save(layout.audit(equipment="Equipment_1", auditor="Sue", result="as new"))
        assert [one.number for one in session.history(layout.key)] == [4, 3, 2, 1]
    assert engine.items(layout.table) == [
        layout.item("v0_Audit", 4, HOURS[4], "Sue", "as new"),
        *versions,
        {**layout.item("v4_Audit", 4, HOURS[4], "Sue", "as new"), "previous_deletion": {"S": HOURS[3]}},
    ]


def test_restoring_an_audit_is_a_new_version_also_from_a_tombstone(engine: Engine, layout: Layout) -> None:
    hold_audits(engine, layout)
    versions = engine.items(layout.table)[1:]
    with engine.session() as session:
        session.restore(layout.key, version=2)
        session.delete(layout.key)
        engine.clock.advance(3600)
        restored = session.restore(layout.key, version=1)
        assert (restored.auditor, inspect(restored).version) == ("Liz", 5)
    assert engine.items(layout.table) == [
        layout.item("v0_Audit", 5, HOURS[4], "Liz", "pass"),
        *versions,
        layout.item("v4_Audit", 4, HOURS[3], "Sue", "fail: valve"),
        {**layout.item("v5_Audit", 5, HOURS[4], "Liz", "pass"), "previous_deletion": {"S": HOURS[3]}},
    ]
