"""Hooks into botocore see the calls of the default transport, and what only botocore can send goes through it."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from botocore.session import Session as BotocoreSession

from dynaorm.flow.protocol.call import NoAnswer
from dynaorm.transport.botocore_hooks import WatchedEvents
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.own_sending import OwnSending
from dynaorm.transport.pynamodb import PynamoTransport
from tests.transport.both_ways import CALLS, GET, KEY, PUT, EachWay, outcome_of, seen
from tests.transport.unruly import Behaviour, Unruly, answer, hang_up, refusal


def test_nobody_asks_for_botocores_way_where_nobody_hooks_in(
    server: Unruly, log: Callable[[], list[str]]
) -> None:
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        for call in CALLS:
            transport.call(call)
    assert log() == []
    assert all("amz-sdk-invocation-id" not in request.headers for request in server.requests)


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
        "before-parse",
        "response-received",
        "needs-retry",
    ],
)
def test_every_handler_is_called_and_the_log_names_it_once(
    event: str, server: Unruly, handle: Callable[..., None], log: Callable[[], list[str]]
) -> None:
    called: list[str] = []

    def handler(event_name: str, **_: object) -> None:
        called.append(event_name)

    handle(event, handler)
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        for _ in range(2):
            assert transport.call(PUT) == {}
    assert len(called) == 2
    assert all(name.startswith(f"{event}.dynamodb") for name in called)
    item = {**KEY, "b": {"B": "/w=="}, "n": {"N": "1"}}
    assert [request.content for request in server.requests] == [{"TableName": "app", "Item": item}] * 2
    (line,) = log()
    assert line.startswith("requests go through botocore, which takes more CPU time, because ")
    assert line.endswith(f"handler handles botocore's event {event}")


def test_a_replaced_function_of_botocore_is_called_and_the_log_names_it(
    server: Unruly, each_way: EachWay, log: Callable[[], list[str]]
) -> None:
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        each_way(lambda: transport.call(GET))
        transport.call(GET)
    assert ["amz-sdk-request" in request.headers for request in server.requests] == [False, True, False]
    (line,) = log()
    assert line.endswith("because botocore.httpsession.URLLib3Session.send has been replaced")


def test_a_handler_of_before_send_may_add_headers(
    server: Unruly, handle: Callable[..., None], each_way: EachWay
) -> None:
    def add(request: Any, **_: object) -> None:
        request.headers["X-Tenant"] = "shop"
        request.headers["User-Agent"] = b"replaced"

    handle("before-send", add)

    def run() -> Any:
        with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
            transport.call(GET)
        return seen(server.requests.pop())

    ours, botocores = each_way(run)
    assert ours == botocores
    assert (ours[1]["x-tenant"], ours[1]["user-agent"]) == ("shop", "replaced")


@pytest.mark.parametrize("what", ["url", "header", "body"])
def test_a_request_that_a_handler_of_before_send_replaces_goes_through_botocore(
    what: str, server: Unruly, handle: Callable[..., None], log: Callable[[], list[str]]
) -> None:
    def replace(request: Any, **_: object) -> None:
        if what == "url":
            request.url = f"{server.endpoint}/elsewhere"
        elif what == "header":
            request.headers["X-Name"] = "a\tb"
        else:
            request.body = bytearray(request.body)

    handle("before-send", replace)
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    (request,) = server.requests
    assert "amz-sdk-request" in request.headers
    assert request.line == ("POST /elsewhere HTTP/1.1" if what == "url" else "POST / HTTP/1.1")
    assert request.content == GET.request
    assert len(log()) == 1


def test_a_length_that_a_handler_of_before_send_writes_is_sent_once(
    server: Unruly, handle: Callable[..., None]
) -> None:
    def measure(request: Any, **_: object) -> None:
        del request.headers["Content-Length"]
        request.headers["content-length"] = str(len(request.body))

    handle("before-send", measure)
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    (request,) = server.requests
    assert request.content == GET.request


@pytest.mark.parametrize(
    "behaviour",
    [answer({"Item": KEY}), refusal("ValidationException", message="no")],
    ids=["a reply", "a refusal"],
)
def test_handlers_of_after_call_see_the_same(
    behaviour: Behaviour,
    server: Unruly,
    handle: Callable[..., None],
    each_way: EachWay,
) -> None:
    calls: list[Any] = []

    def after(http_response: Any, parsed: dict[str, Any], model: Any, context: Any, **_: object) -> None:
        parts = {name: parsed.get(name) for name in ("ResponseMetadata", "Error")}
        http = (
            http_response.status_code,
            http_response.url,
            http_response.headers["X-Amzn-RequestID"],
            http_response.text,
        )
        calls.append((parts, http, model.name, context["client_region"]))

    handle("after-call.dynamodb", after)

    def run() -> Any:
        server.will(behaviour)
        with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
            outcome_of(transport, GET)
        return calls.pop()

    ours, botocores = each_way(run)
    assert ours == botocores


def test_a_handler_of_after_call_may_read_the_body_in_pieces(
    server: Unruly, handle: Callable[..., None]
) -> None:
    bodies: list[bytes] = []

    def after(http_response: Any, **_: object) -> None:
        raw = http_response.raw
        bodies.extend(b"".join(raw.stream(1024, decode_content=True)) for _time in range(2))

    handle("after-call.dynamodb", after)
    server.will(answer({"Item": KEY}))
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        transport.call(GET)
    whole, rest = bodies
    assert json.loads(whole) == {"Item": KEY}
    assert rest == b""


def test_handlers_of_after_call_error_learn_of_a_lost_answer(
    server: Unruly, handle: Callable[..., None], each_way: EachWay
) -> None:
    errors: list[Exception] = []
    handle("after-call-error", lambda exception, **_: errors.append(exception))

    def run() -> int:
        server.will(hang_up)
        with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
            outcome_of(transport, GET)
        return len(errors)

    assert each_way(run) == (1, 2)
    assert isinstance(errors[0], NoAnswer)


def test_a_proxy_behind_tls_is_left_to_botocore(
    log: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "https://me:secret@127.0.0.1:1")  # pragma: allowlist secret
    with closing(PynamoTransport(endpoint="http://dynamodb.example")) as transport:
        assert outcome_of(transport, PUT) is False
    (line,) = log()
    assert line.endswith("because the proxy https://127.0.0.1:1 is not one of plain HTTP")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"client_cert": "/of/this/machine.pem"}, "the Config of the client has client_cert"),
        ({"proxies": {"http": None}}, "the Config of the client has proxies"),
        ({"signature_version": UNSIGNED}, "requests are signed with "),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_client_with_settings_that_only_botocore_can_follow_sends_by_itself(
    setting: dict[str, Any], reason: str, server: Unruly, log: Callable[[], list[str]]
) -> None:
    events = WatchedEvents()
    session: Any = BotocoreSession(event_hooks=events)
    as_pynamodb: dict[str, Any] = {
        "parameter_validation": False,
        "retries": {"total_max_attempts": 1, "mode": "standard"},
    }
    with closing(
        session.create_client(
            "dynamodb",
            region_name="eu-west-1",
            endpoint_url=server.endpoint,
            config=Config(**as_pynamodb, **setting),
        )
    ) as client:
        sending = OwnSending(client, session, events.hooked, Limits(10, 10, 10))
        client.get_item(**GET.request)
    sending.close()
    (request,) = server.requests
    assert "amz-sdk-request" in request.headers
    assert request.content == GET.request
    assert ("authorization" in request.headers) is ("signature_version" not in setting)
    (line,) = log()
    assert f"because {reason}" in line


def test_a_handler_of_before_send_may_lose_the_request(
    server: Unruly, handle: Callable[..., None], each_way: EachWay
) -> None:
    errors: list[Exception] = []

    def lose(request: Any, **_: object) -> None:
        raise EndpointConnectionError(endpoint_url=request.url, error="out of order")

    handle("after-call-error", lambda exception, **_: errors.append(exception))
    handle("before-send", lose)
    with closing(PynamoTransport(endpoint=server.endpoint)) as transport:
        assert each_way(lambda: outcome_of(transport, PUT)) == (False, False)
    assert [type(error) for error in errors] == [EndpointConnectionError] * 2
    assert server.requests == []
