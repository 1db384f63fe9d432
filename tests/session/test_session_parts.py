"""Changes of parts of fields by key: members of nested sets, and members of dicts by the keys of the dicts."""

from datetime import date
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from dynaorm import Entity, F, Key, Session, Table
from dynaorm.errors import EntityNotFound, UsageError
from dynaorm.item.field import FieldPath
from dynaorm.testing import FaultyTransport
from dynaorm.transport import Call, Transport

app = Table("parts-app")
bare = Table("parts-bare", revision_attribute=None)


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Colour(Enum):
    RED = "red"


class Permissions(BaseModel):
    actions: set[str] = Field(default_factory=set)
    regions: dict[str, set[str]] = Field(default_factory=dict)


class Staff(Entity, table=app, pk="STAFF#{name}", sk="STAFF"):
    name: str
    permissions: Permissions = Field(default_factory=Permissions)


class BareStaff(Entity, table=bare, pk="STAFF#{name}", sk="STAFF"):
    name: str
    permissions: Permissions = Field(default_factory=Permissions)


class Board(Entity, table=app, pk="BOARD#{name}", sk="BOARD"):
    name: str
    slots: dict[int, str] = Field(default_factory=dict)
    days: dict[date, str] = Field(default_factory=dict)
    owners: dict[UUID, str] = Field(default_factory=dict)
    levels: dict[Level, str] = Field(default_factory=dict)
    colours: dict[Colour, str] = Field(default_factory=dict)
    hits: int = 0


def stored(wire: Transport, kind: type[Entity], name: str) -> dict[str, Any]:
    key = Key(kind, name=name).primary_key
    table = "parts-bare" if kind is BareStaff else "parts-app"
    return dict(wire.call(Call("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True}))["Item"])


@pytest.mark.parametrize("kind", [Staff, BareStaff])
def test_members_of_a_nested_set_are_added_and_discarded(
    session: Session, wire: FaultyTransport, kind: type[Staff | BareStaff]
) -> None:
    session.save(kind(name="a", permissions=Permissions(actions={"read"}, regions={"oh": {"x", "y"}})))
    key = Key(kind, name="a")
    wire.calls.clear()
    session.update(key, F.permissions.actions.add({"write"}), F.permissions.regions["oh"].discard({"x", "z"}))
    assert [call.operation for call in wire.calls] == ["GetItem", "UpdateItem"]
    assert "ConditionExpression" in wire.calls[1].request
    assert stored(wire, kind, "a")["permissions"] == {
        "M": {"actions": {"SS": ["read", "write"]}, "regions": {"M": {"oh": {"SS": ["y"]}}}}
    }
    changed = session.update(key, F.permissions.actions.discard("read", "write"))
    assert changed.permissions == Permissions(regions={"oh": {"y"}}) == session.get_one(key).permissions


def test_a_change_of_a_nested_set_keeps_what_another_writer_adds_meanwhile(
    session: Session, wire: FaultyTransport
) -> None:
    session.save(Staff(name="a", permissions=Permissions(actions={"read"})))
    key, changes = Key(Staff, name="a"), [F.permissions.actions.add("theirs")]

    class Between(FaultyTransport):
        def call(self, call: Call, **others: Any) -> Any:
            if call.operation == "UpdateItem" and changes:
                session.update(key, changes.pop())
            return super().call(call, **others)

    with Session(transport=Between(wire)) as other:
        other.update(key, F.permissions.actions.add("ours"))
    assert session.get_one(key).permissions.actions == {"read", "theirs", "ours"}


def test_a_change_of_a_nested_set_of_nobody_finds_no_entity(session: Session) -> None:
    with pytest.raises(EntityNotFound):
        session.update(Key(Staff, name="nobody"), F.permissions.actions.add("a"))


def test_an_upsert_creates_a_nested_set(session: Session, wire: FaultyTransport) -> None:
    session.upsert(Key(Staff, name="new"), F.permissions.regions["oh"].add({"x"}))
    assert session.get_one(Key(Staff, name="new")).permissions == Permissions(regions={"oh": {"x"}})
    assert stored(wire, Staff, "new")["permissions"]["M"]["regions"] == {"M": {"oh": {"SS": ["x"]}}}


DAY, OWNER = date(2024, 1, 1), UUID(int=7)
KEYS: dict[str, tuple[FieldPath, str, str]] = {
    "int": (F.slots[5], "slots", "5"),
    "date": (F.days[DAY], "days", "2024-01-01"),
    "UUID": (F.owners[OWNER], "owners", str(OWNER)),
    "IntEnum": (F.levels[Level.HIGH], "levels", "10"),
    "Enum": (F.colours[Colour.RED], "colours", "red"),
    "text of a date": (F.days["2024-01-01"], "days", "2024-01-01"),
    "text of an Enum": (F.colours["red"], "colours", "red"),
}


@pytest.mark.parametrize("case", KEYS)
def test_a_member_of_a_dict_is_named_by_its_key(session: Session, wire: FaultyTransport, case: str) -> None:
    path, field, name = KEYS[case]
    session.save(Board(name="a"))
    session.update(Key(Board, name="a"), path.set("x"))
    assert stored(wire, Board, "a")[field] == {"M": {name: {"S": "x"}}}
    session.update(Key(Board, name="a"), F.hits.add(1), condition=path == "x")
    assert session.scan(Board).filter(path.exists()).count() == 1
    session.update(Key(Board, name="a"), path.remove())
    assert session.scan(Board).filter(path.exists()).count() == 0


@pytest.mark.parametrize("path", [F.slots["x"], F.days[5], F.colours[Level.LOW], F.owners[b"x"]], ids=repr)
def test_what_is_no_key_of_a_dict_is_refused(
    session: Session, wire: FaultyTransport, path: FieldPath
) -> None:
    with pytest.raises(
        UsageError, match=r"Board\.\w+ has no part .*; name a field of a nested model, a key of"
    ):
        session.update(Key(Board, name="a"), path.set("x"))
    assert wire.calls == []
