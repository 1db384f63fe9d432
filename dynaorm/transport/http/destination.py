"""Where a direct transport sends to, and with which credentials: from the environment, or from botocore.

Rule 1. The URL, the Region of the signature and the credentials are those that botocore would use. botocore itself is
        asked, through its public interface, whenever configuration files, roles or endpoint variants matter.
Rule 2. If environment variables alone decide, botocore is not imported: that would be half of a cold start.
Rule 3. No local variable holds a secret or the whole environment when an error is raised: reporters of errors copy
        local variables.
"""

import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.endpoint import Endpoint, endpoint_of
from dynaorm.transport.http.credentials import CredentialSource, FixedCredentials
from dynaorm.transport.proxy import Proxy, proxy_of
from dynaorm.transport.region import region_of

if TYPE_CHECKING:
    from botocore import awsrequest as botocore_awsrequest
    from botocore import config as botocore_config
    from botocore import exceptions as botocore_exceptions
    from botocore import session as botocore_session

    from dynaorm.transport import aws_configuration, botocore_models
    from dynaorm.transport.http import given_credentials
else:
    late(
        globals(),
        aws_configuration="dynaorm.transport.aws_configuration",
        botocore_awsrequest="botocore.awsrequest",
        botocore_config="botocore.config",
        botocore_exceptions="botocore.exceptions",
        botocore_models="dynaorm.transport.botocore_models",
        botocore_session="botocore.session",
        given_credentials="dynaorm.transport.http.given_credentials",
    )

# How the Regions of AWS's commercial partition begin (partitions.json of the AWS SDKs). Others have other host names,
# and some are not Regions but name one, like us-east-1-fips.
_COMMERCIAL = frozenset({"us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"})

# Each of these changes what the other environment variables say.
_DECIDED_BY_BOTOCORE = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
_FILES = (("AWS_CONFIG_FILE", "~/.aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"))


@record
class Destination:
    """Where requests go, who signs them for which Region, and which certificates are trusted.

    ``ca_bundle``: the file of certificates to trust; None for the system's. ``keeps_alive``: whether idle connections
    send TCP's own probes.
    """

    endpoint: Endpoint
    region: str
    credentials: CredentialSource = field(repr=False)
    ca_bundle: str | None
    proxy: Proxy | None
    keeps_alive: bool = False


def find_destination(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    given: CredentialSource | None = None,
) -> Destination:
    """The destination that arguments, environment and AWS configuration name.

    ``given``: the credentials to use in the place of those that would be found.

    Raises:
        UsageError: no Region or no credentials are set, or what is set is not valid.
    """
    found = None
    if profile is None and _is_plain_environment():
        found = _from_environment(region, endpoint, given)
    url, region, credentials, ca_bundle, probes = found or _from_botocore(region, endpoint, profile, given)
    address = endpoint_of(url)
    bundle = trusted_bundle(ca_bundle)
    return Destination(address, region, credentials, bundle, proxy_of(address), probes)


def trusted_bundle(configured: str | None) -> str | None:
    """The file of certificates to trust, given the one of the AWS configuration; None if none is named."""
    return configured or os.environ.get("REQUESTS_CA_BUNDLE") or None


def keeps_alive(session: "botocore_session.Session") -> bool:
    """Whether the AWS configuration wants idle connections to send TCP's own probes."""
    # Older versions of botocore know this setting in a profile alone.
    setting: object = session.get_config_variable("tcp_keepalive")
    if setting is None:
        setting = session.get_scoped_config().get("tcp_keepalive")
    return str(setting).lower() == "true"


def _is_plain_environment() -> bool:
    """Whether environment variables alone decide."""
    if any(os.environ.get(name) for name in _DECIDED_BY_BOTOCORE):
        return False
    return not any(_has_content(os.environ.get(name) or default) for name, default in _FILES)


