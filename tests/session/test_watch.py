"""Each attempt is told, to the log and to ``on_attempt``: what, where, how many, how it ended, and no value."""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from dynaorm import AsyncSession, Entity, F, Key, Retry, Session, Table
from dynaorm.errors import (
    ConditionFailed,
    OutcomeUnknown,
    Throttled,
    UniqueViolation,
    Unreachable,
    UsageError,
)
from dynaorm.flow.call import Call, Flow, NoAnswer, Reason, Refusal, Reply
from dynaorm.record import replace
from dynaorm.session import Attempt
from dynaorm.session.deadline import Watch
from dynaorm.testing import FakeClock, ScriptedTransport, strict_moto
from dynaorm.transport import AsyncDirectTransport
from dynaorm.transport.asynchronous import ThreadedTransport
from dynaorm.transport.default import DefaultTransport
from dynaorm.transport.direct import DirectTransport
from dynaorm.transport.pynamodb import PynamoTransport
from tests.cast.people import User
from tests.cast.tables import app
from tests.transport.unruly import Unruly, answer, hang_up, refusal, unruly_server


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """What was logged since the last call, without the times, which differ from run to run."""
    caplog.set_level(logging.DEBUG, logger="dynaorm")

    def taken() -> list[str]:
        found = [
            re.sub(r" in [0-9.]+ ms| after [0-9.]+ s", "", record.getMessage()) for record in caplog.records
        ]
        caplog.clear()
        return found

    return taken


def reading() -> Flow[None]:
    yield Call("GetItem", {"TableName": "app"})


def scripted(*answers: Any, **settings: Any) -> Session:
    return Session(transport=ScriptedTransport(*answers), clock=FakeClock(), **settings)


def test_while_nobody_listens_flows_run_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    flow = reading()
    for level, is_itself in ((logging.INFO, True), (logging.DEBUG, False)):
        caplog.set_level(level, logger="dynaorm")
        assert (Watch(None, log_values=True).over("get", flow) is flow) is is_itself
    caplog.set_level(logging.INFO, logger="dynaorm")
    assert Watch(print, log_values=False).over("get", flow) is not flow


def test_writes_and_reads_are_a_line_each(lines: Any, credentials: None) -> None:
    with strict_moto():
        transport = PynamoTransport(region="eu-west-1")
        session = Session(transport=transport)
        session.create_table(app)
        lines()
        session.save(User(user_id="1", email="a@x", name="x" * 1500))
        session.save(User(user_id="2"))
        session.get(User, user_id="1")
        session.get_many([Key(User, user_id=one) for one in "123"])
        session.query(User, user_id="1").all()
        session.bulk_load([])
        transport.close()
    assert lines() == [
        "TransactWriteItems app: 2 actions, >=6 units, ok",
        "PutItem app: 1 action, >=1 unit, ok",
        "GetItem app: 1 action, ? units, ok",
        "BatchGetItem app: 3 actions, ? units, ok",
        "Query app: 1 action, 0.5 units, ok",
    ]


def test_the_writes_of_a_batch_are_counted(lines: Any) -> None:
    class Note(Entity, table=Table("logged-notes", sk=None), pk="{text}"):
        text: str

    scripted({}).bulk_load([Note(text=one) for one in "abc"])
    assert lines() == ["BatchWriteItem logged-notes: 3 actions, >=3 units, ok"]


def test_every_attempt_says_how_it_ended(lines: Any) -> None:
    throttled = Refusal("ProvisionedThroughputExceededException", "secret of DynamoDB's")
    few = Retry(attempts=3)
    with pytest.raises(Unreachable):
        scripted(throttled, NoAnswer("slow"), NoAnswer("no", sent=False), retry=few).get(User, user_id="1")
    with pytest.raises(Throttled):
        scripted(throttled, retry=Retry(attempts=1)).get(User, user_id="1")
    assert lines() == [
        "GetItem app: 1 action, ? units, refused with ProvisionedThroughputExceededException",
        "GetItem app: 1 action, ? units, no answer, attempt 2",
        "GetItem app: 1 action, ? units, not sent, attempt 3",
        "GetItem app: 1 action, ? units, refused with ProvisionedThroughputExceededException",
    ]


def test_codes_of_a_cancelled_transaction_are_logged(lines: Any) -> None:
    def interrupted(call: Call) -> Reply:
        raise KeyboardInterrupt

    reasons = (None, Reason("ConditionalCheckFailed"))
    user = User(user_id="1", email="a@x")
    with pytest.raises(UniqueViolation):
        scripted(Refusal("TransactionCanceledException", reasons=reasons)).save(user)
    with pytest.raises(KeyboardInterrupt):
        scripted(interrupted).save(User(user_id="2"))
    cancelled = "refused with TransactionCanceledException (ConditionalCheckFailed)"
    assert lines() == [
        f"TransactWriteItems app: 2 actions, >=4 units, {cancelled}",
        "PutItem app: 1 action, >=1 unit, ended by KeyboardInterrupt",
    ]


def test_an_asynchronous_session_logs_the_same(lines: Any) -> None:
    session = AsyncSession(
        transport=ThreadedTransport(ScriptedTransport({}, NoAnswer("slow"))),
        retry=Retry(attempts=1),
        clock=FakeClock(),
    )
    asyncio.run(session.save(User(user_id="1")))
    with pytest.raises(OutcomeUnknown):
        asyncio.run(session.save(User(user_id="2")))
    assert lines() == [
        "PutItem app: 1 action, >=1 unit, ok",
        "PutItem app: 1 action, >=1 unit, no answer",
    ]


