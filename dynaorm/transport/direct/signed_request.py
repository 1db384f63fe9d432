"""A request to DynamoDB, built and signed with AWS Signature Version 4, as a function of its arguments alone.

Rule 1. The body is hashed into the signature and its length is in the head: a request that was not sent whole is
        never carried out.
Rule 2. The signing key is a day's, and made once for it; a changed credential makes a new one.

Source: "Create a signed AWS API request" (AWS Identity and Access Management user guide).
"""

import hmac
from hashlib import sha256
from time import gmtime, strftime
from typing import NamedTuple, Protocol
from urllib.parse import quote, urlsplit

from dynaorm.errors import UsageError
from dynaorm.record import record

SERVICE = "dynamodb"
CONTENT_TYPE = "application/x-amz-json-1.0"
TARGET_PREFIX = "DynamoDB_20120810."
USER_AGENT = "dynaorm"
ALGORITHM = "AWS4-HMAC-SHA256"

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Credentials(Protocol):
    """Who signs. botocore's frozen credentials are of this shape."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class FixedCredentials(NamedTuple):
    """Credentials that never change, which are therefore their own frozen state."""

    access_key: str
    secret_key: str
    token: str | None = None

    def get_frozen_credentials(self) -> "FixedCredentials":
        """Themselves; what botocore's refreshable credentials are asked for before each request."""
        return self


@record
class Endpoint:
    """Where requests go.

    Attributes:
        url: as it was given, with a path.
        is_secure: whether TLS is spoken.
        host: a name or an address, IPv6 without brackets.
        port: always a number.
        authority: host and port as the ``Host`` header has them: without a port that goes without saying.
        path: with its leading slash.
    """

    url: str
    is_secure: bool
    host: str
    port: int
    authority: str
    path: str


def endpoint_of(url: str) -> Endpoint:
    """The parts of an endpoint's URL.

    Raises:
        UsageError: it is no URL of a server that speaks HTTP.
    """
    problem = UsageError(
        # What precedes an @ may be a password.
        problem=f"{url.rpartition('@')[2]!r} is no endpoint of DynamoDB",
        remedy="give a URL like https://dynamodb.eu-west-1.amazonaws.com or http://127.0.0.1:8000",
    )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise problem from None
    if parts.scheme not in _DEFAULT_PORTS or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise problem
    if not url.isascii() or any(character <= " " for character in url):
        raise problem
    authority = f"[{host}]" if ":" in host else host
    default = _DEFAULT_PORTS[parts.scheme]
    if port is not None and port != default:
        authority = f"{authority}:{port}"
    path = parts.path or "/"
    return Endpoint(
        f"{parts.scheme}://{authority}{path}",
        parts.scheme == "https",
        host,
        default if port is None else port,
        authority,
        path,
    )


@record
class SignedRequest:
    """One POST, ready to be sent by anybody who adds its length.

    ``signed_at``: the seconds since the Unix epoch that it was signed with.
    """

    headers: dict[str, str]
    body: bytes
    signed_at: float

    def message(self, target: str, extra: str = "") -> bytes:
        """The whole request in HTTP/1.1. ``extra``: further header lines, each with its line end."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in self.headers.items()])
        head = f"POST {target} HTTP/1.1\r\n{lines}{extra}Content-Length: {len(self.body)}\r\n\r\n"
        return head.encode("ascii") + self.body


@record
class _Scope:
    """What stays the same from one request to the next of a day, under the same credentials."""

    credentials: Credentials
    day: str
    key: bytes
    scope: str
    authorization: str
    between: str
    after: str


class Signer:
    """Signs requests to one endpoint. It may be shared by threads: what it remembers is replaced as a whole."""

    def __init__(self, endpoint: Endpoint, region: str) -> None:
        self._authority = endpoint.authority
        self._region = region
        self._before = (
            f"POST\n{quote(endpoint.path, safe='/~')}\n\n"
            f"content-type:{CONTENT_TYPE}\nhost:{endpoint.authority}\nx-amz-date:"
        )
        self._second = (-1, "")
        self._scope: _Scope | None = None

    def sign(self, operation: str, body: bytes, credentials: Credentials, now: float) -> SignedRequest:
        """The signed request for an operation, ``now`` in seconds since the Unix epoch.

        Raises:
            UsageError: the credentials cannot stand in a header.
        """
        stamp = self._stamp(int(now))
        scope = self._scope
        if scope is None or scope.credentials != credentials or scope.day != stamp[:8]:
            scope = self._scope = _scope_of(credentials, stamp[:8], self._region)
        target = TARGET_PREFIX + operation
        canonical = (
            f"{self._before}{stamp}{scope.between}{target}{scope.after}{sha256(body).hexdigest()}".encode()
        )
        text = f"{ALGORITHM}\n{stamp}\n{scope.scope}\n{sha256(canonical).hexdigest()}"
        signature = hmac.digest(scope.key, text.encode(), "sha256").hex()
        headers = {
            "Host": self._authority,
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            "Content-Type": CONTENT_TYPE,
            "X-Amz-Target": target,
            "X-Amz-Date": stamp,
            "Authorization": scope.authorization + signature,
        }
        if credentials.token:
            headers["X-Amz-Security-Token"] = credentials.token
        return SignedRequest(headers, body, now)

    def _stamp(self, second: int) -> str:
        known, stamp = self._second
        if known != second:
            stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(second))
            self._second = (second, stamp)
        return stamp


def _scope_of(credentials: Credentials, day: str, region: str) -> _Scope:
    access_key, token = credentials.access_key, credentials.token
    if any(not "!" <= character <= "~" for character in access_key + (token or "")):
        raise UsageError(
            problem="The AWS access key or session token has a character that cannot stand in a header",
            remedy="look for a line break or a blank at its end, where it is set",
        )
    scope = f"{day}/{region}/{SERVICE}/aws4_request"
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signed = "content-type;host;x-amz-date"
    between = "\n"
    if token:
        signed += ";x-amz-security-token"
        between += f"x-amz-security-token:{token}\n"
    signed += ";x-amz-target"
    return _Scope(
        credentials,
        day,
        key,
        scope,
        f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={signed}, Signature=",
        f"{between}x-amz-target:",
        f"\n\n{signed}\n",
    )
