"""botocore's errors about credentials and endpoints name a remedy, or are worth a repetition."""

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    ProfileNotFound,
    UnauthorizedSSOTokenError,
)

from dynaorm.errors import UsageError
from dynaorm.transport import NoAnswer
from dynaorm.transport.aws_configuration import failure_of


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ProfileNotFound(profile="shop"), r"\(shop\) could not be found; name a profile of"),
        (NoCredentialsError(), "Unable to locate credentials; set AWS_ACCESS_KEY_ID"),
        (UnauthorizedSSOTokenError(), "; log in again: aws sso login"),
        (
            CredentialRetrievalError(provider="p", error_msg="e"),
            "from p: e; correct the AWS configuration",
        ),
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "AssumeRole"),
            "calling the AssumeRole operation: no; correct",
        ),
        (RuntimeError("still expired."), "still expired; correct"),
        (FileNotFoundError(2, "No such file", "x"), "FileNotFoundError: .*'x'; correct"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_of_the_configuration_names_its_remedy(error: Exception, said: str) -> None:
    found = failure_of(error)
    assert isinstance(found, UsageError)
    with pytest.raises(UsageError, match=said):
        raise found


def test_a_service_of_credentials_that_does_not_answer_may_be_asked_again() -> None:
    found = failure_of(ConnectTimeoutError(endpoint_url="http://169.254.169.254"))
    assert isinstance(found, NoAnswer)
    assert not found.sent
