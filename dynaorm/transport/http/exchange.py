"""What is done besides sending: a call becomes a signed request, and an answer its reply.

DynamoDB refuses a signature that differs by some minutes from its own clock. That refusal brings its time along, which
is then used for signing: the call may be repeated at once, because it was not carried out.
"""

from __future__ import annotations

import hmac
import os
import re
import time
from dataclasses import field
from hashlib import sha256
from time import gmtime, strftime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from dynaorm.errors import UsageError
from dynaorm.flow.call import WRONG_CLOCK, Call, Refusal, Reply
from dynaorm.item.json_body import encode_body
from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.answer import reply_of
from dynaorm.transport.http.credentials import CheckedCredentials, Credentials, FixedCredentials
from dynaorm.transport.http.destination import ANY_ACCOUNT, Destination, OnlyBotocore
from dynaorm.transport.http.http_answer import HttpAnswer
from dynaorm.transport.settings import Endpoint

# A request to DynamoDB, signed with AWS Signature Version 4: a pure function of its arguments.
#
# Rule 1. The signature covers the body's hash, and the head has its length: a request that was not sent whole is
#         never carried out.
# Rule 2. A signing key holds for one day and one credential, and is derived once for them.
# Rule 3. No ``repr`` shows signed headers, bodies or credentials.
#
# Source: "Create a signed AWS API request" (AWS Identity and Access Management user guide).


SERVICE = "dynamodb"
CONTENT_TYPE = "application/x-amz-json-1.0"
TARGET_PREFIX = "DynamoDB_20120810."
USER_AGENT = "dynaorm"
ALGORITHM = "AWS4-HMAC-SHA256"

_USER_AGENT_LINE = f"User-Agent: {USER_AGENT}\r\n"


@record(quick=True)
class SignedRequest:
    """One POST without its length.

    Attributes:
        lines: the header lines, each with its line end.
        body: the body.
        signed_at: when it was signed, in seconds since the Unix epoch.
    """

    lines: str = field(repr=False)
    body: bytes = field(repr=False)
    signed_at: float

    @property
    def headers(self) -> dict[str, str]:
        """The headers by name."""
        lines = (line.partition(": ") for line in self.lines.split("\r\n")[:-1])
        return {name: value for name, _, value in lines}

    def message(self, target: str, extra: str = "") -> bytes:
        """The whole request in HTTP/1.1. ``extra``: further header lines."""
        head = f"POST {target} HTTP/1.1\r\n{self.lines}{extra}Content-Length: {len(self.body)}\r\n\r\n"
        return head.encode("ascii") + self.body


@record
class _Scope:
    """What all requests of a day with the same credentials share.

    ``inner`` and ``outer``: the two SHA-256 of an HMAC (RFC 2104), which have taken the signing key and nothing else.
    """

    credentials: FixedCredentials
    day: str
    inner: Any = field(repr=False)
    outer: Any = field(repr=False)
    scope: str
    authorization: str = field(repr=False)
    token: str = field(repr=False)
    between: str = field(repr=False)
    after: str


class Signer:
    """Signs requests to one endpoint. It may be shared by threads: its caches are replaced as a whole."""

    def __init__(self, endpoint: Endpoint, region: str) -> None:
        self._region = region
        self._lines = (
            # Without Accept-Encoding, a server may compress its answer, which nothing here unpacks.
            f"Host: {endpoint.authority}\r\nAccept-Encoding: identity\r\nContent-Type: {CONTENT_TYPE}\r\n"
            "X-Amz-Target: "
        )
        # The SHA-256 of how every canonical request begins.
        self._begun = sha256(
            f"POST\n{quote(endpoint.path, safe='/~')}\n\n"
            f"content-type:{CONTENT_TYPE}\nhost:{endpoint.authority}\nx-amz-date:".encode()
        )
        self._second = (-1, "")
        self._scope: _Scope | None = None

    def sign(
        self,
        operation: str,
        body: bytes,
        credentials: Credentials,
        now: float,
        *,
        unsigned: str = _USER_AGENT_LINE,
    ) -> SignedRequest:
        """The signed request for an operation, ``now`` in seconds since the Unix epoch.

        ``unsigned``: header lines that the signature does not cover.

        Raises:
            UsageError: the credentials cannot stand in a header.
        """
        stamp = self._stamp(int(now))
        scope = self._scope
        # Credentials of another library may change in place.
        if (
            scope is None
            or scope.credentials != (credentials.access_key, credentials.secret_key, credentials.token)
            or scope.day != stamp[:8]
        ):
            scope = self._scope = _scope_of(credentials, stamp[:8], self._region)
        target = TARGET_PREFIX + operation
        # ``hmac`` would do the same, with five more calls in Python.
        canonical, message, signature = self._begun.copy(), scope.inner.copy(), scope.outer.copy()
        canonical.update(f"{stamp}{scope.between}{target}{scope.after}{sha256(body).hexdigest()}".encode())
        message.update(f"{ALGORITHM}\n{stamp}\n{scope.scope}\n{canonical.hexdigest()}".encode())
        signature.update(message.digest())
        lines = (
            f"{self._lines}{target}\r\nX-Amz-Date: {stamp}\r\n"
            f"Authorization: {scope.authorization}{signature.hexdigest()}\r\n{scope.token}{unsigned}"
        )
        return SignedRequest(lines, body, now)

    def _stamp(self, second: int) -> str:
        known, stamp = self._second
        if known != second:
            stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(second))
            self._second = (second, stamp)
        return stamp


