"""Where a direct transport sends to, and with which credentials: from the environment, or from botocore.

Rule 1. The URL, the Region of the signature and the credentials are those that botocore would use. botocore itself is
        asked, through its public interface, whenever configuration files, roles or endpoint variants matter.
Rule 2. If environment variables alone decide, botocore is not imported: that would be half of a cold start.
Rule 3. The default transport also does what the direct ones do otherwise: it trusts the certificates that botocore
        trusts, sends to the endpoints of accounts, and leaves some settings to botocore: ``like_botocore``.
Rule 4. No local variable holds a secret or the whole environment when an error is raised: reporters of errors copy
        local variables.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dynaorm.late import late
from dynaorm.record import record
from dynaorm.transport.http.credentials import CredentialSource, environment_credentials
from dynaorm.transport.settings import Endpoint, Proxy, endpoint_of, proxy_of, region_of

if TYPE_CHECKING:
    from botocore import awsrequest as botocore_awsrequest
    from botocore import config as botocore_config
    from botocore import exceptions as botocore_exceptions
    from botocore import session as botocore_session

    from dynaorm.transport import aws_configuration
    from dynaorm.transport.http import certificates, given_credentials
else:
    late(
        globals(),
        aws_configuration="dynaorm.transport.aws_configuration",
        botocore_awsrequest="botocore.awsrequest",
        botocore_config="botocore.config",
        botocore_exceptions="botocore.exceptions",
        botocore_session="botocore.session",
        certificates="dynaorm.transport.http.certificates",
        given_credentials="dynaorm.transport.http.given_credentials",
    )

# How the Regions of AWS's commercial partition begin (partitions.json of the AWS SDKs). Others have other host names,
# and some are not Regions but name one, like us-east-1-fips.
_COMMERCIAL = frozenset({"us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"})

# Each of these changes what the other environment variables say: for all transports, and for the default one alone.
_DECIDED_BY_BOTOCORE = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
_DECIDED_LIKE_BOTOCORE = (
    "AWS_ACCOUNT_ID",
    "AWS_ACCOUNT_ID_ENDPOINT_MODE",
    "AWS_DATA_PATH",
)
_FILES = (("AWS_CONFIG_FILE", "~/.aws/config"), ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"))
_MODELS = "~/.aws/models"


ANY_ACCOUNT: Final = "*"


class OnlyBotocore(Exception):
    """Only botocore can send a request. The message says why, as the end of a sentence; nothing was sent."""


@record
class Destination:
    """Where requests go, who signs them for which Region, and which certificates are trusted.

    Attributes:
        ca_bundle: the file of certificates to trust; None for the system's.
        keeps_alive: whether idle connections send TCP's own probes.
        application: the name of the program for the header User-Agent; "" for none.
        account: the AWS account whose credentials requests to this endpoint need, None for credentials that name no
            account; ``ANY_ACCOUNT`` if it is the endpoint of all accounts.
    """

    endpoint: Endpoint
    region: str
    credentials: CredentialSource = field(repr=False)
    ca_bundle: str | None
    proxy: Proxy | None
    keeps_alive: bool = False
    application: str = ""
    account: str | None = ANY_ACCOUNT


def find_destination(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    given: CredentialSource | None = None,
    *,
    like_botocore: bool = False,
) -> Destination:
    """The destination that arguments, environment and AWS configuration name.

    Args:
        region: the caller's argument.
        endpoint: the caller's argument.
        profile: the caller's argument.
        given: the credentials to use in the place of those that would be found.
        like_botocore: for the default transport, see rule 3.

    Raises:
        UsageError: no Region or no credentials are set, or what is set is not valid.
        OnlyBotocore: something is set that only botocore can do; only with ``like_botocore``.
    """
    found = None
    if profile is None and _is_plain_environment(like_botocore):
        found = _from_environment(region, endpoint, given, like_botocore=like_botocore)
    found = found or _from_botocore(region, endpoint, profile, given, like_botocore=like_botocore)
    address = endpoint_of(found.url)
    bundle = trusted_bundle(found.ca_bundle)
    if bundle is None and like_botocore and address.is_secure:
        bundle = certificates.botocores_bundle()
    proxy = proxy_of(address)
    if like_botocore and proxy is not None and proxy.scheme != "http":
        raise OnlyBotocore(f"the proxy {proxy.url} is not one of plain HTTP")
    return Destination(
        address,
        found.region,
        found.credentials,
        bundle,
        proxy,
        found.keeps_alive,
        found.application,
        found.account,
    )


def trusted_bundle(configured: str | None) -> str | None:
    """The file of certificates to trust, given the one of the AWS configuration; None if none is named."""
    return configured or os.environ.get("REQUESTS_CA_BUNDLE") or None


def keeps_alive(session: botocore_session.Session) -> bool:
    """Whether the AWS configuration wants idle connections to send TCP's own probes."""
    # Older versions of botocore know this setting in a profile alone.
    setting: object = session.get_config_variable("tcp_keepalive")
    if setting is None:
        setting = session.get_scoped_config().get("tcp_keepalive")
    return str(setting).lower() == "true"


