"""The proxy that environment variables name for an endpoint."""

from __future__ import annotations

import os
from base64 import b64encode
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from dynaorm.errors import UsageError
from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.endpoint import Endpoint

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
