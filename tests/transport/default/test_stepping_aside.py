"""The default transport leaves its calls to pynamodb and botocore while something needs them, and says why."""

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSHTTPConnection, AWSHTTPConnectionPool
from botocore.client import BaseClient
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import EndpointConnectionError
from botocore.httpsession import URLLib3Session
from botocore.session import Session as BotocoreSession
from moto import mock_aws
from pynamodb import settings as pynamodb_settings
from pynamodb import signals
from pynamodb.connection import base as pynamodb_connection

from dynaorm import AsyncSession, Entity, Session, Table
from dynaorm.record import replace
from dynaorm.session import Attempt
from dynaorm.testing import FakeClock
from dynaorm.transport import Call, NoAnswer
from dynaorm.transport.default import DefaultTransport
from tests.transport.both_ways import GET, KEY, PUT, EachWay, outcome_of, seen
from tests.transport.each_transport import TRANSPORTS, Closable
from tests.transport.unruly import Unruly, answer, hang_up

Log = Callable[[], list[str]]
BECAUSE = "requests go through pynamodb and botocore, which takes more CPU time, because "

app = Table("app")


class User(Entity, table=app, pk="USER#{user_id}", sk="PROFILE"):
    user_id: str


@pytest.fixture(params=["default", "async default"])
def transport(request: pytest.FixtureRequest, server: Unruly) -> Iterator[Closable]:
    with closing(TRANSPORTS[request.param](region="eu-west-1", endpoint=server.endpoint)) as transport:
        yield transport


def is_botocores(server: Unruly) -> bool:
    """Whether botocore has sent the last request."""
    return "amz-sdk-request" in server.requests[-1].headers


def test_where_nothing_needs_botocore_own_connections_are_used_and_nothing_is_said(
    transport: Closable, server: Unruly, log: Log
) -> None:
    for call in (GET, PUT):
        assert transport.call(call) == {}
        assert not is_botocores(server)
    assert log() == []


# -- tracers and recorders ---------------------------------------------------------------------------------------------
# What each of them replaces, as its sources have it.

Seen = list[str]
Tool = Callable[[pytest.MonkeyPatch, Seen], None]


