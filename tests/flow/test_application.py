"""``apply``: a live table becomes as it is declared, one step after another, and nothing is removed."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from itertools import combinations, count
from typing import Annotated, Any, Final

import pytest

from dynaorm import (
    AsyncSession,
    Entity,
    ExpiresAt,
    GlobalIndex,
    Index,
    LocalIndex,
    NumberKey,
    Session,
    Table,
    Unique,
    tools,
)
from dynaorm.errors import UnexpectedRefusal, UsageError
from dynaorm.flow.application import Applied, ApplyProgress
from dynaorm.flow.call import Call, NoAnswer, Refusal, Transport
from dynaorm.flow.table_definition import definition
from dynaorm.testing import FakeClock, ScriptedTransport
from dynaorm.testing.transports import Answer

_NUMBERS: Final = count()

guards = Table("applied-guards")
declared = Table(
    "applied",
    indexes=[
        GlobalIndex("GSI1"),
        GlobalIndex("GSI2", projection=["note", "email"]),
        LocalIndex("LSI1", sk="due"),
    ],
    stream="KEYS_ONLY",
    guard_table=guards,
)


class Task(Entity, table=declared, pk="TASK#{number}", sk="TASK"):
    number: str
    email: Annotated[str, Unique()]
    note: str = ""
    until: Annotated[datetime | None, ExpiresAt()] = None
    by_note = Index("GSI1", pk="NOTE#{note}", sk="{number}")


def without(kind: str, name: str) -> Callable[[dict[str, Any]], object]:
    def change(live: dict[str, Any]) -> None:
        live[kind] = [one for one in live[kind] if one["IndexName"] != name]
        if not live[kind]:
            del live[kind]

    return change


def index(name: str, **changes: Any) -> Callable[[dict[str, Any]], object]:
    def change(live: dict[str, Any]) -> None:
        found = live.setdefault("GlobalSecondaryIndexes", [])
        shape = definition(Table("any", indexes=[GlobalIndex(name)]), "any")["GlobalSecondaryIndexes"][0]
        found[:] = [one for one in found if one["IndexName"] != name] + [{**shape, **changes}]

    return change


KEYS_ONLY: Final = {"ProjectionType": "KEYS_ONLY"}
# What a live table may lack or have, and whether apply makes it as declared.
ADDED: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    "no GSI1": without("GlobalSecondaryIndexes", "GSI1"),
    "no GSI2": without("GlobalSecondaryIndexes", "GSI2"),
    "no stream": lambda live: live.pop("StreamSpecification"),
    "no ttl": lambda live: live.update(ttl=None),
}
LEFT: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    "narrow GSI2": index("GSI2", Projection=KEYS_ONLY),
    "other keys of GSI1": index("GSI1", KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}]),
    "no LSI1": without("LocalSecondaryIndexes", "LSI1"),
    "other ttl": lambda live: live.update(ttl="elsewhere"),
}
HARMLESS: Final[dict[str, Callable[[dict[str, Any]], object]]] = {
    "wide GSI2": index("GSI2", Projection={"ProjectionType": "ALL"}),
    "another index": index("Other", KeySchema=[{"AttributeName": "SK", "KeyType": "HASH"}]),
}
EVERY: Final = {**ADDED, **LEFT, **HARMLESS}
INDEX_OF: Final = {
    "no GSI1": "GSI1",
    "other keys of GSI1": "GSI1",
    "no GSI2": "GSI2",
    "narrow GSI2": "GSI2",
    "wide GSI2": "GSI2",
    "no ttl": "ttl",
    "other ttl": "ttl",
}
CASES: Final = [
    some
    for number in (1, 2)
    for some in combinations(EVERY, number)
    # Two of them about one index cannot be at once.
    if len({INDEX_OF.get(one, one) for one in some}) == len(some)
]


def made(engine: Transport, name: str, some: tuple[str, ...]) -> None:
    live: dict[str, Any] = {**definition(declared, name), "ttl": declared.ttl_attribute}
    for one in some:
        EVERY[one](live)
    ttl = live.pop("ttl")
    keys = [live, *live.get("GlobalSecondaryIndexes", []), *live.get("LocalSecondaryIndexes", [])]
    used = {one["AttributeName"] for key in keys for one in key["KeySchema"]}
    live["AttributeDefinitions"] = [
        one for one in live["AttributeDefinitions"] if one["AttributeName"] in used
    ]
    engine.call(Call("CreateTable", live))
    if ttl is not None:
        specification = {"Enabled": True, "AttributeName": ttl}
        engine.call(Call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification}))


@pytest.mark.parametrize("some", CASES, ids=" and ".join)
def test_a_live_table_becomes_as_declared_without_removals(moto: Transport, some: tuple[str, ...]) -> None:
    name = f"applied-{next(_NUMBERS)}"
    made(moto, name, some)
    names = {declared.name: name, guards.name: f"{name}-guards"}
    with Session(transport=moto, clock=FakeClock(), table_names=names) as session:
        before = tools.compare_table(session, declared)
        plan = tools.plan_apply(session, declared)
        assert tools.compare_table(session, declared) == before
        applied = tools.apply(session, declared)
        assert applied.steps == plan.steps
        assert len(applied.steps) == 2 + sum(one in ADDED for one in some)  # 2: the guard table and its TTL
        assert applied.left == plan.left
        assert len(applied.left) == sum(one in LEFT for one in some)
        assert all(one.reason for one in applied.left)
        left = tools.compare_table(session, declared)
        assert len(left) == sum(one in LEFT or one in HARMLESS for one in some)
        assert {one.problem for one in left} <= {one.problem for one in before}
        assert tools.apply(session, declared) == Applied(left=applied.left)
        assert len(str(applied).splitlines()) == len(applied.steps) + len(applied.left)
        assert [one for one in applied.left if f": left, because {one.reason}" not in str(applied)] == []


def test_entities_of_an_older_declaration_are_completed(moto: Transport) -> None:
    older = Table("applied-older")

    class Old(Entity, table=older, pk="TASK#{number}", sk="TASK", name="Task"):
        number: str
        email: str
        note: str = ""

    name = f"applied-{next(_NUMBERS)}"
    names = {declared.name: name, older.name: name, guards.name: f"{name}-guards"}
    sent: list[str] = []
    with Session(
        transport=moto,
        clock=FakeClock(),
        table_names=names,
        on_attempt=lambda attempt: sent.append(attempt.operation),
    ) as session:
        session.create_table(older)
        session.save_many([Old(number=str(one), email=f"{one % 3}@x", note="n") for one in range(4)])
        applied = tools.apply(session, declared, segments=2)
        # Two tasks have one address. Nobody but a person can choose.
        assert [one.finding.kind.value for one in applied.findings] == ["duplicate value"]
        assert str(applied).splitlines()[-1] == f"needs a decision: {applied.findings[0].finding}"
        assert not applied.is_complete
        assert len(session.query(Task.by_note, note="n").all()) == 4
        assert [one.kind.value for one in tools.verify(session, Task)] == ["duplicate value"]
        # The table is as declared now, so nothing of it is read.
        sent.clear()
        assert tools.plan_apply(session, declared).does_nothing
        assert tools.apply(session, declared).findings == ()
        assert {*sent} == {"DescribeTable", "DescribeTimeToLive"}


def test_a_live_ttl_that_concerns_no_entity_leaves_the_table_complete(moto: Transport) -> None:
    shared = Table("applied-shared", indexes=[GlobalIndex("GSI1")])
    specification = {"Enabled": True, "AttributeName": "theirs"}
    with Session(transport=moto, clock=FakeClock()) as session:
        session.create_table(Table("applied-shared"))
        moto.call(
            Call("UpdateTimeToLive", {"TableName": shared.name, "TimeToLiveSpecification": specification})
        )
        applied = tools.apply(session, shared)
        assert applied.is_complete
        assert [step.text for step in applied.steps] == ["create the index 'GSI1'"]
        nothing, left = str(tools.plan_apply(session, shared)).splitlines()
        assert nothing == "nothing to do: the table is as declared"
        assert "by 'theirs', which no class stores: left, because it is harmless; leave it" in left


def test_an_asynchronous_session_applies_likewise() -> None:
    asyncio.run(_applied_async())


async def _applied_async() -> None:
    async with AsyncSession(endpoint="memory:", clock=FakeClock()) as session:
        table = Table("applied-async", indexes=[GlobalIndex("GSI1")])
        told: list[str] = []
        applied = await tools.apply(session, table, progress=lambda one: told.append(str(one)))
        assert [step.text for step in applied.steps] == ["create the table 'applied-async'"]
        assert str(applied) == "applied-async: create the table 'applied-async': done"
        assert str(await tools.apply(session, table)) == "the table was as declared"
        assert told == [
            f"applied-async: create the table 'applied-async': {end}" for end in ("begun", "done")
        ]
        assert str(await tools.plan_apply(session, table)) == "nothing to do: the table is as declared"


# -- what DynamoDB answers meanwhile -----------------------------------------------------------------------------------

plain = Table("applied-plain")
indexed = Table("applied-plain", indexes=[GlobalIndex("GSI1"), GlobalIndex("GSI2")])
NO_TTL: Final = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
CREATED: Final[Answer] = {"TableDescription": {}}


def described(*statuses: str, **changes: Any) -> list[Answer]:
    """The table with its first indexes in some states."""
    live = {**definition(indexed, indexed.name), "TableStatus": "ACTIVE", **changes}
    live["GlobalSecondaryIndexes"] = [
        {**one, "IndexStatus": status.partition(" ")[0], "Backfilling": status.endswith("filling")}
        for one, status in zip(live["GlobalSecondaryIndexes"], statuses, strict=False)
    ]
    return [{"Table": live}, NO_TTL]


def applied(
    *answers: Answer, table: Table = indexed, **options: Any
) -> tuple[ScriptedTransport, FakeClock, list[str]]:
    transport, clock = ScriptedTransport(*answers), FakeClock(jitter=0)
    told: list[ApplyProgress] = []
    try:
        tools.apply(
            Session(transport=transport, clock=clock), table, backfill=False, progress=told.append, **options
        )
    finally:
        assert transport.remaining == 0
    return transport, clock, [f"{one.text}: {one.state} {one.detail}".strip() for one in told]


def test_one_index_is_made_after_the_other_is_filled() -> None:
    transport, _, told = applied(
        *described(),
        CREATED,
        *described("CREATING", TableStatus="UPDATING"),
        *described("CREATING filling"),
        *described("ACTIVE"),
        CREATED,
        *described("ACTIVE", "CREATING"),
        *described("ACTIVE", "ACTIVE"),
        *described("ACTIVE", "ACTIVE"),
    )
    made = [
        call.request["GlobalSecondaryIndexUpdates"] for call in transport.calls if "Update" in call.operation
    ]
    assert [one["Create"]["IndexName"] for (one,) in made] == ["GSI1", "GSI2"]
    assert told == [
        "create the index 'GSI1': begun",
        "create the index 'GSI1': waiting the index 'GSI1' is CREATING",
        "create the index 'GSI1': waiting the index 'GSI1' is CREATING, and being filled",
        "create the index 'GSI1': done",
        "create the index 'GSI2': begun",
        "create the index 'GSI2': waiting the index 'GSI2' is CREATING",
        "create the index 'GSI2': done",
    ]


@pytest.mark.parametrize("code", ["LimitExceededException", "ResourceInUseException"])
def test_a_limit_is_waited_out_and_named(code: str) -> None:
    _, clock, told = applied(
        *described("ACTIVE"),
        Refusal(code, "only 1 online index"),
        *described("ACTIVE"),
        CREATED,
        *described("ACTIVE", "ACTIVE"),
        *described("ACTIVE", "ACTIVE"),
    )
    assert told[1] == (
        f"create the index 'GSI2': waiting DynamoDB refused the step for now ({code}: only 1 online index)"
    )
    assert told[-1] == "create the index 'GSI2': done"
    assert clock.pauses[0] == 0.5


def test_a_limit_that_stays_is_an_error_in_the_end() -> None:
    def refuse(call: Call) -> Any:
        raise Refusal("LimitExceededException", "20 indexes")

    answers = [one for _ in range(200) for one in (*described("ACTIVE"), refuse)]
    transport = ScriptedTransport(*answers)
    clock = FakeClock(jitter=0)
    with pytest.raises(UnexpectedRefusal, match="20 indexes"):
        tools.apply(Session(transport=transport, clock=clock), indexed, backfill=False)
    assert 600 <= sum(clock.pauses) < 610


def test_what_another_program_changes_is_waited_for() -> None:
    _, _, told = applied(
        *described("ACTIVE", "DELETING"),
        *described("ACTIVE"),
        CREATED,
        *described("ACTIVE", "ACTIVE"),
        *described("ACTIVE", "ACTIVE"),
    )
    assert told[0] == "wait for an earlier change: waiting the index 'GSI2' is DELETING"


def test_an_index_made_without_an_answer_is_not_made_again() -> None:
    transport, _, told = applied(
        *described("ACTIVE"),
        NoAnswer("timeout"),
        Refusal("ValidationException", "index already exists"),
        *described("ACTIVE"),
        *described("ACTIVE", "CREATING"),
        *described("ACTIVE", "ACTIVE"),
        *described("ACTIVE", "ACTIVE"),
    )
    assert [call.operation for call in transport.calls].count("UpdateTable") == 2
    assert told[-1] == "create the index 'GSI2': done"


def test_a_refusal_for_good_ends_it() -> None:
    answers = [one for _ in range(40) for one in described("ACTIVE")]
    refusal = Refusal("ValidationException", "one too many")
    transport = ScriptedTransport(*described("ACTIVE"), refusal, *answers)
    clock = FakeClock(jitter=0)
    with pytest.raises(UnexpectedRefusal, match="one too many"):
        tools.apply(Session(transport=transport, clock=clock), indexed)
    assert sum(clock.pauses) < 20
    with pytest.raises(UnexpectedRefusal, match="may not do UpdateTable"):
        applied(*described("ACTIVE"), Refusal("AccessDeniedException", "no"))


def test_a_wait_has_an_end_and_says_how_to_go_on() -> None:
    answers = [one for _ in range(30) for one in described("ACTIVE", "CREATING filling")]
    transport = ScriptedTransport(*described("ACTIVE"), CREATED, *answers)
    with pytest.raises(UsageError, match=r"after 0:01:00 it is not done.*apply can be run again"):
        tools.apply(Session(transport=transport, clock=FakeClock(jitter=0)), indexed, wait=60)


def test_a_step_that_is_never_seen_is_an_error() -> None:
    answers = [one for _ in range(200) for one in described("ACTIVE")]
    transport = ScriptedTransport(*described("ACTIVE"), CREATED, *answers)
    with pytest.raises(UsageError, match="was accepted, but the table is not so"):
        tools.apply(Session(transport=transport, clock=FakeClock(jitter=0)), indexed)


def test_a_table_that_cannot_be_changed_is_an_error_with_its_status() -> None:
    with pytest.raises(UsageError, match="is ARCHIVED, and cannot be changed"):
        applied(*described("ACTIVE", "ACTIVE", TableStatus="ARCHIVED"))


def test_nothing_is_changed_in_a_table_with_other_keys(moto: Transport) -> None:
    name = f"applied-{next(_NUMBERS)}"
    moto.call(Call("CreateTable", definition(Table("other", pk=NumberKey("id"), sk=None), name)))
    with Session(transport=moto, clock=FakeClock(), table_names=lambda _: name) as session:
        before = tools.compare_table(session, indexed)
        done = tools.apply(session, indexed)
        assert done.steps == ()
        assert {one.difference.kind for one in done.left} == {"keys", "no index"}
        assert all("taken for another table" in one.reason for one in done.left)
        assert tools.compare_table(session, indexed) == before
        assert tools.plan_apply(session, indexed).does_nothing


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (Task, {}, "takes a Table"),
        (plain, {"wait": 0}, "wait=0"),
        (plain, {"wait": "long"}, "wait='long'"),
        (plain, {"backfill": "no"}, "backfill='no'"),
        (plain, {"progress": "print"}, "progress='print'"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_sent(
    given: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tools.apply(Session(transport=ScriptedTransport()), given, **options)
    assert said in str(refused.value)
