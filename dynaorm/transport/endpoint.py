"""The parts of an endpoint's URL."""

from __future__ import annotations

from urllib.parse import urlsplit

from dynaorm.errors import UsageError
from dynaorm.record import record

_DEFAULT_PORTS = {"http": 80, "https": 443}


@record
class Endpoint:
    """The server that requests are sent to.

    Attributes:
        url: with a path.
        is_secure: whether it speaks TLS.
        host: a name or an address, IPv6 without brackets.
        port: always a number.
        authority: host and port as in the ``Host`` header, which leaves out the scheme's own port.
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
        UsageError: it is not the URL of an HTTP server.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise not_an_endpoint(url) from None
    if parts.scheme not in _DEFAULT_PORTS or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise not_an_endpoint(url)
    labels = host.removesuffix(".").split(".")
    if not url.isascii() or any(character <= " " for character in url) or not all(map(_is_label, labels)):
        raise not_an_endpoint(url)
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


def without_password(url: str | None) -> str | None:
    """A URL to show. The text before an @ may hold a password."""
    return None if url is None else url.rpartition("@")[2]


def not_an_endpoint(url: str) -> UsageError:
    """The error of a URL that is not an endpoint."""
    return UsageError(
        problem=f"{without_password(url)!r} is not an endpoint of DynamoDB",
        remedy="give a URL like https://dynamodb.eu-west-1.amazonaws.com or http://127.0.0.1:8000",
    )


def _is_label(text: str) -> bool:
    """Whether a text can be one of the names in a host name (RFC 1035, section 2.3.4)."""
    return 1 <= len(text) <= 63
