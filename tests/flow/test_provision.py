"""Creating a table, waiting until it is active, and refusing an existing one with other keys or indexes."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynaorm import BinaryKey, Entity, ExpiresAt, F, GlobalIndex, LocalIndex, NumberKey, Session, Table
from dynaorm.errors import UnexpectedRefusal, UsageError
from dynaorm.flow.call import NoAnswer, Refusal
from dynaorm.flow.table_definition import definition
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import Answer, ScriptedTransport

plain = Table("provision-plain", sk=None)
indexed = Table(
    "provision-indexed",
    sk=NumberKey("epoch"),
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("Many", pk=("tenant", "region"), sk=(NumberKey("at"), "name"), projection="KEYS_ONLY"),
        LocalIndex("LSI1", sk=BinaryKey("hash"), projection=["owner", "note"]),
    ],
)
guards = Table("provision-guards", pk="lock", sk=None)
guarded = Table("provision-guarded", guard_table=guards)
fleeting = Table("provision-fleeting")
streamed = Table("provision-streamed", stream="KEYS_ONLY")


class Login(Entity, table=fleeting, pk="LOGIN#{token}", sk="L"):
    token: str
    until: Annotated[datetime, ExpiresAt()]


def described(table: Table, status: str = "ACTIVE", **differences: Any) -> dict[str, Any]:
    return {"Table": {**definition(table, table.name), "TableStatus": status, **differences}}


def ttl(status: str, attribute: str | None = None) -> dict[str, Any]:
    found = {"TimeToLiveStatus": status, **({"AttributeName": attribute} if attribute else {})}
    return {"TimeToLiveDescription": found}


IN_USE = Refusal("ResourceInUseException", "exists")
UNKNOWN = Refusal("ResourceNotFoundException", "not yet")


def create(table: Table, *answers: Answer, **options: Any) -> tuple[ScriptedTransport, FakeClock]:
    transport, clock = ScriptedTransport(*answers), FakeClock(jitter=0)
    Session(transport=transport, clock=clock, **options).create_table(table)
    assert transport.remaining == 0
    return transport, clock


def operations(transport: ScriptedTransport) -> list[str]:
    return [call.operation for call in transport.calls]


def test_the_definition_of_keys_of_every_kind() -> None:
    found = definition(indexed, "physical")
    assert found["TableName"] == "physical"
    assert {one["AttributeName"]: one["AttributeType"] for one in found["AttributeDefinitions"]} == {
        "PK": "S",
        "epoch": "N",
        "GSI1PK": "S",
        "GSI1SK": "S",
        "tenant": "S",
        "region": "S",
        "at": "N",
        "name": "S",
        "hash": "B",
    }
    assert found["KeySchema"] == [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "epoch", "KeyType": "RANGE"},
    ]


def test_a_table_that_describe_does_not_know_yet_is_waited_for() -> None:
    _, clock = create(plain, {}, UNKNOWN, described(plain))
    assert clock.pauses == [0.5]


def test_the_table_of_the_guards_is_created_too() -> None:
    transport, _ = create(guarded, {}, described(guarded), {}, described(guards))
    assert [call.request["TableName"] for call in transport.calls] == [
        "provision-guarded",
        "provision-guarded",
        "provision-guards",
        "provision-guards",
    ]


def test_ttl_by_another_attribute_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"expires items by 'ttl', not 'until'; store the field as Attribute\('ttl'\)"
    ):
        create(fleeting, IN_USE, described(fleeting), ttl("ENABLED", "ttl"))


def test_an_unanswered_creation_is_repeated_and_finds_its_own_table() -> None:
    transport, _ = create(plain, NoAnswer("timeout"), IN_USE, described(plain))
    assert operations(transport) == ["CreateTable", "CreateTable", "DescribeTable"]


STREAM: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}


def test_an_unanswered_stream_change_is_repeated() -> None:
    answers: list[Answer] = [IN_USE, described(streamed, StreamSpecification={}), NoAnswer("timeout"), IN_USE]
    transport, _ = create(streamed, *answers, described(streamed, **STREAM))
    assert operations(transport)[2:] == ["UpdateTable", "UpdateTable", "DescribeTable"]


def test_a_refused_stream_change_is_passed_on() -> None:
    bare = described(streamed, StreamSpecification={})
    with pytest.raises(UnexpectedRefusal, match="ResourceInUseException"):
        create(streamed, IN_USE, bare, IN_USE, bare)


def test_an_unanswered_change_of_ttl_is_repeated_and_finds_it_enabled() -> None:
    already = Refusal("ValidationException", "TimeToLive is already enabled")
    answers: list[Answer] = [{}, described(fleeting), ttl("DISABLED"), NoAnswer("timeout"), already]
    transport, _ = create(fleeting, *answers, ttl("ENABLING", "until"))
    assert operations(transport)[3:] == ["UpdateTimeToLive", "UpdateTimeToLive", "DescribeTimeToLive"]
    with pytest.raises(UnexpectedRefusal, match="ValidationException"):
        create(fleeting, {}, described(fleeting), ttl("DISABLED"), already, ttl("DISABLED"))


def test_a_table_that_never_gets_active_is_given_up() -> None:
    with pytest.raises(UsageError, match="not active after 600 seconds"):
        create(plain, {}, *[described(plain, "CREATING")] * 1200)


# -- deleting ----------------------------------------------------------------------------------------------------------


ACTIVE: Answer = {"Table": {"TableStatus": "ACTIVE"}}
DELETING: Answer = {"Table": {"TableStatus": "DELETING"}}
GONE = Refusal("ResourceNotFoundException")


def deleting(*answers: Answer, **names: Any) -> list[str]:
    transport = ScriptedTransport(*answers)
    with Session(transport=transport, clock=FakeClock()) as session:
        session.delete_table(guarded, **(names or {"name": "provision-guarded"}))
    return [f"{call.operation} {call.request['TableName']}" for call in transport.calls]


def test_a_table_is_deleted_and_waited_for() -> None:
    name = "provision-guarded"
    assert deleting(ACTIVE, {}, DELETING, GONE) == [
        f"DescribeTable {name}",
        f"DeleteTable {name}",
        f"DescribeTable {name}",
        f"DescribeTable {name}",
    ]


def test_a_table_that_is_gone_is_no_error() -> None:
    assert deleting(GONE) == ["DescribeTable provision-guarded"]
    assert len(deleting(ACTIVE, GONE)) == 2


def test_a_table_that_is_being_changed_is_deleted_afterwards() -> None:
    updating: Answer = {"Table": {"TableStatus": "UPDATING"}}
    calls = deleting(updating, ACTIVE, Refusal("ResourceInUseException"), ACTIVE, NoAnswer("lost"), GONE)
    assert [call.split()[0] for call in calls] == [
        *("DescribeTable", "DescribeTable", "DeleteTable", "DescribeTable", "DeleteTable", "DeleteTable"),
    ]


def test_a_guard_table_is_deleted_only_if_it_is_named() -> None:
    names = {"name": "provision-guarded", "guard_table": "provision-guards"}
    assert deleting(ACTIVE, {}, GONE, ACTIVE, {}, GONE, **names)[3:] == [
        "DescribeTable provision-guards",
        "DeleteTable provision-guards",
        "DescribeTable provision-guards",
    ]


@pytest.mark.parametrize(
    ("table", "names", "problem"),
    [
        (guarded, {"name": "provision"}, "keeps .* in 'provision-guarded'"),
        (guarded, {"name": F.name}, "name=F.name, and .* keeps .* in 'provision-guarded'"),
        (guarded, {"name": "provision-guarded", "guard_table": "guards"}, "in 'provision-guards'"),
        (plain, {"name": "provision-plain", "guard_table": "provision-plain"}, "has no guard table"),
        ("provision-plain", {"name": "provision-plain"}, "takes a Table"),
    ],
)
def test_a_table_that_is_not_named_exactly_stays(table: Any, names: dict[str, Any], problem: str) -> None:
    transport = ScriptedTransport()
    with Session(transport=transport) as session, pytest.raises(UsageError, match=problem):
        session.delete_table(table, **names)
    assert transport.calls == []


def test_the_name_is_the_one_under_which_the_session_keeps_the_table() -> None:
    transport = ScriptedTransport(GONE)
    with Session(transport=transport, table_names=lambda name: f"test-{name}") as session:
        with pytest.raises(UsageError, match="test-provision-plain"):
            session.delete_table(plain, name="provision-plain")
        session.delete_table(plain, name="test-provision-plain")


def test_a_protected_table_is_refused() -> None:
    with pytest.raises(UnexpectedRefusal, match="protected"):
        deleting(ACTIVE, Refusal("ValidationException", "the table is protected"))
