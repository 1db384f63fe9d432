"""What a transport is told by arguments and the environment: the endpoint's URL, its proxy, and the AWS Region."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from dynaorm.errors import UsageError
from dynaorm.late import late
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
        remedy="give a URL like https://dynamodb.eu-west-1.amazonaws.com or http://127.0.0.1:8000; or memory: or "
        "sqlite:dev.db",
    )


def _is_label(text: str) -> bool:
    """Whether a text can be one of the names in a host name (RFC 1035, section 2.3.4)."""
    return 1 <= len(text) <= 63


if TYPE_CHECKING:
    from urllib import request as urllib_request
else:
    late(globals(), urllib_request="urllib.request")


@record
class Proxy:
    """A proxy. ``url`` has no password; ``authorization`` is the header's value, "" for none."""

    url: str
    scheme: str
    host: str
    port: int
    authorization: str = field(repr=False)


def proxy_of(endpoint: Endpoint) -> Proxy | None:
    """The proxy for an endpoint that ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY`` name; None for none.

    Raises:
        UsageError: a variable holds no URL.
    """
    # Most processes have no such variable, and are spared the import of urllib.request.
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    if urllib_request.proxy_bypass(endpoint.authority):
        return None
    return proxy_for("https" if endpoint.is_secure else "http")


def proxy_for(scheme: str) -> Proxy | None:
    """The proxy that the environment names for a scheme of URLs. Raises UsageError if it is no URL."""
    proxy = _named(scheme)
    # Raised here, where no local variable holds the URL, which may have a password.
    if isinstance(proxy, str):
        raise UsageError(
            problem="The proxy that the environment names is no URL",
            remedy="set HTTPS_PROXY and HTTP_PROXY to URLs like http://proxy.example.com:3128",
        )
    return proxy


def _named(scheme: str) -> Proxy | Literal["not a URL"] | None:
    url = urllib_request.getproxies_environment().get(scheme)
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return "not a URL"
    if not host:
        return "not a URL"
    port = port or (443 if parts.scheme == "https" else 80)
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Proxy(f"{parts.scheme}://{authority}", parts.scheme, host, port, _basic(parts))


def _basic(parts: Any) -> str:
    if parts.username is None:
        return ""
    plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(plain.encode()).decode("ascii")


EMULATOR_REGION = "us-east-1"
"""The Region beside an endpoint if none is set: a signature needs one, and an emulator accepts any."""


_LONGEST = 63


def region_of(region: str | None, endpoint: str | None, configured: Callable[[], str | None]) -> str:
    """The Region to sign for.

    Args:
        region: the caller's argument.
        endpoint: the caller's argument.
        configured: reads the Region of the AWS configuration, which ``AWS_REGION`` overrides.

    Raises:
        UsageError: no Region is set anywhere, and there is no endpoint either; or it is not a possible name; or the
            endpoint is none.
    """
    if endpoint is not None:
        # An empty one would be taken for none: then the requests of a test would go to AWS.
        endpoint_of(endpoint)
    # botocore itself does not read AWS_REGION, which Lambda and the other SDKs set.
    found = region if region is not None else os.environ.get("AWS_REGION") or configured() or None
    if found is None and endpoint is None:
        raise UsageError(
            problem="No AWS region is known",
            remedy="name a Region, set AWS_REGION, or set a region in the AWS profile",
        )
    if found is not None and not _is_name(found):
        raise UsageError(
            problem=f"{found[:80]!r} is not the name of an AWS region",
            remedy="use a name like eu-west-1: letters, digits and hyphens",
        )
    return found or EMULATOR_REGION


def _is_name(region: str) -> bool:
    """Whether a text can be part of a host name and of a signature's scope; the rule is botocore's."""
    plain = region.replace("-", "")
    return (
        plain.isascii()
        and plain.isalnum()
        and not plain.isdecimal()
        and len(region) <= _LONGEST
        and not region.startswith("-")
        and not region.endswith("-")
    )
