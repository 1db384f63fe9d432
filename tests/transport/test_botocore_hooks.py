"""It is known who needs botocore: mocks, tracers, recorders, and receivers of pynamodb's signals."""

import functools
import subprocess
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore import handlers
from moto import mock_aws
from pynamodb import signals

import dynaorm.transport.pynamodb  # noqa: F401 - so that all functions are there
from dynaorm.transport.botocore_hooks import FUNCTIONS, need_of_botocore


def nothing(**_: object) -> None:
    """A handler."""


class Handler:
    """Handlers of other kinds."""

    def __call__(self, **_: object) -> None: ...

    def method(self, **_: object) -> None: ...


def test_nothing_needs_botocore_at_first() -> None:
    assert need_of_botocore() == ""


# -- functions ---------------------------------------------------------------------------------------------------------

# Said once more, because a name that is taken out of the table must be missed.
EVERY_FUNCTION = [
    # OpenTelemetry, Datadog and X-Ray wrap calls of a client, or what makes the client; Sentry its constructor.
    ("botocore.session", "Session.__init__"),
    ("botocore.session", "Session.create_client"),
    ("botocore.session", "Session.get_credentials"),
    ("botocore.client", "ClientCreator.create_client"),
    ("botocore.client", "BaseClient.__init__"),
    ("botocore.client", "BaseClient._make_api_call"),
    ("botocore.client", "BaseClient._make_request"),
    # New Relic wraps the first, X-Ray and OpenTelemetry add a header in the third.
    ("botocore.endpoint", "Endpoint.make_request"),
    ("botocore.endpoint", "Endpoint.create_request"),
    ("botocore.endpoint", "Endpoint.prepare_request"),
    ("botocore.endpoint", "Endpoint._send"),
    # X-Ray for pynamodb.
    ("botocore.httpsession", "URLLib3Session.__init__"),
    ("botocore.httpsession", "URLLib3Session.send"),
    ("botocore.signers", "RequestSigner.handler"),
    ("botocore.signers", "RequestSigner.sign"),
    ("botocore.auth", "SigV4Auth.add_auth"),
    ("botocore.auth", "SigV4Auth.signature"),
    # VCR.
    ("botocore.awsrequest", "AWSHTTPConnectionPool.ConnectionCls"),
    ("botocore.awsrequest", "AWSHTTPSConnectionPool.ConnectionCls"),
    # Datadog wraps the last.
    ("pynamodb.connection.base", "Connection.__init__"),
    ("pynamodb.connection.base", "Connection.dispatch"),
    ("pynamodb.connection.base", "Connection._make_api_call"),
]


def test_the_table_has_what_tools_replace() -> None:
    assert [(module, name) for module, names in FUNCTIONS.items() for name in names] == EVERY_FUNCTION


@pytest.mark.parametrize(("module", "name"), EVERY_FUNCTION, ids=[name for _, name in EVERY_FUNCTION])
def test_a_replaced_function_is_named_as_long_as_it_is_replaced(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _, last = name.rpartition(".")
    place = attrgetter(owner)(sys.modules[module])
    own = getattr(place, last)

    @functools.wraps(own)
    def wrapper(*args: Any, **options: Any) -> Any:
        return own(*args, **options)

    for replacement in (wrapper, MagicMock()):
        monkeypatch.setattr(place, last, replacement)
        assert need_of_botocore() == f"{module}.{name} has been replaced"
        assert need_of_botocore() == f"{module}.{name} has been replaced"
    monkeypatch.undo()
    assert need_of_botocore() == ""


# -- handlers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Adds a handler to all clients, in the list or in a new one."""
    old = [*handlers.BUILTIN_HANDLERS]

    def add(*entry: Any) -> None:
        monkeypatch.setattr(handlers, "BUILTIN_HANDLERS", [*old])
        handlers.BUILTIN_HANDLERS.append(entry)

    return add


@pytest.mark.parametrize(
    "event",
    [
        "before-send",
        "before-send.*.*",
        "after-call.dynamodb",
        "after-call-error.*.GetItem",
        "provide-client-params.dynamodb.GetItem",
        "request-created",
        "before-sign.*",
        "creating-client-class.dynamodb",
        "*.dynamodb",
    ],
)
def test_a_handler_of_dynamodbs_events_is_named(event: str, add: Callable[..., None]) -> None:
    add(event, nothing)
    assert need_of_botocore() == f"{__name__}.nothing handles botocore's event {event}"


@pytest.mark.parametrize("event", ["request-created.s3", "before-sign.sts.*", "after-call.sqs"])
def test_a_handler_of_another_services_events_needs_nothing(event: str, add: Callable[..., None]) -> None:
    add(event, nothing)
    assert need_of_botocore() == ""


@pytest.mark.parametrize(
    ("handler", "name"),
    [
        (nothing, "nothing"),
        (functools.partial(nothing, one=1), "nothing"),
        (Handler(), "Handler"),
        (Handler().method, "Handler.method"),
    ],
)
def test_a_handler_of_any_kind_is_named(
    handler: Callable[..., Any], name: str, add: Callable[..., None]
) -> None:
    add("before-send", handler, "a unique id")
    assert need_of_botocore() == f"{__name__}.{name} handles botocore's event before-send"


# -- mocks, signals and agents -----------------------------------------------------------------------------------------


def test_moto_needs_botocore_only_while_a_mock_is_active() -> None:
    assert need_of_botocore() == ""
    with mock_aws():
        assert need_of_botocore() == "moto's mock_aws is active"
    assert need_of_botocore() == ""


class Signal:
    """A signal of the package blinker, without which pynamodb's have no receivers."""

    def __init__(self) -> None:
        self.receivers: dict[int, Any] = {}


@pytest.mark.parametrize("name", ["pre_dynamodb_send", "post_dynamodb_send"])
def test_signals_need_pynamodb_as_long_as_they_have_receivers(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal = Signal()
    monkeypatch.setattr(signals, name, signal)
    assert need_of_botocore() == ""
    signal.receivers[1] = nothing
    assert need_of_botocore() == f"pynamodb's signal {name} has receivers"
    signal.receivers.clear()
    assert need_of_botocore() == ""


AGENT = """
import sys
from importlib.machinery import PathFinder

class Agent:
    '''Replaces a function of botocore's once somebody imports it, as the agents of Datadog and New Relic do.'''

    def find_spec(self, name, path=None, target=None):
        if name != "botocore.client":
            return None
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def load_and_replace(module):
            load(module)
            module.BaseClient._make_api_call = lambda *args: None

        spec.loader.exec_module = load_and_replace
        return spec
"""


def test_an_agent_that_waits_for_the_import_of_botocore_is_not_left_waiting() -> None:
    program = (
        f"{AGENT}\n"
        "from dynaorm.transport.botocore_hooks import need_of_botocore\n"
        "print(repr(need_of_botocore()), 'botocore' in sys.modules)\n"
        "sys.meta_path.insert(0, Agent())\n"
        "print(repr(need_of_botocore()))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "'' False\n'botocore.client.BaseClient._make_api_call has been replaced'\n"
