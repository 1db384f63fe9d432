"""What to do about a refusal, by its code: one table for every request over every transport.

Services write some codes with ``Exception`` at the end and some without; both are the same here.

Source: "Common error types" (Amazon DynamoDB API Reference), "Common errors" (AWS Identity and Access Management).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_SIGNED_WRONGLY: Final = (
    "check that the secret access key belongs to the access key of these credentials, and is whole; if it does, look "
    "for a proxy that changes requests"
)
_UNSIGNED: Final = (
    "look for a proxy that removes or changes the header Authorization, and check the endpoint; the credentials may be "
    "right"
)
_UNKNOWN: Final = (
    "check the credentials: the access key must exist, be active, and belong to this partition of AWS; temporary "
    "credentials also need their session token, and the account must have enabled the Region"
)
_EXPIRED: Final = (
    "get new credentials: log in again, or give credentials that refresh themselves, as those of a role or of "
    "boto3.Session(...).get_credentials() do"
)
_CLOCK: Final = "set the clock of this machine: it is minutes away from that of AWS"
_DENIED: Final = (
    "allow it: dynaorm.iam.iam_policy, or dynaorm export --policy, makes the policy that some classes need, for each "
    "purpose"
)
_NOT_SIGNED_UP: Final = "enable the Region or the service for the account of these credentials"

_REMEDIES: Final[Mapping[str, str]] = {
    "AccessDenied": _DENIED,
    "NotAuthorized": _DENIED,
    "AuthFailure": _UNKNOWN,
    "InvalidAccessKeyId": _UNKNOWN,
    "InvalidClientTokenId": _UNKNOWN,
    "UnrecognizedClient": _UNKNOWN,
    "ExpiredToken": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidSignature": _SIGNED_WRONGLY,
    "SignatureDoesNotMatch": _SIGNED_WRONGLY,
    "IncompleteSignature": _UNSIGNED,
    "MissingAuthenticationToken": _UNSIGNED,
    "RequestExpired": _CLOCK,
    "RequestInTheFuture": _CLOCK,
    "RequestTimeTooSkewed": _CLOCK,
    "OptInRequired": _NOT_SIGNED_UP,
    "SubscriptionRequired": _NOT_SIGNED_UP,
}

# An endpoint that leaves VectorIndexes out of CreateTable finds attributes that no key has.
_NO_VECTORS: Final = (
    "Number of attributes in KeySchema does not exactly match",
    "does not have the parameter VectorIndex",
)
_NO_INDEX: Final = "does not have the specified index"
_WITH_INDEX: Final = "create it: apply the table, which also completes what was stored without its keys"
_WITH_VECTORS: Final = "it has no vector indexes: test on ministack (dynaorm.testing.Ministack)"

# A signature of another time is refused under the code of a wrong one; only the message tells.
_OF_ANOTHER_TIME: Final = ("Signature expired", "Signature not yet current")


def remedy_of_refusal(code: str, message: str) -> str | None:
    """What to do about a refusal with this code and message; None if the code is not in the table."""
    remedy = _REMEDIES.get(_plain(code))
    if remedy is _SIGNED_WRONGLY and message.startswith(_OF_ANOTHER_TIME):
        return _CLOCK
    if remedy is None and any(one in message for one in _NO_VECTORS):
        return _WITH_VECTORS
    if remedy is None and _NO_INDEX in message:
        return _WITH_INDEX
    return remedy


def is_denial(code: str) -> bool:
    """Whether the credentials are good, but may not do this."""
    return _REMEDIES.get(_plain(code)) is _DENIED


def is_of_the_request_itself(code: str) -> bool:
    """Whether the refusal is about signature or credentials. Its message may then repeat signed headers."""
    return _plain(code) in _REMEDIES and not is_denial(code)


def _plain(code: str) -> str:
    return code.removesuffix("Exception")
