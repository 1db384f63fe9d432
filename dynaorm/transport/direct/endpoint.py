"""The parts of an endpoint's URL."""

from urllib.parse import urlsplit

from dynaorm.errors import UsageError
from dynaorm.record import record

_DEFAULT_PORTS = {"http": 80, "https": 443}


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
