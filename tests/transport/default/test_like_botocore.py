"""The default transport sends what botocore would send, and an answer means the same."""

import socket
import threading
from binascii import crc32
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dynaorm.transport import Call
from dynaorm.transport.default import DefaultTransport
from tests.transport.both_ways import CALLS, GET, KEY, PUT, EachWay, outcome_of, seen
from tests.transport.unruly import (
    Behaviour,
    Request,
    Unruly,
    answer,
    hang_up,
    refusal,
    reset,
    response,
    sending,
    unruly_server,
)

# -- equal requests ----------------------------------------------------------------------------------------------------

CONFIG = """
[default]
region = sa-east-1
aws_access_key_id = SHOP
aws_secret_access_key = s
aws_session_token = token
tcp_keepalive = true
sdk_ua_app_id = files
[profile elsewhere]
region = eu-west-1
services = local
endpoint_url = {endpoint}/default
[services local]
dynamodb =
  endpoint_url = {endpoint}/of/a/profile
"""
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "plain": {},
    "a session token": {"AWS_SESSION_TOKEN": "token"},
    "an application": {"AWS_SDK_UA_APP_ID": "shop", "AWS_EXECUTION_ENV": "AWS_ECS_FARGATE"},
    "Lambda": {"AWS_LAMBDA_FUNCTION_NAME": "f", "_X_AMZN_TRACE_ID": "Root=1-2-3;Parent=4;Sampled=1"},
    "retries": {"AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "adaptive"},
    "a proxy": {"http_proxy": "{endpoint}"},
    "a proxy with a password": {"http_proxy": "http://me:secret@{host}"},  # pragma: allowlist secret
    "no proxy": {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"},
    "a file": {"AWS_CONFIG_FILE": "{config}"},
    "an endpoint of a profile": {"AWS_CONFIG_FILE": "{config}", "AWS_PROFILE": "elsewhere"},
    "an endpoint": {"AWS_ENDPOINT_URL_DYNAMODB": "{endpoint}/x", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
    "endpoints ignored": {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    },
    "an account": {"AWS_ACCOUNT_ID": "111122223333", "AWS_ACCOUNT_ID_ENDPOINT_MODE": "preferred"},
    "a preferred signature": {"AWS_AUTH_SCHEME_PREFERENCE": "sigv4a,sigv4"},
}


@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_a_request_is_the_one_that_botocore_would_send(
    environment: Mapping[str, str],
    server: Unruly,
    each_way: EachWay,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    config = tmp_path / "config"
    config.write_text(CONFIG.format(endpoint=server.endpoint))
    places = {"endpoint": server.endpoint, "host": server.endpoint.removeprefix("http://"), "config": config}
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(**places))
    chosen = any("ENDPOINT_URL_DYNAMODB" in name or name == "AWS_PROFILE" for name in environment)

    region, endpoint = ("eu-west-1", None) if chosen else (None, server.endpoint)
    with closing(DefaultTransport(region=region, endpoint=endpoint)) as transport:

        def run() -> Any:
            server.requests.clear()
            outcomes = [outcome_of(transport, call) for call in CALLS]
            return outcomes, [seen(request) for request in server.requests]

        ours, botocores = each_way(run)
    assert ours == botocores
    assert len(ours[1]) == len(CALLS)


def test_the_user_agent_is_dynaorms_own_and_names_the_program_as_botocores_does(
    server: Unruly, each_way: EachWay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run() -> str:
        with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
            transport.call(GET)
        return server.requests.pop().headers["user-agent"]

    assert run() == "dynaorm"
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "shop 7")
    ours, botocores = each_way(run)
    assert ours == "dynaorm app/shop-7"
    assert " lib/dynaorm " in botocores
    assert " app/shop 7" in botocores
    monkeypatch.delenv("AWS_SDK_UA_APP_ID")
    config = tmp_path / "config"
    config.write_text("[default]\nsdk_ua_app_id = files\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    assert run() == "dynaorm app/files"


def test_each_request_has_the_trace_of_its_own_invocation_of_lambda(
    server: Unruly, each_way: EachWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:

        def run() -> list[str | None]:
            server.requests.clear()
            for trace in ("Root=1;Sampled=1", "Root=2 x", ""):
                monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
                transport.call(GET)
            return [request.headers.get("x-amzn-trace-id") for request in server.requests]

        assert each_way(run) == (["Root=1;Sampled=1", "Root=2%20x", None],) * 2


# -- equal outcomes ----------------------------------------------------------------------------------------------------

ANSWERS: dict[str, Behaviour] = {
    "a reply": answer({"Item": KEY, "Attributes": KEY}),
    "a condition": refusal("ConditionalCheckFailedException", message="no", Item=KEY),
    "a cancellation": refusal(
        "TransactionCanceledException",
        Message="no",
        CancellationReasons=[{"Code": "None"}, {"Code": "X", "Item": KEY}],
    ),
    "a throttle": refusal("ProvisionedThroughputExceededException", message="slow down"),
    "an unknown error": refusal("NobodyKnows", message="?"),
    "no access": answer({"__type": "x#AccessDeniedException", "Message": "no"}, 403),
    "a fault": answer({"__type": "InternalServerError"}, 500),
    "unavailable": answer(None, 503, raw=b"<html>"),
    "a redirect": answer(None, 307, raw=b"", Location="http://127.0.0.1:1/"),
    "another checksum": answer({}, checksum=1),
    "half a JSON": answer(None, raw=b'{"Item":', checksum=crc32(b'{"Item":')),
    "half a body": sending(response({"Item": KEY})[:-5], then_close=True),
    "no end": hang_up,
    "a reset": reset,
    "a body without a length": sending(response({}, framing="Connection: close"), then_close=True),
}


@pytest.mark.parametrize("call", [GET, PUT], ids=["a read", "a write"])
def test_an_answer_means_what_it_means_over_botocore(call: Call, server: Unruly, each_way: EachWay) -> None:
    with closing(DefaultTransport(endpoint=server.endpoint)) as transport:
        for name, behaviour in ANSWERS.items():

            def run(behaviour: Behaviour = behaviour) -> Any:
                server.requests.clear()
                server.will(behaviour)
                return outcome_of(transport, call), len(server.requests)

            ours, botocores = each_way(run)
            assert ours == botocores, name
            assert ours[1] == 1, name


@pytest.mark.parametrize("size", [1, 3])
def test_as_many_connections_are_kept_as_the_pool_has_places(size: int, each_way: EachWay) -> None:
    def run() -> int:
        with unruly_server() as server:
            together = threading.Barrier(3)

            def one_of_three(peer: socket.socket, request: Request) -> bool:
                together.wait(10)
                return answer({})(peer, request)

            server.otherwise = one_of_three
            with closing(DefaultTransport(endpoint=server.endpoint, pool_size=size)) as transport:
                for _ in range(2):
                    threads = [threading.Thread(target=transport.call, args=(GET,)) for _ in range(3)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
            return server.connections

    assert each_way(run) == (6 - size, 6 - size)
