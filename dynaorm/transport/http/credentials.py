"""What a request is signed with: an access key, its secret and perhaps a session token."""

from typing import NamedTuple, Protocol, cast

from dynaorm.errors import UsageError


class Credentials(Protocol):
    """An access key with its secret. botocore's frozen credentials have this shape."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class FixedCredentials(NamedTuple):
    """Credentials that never change."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return "FixedCredentials(...)"

    def get_frozen_credentials(self) -> "FixedCredentials":
        """Themselves, as botocore's refreshable credentials give those of the moment."""
        return self


class CredentialSource(Protocol):
    """Gives the credentials of each request. botocore's credentials have this shape."""

    def get_frozen_credentials(self) -> Credentials: ...


class GivenCredentials(Protocol):
    """What a caller gives as credentials, as loosely as the types of botocore and boto3 need it."""

    def get_frozen_credentials(self) -> object: ...


def checked_credentials(given: GivenCredentials | None) -> CredentialSource | None:
    """The credentials that a caller gives. Raises UsageError if they cannot be asked for."""
    if given is None or callable(getattr(given, "get_frozen_credentials", None)):
        return cast("CredentialSource | None", given)
    raise UsageError(
        problem=f"credentials= is a {type(given).__name__} without get_frozen_credentials()",
        remedy="give botocore.credentials.Credentials(access_key, secret_key), or boto3.Session(...).get_credentials()",
    )