def _has_content(path: str) -> bool:
    """Whether a file exists and is not empty. To botocore, too, a file that it cannot look at is not there."""
    try:
        file = Path(path).expanduser()
        return file.is_file() and file.stat().st_size > 0
    except (OSError, RuntimeError):
        return False


_Found = tuple[str, str, CredentialSource, str | None, bool]


def _from_environment(
    region: str | None, endpoint: str | None, given: CredentialSource | None
) -> _Found | None:
    credentials = given or _environment_credentials()
    if credentials is None:
        return None
    region = region_of(region, endpoint, lambda: os.environ.get("AWS_DEFAULT_REGION"))
    if not _is_commercial(region):
        return None
    url = (
        endpoint
        or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")
        or os.environ.get("AWS_ENDPOINT_URL")
        or f"https://dynamodb.{region}.amazonaws.com"
    )
    probes = os.environ.get("BOTOCORE_TCP_KEEPALIVE", "").lower() == "true"
    return url, region, credentials, os.environ.get("AWS_CA_BUNDLE"), probes


def _environment_credentials() -> FixedCredentials | None:
    if not os.environ.get("AWS_ACCESS_KEY_ID") or not os.environ.get("AWS_SECRET_ACCESS_KEY"):
        return None
    return FixedCredentials(
        os.environ["AWS_ACCESS_KEY_ID"],
        os.environ["AWS_SECRET_ACCESS_KEY"],
        # The order of botocore's EnvProvider (Rule 1).
        os.environ.get("AWS_SECURITY_TOKEN") or os.environ.get("AWS_SESSION_TOKEN") or None,
    )


def _from_botocore(
    region: str | None, endpoint: str | None, profile: str | None, given: CredentialSource | None
) -> _Found:
    with aws_configuration.preparing(endpoint):
        session = botocore_session.Session(profile=profile)
        botocore_models.find_models_by_name(session)
        given_credentials.use_credentials(session, given)
        region = region_of(region, endpoint, lambda: session.get_config_variable("region"))
        if endpoint is None or not _is_commercial(region):
            endpoint, region = _first_request(session, region, endpoint)
        credentials = session.get_credentials()
        if credentials is None:
            raise botocore_exceptions.NoCredentialsError
        ca_bundle: str | None = session.get_config_variable("ca_bundle")
        probes = keeps_alive(session)
    # botocore has them from ``given_credentials``.
    return endpoint, region, cast("CredentialSource", credentials), ca_bundle, probes


def _is_commercial(region: str) -> bool:
    """Whether it is the plain name of a Region of the commercial partition."""
    area, _, place = region.partition("-")
    name, _, number = place.partition("-")
    return area in _COMMERCIAL and name.isalpha() and number.isdecimal()


def _first_request(session: "botocore_session.Session", region: str, endpoint: str | None) -> tuple[str, str]:
    """The URL and the Region of the signature of a request that botocore makes, which is never sent.

    A client's ``meta.endpoint_url`` is not it: FIPS, dual-stack and pseudo-Regions are resolved for each request.
    """
    requests: list[Any] = []

    def keep(request: Any, **_: object) -> Any:
        requests.append(request)
        nothing: Any = {}
        return botocore_awsrequest.AWSResponse(request.url, 200, nothing, _EmptyReply())

    client: Any = session.create_client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint,
        # The Region of a signature does not depend on who signs.
        aws_access_key_id="none",
        aws_secret_access_key="none",  # pragma: allowlist secret
        config=botocore_config.Config(retries={"total_max_attempts": 1}),
    )
    try:
        client.meta.events.register_first("before-send.dynamodb", keep)
        client.list_tables()
    finally:
        client.close()
    authorization = requests[0].headers["Authorization"]
    text = authorization.decode("ascii") if isinstance(authorization, bytes) else authorization
    return requests[0].url, text.partition("Credential=")[2].split("/")[2]


class _EmptyReply:
    def stream(self) -> Iterator[bytes]:
        yield b"{}"
