"""The AWS Region of a transport's requests: the argument, then the environment, then the AWS profile."""

import os
from collections.abc import Callable

from dynaorm.errors import UsageError

EMULATOR_REGION = "us-east-1"
"""The Region beside an endpoint if none is set: a signature needs one, and an emulator accepts any."""


def region_of(region: str | None, endpoint: str | None, configured: Callable[[], str | None]) -> str:
    """The Region to sign for.

    Args:
        region: the caller's argument.
        endpoint: the caller's argument.
        configured: reads the Region of the AWS configuration, which ``AWS_REGION`` overrides.

    Raises:
        UsageError: no Region is set anywhere, and there is no endpoint either.
    """
    # botocore itself does not read AWS_REGION, which Lambda and the other SDKs set.
    found = region or os.environ.get("AWS_REGION") or configured()
    if not found and endpoint is None:
        raise UsageError(
            problem="No AWS region is known",
            remedy="give region=, set AWS_REGION, or set a region in the AWS profile",
        )
    return found or EMULATOR_REGION
