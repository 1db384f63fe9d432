"""From a session's keywords to what its flows share."""

from dynaorm.flow.retry import Retry
from dynaorm.session.settings import context_of, default_transport
from dynaorm.testing.clock import FakeClock
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.pynamodb import PynamoTransport


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
