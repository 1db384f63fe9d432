"""Who signs a request: an access key, its secret and perhaps a session token."""

from typing import NamedTuple, Protocol


class Credentials(Protocol):
    """Who signs. botocore's frozen credentials are of this shape."""

    @property
    def access_key(self) -> str: ...

    @property
    def secret_key(self) -> str: ...

    @property
    def token(self) -> str | None: ...


class FixedCredentials(NamedTuple):
    """Credentials that never change, which are therefore their own frozen state."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"FixedCredentials(access_key={self.access_key!r})"

    def get_frozen_credentials(self) -> "FixedCredentials":
        """Themselves; what botocore's refreshable credentials are asked for before each request."""
        return self


class CredentialSource(Protocol):
    """Who gives the credentials of each request; botocore's credentials are of this shape."""

    def get_frozen_credentials(self) -> Credentials: ...
