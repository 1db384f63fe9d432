"""What other libraries have hooked into botocore: event handlers, and functions that they replaced.

The default transport sends requests itself. It still emits ``before-send``, ``after-call`` and ``after-call-error``.
If anybody handles an event that it does not emit, requests must go through botocore.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.endpoint import Endpoint
from botocore.hooks import HierarchicalEmitter
from botocore.httpsession import URLLib3Session
from botocore.signers import RequestSigner

_NOT_EMITTED = frozenset(
    {
        "before-call",  # emitted, but the request's body is not in it
        "before-endpoint-resolution",
        "before-parameter-build",
        "before-parse",
        "before-sign",
        "choose-signer",
        "needs-retry",
        "provide-client-params",
        "request-created",
        "response-received",
        "*",
    }
)

# The handlers of every DynamoDB client. What they do to a request is done here, too, or has no effect on DynamoDB:
# add_retry_headers counts attempts for AWS's statistics. EndpointDiscoveryHandler, which moves requests, is not here.
_BOTOCORES_OWN = frozenset(
    {
        "botocore.discovery.block_endpoint_discovery_required_operations",
        "botocore.handlers._handle_request_validation_mode_member",
        "botocore.handlers._set_auth_scheme_preference_signer",
        "botocore.handlers.add_query_compatibility_header",
        "botocore.handlers.add_recursion_detection_header",
        "botocore.handlers.add_retry_headers",
        "botocore.handlers.generate_idempotent_uuid",
        "botocore.handlers.inject_api_version_header_if_needed",
        "botocore.handlers.set_operation_specific_signer",
        "botocore.retries.standard.MaxAttemptsSeeder.seed_max_attempts",
        "botocore.retries.standard.RetryHandler.needs_retry",
        "botocore.signers.RequestSigner.handler",
        "botocore.useragent.UserAgentString.rebuild_and_replace_user_agent_handler",
    }
)

_CALLED_BY_BOTOCORE = (
    "botocore.endpoint.Endpoint.make_request",
    "botocore.endpoint.Endpoint.create_request",
    "botocore.endpoint.Endpoint.prepare_request",
    "botocore.httpsession.URLLib3Session.send",
    "botocore.signers.RequestSigner.sign",
)


class WatchedEvents(HierarchicalEmitter):
    """The events of a botocore session and its clients; remembers handlers of events that are not always emitted.

    Attributes:
        hooked: a description of each such handler. The copies that clients get share it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hooked: list[str] = []

    def register(self, event_name: str, handler: Callable[..., Any], *args: Any, **options: Any) -> None:
        """Add a handler."""
        self._remember(event_name, handler)
        super().register(event_name, handler, *args, **options)

    def register_first(
        self, event_name: str, handler: Callable[..., Any], *args: Any, **options: Any
    ) -> None:
        """Add a handler that is called before the others."""
        self._remember(event_name, handler)
        super().register_first(event_name, handler, *args, **options)

    def register_last(self, event_name: str, handler: Callable[..., Any], *args: Any, **options: Any) -> None:
        """Add a handler that is called after the others."""
        self._remember(event_name, handler)
        super().register_last(event_name, handler, *args, **options)

    def _remember(self, event_name: str, handler: Callable[..., Any]) -> None:
        kind, _, rest = event_name.partition(".")
        if kind not in _NOT_EMITTED or rest.partition(".")[0] not in ("", "*", "dynamodb"):
            return
        name = _name_of(handler)
        if name not in _BOTOCORES_OWN and not name.startswith("dynaorm.transport."):
            self.hooked.append(f"{name} handles botocore's event {event_name}")


def replaced_function() -> str:
    """A description of a function of botocore that another library has replaced; "" if there is none.

    Tracers and recorders replace functions that only botocore's own way of sending calls.
    """
    return _first_replaced(
        Endpoint.make_request,
        Endpoint.create_request,
        Endpoint.prepare_request,
        URLLib3Session.send,
        RequestSigner.sign,
        AWSHTTPConnectionPool.ConnectionCls is AWSHTTPConnection
        and AWSHTTPSConnectionPool.ConnectionCls is AWSHTTPSConnection,
    )


# It is asked before every request, and nearly always the same.
@lru_cache(maxsize=8)
def _first_replaced(*found: Any) -> str:
    *functions, connections = found
    for name, function in zip(_CALLED_BY_BOTOCORE, functions, strict=True):
        # A wrapper may copy the name of what it wraps, but not the module that it reads its globals from.
        module = vars(sys.modules[name.rsplit(".", 2)[0]])
        if type(function) is not FunctionType or function.__globals__ is not module:
            return f"{name} has been replaced"
    return "" if connections else "the connections of botocore.awsrequest have been replaced"


def _name_of(handler: Any) -> str:
    """The full name of a function, a method, or the class of another callable."""
    function = getattr(handler, "func", handler)
    if not hasattr(function, "__qualname__"):
        function = type(function)
    return f"{function.__module__}.{function.__qualname__}"
