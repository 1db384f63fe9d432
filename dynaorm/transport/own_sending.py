"""Sends what a client of botocore would send, over our own connections: a quarter of the CPU time.

Three public events of botocore are enough:

1. ``provide-client-params``: the body is encoded here. botocore gets only the parameters that decide the endpoint.
2. ``before-call``: the request has botocore's URL and headers. It is signed, sent, and its answer judged.
3. ``before-send`` is emitted as botocore would. A mock may answer the request, and a recorder sees it.

If a hook, a setting or a proxy needs what is only in botocore, the request goes through botocore, and a line of the log
says why. That may be decided as late as in step 3, because nothing was sent before.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.exceptions import NoCredentialsError
from botocore.hooks import first_non_none_response
from botocore.httpsession import get_cert_path
from botocore.session import Session

from dynaorm.flow.protocol.call import READS, WRITES, Refusal, Reply
from dynaorm.flow.read import tables_in
from dynaorm.item.json_body import encode_body
from dynaorm.record import record
from dynaorm.transport.attempt_time import NeedsThread, attempt_seconds
from dynaorm.transport.aws_configuration import failure_of
from dynaorm.transport.botocore_hooks import replaced_function
from dynaorm.transport.botocore_outcome import parsed_of
from dynaorm.transport.endpoint import endpoint_of
from dynaorm.transport.http.connection import ConnectionPool
from dynaorm.transport.http.destination import Destination, keeps_alive, trusted_bundle
from dynaorm.transport.http.exchange import Exchange
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.http.limits import Limits
from dynaorm.transport.http.route import route_to
from dynaorm.transport.http.signed_request import SERVICE, SignedRequest, header_lines
from dynaorm.transport.proxy import proxy_of

_logger = logging.getLogger("dynaorm")

# Where the body is in botocore's context of a request; None if botocore encodes it.
_BODY = "dynaorm.body"

# The headers of botocore that dynaorm writes itself, and all that its own sending knows.
_SIGNED = frozenset({"Content-Type", "X-Amz-Target"})
_HEADERS = frozenset({*_SIGNED, "User-Agent", "X-Amzn-Trace-Id"})


@record
class _Server:
    exchange: Exchange
    pool: ConnectionPool


class OwnSending:
    """Sends the requests of one client. It may be shared by threads.

    Args:
        client: the client, which is used through its events alone.
        session: gives the credentials, and which certificates are trusted.
        hooked: why requests must go through botocore; may grow at any time.
        limits: how long to wait, and how many connections to keep.
    """

    def __init__(self, client: Any, session: Session, hooked: Sequence[str], limits: Limits) -> None:
        self._events = client.meta.events
        self._session = session
        self._hooked = hooked
        self._limits = limits
        self._unusual = _unusual_setting(client.meta.config)
        self._servers: dict[tuple[str, str], _Server] = {}
        self._opening = threading.Lock()
        self._explained: set[str] = set()
        self._events.register("provide-client-params.dynamodb", self.encode)
        # Handlers of the general event are called last, and one of botocore's adds a header.
        self._events.register_last("before-call", self.send)

    def encode(self, *, params: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> Any:
        """Encode a request; for the event ``provide-client-params``. Returns the parameters that botocore needs."""
        if reason := replaced_function() or self._unusual or next(iter(self._hooked), ""):
            self._explain(reason)
            return None
        if model.name not in READS and model.name not in WRITES:
            context[_BODY] = None
            return None
        context[_BODY] = encode_body(params)
        return _deciding_the_endpoint(params)

    def send(self, *, model: Any, params: Any, request_signer: Any, context: Any, **_: object) -> Any:
        """Send a request and judge its answer; for the event ``before-call``. Returns what botocore would return.

        None lets botocore send it.

        Raises:
            NoAnswer: the answer does not say what became of the request, or none came.
            UsageError: the AWS configuration is incomplete or wrong.
        """
        if _BODY not in context:
            return None
        params["body"] = context[_BODY] or params["body"]
        try:
            server = self._server_for(params["url"], request_signer, context)
            return self._sent(server, model.name, params)
        except _NeedsBotocore as needed:
            self._explain(str(needed))
            return None
        except NeedsThread:
            raise
        except Exception as error:
            self._events.emit(f"after-call-error.{SERVICE}.{model.name}", exception=error, context=context)
            raise

    def close(self) -> None:
        """Close the connections that wait for a request."""
        for server in [*self._servers.values()]:
            server.pool.close()

    def _sent(self, server: _Server, operation: str, params: Mapping[str, Any]) -> Any:
        if unknown := params["headers"].keys() - _HEADERS:
            raise _NeedsBotocore(f"botocore adds the header {min(unknown)}")
        exchange, url, seconds = server.exchange, params["url"], attempt_seconds()
        if seconds is not None and exchange.may_block:
            raise NeedsThread
        unsigned = _lines_of(
            {name: value for name, value in params["headers"].items() if name not in _SIGNED}
        )
        signed = exchange.sign(operation, params["body"], unsigned=unsigned)
        request = _Prepared(signed, url, params["context"])
        response = first_non_none_response(
            self._events.emit(f"before-send.{SERVICE}.{operation}", request=request)
        )
        if response is None:
            answer = server.pool.send(request.as_sent(url), seconds)
            response = _Response(url, answer)
        else:
            headers = {name.lower(): value for name, value in response.headers.items()}
            answer = HttpAnswer(response.status_code, headers, response.content, False)
        try:
            outcome: Reply | Refusal = exchange.reply(operation, signed, answer)
        except Refusal as refusal:
            outcome = refusal
        return response, parsed_of(outcome, answer)

    def _server_for(self, url: str, request_signer: Any, context: Mapping[str, Any]) -> _Server:
        """The server that botocore has chosen."""
        signing = context.get("signing", {})
        scheme = context.get("auth_type") or request_signer.signature_version
        name = signing.get("signing_name") or request_signer.signing_name
        if (scheme, name) != ("v4", SERVICE) or "request_credentials" in signing:
            raise _NeedsBotocore(f"requests are signed with {scheme} for {name}")
        key = (url, signing.get("region") or request_signer.region_name)
        return self._servers.get(key) or self._open(*key)

    def _open(self, url: str, region: str) -> _Server:
        with self._opening:
            credentials: Any = self._session.get_credentials()
            if credentials is None:
                raise failure_of(NoCredentialsError())
            endpoint = endpoint_of(url)
            proxy = proxy_of(endpoint)
            if proxy is not None and proxy.scheme != "http":
                raise _NeedsBotocore(f"the proxy {proxy.url} is not one of plain HTTP")
            named: Any = trusted_bundle(self._session.get_config_variable("ca_bundle"))
            destination = Destination(
                endpoint, region, credentials, get_cert_path(named or True), proxy, keeps_alive(self._session)
            )
            server = _Server(Exchange(destination), ConnectionPool(route_to(destination), self._limits))
            return self._servers.setdefault((url, region), server)

    def _explain(self, reason: str) -> None:
        """Log why botocore sends a request. Each reason is logged once. Raises NeedsThread if its time is limited."""
        if attempt_seconds() is not None:
            raise NeedsThread
        if reason not in self._explained:
            self._explained.add(reason)
            _logger.info("requests go through botocore, which takes more CPU time, because %s", reason)


class _NeedsBotocore(Exception):
    """Only botocore can send a request. The message says why; nothing was sent."""


class _Prepared(AWSPreparedRequest):
    """A request as botocore prepares it. Its headers are made when a handler looks at them, and may be changed."""

    def __init__(self, signed: SignedRequest, url: str, context: dict[str, Any]) -> None:
        # Not that of the base class, which needs the headers.
        self.method = "POST"
        self.url = url
        self.body = signed.body
        self.stream_output = False
        self.context = context
        self._signed = signed

    def __repr__(self) -> str:
        # botocore's own shows the signature and the session token.
        return f"<a request to {self.url}>"

    @cached_property
    def headers(self) -> Any:  # type: ignore[override]  # a cached property can be written, too
        """The headers, whose values botocore encodes."""
        encoded: dict[str, Any] = {name: value.encode() for name, value in self._signed.headers.items()}
        return HeadersDict({**encoded, "Content-Length": str(len(self._signed.body))})

    def as_sent(self, url: str) -> SignedRequest:
        """The request to send to the URL, with what handlers changed. Raises _NeedsBotocore if it is another one."""
        if (self.method, self.url) != ("POST", url) or not isinstance(self.body, bytes):
            raise _NeedsBotocore("a handler of botocore's event before-send replaces the request")
        lines = self._signed.lines
        if "headers" in vars(self):
            lines = _lines_of(
                {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
            )
        return SignedRequest(lines, self.body, self._signed.signed_at)


class _RawBody(BytesIO):
    """A body as urllib3 gives it."""

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        """What has not been read yet."""
        if rest := self.read():
            yield rest


class _Response(AWSResponse):
    """An answer as botocore gives it. Its headers are made when a handler looks at them."""

    def __init__(self, url: str, answer: HttpAnswer) -> None:
        # Not that of the base class, which needs the headers.
        self.url = url
        self.status_code = answer.status
        self.raw: Any = _RawBody(answer.body)
        self._answer = answer

    @cached_property
    def headers(self) -> Any:  # type: ignore[override]  # a cached property can be written, too
        """The headers, whatever the case of their names."""
        return HeadersDict(self._answer.headers)

    @property
    def content(self) -> bytes:
        """The body."""
        return self._answer.body


def _lines_of(headers: Mapping[str, str | bytes]) -> str:
    """Header lines. Raises _NeedsBotocore if a character is not printable ASCII."""
    texts = {
        name: value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for name, value in headers.items()
    }
    whole = "".join([*texts, *texts.values()])
    if not (whole.isascii() and whole.isprintable()):
        raise _NeedsBotocore("a header has a character that is not printable ASCII")
    return header_lines(texts)


def _unusual_setting(config: Any) -> str:
    """What a client is configured with that only botocore can do; "" for nothing."""
    for name in ("client_cert", "proxies", "proxies_config", "tcp_keepalive"):
        if getattr(config, name, None):
            return f"the Config of the client has {name}"
    return ""


def _deciding_the_endpoint(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that botocore's endpoint rules read: the names of the tables, if any of them is an ARN.

    A ``ClientRequestToken`` is among them, because botocore generates one for a transaction without it.
    """
    token = {name: params[name] for name in params if name == "ClientRequestToken"}
    has_arn = any(name.startswith("arn:") for name in tables_in(params))
    if "RequestItems" in params:
        return {"RequestItems": {name: {} for name in params["RequestItems"]} if has_arn else {}}
    if not has_arn:
        return token
    if "TransactItems" in params:
        actions = (action for one in params["TransactItems"] for action in one.items())
        tables = {of["TableName"]: {kind: {"TableName": of["TableName"]}} for kind, of in actions}
        return {"TransactItems": [*tables.values()], **token}
    return {"TableName": params["TableName"]}
