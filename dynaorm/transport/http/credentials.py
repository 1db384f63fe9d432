"""What a request is signed with: an access key, its secret and perhaps a session token."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from dynaorm.errors import UsageError
from dynaorm.late import late

if TYPE_CHECKING:
    from dynaorm.transport import aws_configuration
else:
    late(globals(), aws_configuration="dynaorm.transport.aws_configuration")


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

    def get_frozen_credentials(self) -> FixedCredentials:
        """Themselves, as botocore's refreshable credentials give those of the moment."""
        return self


class CredentialSource(Protocol):
    """Gives the credentials of each request. botocore's credentials have this shape."""

    def get_frozen_credentials(self) -> Credentials: ...


class GivenCredentials(Protocol):
    """What a caller gives as credentials, as loosely as the types of botocore and boto3 need it."""

    def get_frozen_credentials(self) -> object: ...


class CheckedCredentials:
    """Credentials of another program. Whatever goes wrong when they are asked for is an error that names them.

    botocore can use them, too.

    Args:
        source: gives them, and may refresh them.
        name: how errors call them.
        remedy: what to do if they fail; "" for what fits the error.
    """

    def __init__(self, source: CredentialSource, name: str, remedy: str) -> None:
        self._source = source
        self._name = name
        self._remedy = remedy
        self.method: str = getattr(source, "method", "dynaorm")

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def get_frozen_credentials(self) -> Credentials:
        """The credentials of this moment.

        Raises:
            UsageError: there are none, or they have expired.
            NoAnswer: the service that gives them did not answer.
        """
        try:
            found = self._source.get_frozen_credentials()
        except Exception as error:
            raise aws_configuration.failure_of(error, self._name, self._remedy) from error
        if flaw := _flaw_of(found):
            del found  # reporters of errors show local variables
            raise aws_configuration.failure_of(TypeError(flaw), self._name, self._remedy)
        return found

    def may_block(self) -> bool:
        """Whether asking now may wait for a service or a program."""
        needed = getattr(self._source, "refresh_needed", None)
        try:
            return needed is not None and bool(needed())
        except Exception:  # noqa: BLE001 - asking for the credentials themselves tells what is wrong
            return True

    def get_deferred_property(self, name: str) -> Callable[[], Any]:
        """A function that returns one of their members, such as the account id. botocore needs it."""
        return lambda: getattr(self.get_frozen_credentials(), name, None)


def _flaw_of(found: object) -> str:
    """What is wrong with credentials that a program gave; "" for nothing. It shows none of their values."""
    for name in ("access_key", "secret_key", "token"):
        try:
            value = getattr(found, name)
        except Exception as error:  # noqa: BLE001 - it may be computed, and fail in any way
            return f"what they give ({type(found).__name__}) has no {name} ({type(error).__name__})"
        if not isinstance(value, str) and not (value is None and name == "token"):
            return f"their {name} is of type {type(value).__name__}, not str"
        if value == "" and name != "token":
            return f"their {name} is empty"
    return ""


def checked_credentials(given: GivenCredentials | None) -> CredentialSource | None:
    """The credentials that a caller gives. Raises UsageError if they cannot be asked for."""
    if given is None or isinstance(given, FixedCredentials | CheckedCredentials):
        return given
    if callable(getattr(given, "get_frozen_credentials", None)):
        name = f"what you gave as credentials= ({type(given).__name__})"
        return CheckedCredentials(
            cast("CredentialSource", given), name, "correct it, or what it asks, or give other credentials="
        )
    raise UsageError(
        problem=f"credentials= is a {type(given).__name__} without get_frozen_credentials()",
        remedy="give botocore.credentials.Credentials(access_key, secret_key), or boto3.Session(...).get_credentials()",
    )


def environment_credentials() -> FixedCredentials | None:
    """Those that environment variables alone name; None if they name none."""
    if not os.environ.get("AWS_ACCESS_KEY_ID") or not os.environ.get("AWS_SECRET_ACCESS_KEY"):
        return None
    return FixedCredentials(
        os.environ["AWS_ACCESS_KEY_ID"],
        os.environ["AWS_SECRET_ACCESS_KEY"],
        # The order of botocore's EnvProvider.
        os.environ.get("AWS_SECURITY_TOKEN") or os.environ.get("AWS_SESSION_TOKEN") or None,
    )
