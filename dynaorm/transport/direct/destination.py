"""Where a direct transport sends to, and as whom: taken from the environment, or from botocore where that knows more.

Rule 1. What botocore would decide is decided the same way. It is asked for everything that configuration files,
        instance roles, other partitions and the like have a say in, through its public interface alone.
Rule 2. Where environment variables say it all, botocore is not imported: that would be half of a cold start.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.direct.credentials import CredentialSource, FixedCredentials
from dynaorm.transport.direct.endpoint import Endpoint, endpoint_of
from dynaorm.transport.direct.proxy import Proxy, proxy_of
from dynaorm.transport.region import region_of

if TYPE_CHECKING:
    from botocore import exceptions as botocore_exceptions
    from botocore import session as botocore_session
else:
    late(globals(), botocore_exceptions="botocore.exceptions", botocore_session="botocore.session")

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
    region = region_of(region, endpoint, lambda: environment.get("AWS_DEFAULT_REGION"))
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
    region = region_of(region, endpoint, lambda: session.get_config_variable("region"))
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