def test_values_are_in_the_log_only_for_who_asks_for_them(lines: Any) -> None:
    stored = {"PK": {"S": "USER#VALUE"}, "SK": {"S": "U"}, "_type": {"S": "User"}, "_rev": {"S": "r"}}
    failed = Refusal("ConditionalCheckFailedException", "The conditional request failed", item=stored)
    for log_values in (False, True):
        with pytest.raises(ConditionFailed):
            scripted(failed, log_values=log_values).update(
                Key(User, user_id="VALUE"), F.name.set("VALUE"), condition=F.name == "VALUE"
            )
        (line,) = lines()
        assert ("VALUE" in line) is log_values
        assert ("The conditional request failed" in line) is log_values


# -- on_attempt --------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Unruly]:
    with unruly_server() as server:
        yield server


def get_over(kind: str, server: Unruly, attempts: list[Attempt]) -> None:
    """Get a user over one kind of transport."""
    given: dict[str, Any] = {"region": "eu-west-1", "endpoint": server.endpoint}
    settings: dict[str, Any] = {"clock": FakeClock(), "on_attempt": attempts.append}

    async def get(transport: Any) -> None:
        await AsyncSession(transport=transport, **settings).get(User, user_id="1")
        if isinstance(transport, AsyncDirectTransport):
            await transport.close()

    with ExitStack() as opened:
        if kind == "async direct":
            asyncio.run(get(AsyncDirectTransport(**given)))
            return
        inner = opened.enter_context(
            closing(DirectTransport(**given) if kind == "direct" else DefaultTransport(**given))
        )
        if kind == "threaded":
            threaded = opened.enter_context(closing(ThreadedTransport(inner)))
            asyncio.run(get(threaded))
        else:
            Session(transport=inner, **settings).get(User, user_id="1")


@pytest.mark.parametrize("kind", ["default", "direct", "threaded", "async direct"])
def test_every_attempt_is_told_over_every_transport(kind: str, server: Unruly) -> None:
    throttled, failed = "ThrottlingException", {"__type": "x#InternalServerError", "message": "VALUE"}
    server.will(refusal(throttled, message="VALUE"), answer(failed, 500), hang_up, answer({}))
    attempts: list[Attempt] = []
    get_over(kind, server, attempts)
    assert [one.request_bytes for one in attempts] == [len(one.body) for one in server.requests]
    told = replace(attempts[0], pause=0.0, seconds=0.0, request_bytes=0)
    assert told == Attempt(
        "get", "GetItem", ("app",), None, 1, 1, 0.0, 0.0,
        "refused", throttled, (), None, 0.0, 0, 0, None, "REQUEST1",
    )  # fmt: skip
    assert [
        (one.number, one.outcome, one.error, one.request_id, one.reply_bytes) for one in attempts[1:]
    ] == [
        (2, "no answer", "NoAnswer", "REQUEST1", None),
        (3, "no answer", "NoAnswer", "", None),
        (4, "ok", "", "REQUEST1", 2),
    ]
    assert all(one.seconds > 0 for one in attempts)
    assert [one.pause > 0 for one in attempts] == [False, True, True, True]
    assert [one.is_throttled for one in attempts] == [True, False, False, False]
    assert "VALUE" not in repr(attempts)


class Broken:
    """A listener that fails with every attempt."""

    def __init__(self) -> None:
        self.called = 0

    def __call__(self, _: Attempt) -> None:
        self.called += 1
        raise ValueError("broken listener")


def test_an_error_of_the_listener_is_logged_once_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[Any] = [Refusal("ThrottlingException"), {}, {}]
    broken, other = Broken(), Broken()
    session = scripted(*answers, on_attempt=broken)
    user = session.save(User(user_id="1"))
    assert session.get(User, user_id="1") is None
    awaiting = AsyncSession(
        transport=ThreadedTransport(ScriptedTransport(*answers)), clock=FakeClock(), on_attempt=other
    )
    assert asyncio.run(awaiting.save(User(user_id="1"))) == user
    assert asyncio.run(awaiting.get(User, user_id="1")) is None
    assert broken.called == other.called == 3
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [str(record.exc_info[1]) for record in errors if record.exc_info] == ["broken listener"] * 2


def test_flows_that_run_together_tell_of_theirs() -> None:
    nothing: Reply = {"Responses": {"app": []}, "UnprocessedKeys": {}}
    keys = [Key(User, user_id=str(number)) for number in range(250)]
    attempts: list[Attempt] = []
    scripted(*[nothing] * 3, on_attempt=attempts.append).get_many(keys)
    threaded = ThreadedTransport(ScriptedTransport(*[nothing] * 3))
    asyncio.run(AsyncSession(transport=threaded, on_attempt=attempts.append).get_many(keys))
    assert sorted(one.actions for one in attempts) == [50, 50, 100, 100, 100, 100]
    assert {(one.method, one.operation, one.number) for one in attempts} == {("get_many", "BatchGetItem", 1)}


async def listening(attempt: Attempt) -> None: ...


@pytest.mark.parametrize(
    ("listener", "problem"), [(7, "is not a function"), (listening, "asynchronous function")]
)
@pytest.mark.parametrize("kind", [Session, AsyncSession])
def test_what_cannot_listen_is_refused(kind: Any, listener: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        kind(on_attempt=listener)
