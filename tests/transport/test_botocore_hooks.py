"""It is known who hooks into botocore where only botocore's own way of sending would notice."""

import functools
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore import awsrequest, endpoint, httpsession, signers
from botocore.config import Config
from botocore.session import Session

from dynaorm.transport.botocore_hooks import WatchedEvents, replaced_function


def nothing(**_: object) -> None:
    """A handler."""


class Handler:
    """Handlers of other kinds."""

    def __call__(self, **_: object) -> None: ...

    def method(self, **_: object) -> None: ...


def client_of(events: WatchedEvents) -> Any:
    session: Any = Session(event_hooks=events)
    return session.create_client(
        "dynamodb",
        region_name="eu-west-1",
        config=Config(retries={"total_max_attempts": 1, "mode": "standard"}),
    )


def test_what_botocore_does_for_every_client_is_nobodys_hook() -> None:
    events = WatchedEvents()
    client_of(events)
    assert events.hooked == []


@pytest.mark.parametrize(
    "event",
    [
        "provide-client-params.dynamodb.GetItem",
        "before-parameter-build.dynamodb",
        "before-endpoint-resolution.dynamodb",
        "before-call.*.*",
        "request-created",
        "choose-signer.dynamodb",
        "before-sign.*",
        "before-parse.dynamodb.Query",
        "response-received.dynamodb",
        "needs-retry.dynamodb",
        "*.dynamodb",
    ],
)
@pytest.mark.parametrize("register", ["register", "register_first", "register_last"])
def test_a_handler_of_an_event_that_is_not_emitted_is_remembered(event: str, register: str) -> None:
    events = WatchedEvents()
    getattr(events, register)(event, nothing)
    assert events.hooked == [f"{__name__}.nothing handles botocore's event {event}"]


@pytest.mark.parametrize(
    "event",
    [
        "before-send",
        "after-call.dynamodb",
        "after-call-error.*.GetItem",
        "request-created.s3",
        "before-sign.sts.*",
    ],
)
def test_a_handler_of_an_event_that_is_emitted_or_another_services_is_not(event: str) -> None:
    events = WatchedEvents()
    events.register(event, nothing)
    assert events.hooked == []


@pytest.mark.parametrize(
    ("handler", "name"),
    [
        (nothing, "nothing"),
        (functools.partial(nothing, one=1), "nothing"),
        (Handler(), "Handler"),
        (Handler().method, "Handler.method"),
    ],
)
def test_a_handler_of_any_kind_is_named(handler: Callable[..., Any], name: str) -> None:
    events = WatchedEvents()
    events.register("request-created", handler)
    assert events.hooked == [f"{__name__}.{name} handles botocore's event request-created"]


def test_the_copy_that_a_client_gets_is_watched_too() -> None:
    events = WatchedEvents()
    client_of(events).meta.events.register("needs-retry", nothing)
    assert len(events.hooked) == 1


def test_endpoint_discovery_moves_requests_so_it_counts_as_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_DISCOVERY_ENABLED", "true")
    events = WatchedEvents()
    client_of(events)
    assert any("EndpointDiscoveryHandler" in hook for hook in events.hooked)


def test_nothing_of_botocore_is_replaced_at_first() -> None:
    assert replaced_function() == ""


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (endpoint.Endpoint, "make_request"),
        (endpoint.Endpoint, "create_request"),
        (endpoint.Endpoint, "prepare_request"),
        (httpsession.URLLib3Session, "send"),
        (signers.RequestSigner, "sign"),
    ],
)
def test_a_replaced_function_is_found(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = getattr(owner, name)

    @functools.wraps(own)
    def wrapper(*args: Any, **options: Any) -> Any:
        return own(*args, **options)

    for replacement in (wrapper, MagicMock()):
        monkeypatch.setattr(owner, name, replacement)
        assert replaced_function() == f"{owner.__module__}.{owner.__name__}.{name} has been replaced"
    monkeypatch.undo()
    assert replaced_function() == ""


@pytest.mark.parametrize("pool", [awsrequest.AWSHTTPConnectionPool, awsrequest.AWSHTTPSConnectionPool])
def test_replaced_connections_are_found(pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ConnectionCls", object)
    assert replaced_function() == "the connections of botocore.awsrequest have been replaced"
