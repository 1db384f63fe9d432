"""From the arguments of a session to the context of its flows."""

import asyncio
from typing import Any, cast

import pytest

from dynaorm import AsyncSession, Session
from dynaorm.errors import UsageError
from dynaorm.flow.call import Retry
from dynaorm.session.settings import context_of, default_async_transport, default_transport
from dynaorm.testing.clock import FakeClock
from dynaorm.testing.transports import ScriptedTransport
from dynaorm.transport import (
    AsyncDirectTransport,
    AsyncPynamoTransport,
    Call,
    DirectTransport,
    PynamoTransport,
)
from dynaorm.transport.asynchronous import AsyncDefaultTransport, ThreadedTransport
from dynaorm.transport.clock import SystemClock
from dynaorm.transport.default import DefaultTransport
from tests.cast.orders import Stock


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


def test_the_default_transports_have_connections_of_their_own() -> None:
    assert type(default_transport("eu-west-1", None, None)) is DefaultTransport
    assert type(default_async_transport("eu-west-1", None, None)) is AsyncDefaultTransport


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


async def waiting(_: object) -> None: ...


class Waiting:
    async def __call__(self, _: object) -> None: ...


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"on_decode_error": 5}, "on_decode_error=5 is not a function"),
        # Nobody would await it, so the items would be left out in silence.
        ({"on_decode_error": waiting}, "on_decode_error=.* is an asynchronous function"),
        ({"on_decode_error": Waiting()}, "on_decode_error=.* is an asynchronous function"),
        ({"table_names": "app"}, "table_names='app' is not a function"),
        ({"table_names": waiting}, "table_names=.* is an asynchronous function"),
        ({"table_names": {"app": ""}}, "table_names= names the table 'app' '', which is not 3 to 255 of"),
        ({"table_names": {"app": None}}, "table_names= names the table 'app' None, which is not 3 to 255 of"),
        ({"clock": 5}, "clock=5 has no method now; give an object with the methods now, monotonic, jitter"),
        ({"retry": 3}, "retry=3 is not a Retry"),
        ({"consistent": "False"}, "consistent='False' is neither True nor False"),
        ({"exactly_once": "no"}, "exactly_once='no' is neither True nor False"),
        ({"log_values": 1}, "log_values=1 is neither True nor False"),
        ({"region": "eu-west-1"}, "the transport has its own region; .* DirectTransport"),
        ({"endpoint": "http://127.0.0.1:8000"}, "the transport has its own endpoint; .* DirectTransport"),
        ({"profile": "test"}, "the transport has its own profile; .* DirectTransport"),
    ],
)
def test_a_setting_that_would_do_something_else_is_refused(setting: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        Session(**{"transport": ScriptedTransport(), **setting})
    with pytest.raises(UsageError, match=problem):
        AsyncSession(**{"transport": ThreadedTransport(ScriptedTransport()), **setting})


@pytest.mark.parametrize("name", [None, "", "a b", 5])
def test_a_function_that_names_no_table_is_refused_unsent(name: Any) -> None:
    session = Session(transport=ScriptedTransport(), table_names=lambda _: name)
    with pytest.raises(UsageError, match=rf"names the table '\w+' {name!r}, which is not 3 to 255 of"):
        session.get(Stock, sku="a")


@pytest.mark.parametrize("setting", ["region", "endpoint", "profile"])
@pytest.mark.parametrize(
    "kind",
    [Session, AsyncSession, DirectTransport, AsyncDirectTransport, PynamoTransport, AsyncPynamoTransport],
)
def test_a_place_that_is_no_text_is_refused(kind: Any, setting: str) -> None:
    with pytest.raises(UsageError, match=rf"^{setting}=5 is not a str; give a str, or None$"):
        kind(**{setting: 5})


class Wrapping:
    """Counts calls, as tracers do: its method is plain, and returns what the wrapped one returns."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls = 0

    def call(self, call: Call) -> Any:
        self.calls += 1
        return self._inner.call(call)


def test_a_session_refuses_a_transport_of_the_other_kind() -> None:
    """An asynchronous session would make the write, and then fail with an error that does not say so."""
    threaded: Any = ThreadedTransport(ScriptedTransport({}))
    with pytest.raises(
        UsageError, match=r"cannot call ScriptedTransport, which is for Session; give .*Async"
    ):
        AsyncSession(transport=cast(Any, ScriptedTransport()))
    with pytest.raises(UsageError, match="cannot call ThreadedTransport, which is for AsyncSession; give"):
        Session(transport=threaded)
    for kind in (Session, AsyncSession):
        with pytest.raises(UsageError, match="ScriptedTransport is a class"):
            kind(transport=cast(Any, ScriptedTransport))
        with pytest.raises(UsageError, match="of type str, which has no method call"):
            kind(transport=cast(Any, "http://127.0.0.1:8000"))


@pytest.mark.parametrize("inner", [ThreadedTransport(ScriptedTransport({})), ScriptedTransport({})])
def test_an_asynchronous_session_takes_what_a_plain_method_returns(inner: Any) -> None:
    transport = Wrapping(inner)
    session = AsyncSession(transport=cast(Any, transport))
    assert asyncio.run(session.get(Stock, sku="a")) is None
    assert transport.calls == 1
