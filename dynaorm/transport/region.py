"""The AWS Region of a transport's requests: the argument, then the environment, then the AWS profile."""

from __future__ import annotations

import os
from collections.abc import Callable

from dynaorm.errors import UsageError
from dynaorm.transport.endpoint import endpoint_of

EMULATOR_REGION = "us-east-1"
"""The Region beside an endpoint if none is set: a signature needs one, and an emulator accepts any."""


_LONGEST = 63


def region_of(region: str | None, endpoint: str | None, configured: Callable[[], str | None]) -> str:
    """The Region to sign for.

    Args:
        region: the caller's argument.
        endpoint: the caller's argument.
        configured: reads the Region of the AWS configuration, which ``AWS_REGION`` overrides.

    Raises:
        UsageError: no Region is set anywhere, and there is no endpoint either; or it is not a possible name; or the
            endpoint is none.
    """
    if endpoint is not None:
        # An empty one would be taken for none: then the requests of a test would go to AWS.
        endpoint_of(endpoint)
    # botocore itself does not read AWS_REGION, which Lambda and the other SDKs set.
    found = region if region is not None else os.environ.get("AWS_REGION") or configured() or None
    if found is None and endpoint is None:
        raise UsageError(
            problem="No AWS region is known",
            remedy="name a Region, set AWS_REGION, or set a region in the AWS profile",
        )
    if found is not None and not _is_name(found):
        raise UsageError(
            problem=f"{found[:80]!r} is not the name of an AWS region",
            remedy="use a name like eu-west-1: letters, digits and hyphens",
        )
    return found or EMULATOR_REGION


def _is_name(region: str) -> bool:
    """Whether a text can be part of a host name and of a signature's scope; the rule is botocore's."""
    plain = region.replace("-", "")
    return (
        plain.isascii()
        and plain.isalnum()
        and not plain.isdecimal()
        and len(region) <= _LONGEST
        and not region.startswith("-")
        and not region.endswith("-")
    )
