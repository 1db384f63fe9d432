"""Why an attempt could not be made: credentials, profiles, Regions and endpoints, as errors that name what is at fault.

Rule 1. Nothing has been sent to DynamoDB when one of these is raised. Every transport asks here, and nowhere else.
Rule 2. Whatever is raised meanwhile becomes a ``UsageError``: not only the errors of botocore, because a program that
        gives credentials may raise anything. A service that did not answer is ``NoAnswer``: the call may be repeated.
Rule 3. Credentials that the caller gave are never blamed on the AWS configuration.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotocoreConnectionError

from dynaorm.errors import UsageError
from dynaorm.flow.call import NoAnswer
from dynaorm.transport.settings import endpoint_of, not_an_endpoint

_LOGIN: Final = {
    "TokenRetrievalError": "log in again: aws sso login",
    "SSOError": "log in again: aws sso login",
    "LoginError": "log in again: aws login",
}
_REMEDIES: Final = {
    "ProfileNotFound": "name a profile of ~/.aws/config or ~/.aws/credentials in profile= or AWS_PROFILE, or none",
    "NoCredentialsError": (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile that has them, or give the machine a role"
    ),
    "PartialCredentialsError": "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither",
    "EndpointProviderError": "leave out use_fips_endpoint or use_dualstack_endpoint, or choose another Region",
    "EndpointVariantError": "leave out use_fips_endpoint or use_dualstack_endpoint, or choose another Region",
}
_OTHERWISE: Final = (
    "correct the AWS configuration: environment variables, ~/.aws/config and ~/.aws/credentials"
)

_PROGRAM: Final = (
    "run that program by hand: it has to end with 0, and to print JSON with Version 1, AccessKeyId and "
    "SecretAccessKey"
)
# By the METHOD of botocore's provider: how errors call it, and a remedy of its own.
_PROVIDERS: Final = {
    "env": ("the credentials of the environment", ""),
    "shared-credentials-file": ("the credentials of ~/.aws/credentials", ""),
    "config-file": ("the credentials of ~/.aws/config", ""),
    "custom-process": ("the credentials of the profile's credential_process", _PROGRAM),
    "assume-role": ("the credentials of the profile's role", ""),
    "assume-role-with-web-identity": (
        "the credentials of the web identity's role",
        "check AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and the trust policy of the role",
    ),
    "sso": ("the credentials of the profile's single sign-on", ""),
    "login": ("the credentials of aws login", ""),
    "container-role": ("the credentials of the container's role", ""),
    "iam-role": ("the credentials of the instance's role", ""),
}


def provider_called(method: str) -> tuple[str, str]:
    """How errors call a provider of botocore, by its METHOD, and what to do if it fails; "" for what fits the error."""
    return _PROVIDERS.get(method, (f"the credentials of the provider {method}", ""))


@contextmanager
def preparing(endpoint: str | None = None) -> Iterator[None]:
    """What is raised inside is the reason why nothing could be sent. ``endpoint``: the one that the caller gave.

    Raises:
        UsageError: what the AWS configuration, the environment or an argument says cannot be used.
        NoAnswer: a service that gives credentials did not answer; nothing was sent to DynamoDB.
    """
    try:
        yield
    except (UsageError, NoAnswer):
        raise
    except Exception as error:
        # botocore has only a ValueError for an endpoint.
        if isinstance(error, ValueError) and not isinstance(error, BotoCoreError):
            if endpoint is not None:
                endpoint_of(endpoint)
            if str(error).startswith("Invalid endpoint"):
                raise not_an_endpoint(endpoint or str(error)) from None
        raise failure_of(error) from error


def failure_of(error: Exception, culprit: str = "", remedy: str = "") -> UsageError | NoAnswer:
    """The error that stands for one that was raised before any request was sent to DynamoDB.

    Args:
        culprit: who raised it, if that is known.
        remedy: what to do about the culprit; "" for what fits the error.
    """
    if isinstance(error, BotocoreConnectionError | HTTPClientError):
        whose = f", not {culprit}" if culprit else ""
        return NoAnswer(f"no AWS credentials{whose}: {type(error).__name__}: {error}", sent=False)
    kinds = [kind.__name__ for kind in type(error).__mro__]
    login = next((_LOGIN[kind] for kind in kinds if kind in _LOGIN), "")
    fitting = next((_REMEDIES[kind] for kind in kinds if kind in _REMEDIES), _OTHERWISE)
    speaks = isinstance(error, BotoCoreError | ClientError) or (not culprit and _is_plain(error))
    problem = _text_of(error) if speaks else f"{type(error).__name__}: {_text_of(error)}"
    if culprit:
        problem = f"{culprit} cannot be used: {problem}"
    return UsageError(problem=problem.rstrip(": ."), remedy=login or remedy or fitting)


def _is_plain(error: Exception) -> bool:
    """Whether the kind of the error says nothing that its text does not say."""
    return isinstance(error, RuntimeError | ValueError)


def _text_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of another program, whose text may fail as well
        return ""
