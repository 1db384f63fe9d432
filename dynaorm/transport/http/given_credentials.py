"""Which credentials a session of botocore uses: those that the caller gives, or those that botocore finds.

Either way, botocore gets ``CheckedCredentials``, so that a provider that fails is named wherever it is asked.
"""

from typing import Any

from botocore.session import Session

from dynaorm.transport.aws_configuration import failure_of, provider_called
from dynaorm.transport.http.credentials import CheckedCredentials, CredentialSource


def use_credentials(session: Session, credentials: CredentialSource | None) -> None:
    """Let a session of botocore use these credentials alone; with None, it finds its own."""
    provider = _Finder(session) if credentials is None else _Given(credentials)
    session.register_component("credential_provider", provider)


class _Given:
    """What botocore asks for credentials once per session: always the same."""

    def __init__(self, credentials: CredentialSource) -> None:
        self._credentials = credentials

    def load_credentials(self) -> Any:
        """The caller's credentials."""
        return self._credentials


class _Finder:
    """Asks the providers of botocore in their order, as its own resolver does, and knows which of them failed."""

    def __init__(self, session: Session) -> None:
        self._resolver: Any = session.get_component("credential_provider")

    def load_credentials(self) -> Any:
        """The credentials of the first provider that has some; None without any."""
        for provider in self._resolver.providers:
            culprit, remedy = provider_called(provider.METHOD)
            try:
                found = provider.load()
            except Exception as error:
                raise failure_of(error, culprit, remedy) from error
            if found is not None:
                return CheckedCredentials(found, culprit, remedy)
        return None
