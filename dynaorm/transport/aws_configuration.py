"""What botocore says of credentials, profiles and endpoints that cannot be used, as errors that name the remedy.

Nothing has been sent to DynamoDB when botocore raises one of these.
"""

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotocoreConnectionError

from dynaorm.errors import UsageError
from dynaorm.flow.protocol.call import NoAnswer

_REMEDIES = {
    "ProfileNotFound": "name a profile of ~/.aws/config or ~/.aws/credentials in profile= or AWS_PROFILE, or none",
    "NoCredentialsError": (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile that has them, or give the machine a role"
    ),
    "PartialCredentialsError": "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither",
    "EndpointProviderError": "leave out use_fips_endpoint or use_dualstack_endpoint, or choose another Region",
    "EndpointVariantError": "leave out use_fips_endpoint or use_dualstack_endpoint, or choose another Region",
    "TokenRetrievalError": "log in again: aws sso login",
    "SSOError": "log in again: aws sso login",
    "LoginError": "log in again: aws login",
}
_OTHERWISE = "correct the AWS configuration: environment variables, ~/.aws/config and ~/.aws/credentials"


def failure_of(error: Exception) -> UsageError | NoAnswer:
    """The error that stands for one of botocore's, raised before any request was sent to DynamoDB.

    NoAnswer is for a service that gives credentials and did not answer: the call may be repeated.
    """
    if isinstance(error, BotocoreConnectionError | HTTPClientError):
        return NoAnswer(f"no AWS credentials: {type(error).__name__}: {error}", sent=False)
    remedies = (_REMEDIES.get(kind.__name__) for kind in type(error).__mro__)
    remedy = next((remedy for remedy in remedies if remedy), _OTHERWISE)
    known = isinstance(error, BotoCoreError | ClientError | RuntimeError | ValueError)
    problem = str(error) if known else f"{type(error).__name__}: {error}"
    return UsageError(problem=problem.rstrip(": ."), remedy=remedy)
