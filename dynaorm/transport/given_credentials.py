"""Credentials that the caller gives, in the place of those that botocore would find.

botocore asks them anew for each request, so that the caller can refresh them.
"""

from collections.abc import Callable
from typing import Any

from botocore.session import Session

from dynaorm.transport.http.credentials import CredentialSource


def use_credentials(session: Session, credentials: CredentialSource | None) -> None:
    """Let a session of botocore use these credentials alone; with None, it finds its own."""
    if credentials is not None:
        session.register_component("credential_provider", _Provider(credentials))


class _Provider:
    """What botocore asks for credentials once per session."""

    def __init__(self, credentials: CredentialSource) -> None:
        self._credentials = credentials

    def load_credentials(self) -> Any:
        """The caller's credentials, with the members that botocore needs."""
        found = self._credentials
        return found if hasattr(found, "get_deferred_property") else _Given(found)


class _Given:
    """Credentials with the members that botocore needs."""

    method = "dynaorm"

    def __init__(self, credentials: CredentialSource) -> None:
        self._credentials = credentials

    def __repr__(self) -> str:
        return "<credentials given by the caller>"

    def get_frozen_credentials(self) -> Any:
        """The credentials of this moment."""
        return self._credentials.get_frozen_credentials()

    def get_deferred_property(self, name: str) -> Callable[[], Any]:
        """A function that returns one of their members, such as the account id."""
        return lambda: getattr(self.get_frozen_credentials(), name, None)

    def refresh_needed(self) -> bool:
        """Whether asking may block: the caller may call a service."""
        needed = getattr(self._credentials, "refresh_needed", None)
        return needed is None or bool(needed())
