"""One line for each attempt: what, where, how many, how it ended, and no value unless it is asked for."""

import asyncio
import logging
import re
from typing import Annotated, Any

import pytest

from dynaorm import AsyncSession, Entity, F, Key, Retry, Session, Table, Unique
from dynaorm.errors import ConditionFailed, OutcomeUnknown, Throttled, UniqueViolation, Unreachable
from dynaorm.flow.protocol.call import Call, NoAnswer, Reason, Refusal, Reply
from dynaorm.testing import FakeClock, ScriptedTransport, strict_moto
from dynaorm.transport.logged import logged, logged_async
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.threaded import ThreadedTransport

app = Table("logged")


class User(Entity, table=app, pk="USER#{user_id}", sk="U"):
    user_id: str
    email: Annotated[str | None, Unique()] = None
    note: str = ""


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """What was logged since the last call, without the times, which are no two times the same."""
    caplog.set_level(logging.DEBUG, logger="dynaorm")

    def taken() -> list[str]:
        found = [re.sub(r" in [0-9.]+ ms", "", record.getMessage()) for record in caplog.records]
        caplog.clear()
        return found

    return taken


def scripted(*answers: Any, **settings: Any) -> Session:
    return Session(transport=ScriptedTransport(*answers), clock=FakeClock(), **settings)


def test_while_debug_is_off_nothing_is_between(caplog: pytest.LogCaptureFixture) -> None:
    transport = ScriptedTransport()
    threaded = ThreadedTransport(transport)
    for level, is_itself in ((logging.INFO, True), (logging.DEBUG, False)):
        caplog.set_level(level, logger="dynaorm")
        assert (logged(transport, log_values=True) is transport) is is_itself
        assert (logged_async(threaded, log_values=True) is threaded) is is_itself


def test_writes_and_reads_are_a_line_each(lines: Any, credentials: None) -> None:
    with strict_moto():
        transport = PynamoTransport(region="eu-west-1")
        session = Session(transport=transport)
        session.create_table(app)
        lines()
        session.save(User(user_id="1", email="a@x", note="x" * 1500))
        session.save(User(user_id="2"))
        session.get(User, user_id="1")
        session.get_many([Key(User, user_id=one) for one in "123"])
        session.query(User, user_id="1").all()
        session.bulk_load([])
        transport.close()
    assert lines() == [
        "TransactWriteItems logged: 2 actions, >=6 units, ok",
        "PutItem logged: 1 actions, >=1 units, ok",
        "GetItem logged: 1 actions, ? units, ok",
        "BatchGetItem logged: 3 actions, 3 units, ok",
        "Query logged: 1 actions, 1 units, ok",
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
        "GetItem logged: 1 actions, ? units, refused with ProvisionedThroughputExceededException",
        "GetItem logged: 1 actions, ? units, no answer",
        "GetItem logged: 1 actions, ? units, not sent",
        "GetItem logged: 1 actions, ? units, refused with ProvisionedThroughputExceededException",
    ]


def test_the_codes_of_a_cancelled_transaction_are_named_and_an_interruption_is_told(lines: Any) -> None:
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
        f"TransactWriteItems logged: 2 actions, >=4 units, {cancelled}",
        "PutItem logged: 1 actions, >=1 units, ended by KeyboardInterrupt",
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
        "PutItem logged: 1 actions, >=1 units, ok",
        "PutItem logged: 1 actions, >=1 units, no answer",
    ]


def test_values_are_in_the_log_only_for_who_asks_for_them(lines: Any) -> None:
    stored = {"PK": {"S": "USER#VALUE"}, "SK": {"S": "U"}, "_type": {"S": "User"}, "_rev": {"S": "r"}}
    failed = Refusal("ConditionalCheckFailedException", "The conditional request failed", item=stored)
    for log_values in (False, True):
        with pytest.raises(ConditionFailed):
            scripted(failed, log_values=log_values).update(
                Key(User, user_id="VALUE"), F.note.set("VALUE"), condition=F.note == "VALUE"
            )
        (line,) = lines()
        assert ("VALUE" in line) is log_values
        assert ("The conditional request failed" in line) is log_values