def _is_plain_environment(like_botocore: bool) -> bool:
    """Whether environment variables alone decide."""
    names = _DECIDED_BY_BOTOCORE + (_DECIDED_LIKE_BOTOCORE if like_botocore else ())
    if any(os.environ.get(name) for name in names) or (like_botocore and has_content(_MODELS)):
        return False
    return not any(has_content(os.environ.get(name) or default) for name, default in _FILES)


def has_content(path: str) -> bool:
    """Whether a file or folder exists and is not empty. To botocore, too, what it cannot look at is not there."""
    try:
        return Path(path).expanduser().stat().st_size > 0
    except (OSError, RuntimeError):
        return False


@record
class _Found:
    url: str
    region: str
    credentials: CredentialSource
    ca_bundle: str | None
    keeps_alive: bool
    application: str
    account: str | None = ANY_ACCOUNT


def _from_environment(
    region: str | None, endpoint: str | None, given: CredentialSource | None, *, like_botocore: bool
) -> _Found | None:
    credentials = given or environment_credentials()
    if credentials is None:
        return None
    region = region_of(region, endpoint, lambda: os.environ.get("AWS_DEFAULT_REGION"))
    # Other partitions have other host names, which botocore knows (Rule 1).
    if not _is_commercial(region):
        return None
    named = (
        endpoint or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL") or None
    )
    account: str | None = ANY_ACCOUNT
    if like_botocore and given is not None and named is None:
        account = _account_of(given)
        if account is not None:
            return None
    return _Found(
        named or f"https://dynamodb.{region}.amazonaws.com",
        region,
        credentials,
        os.environ.get("AWS_CA_BUNDLE"),
        os.environ.get("BOTOCORE_TCP_KEEPALIVE", "").lower() == "true",
        os.environ.get("AWS_SDK_UA_APP_ID", ""),
        account,
    )


def _account_of(credentials: CredentialSource) -> str | None:
    """The AWS account of credentials, if they name it."""
    return getattr(credentials.get_frozen_credentials(), "account_id", None) or None


def _from_botocore(
    region: str | None,
    endpoint: str | None,
    profile: str | None,
    given: CredentialSource | None,
    *,
    like_botocore: bool,
) -> _Found:
    with aws_configuration.preparing(endpoint):
        session = botocore_session.Session(profile=profile)
        given_credentials.use_credentials(session, given)
        reason = _only_botocores(session) if like_botocore else ""
    if reason:
        raise OnlyBotocore(reason)
    account: str | None = ANY_ACCOUNT
    with aws_configuration.preparing(endpoint):
        region = region_of(region, endpoint, lambda: session.get_config_variable("region"))
        credentials: Any = session.get_credentials()
        if credentials is None:
            raise botocore_exceptions.NoCredentialsError
        if endpoint is None or not _is_commercial(region):
            if like_botocore and endpoint is None:
                account = _account_of(credentials)
            endpoint, region = _first_request(session, region, endpoint, account)
            # It depends on the account only if it names it, or might name another one.
            if account is not None and account not in endpoint:
                account = ANY_ACCOUNT
        ca_bundle: str | None = session.get_config_variable("ca_bundle")
        probes = keeps_alive(session)
        application = session.get_config_variable("user_agent_appid") or ""
    return _Found(endpoint, region, credentials, ca_bundle, probes, application, account)


def _only_botocores(session: botocore_session.Session) -> str:
    """A setting of the AWS configuration that only botocore can follow; "" for none."""
    service = session.get_scoped_config().get("dynamodb")
    signature = service.get("signature_version", "v4") if isinstance(service, dict) else "v4"
    return "" if signature == "v4" else f"the AWS configuration asks for the signature {signature}"


def _is_commercial(region: str) -> bool:
    """Whether it is the plain name of a Region of the commercial partition."""
    area, _, place = region.partition("-")
    name, _, number = place.partition("-")
    return area in _COMMERCIAL and name.isalpha() and number.isdecimal()


def _first_request(
    session: botocore_session.Session, region: str, endpoint: str | None, account: str | None
) -> tuple[str, str]:
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
        aws_account_id=None if account == ANY_ACCOUNT else account,
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