def _scope_of(credentials: Credentials, day: str, region: str) -> _Scope:
    if not _is_visible(credentials.access_key) or not _is_visible(credentials.token or ""):
        raise UsageError(
            problem="The AWS access key or session token has a character that cannot stand in a header",
            remedy="look for a line break or a blank at its end, where it is set",
        )
    access_key, token = credentials.access_key, credentials.token
    scope = f"{day}/{region}/{SERVICE}/aws4_request"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    # In the order of the alphabet, as the signature wants it: the token's header comes before the target's.
    signed = "content-type;host;x-amz-date"
    between = "\n"
    if token:
        signed += ";x-amz-security-token"
        between += f"x-amz-security-token:{token}\n"
    signed += ";x-amz-target"
    return _Scope(
        FixedCredentials(access_key, credentials.secret_key, token),
        day,
        _keyed(key, 0x36),
        _keyed(key, 0x5C),
        scope,
        f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={signed}, Signature=",
        f"X-Amz-Security-Token: {token}\r\n" if token else "",
        f"{between}x-amz-target:",
        f"\n\n{signed}\n",
    )


def _keyed(key: bytes, pad: int) -> Any:
    """The SHA-256 that has taken a key, shorter than its blocks of 64 bytes, as an HMAC pads it."""
    return sha256(bytes(byte ^ pad for byte in key.ljust(64, b"\0")))


def _is_visible(text: str) -> bool:
    return all("!" <= character <= "~" for character in text)


if TYPE_CHECKING:
    from email import utils as email_utils
else:
    late(globals(), email_utils="email.utils")

SKEW_SECONDS = 60.0
"""A smaller difference is not why a signature was refused: DynamoDB allows five minutes."""

# What AWS services call a signature of another time (service-error-classification in the AWS SDK for JavaScript).
_SIGNATURE_REFUSED = frozenset(
    {
        "AuthFailure",
        "InvalidSignatureException",
        "RequestExpired",
        "RequestInTheFuture",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)

_PLAIN_IN_A_TRACE: Final = "-=;:+&[]{}\"',"
_NOT_IN_A_USER_AGENT: Final = r"[^A-Za-z0-9!$%&'*+\-.^_`|~,]"


class RequestCodec:
    """Makes the requests to one destination and reads its answers. It may be shared by threads."""

    def __init__(self, destination: Destination) -> None:
        self._credentials = destination.credentials
        self._account = destination.account
        self._agent = f"User-Agent: {_user_agent(destination.application)}\r\n"
        self._is_in_lambda = "AWS_LAMBDA_FUNCTION_NAME" in os.environ
        self._signer = Signer(destination.endpoint, destination.region)
        self._offset = 0.0

    @property
    def may_block(self) -> bool:
        """Whether asking for credentials now may wait for a service or a program."""
        return isinstance(self._credentials, CheckedCredentials) and self._credentials.may_block()

    def credentials(self) -> Credentials:
        """The credentials of this moment.

        Raises:
            UsageError: there are none, or they have expired.
            NoAnswer: the service that gives them did not answer; nothing was sent to DynamoDB.
            OnlyBotocore: they are of another AWS account than the endpoint.
        """
        found = self._credentials.get_frozen_credentials()
        if self._account != ANY_ACCOUNT and (getattr(found, "account_id", None) or None) != self._account:
            raise OnlyBotocore("the credentials are now of another AWS account, which has another endpoint")
        return found

    def request(self, call: Call, credentials: Credentials) -> SignedRequest:
        """The request that carries a call, signed now."""
        now = time.time() + self._offset
        unsigned = self._agent + _trace_line() if self._is_in_lambda else self._agent
        return self._signer.sign(
            call.operation, encode_body(call.request), credentials, now, unsigned=unsigned
        )

    def reply(self, operation: str, request: SignedRequest, answer: HttpAnswer) -> Reply:
        """The reply in the answer to a request.

        Raises:
            Refusal: DynamoDB said no; ``WRONG_CLOCK`` if a repetition will be signed with DynamoDB's time.
            NoAnswer: the answer does not say what became of the request.
        """
        try:
            return reply_of(operation, answer.status, answer.headers, answer.body)
        except Refusal as refusal:
            date = answer.headers.get("date", "")
            if refusal.code in _SIGNATURE_REFUSED and self._set_clock(request, date):
                raise Refusal(WRONG_CLOCK, refusal.message, request_id=refusal.request_id) from refusal
            raise

    def _set_clock(self, request: SignedRequest, date: str) -> bool:
        """Use the server's time from now on; whether the request was signed with another."""
        try:
            theirs = email_utils.parsedate_to_datetime(date).timestamp()
        except (ValueError, OverflowError):
            return False
        if abs(theirs - request.signed_at) < SKEW_SECONDS:
            return False
        self._offset = theirs - time.time()
        return True


def _user_agent(application: str) -> str:
    """The User-Agent header. AWS's SDKs put the name of the program there in the same way."""
    if not application:
        return USER_AGENT
    return f"{USER_AGENT} app/{re.sub(_NOT_IN_A_USER_AGENT, '-', application)}"


def _trace_line() -> str:
    """The header line that lets X-Ray follow an invocation of Lambda, and Lambda notice a loop; "" for none."""
    trace = os.environ.get("_X_AMZN_TRACE_ID")
    # As the AWS SDKs quote it.
    return f"X-Amzn-Trace-Id: {quote(trace, safe=_PLAIN_IN_A_TRACE)}\r\n" if trace else ""
