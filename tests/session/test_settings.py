"""From the arguments of a session to the context of its flows."""

from typing import Any

import pytest

from dynaorm import AsyncSession, Session
from dynaorm.errors import UsageError
from dynaorm.flow.protocol.retry import Retry
from dynaorm.session.settings import context_of, default_transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.scripted import ScriptedTransport
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.pynamodb import PynamoTransport
from dynaorm.transport.threaded import ThreadedTransport


def test_tables_keep_their_declared_names_unless_told() -> None:
    assert context_of(None, Retry(), False, None).table_name("app") == "app"


def test_a_mapping_renames_the_tables_it_names() -> None:
    name = context_of({"app": "prod-app"}, Retry(), False, None).table_name
    assert (name("app"), name("other")) == ("prod-app", "other")


def test_a_mapping_is_taken_once() -> None:
    names = {"app": "one"}
    name = context_of(names, Retry(), False, None).table_name
    names["app"] = "two"
    assert name("app") == "one"


def test_a_function_names_every_table() -> None:
    assert context_of(lambda name: f"test-{name}", Retry(), False, None).table_name("app") == "test-app"


def test_retry_consistency_and_clock_are_taken_over() -> None:
    clock, retry = FakeClock(), Retry(attempts=2)
    context = context_of(None, retry, True, clock)
    assert (context.retry, context.consistent, context.clock) == (retry, True, clock)
    assert isinstance(context_of(None, retry, True, None).clock, SystemClock)


def test_the_default_transport_is_pynamodbs_connection() -> None:
    transport = default_transport("eu-west-1", None, None)
    assert isinstance(transport, PynamoTransport)
    transport.close()


@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        (b"", "has 0 bytes"),
        (b"x" * 15, "has 15 bytes, too few to be safe"),
        ("x" * 32, "is a str, not bytes"),
    ],
)
def test_a_cursor_secret_that_protects_nothing_is_refused(secret: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=rf"{problem}.*at least 16 random bytes"):
        Session(transport=ScriptedTransport(), cursor_secret=secret)
    with pytest.raises(UsageError, match=problem):
        AsyncSession(transport=ThreadedTransport(ScriptedTransport()), cursor_secret=secret)