def wrap(patch: pytest.MonkeyPatch, owner: Any, name: str, seen: Seen) -> None:
    """Put a function around one of botocore's, as wrapt's ``wrap_function_wrapper`` does."""
    own = getattr(owner, name)

    def traced(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(f"{owner.__name__}.{name}")
        return own(self, *args, **options)

    patch.setattr(owner, name, traced)


def xray(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    wrap(patch, BaseClient, "_make_api_call", seen)
    wrap(patch, Endpoint, "prepare_request", seen)


def xray_for_pynamodb(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    wrap(patch, URLLib3Session, "send", seen)


def datadog(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    wrap(patch, BaseClient, "_make_api_call", seen)
    wrap(patch, pynamodb_connection.Connection, "_make_api_call", seen)


def opentelemetry(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    wrap(patch, BaseClient, "_make_api_call", seen)
    wrap(patch, Endpoint, "prepare_request", seen)


def new_relic(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    wrap(patch, Endpoint, "make_request", seen)


def sentry(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    own: Any = BaseClient.__init__

    def traced(self: Any, *args: Any, **options: Any) -> None:
        own(self, *args, **options)
        self.meta.events.register("request-created", lambda **_: seen.append("request-created"))

    patch.setattr(BaseClient, "__init__", traced)


def vcr(patch: pytest.MonkeyPatch, seen: Seen) -> None:
    class Recorded(AWSHTTPConnection):
        def __init__(self, *args: Any, **options: Any) -> None:
            seen.append("connection")
            super().__init__(*args, **options)

    patch.setattr(AWSHTTPConnectionPool, "ConnectionCls", Recorded)


TOOLS: list[Tool] = [xray, xray_for_pynamodb, datadog, opentelemetry, new_relic, sentry, vcr]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
@pytest.mark.parametrize("began", ["before the first call", "after it"])
def test_a_tracer_or_recorder_sees_the_calls_whenever_it_began(
    tool: Tool,
    began: str,
    transport: Closable,
    server: Unruly,
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if began == "after it":
        transport.call(GET)
    seen: Seen = []
    with monkeypatch.context() as patch:
        tool(patch, seen)
        for _ in range(2):
            assert transport.call(PUT) == {}
        assert seen
        assert is_botocores(server)
        (line,) = log()
        assert line.startswith(f"{BECAUSE}botocore.")
        assert line.endswith(" replaced")
    transport.call(GET)
    assert not is_botocores(server)


# -- moto --------------------------------------------------------------------------------------------------------------


def test_sessions_made_before_moto_and_under_it_share_its_tables_and_return_to_the_server(
    server: Unruly, monkeypatch: pytest.MonkeyPatch, log: Log
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.endpoint)
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "")

    async def saved(session: AsyncSession) -> None:
        await session.save(User(user_id="2"))

    with Session(region="eu-west-1") as before:
        assert before.get(User, user_id="1") is None
        assert len(server.requests) == 1
        monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
        with mock_aws(), Session(region="eu-west-1") as under:
            under.create_table(app)
            before.save(User(user_id="1"))
            asyncio.run(saved(AsyncSession(region="eu-west-1")))
            assert under.get_one(User, user_id="1").user_id == "1"
            assert before.get_one(User, user_id="2").user_id == "2"
        assert before.get(User, user_id="1") is None
        assert len(server.requests) == 2
    assert {line.removeprefix(BECAUSE) for line in log()} == {"moto's mock_aws is active"}


# -- handlers and signals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        "provide-client-params",
        "before-parameter-build",
        "before-endpoint-resolution",
        "before-call",
        "request-created",
        "choose-signer",
        "before-sign",
        "before-send",
        "before-parse",
        "response-received",
        "needs-retry",
        "after-call",
    ],
)
def test_every_handler_is_called_and_the_log_names_it_once(
    event: str, transport: Closable, server: Unruly, handle: Callable[..., None], log: Log
) -> None:
    called: list[str] = []

    def handler(event_name: str, **_: object) -> None:
        called.append(event_name)

    handle(event, handler)
    for _ in range(2):
        assert transport.call(PUT) == {}
    assert len(called) == 2
    assert all(name.startswith(f"{event}.dynamodb") for name in called)
    item = {**KEY, "b": {"B": "/w=="}, "n": {"N": "1"}}
    assert [request.content for request in server.requests] == [{"TableName": "app", "Item": item}] * 2
    (line,) = log()
    assert line.startswith(BECAUSE)
    assert line.endswith(f"handler handles botocore's event {event}")


def test_a_handler_may_change_the_request(server: Unruly, handle: Callable[..., None]) -> None:
    def change(request: Any, **_: object) -> None:
        request.headers["X-Tenant"] = "shop"
        request.url = f"{server.endpoint}/elsewhere"

    handle("before-send", change)
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    (request,) = server.requests
    assert request.line == "POST /elsewhere HTTP/1.1"
    assert request.headers["x-tenant"] == "shop"


def test_handlers_of_after_call_error_learn_of_a_lost_answer(
    server: Unruly, handle: Callable[..., None]
) -> None:
    errors: list[Exception] = []
    handle("after-call-error", lambda exception, **_: errors.append(exception))
    with closing(DefaultTransport(endpoint="http://127.0.0.1:1")) as transport:
        assert outcome_of(transport, PUT) is False
    assert [type(error) for error in errors] == [EndpointConnectionError]


class Signal:
    """A signal of the package blinker."""

    def __init__(self) -> None:
        self.receivers: dict[int, Any] = {}
        self.sent: list[Any] = []

    def send(self, _: object, **about: Any) -> None:
        self.sent.append(about["operation_name"])


def test_pynamodbs_signals_are_sent_while_they_have_receivers(
    transport: Closable, server: Unruly, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal = Signal()
    for module in (signals, pynamodb_connection):
        monkeypatch.setattr(module, "post_dynamodb_send", signal)
    transport.call(GET)
    assert (signal.sent, is_botocores(server)) == ([], False)
    signal.receivers[1] = print
    transport.call(GET)
    assert (signal.sent, is_botocores(server)) == (["GetItem"], True)
    assert log() == [f"{BECAUSE}pynamodb's signal post_dynamodb_send has receivers"]


# -- settings ----------------------------------------------------------------------------------------------------------


def test_a_proxy_behind_tls_is_left_to_botocore(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "https://me:secret@127.0.0.1:1")  # pragma: allowlist secret
    with closing(DefaultTransport(endpoint="http://dynamodb.example")) as transport:
        for _ in range(2):
            with pytest.raises(NoAnswer, match="ProxyConnectionError") as caught:
                transport.call(PUT)
            assert not caught.value.sent
    assert log() == [f"{BECAUSE}the proxy https://127.0.0.1:1 is not one of plain HTTP"]


@pytest.mark.parametrize("setting", ["client_cert", "signature_version"])
def test_a_client_certificate_and_another_signature_are_those_of_botocores_client(
    setting: str,
    transport: Closable,
    server: Unruly,
    log: Log,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only a botocore Config has them, so somebody must replace what makes the clients."""
    value: Any = str(certificate) if setting == "client_cert" else UNSIGNED
    added: Any = {setting: value}
    own: Any = BotocoreSession.create_client
    made: list[Any] = []

    def create(self: Any, *args: Any, config: Any = None, **options: Any) -> Any:
        merged = (config or Config()).merge(Config(**added))
        made.append(own(self, *args, config=merged, **options))
        return made[-1]

    monkeypatch.setattr(BotocoreSession, "create_client", create)
    transport.call(GET)
    assert getattr(made[-1].meta.config, setting) is value
    assert ("authorization" in server.requests[0].headers) is (setting == "client_cert")
    assert log() == [f"{BECAUSE}botocore.session.Session.create_client has been replaced"]


def test_the_signature_that_a_profile_asks_for_is_left_to_botocore(
    server: Unruly, log: Log, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\ndynamodb =\n  signature_version = v3\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    assert server.requests[0].headers["x-amzn-authorization"].startswith("AWS3-HTTPS")
    assert log() == [f"{BECAUSE}the AWS configuration asks for the signature v3"]


def test_plugins_of_botocore_are_left_to_botocore(
    server: Unruly, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: list[Any] = []
    monkeypatch.setitem(sys.modules, "a_plugin", SimpleNamespace(initialize_client_plugin=clients.append))
    monkeypatch.setenv("BOTOCORE_EXPERIMENTAL__PLUGINS", "mine=a_plugin")
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    assert len(clients) == 1
    assert log() == [f"{BECAUSE}BOTOCORE_EXPERIMENTAL__PLUGINS names plugins of botocore"]


def test_headers_of_pynamodbs_settings_file_are_sent(
    server: Unruly, log: Log, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.py"
    file.write_text("region = 'eu-west-1'")
    monkeypatch.setenv("PYNAMODB_CONFIG", str(file))
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    assert (is_botocores(server), log()) == (False, [])
    # pynamodb reads the file with its import.
    monkeypatch.setattr(
        pynamodb_settings, "override_settings", SimpleNamespace(extra_headers={"X-Tenant": "shop"})
    )
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    assert server.requests[1].headers["x-tenant"] == "shop"
    assert log() == [f"{BECAUSE}the settings file of pynamodb has extra_headers"]


# -- accounts ----------------------------------------------------------------------------------------------------------

ARN = "arn:aws:dynamodb:eu-west-1:444455556666:table/app"


@pytest.mark.parametrize(
    "call",
    [
        Call("GetItem", {"TableName": ARN, "Key": KEY}),
        Call("BatchGetItem", {"RequestItems": {ARN: {"Keys": [KEY]}}}),
        Call(
            "TransactWriteItems",
            {
                "TransactItems": [{"Delete": {"TableName": ARN, "Key": KEY}}],
                "ClientRequestToken": "t",
            },
        ),
    ],
    ids=lambda call: call.operation,
)
def test_a_table_of_another_account_is_left_to_botocore(
    call: Call, transport: Closable, server: Unruly, each_way: EachWay, log: Log
) -> None:
    def run() -> Any:
        transport.call(call)
        return seen(server.requests[-1])

    ours, botocores = each_way(run)
    assert ours == botocores
    assert is_botocores(server)
    assert log()[0] == f"{BECAUSE}the name of a table is an ARN"


class OfTenants:
    """Credentials that are another tenant's at another time."""

    account: str | None = None

    def get_frozen_credentials(self) -> Any:
        return Credentials("KEY", "s", account_id=self.account).get_frozen_credentials()


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("kind", ["default", "async default"])
@pytest.mark.parametrize("first", [None, "111122223333"])
def test_each_request_goes_to_the_endpoint_of_the_account_that_it_is_signed_for(
    first: str | None, kind: str, limited: bool, server: Unruly, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", server.endpoint)
    server.otherwise = hang_up
    given = OfTenants()
    with closing(TRANSPORTS[kind](region="eu-west-1", credentials=given)) as transport:
        for account in (first, "444455556666", first):
            given.account = account
            with pytest.raises(NoAnswer):
                transport.call(replace(GET, timeout=20) if limited else GET)
    own = "dynamodb.eu-west-1.amazonaws.com" if first is None else f"{first}.ddb.eu-west-1.amazonaws.com"
    hosts = [request.line.split()[1] for request in server.requests]
    assert hosts == [f"{own}:443", "444455556666.ddb.eu-west-1.amazonaws.com:443", f"{own}:443"]
    assert log() == [f"{BECAUSE}the credentials are now of another AWS account, which has another endpoint"]


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_the_server_is_known_either_way(transport: Closable, server: Unruly, each_way: EachWay) -> None:
    def run() -> Any:
        with closing(DefaultTransport(endpoint=server.endpoint)) as fresh:
            assert fresh.server is None
            fresh.call(GET)
            return fresh.server

    ours, botocores = each_way(run)
    assert ours == botocores
    assert ours.url == f"{server.endpoint}/"


def test_threads_that_step_aside_at_once_make_one_client(
    server: Unruly, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create: Any = BotocoreSession.create_client

    def counted(session: Any, service: str, *args: Any, **options: Any) -> Any:
        made.append(service)
        return create(session, service, *args, **options)

    monkeypatch.setattr(BotocoreSession, "create_client", counted)
    together = threading.Barrier(8)

    with closing(DefaultTransport(endpoint=server.endpoint)) as shared:

        def work() -> None:
            together.wait()
            assert shared.call(GET) == {}

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert made == ["dynamodb"]
    assert len(server.requests) == 8


def test_a_closed_transport_can_be_used_again_either_way(
    transport: Closable, server: Unruly, each_way: EachWay
) -> None:
    def run() -> int:
        for _ in range(2):
            transport.call(GET)
            transport.close()
        return len(server.requests)

    assert each_way(run) == (2, 4)


def test_an_asynchronous_session_goes_on_in_another_event_loop_either_way(
    server: Unruly, each_way: EachWay
) -> None:
    session = AsyncSession(region="eu-west-1", endpoint=server.endpoint)

    async def get() -> User | None:
        return await session.get(User, user_id="1")

    assert each_way(lambda: [asyncio.run(get()) for _ in range(2)]) == ([None, None], [None, None])
    asyncio.run(session.close())
    assert len(server.requests) == 4


def test_attempts_are_told_alike_either_way(server: Unruly, each_way: EachWay) -> None:
    def run() -> Any:
        server.will(hang_up, answer({}))
        attempts: list[Attempt] = []
        with Session(endpoint=server.endpoint, clock=FakeClock(), on_attempt=attempts.append) as session:
            session.get(User, user_id="1")
        return [(one.operation, one.number, one.outcome, one.request_bytes) for one in attempts]

    ours, botocores = each_way(run)
    assert ours == botocores
    assert len(ours) == 2


WITHOUT_PYNAMODB = """
import sys
from dynaorm import Session
from dynaorm.transport import Call
from dynaorm.errors import UsageError
sys.modules["pynamodb"] = None
session = Session(endpoint={!r})
print(session._transport.call(Call("ListTables", {{}})) == {{}})
from botocore.httpsession import URLLib3Session
URLLib3Session.send = None
try:
    session._transport.call(Call("ListTables", {{}}))
except UsageError as error:
    print(error)
"""


def test_where_pynamodb_is_not_installed_the_error_says_why_it_is_needed(server: Unruly) -> None:
    program = [sys.executable, "-c", WITHOUT_PYNAMODB.format(server.endpoint)]
    run = subprocess.run(program, capture_output=True, text=True, check=True)
    works, said = run.stdout.splitlines()
    assert works == "True"
    assert re.search(r"URLLib3Session\.send has been replaced; .*pynamodb.*; install what is missing", said)
    assert len(server.requests) == 1
