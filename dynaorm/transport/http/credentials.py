"""What a request is signed with: an access key, its secret and perhaps a session token."""

from typing import NamedTuple, Protocol


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
