"""Where a direct transport sends to, and as whom: taken from the environment, or from botocore where that knows more.

Rule 1. What botocore would decide is decided the same way. It is asked for everything that configuration files,
        instance roles, other partitions and the like have a say in, through its public interface alone.
Rule 2. Where environment variables say it all, botocore is not imported: that would be half of a cold start.
"""

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import unquote, urlsplit

from dynaorm.errors import UsageError
from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.direct.signed_request import Credentials, Endpoint, FixedCredentials, endpoint_of

if TYPE_CHECKING:
    import ssl
    from urllib import request as urllib_request

    import botocore
    from botocore import exceptions as botocore_exceptions
    from botocore import session as botocore_session
else:
    late(
        globals(),
        botocore="botocore",
        botocore_exceptions="botocore.exceptions",
        botocore_session="botocore.session",
        ssl="ssl",
        urllib_request="urllib.request",
    )

EMULATOR_REGION = "us-east-1"
"""The region where only an endpoint is given: an emulator does not care, a signature needs one."""

# The regions of AWS's commercial partition (partitions.json of the AWS SDKs); others have other host names. A pattern
# that is compiled when it is asked: with an endpoint given it is not, and compiling would delay the first answer.
_COMMERCIAL = r"(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+"

# Each of these changes what environment variables alone would say.
_BOTOCORE_KNOWS = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
_FILES = (("AWS_CONFIG_FILE", "~/.aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"))


class CredentialSource(Protocol):
    """Who gives the credentials of each request; botocore's credentials are of this shape."""

    def get_frozen_credentials(self) -> Credentials: ...


@record
class Proxy:
    """A proxy to go through. ``url`` has no password; ``authorization`` is the header's value, "" for none."""

    url: str
    scheme: str
    host: str
    port: int
    authorization: str


@record
class Destination:
    """Where requests go, who signs them for which region, and how the way there is trusted.

    ``ca_bundle``: the file of certificates to trust; None for the system's.
    """

    endpoint: Endpoint
    region: str
    credentials: CredentialSource
    ca_bundle: str | None
    proxy: Proxy | None


def find_destination(region: str | None, endpoint: str | None, profile: str | None) -> Destination:
    """What arguments, environment and AWS configuration say together.

    Raises:
        UsageError: no AWS region is known, or a URL is none.
    """
    plain = _plain_environment() if profile is None else None
    found = _from_environment(plain, region, endpoint) if plain is not None else None
    url, region, credentials, ca_bundle = found or _from_botocore(region, endpoint, profile)
    address = endpoint_of(url)
    bundle = ca_bundle or os.environ.get("REQUESTS_CA_BUNDLE") or None
    return Destination(address, region, credentials, bundle, proxy_of(address))


def ssl_context(ca_bundle: str | None) -> "ssl.SSLContext":
    """A context that trusts a bundle of certificates, else the system's; where it has none, botocore's.

    Raises:
        UsageError: the bundle cannot be read.
    """
    if ca_bundle is None:
        system = ssl.get_default_verify_paths()
        # Windows keeps its certificates where Python looks for them by itself.
        ca_bundle = None if system.cafile or system.capath or os.name == "nt" else _botocores_bundle()
    try:
        context = ssl.create_default_context(cafile=ca_bundle)
    except OSError as error:
        raise UsageError(
            problem=f"The CA bundle {ca_bundle} cannot be used: {error}",
            remedy="correct AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE or the profile's ca_bundle",
        ) from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def proxy_of(endpoint: Endpoint) -> Proxy | None:
    """The proxy that the environment wants for an endpoint (``HTTPS_PROXY``, ``NO_PROXY`` and so on), if any.

    Raises:
        UsageError: it names what is no URL.
    """
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    url = urllib_request.getproxies_environment().get("https" if endpoint.is_secure else "http")
    if not url or urllib_request.proxy_bypass(endpoint.authority):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host:
        raise UsageError(
            problem="The proxy that the environment names is no URL",
            remedy="set HTTPS_PROXY and HTTP_PROXY to URLs like http://proxy.example.com:3128",
        )
    port = port or (443 if parts.scheme == "https" else 80)
    authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Proxy(f"{parts.scheme}://{authority}", parts.scheme, host, port, _basic(parts))


def _basic(parts: Any) -> str:
    if parts.username is None:
        return ""
    plain = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(plain.encode()).decode("ascii")


def _plain_environment() -> Mapping[str, str] | None:
    """The environment, if nothing else has a say."""
    environment = os.environ
    if any(environment.get(name) for name in _BOTOCORE_KNOWS):
        return None
    for name, default in _FILES:
        path = Path(environment.get(name) or default).expanduser()
        if path.is_file() and path.stat().st_size:
            return None
    return environment


_Found = tuple[str, str, CredentialSource, str | None]


def _from_environment(
    environment: Mapping[str, str], region: str | None, endpoint: str | None
) -> _Found | None:
    access_key, secret_key = (
        environment.get("AWS_ACCESS_KEY_ID"),
        environment.get("AWS_SECRET_ACCESS_KEY"),
    )
    if not access_key or not secret_key:
        return None
    token = environment.get("AWS_SECURITY_TOKEN") or environment.get("AWS_SESSION_TOKEN") or None
    region = _region(region, endpoint, environment, environment.get("AWS_DEFAULT_REGION"))
    url = (
        endpoint
        or environment.get("AWS_ENDPOINT_URL_DYNAMODB")
        or environment.get("AWS_ENDPOINT_URL")
        or (f"https://dynamodb.{region}.amazonaws.com" if re.fullmatch(_COMMERCIAL, region) else None)
    )
    if url is None:
        return None
    return url, region, FixedCredentials(access_key, secret_key, token), environment.get("AWS_CA_BUNDLE")


def _from_botocore(region: str | None, endpoint: str | None, profile: str | None) -> _Found:
    session = botocore_session.Session(profile=profile)
    region = _region(region, endpoint, os.environ, session.get_config_variable("region"))
    if endpoint is None:
        client = session.create_client("dynamodb", region_name=region)
        endpoint = client.meta.endpoint_url
        client.close()
    credentials = session.get_credentials()
    if credentials is None:
        raise botocore_exceptions.NoCredentialsError
    # Its stubs allow keys that are None, which a provider refuses before it gives credentials at all.
    source = cast("CredentialSource", credentials)
    return endpoint, region, source, session.get_config_variable("ca_bundle")


def _region(
    region: str | None, endpoint: str | None, environment: Mapping[str, str], otherwise: str | None
) -> str:
    # botocore itself does not read AWS_REGION, which Lambda and the other SDKs set.
    found = region or environment.get("AWS_REGION") or otherwise
    if not found and endpoint is None:
        raise UsageError(
            problem="No AWS region is known",
            remedy="give region=, set AWS_REGION, or set a region in the AWS profile",
        )
    return found or EMULATOR_REGION


def _botocores_bundle() -> str:
    return str(Path(botocore.__file__).with_name("cacert.pem"))
